"""What allauth asks us: whether strangers may sign up."""

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest

from memoryapp.accounts import queries
from memoryapp.conf import get_conf


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth ships no types
    def is_open_for_signup(self, request: HttpRequest) -> bool:  # noqa: ARG002  # allauth's signature
        """The first account may always be made; further ones when the operator opens sign-up."""
        return get_conf().is_signup_open or not queries.has_accounts()
