"""``manage.py create_token USER``: an API token for a person; the token alone is the last line."""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from memoryapp.accounts import operations, queries
from memoryapp.management.installation import InstallationCommand


class Command(InstallationCommand):
    help = "Make an API token for USER (a user name or e-mail address) and print it. It is shown this once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", metavar="USER")
        parser.add_argument("--name", default="command line", help="a name to recognise the token by")

    def handle(self, *_args: Any, user: str, name: str, **_options: Any) -> None:
        account = queries.find_user(user)
        if account is None:
            raise CommandError(f"There is no account '{user}'.")
        token, secret = operations.create_token(account, name=name, now=timezone.now())
        self.stderr.write(f"Valid until {token.expires_at:%Y-%m-%d}. It is not shown again.")
        self.stdout.write(secret)
