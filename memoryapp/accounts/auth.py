"""How the REST API knows who is calling: a bearer token, or the browser's session with its CSRF token."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.utils import timezone
from django_htmx.middleware import HtmxDetails
from ninja.security import HttpBearer, SessionAuth

from memoryapp.accounts import operations, queries
from memoryapp.accounts.models import User
from memoryapp.acting import Actor, act_as
from memoryapp.errors import MemoryAppError


class TokenRefusedError(MemoryAppError):
    """The API token is unknown, expired, revoked, or of a closed account; the message says which."""

    code = "unauthenticated"
    http_status = 401


class BearerAuth(HttpBearer):
    openapi_description = "An API token, made on the settings page or by `manage.py create_token USER`."

    def authenticate(self, request: HttpRequest, token: str) -> User:
        """Raises ``TokenRefusedError``: who sends a token means it, so no session is tried in its place."""
        now = timezone.now()
        found = queries.user_of_token(token)
        if found is None:
            raise TokenRefusedError(queries.why_refused(token, now=now))
        user, api_token = found
        operations.note_token_use(api_token, now=now)
        request.user = user
        act_as(Actor.PROGRAM, api_token.name)
        return user


class BrowserAuth(SessionAuth):
    """The session of a signed-in browser; what changes something needs its CSRF token as well."""

    def __call__(self, request: HttpRequest) -> Any:
        # Asked first: a stranger is told to authenticate (401), not that a CSRF token is missing (403).
        return super().__call__(request) if request.user.is_authenticated else None


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


API_AUTH = [BearerAuth(), BrowserAuth(csrf=True)]
