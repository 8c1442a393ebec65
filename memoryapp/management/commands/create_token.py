"""``manage.py create_token USER``: an API token for a person; the token alone is the last line."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memoryapp.accounts import operations, queries


class Command(BaseCommand):
    help = "Make an API token for USER (a user name or e-mail address) and print it. It is shown this once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", metavar="USER")
        parser.add_argument("--name", default="command line", help="a name to recognise the token by")

    def handle(self, *args: Any, **options: Any) -> None:  # noqa: ARG002  # Django's signature
        user = queries.find_user(options["user"])
        if user is None:
            raise CommandError(f"There is no account '{options['user']}'.")
        token, secret = operations.create_token(user, name=options["name"], now=timezone.now())
        self.stderr.write(f"Valid until {token.expires_at:%Y-%m-%d}. It is not shown again.")
        self.stdout.write(secret)
