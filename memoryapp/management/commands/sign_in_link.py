"""``manage.py sign_in_link [USER]``: a way in for who has no password, or forgot it."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from memoryapp.accounts import operations as accounts
from memoryapp.accounts.models import User
from memoryapp.conf import get_conf
from memoryapp.embedded import installation
from memoryapp.management.installation import InstallationCommand


class Command(InstallationCommand):
    help = "Print a one-time sign-in link; the last line is its address and nothing else."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", nargs="?", help="whose link (default: the first account)")

    def handle(self, *_args: Any, user: str | None, data_dir: str, **_options: Any) -> None:
        account = _named(user) if user else accounts.ensure_first_account()
        # The path alone when nobody says where people reach this: on a server without STRATA_BASE_URL.
        base_url = get_conf().base_url or installation.address(Path(data_dir))
        self.stdout.write(base_url.rstrip("/") + accounts.create_sign_in_link(account))


def _named(username: str) -> User:
    account = User.objects.filter(username=username, is_active=True).first()
    if account is None:
        raise CommandError(f"There is no active account '{username}'.")
    return account
