"""``manage.py sign_in_link [USER]``: a way in for who has no password, or forgot it."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from memoryapp.accounts import operations as accounts
from memoryapp.accounts.models import User
from memoryapp.management.installation import InstallationCommand


class Command(InstallationCommand):
    help = "Print a one-time sign-in link; the path alone is on the last line."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", nargs="?", help="whose link (default: the first account)")

    def handle(self, *_args: Any, user: str | None, **_options: Any) -> None:
        account = _named(user) if user else accounts.ensure_first_account()
        self.stdout.write(accounts.create_sign_in_link(account))


def _named(username: str) -> User:
    account = User.objects.filter(username=username, is_active=True).first()
    if account is None:
        raise CommandError(f"There is no active account '{username}'.")
    return account
