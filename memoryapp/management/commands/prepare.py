"""``manage.py prepare``: what must be done once before the application serves, and may be done again."""

from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand

from memoryapp.accounts import operations as accounts


class Command(BaseCommand):
    help = (
        "Bring the database up to date and make the first account if there is none. "
        "The last line printed is the path of a one-time sign-in link for it."
    )
    requires_system_checks = ()

    def handle(self, *_args: Any, **_options: Any) -> None:
        call_command("migrate", verbosity=0, interactive=False)
        self.stdout.write(accounts.create_sign_in_link(accounts.ensure_first_account()))
