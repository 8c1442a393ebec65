"""What allauth asks us: whether strangers may sign up, and what too many tries look like."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.core.ratelimit import respond_429
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext

from memoryapp.accounts import queries
from memoryapp.conf import get_conf


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth ships no types
    def is_open_for_signup(self, request: HttpRequest) -> bool:  # noqa: ARG002  # allauth's signature
        """Only when the operator opens it: the first account is made by ``manage.py prepare``, not by a stranger."""
        return get_conf().is_signup_open

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:  # noqa: ARG002  # allauth's signature
        """Back to where it was asked for; allauth stays on the form, which looks as if nothing had happened."""
        return reverse("accounts:settings")

    def clean_username(self, username: str, shallow: bool = False) -> str:  # noqa: FBT001, FBT002  # as above
        """Nobody passes for somebody else: not in wide letters, nor by one of another alphabet."""
        name: str = super().clean_username(username, shallow=shallow)
        other = None if shallow else queries.taken_for(name)
        if other:
            said = gettext("This name looks like “{name}”, who is here already. Choose another.")
            raise ValidationError(said.format(name=other))
        return name

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """The status says it too: allauth alone would answer 200 with a sentence in the form."""
        try:
            super().pre_authenticate(request, **credentials)
        except ValidationError as error:
            raise ImmediateHttpResponse(respond_429(request)) from error
