"""What every command has in common that acts on an installation, up or not."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError

from memoryapp.embedded.servers import default_data_directory
from memoryapp.errors import MemoryAppError


class InstallationCommand(BaseCommand):
    """A command with ``--data-dir``. By the time it runs, ``manage.py`` has joined the installation served there.

    Without DATABASE_URL and with nothing running there is no database to act on: it says so and ends.
    """

    requires_system_checks = ()

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        parser.add_argument(
            "--data-dir",
            metavar="DIR",
            default=str(default_data_directory()),
            help="the data directory of the installation, as given to 'up' (default: %(default)s)",
        )
        return parser

    def execute(self, *args: Any, **options: Any) -> str | None:
        if not settings.DATABASE_URL:
            raise CommandError(
                f"Nothing runs on {options.get('data_dir')}. "
                "Start it with 'make up', name another directory with --data-dir, or set DATABASE_URL."
            )
        try:
            return super().execute(*args, **options)
        except MemoryAppError as error:
            raise CommandError(str(error)) from error
        except OperationalError as error:
            raise CommandError(
                f"The database cannot be reached. Is Strata running on {options.get('data_dir')}? "
                "Start it with 'make up', name another directory with --data-dir, or set DATABASE_URL.\n"
                f"({' '.join(str(error).split())})"
            ) from error
