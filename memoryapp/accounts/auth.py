"""How the REST API knows who is calling: a bearer token, or the browser's session with its CSRF token."""

from uuid import UUID

from django.http import HttpRequest
from django.utils import timezone
from django_htmx.middleware import HtmxDetails
from ninja.security import HttpBearer, SessionAuth

from memoryapp.accounts import operations, queries
from memoryapp.accounts.models import User


class BearerAuth(HttpBearer):
    openapi_description = "An API token, made on the settings page or by `manage.py create_token USER`."

    def authenticate(self, request: HttpRequest, token: str) -> User | None:
        found = queries.user_of_token(token)
        if found is None:
            return None
        user, api_token = found
        operations.note_token_use(api_token, now=timezone.now())
        request.user = user
        return user


class PageRequest(HttpRequest):
    """A request to a page, with what the middleware adds."""

    htmx: HtmxDetails


def caller(request: HttpRequest) -> User:
    """The authenticated user of an API request."""
    user = request.user
    assert isinstance(user, User)
    return user


def caller_id(request: HttpRequest) -> UUID:
    return caller(request).id


API_AUTH = [BearerAuth(), SessionAuth(csrf=True)]
