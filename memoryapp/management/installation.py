"""What every command has in common that acts on an installation, up or not."""

import os
from argparse import ArgumentTypeError
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError

from memoryapp.conf import get_conf
from memoryapp.embedded.servers import Servers, default_data_directory
from memoryapp.errors import MemoryAppError
from memoryapp.management.ending import ending_in_order

MOST_DAYS = 3_660  # ten years
_NO_REDIS = "redis://127.0.0.1:1/0"


def days(text: str) -> int:
    """Of an option: with none, or less, the backup just made would be too old."""
    if text.isdecimal() and len(text) < 5 and 1 <= int(text) <= MOST_DAYS:
        return int(text)
    raise ArgumentTypeError(f"a whole number of days from 1 to {MOST_DAYS}, not {text!r}")


class InstallationCommand(BaseCommand):
    """A command with ``--data-dir``. By the time it runs, ``manage.py`` has joined the installation served there.

    Without DATABASE_URL and with nothing running there is no database to act on: it says so and ends, unless it starts
    one for itself (``joined``).
    """

    requires_system_checks = ()
    starts_servers: ClassVar = False

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
        if not (settings.DATABASE_URL or self.starts_servers):
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


@contextmanager
def joined(data_dir: Path) -> Iterator[dict[str, str]]:
    """The environment of the installation's own commands, whether it is up or not: its bundled PostgreSQL is started
    for as long as it is needed. DATABASE_URL in the environment wins.
    """
    if settings.DATABASE_URL:
        with ending_in_order():
            yield {**os.environ, "DATABASE_URL": settings.DATABASE_URL}
        return
    with ending_in_order(), Servers(data_dir, with_valkey=False) as servers:
        yield {
            **os.environ,
            "DATABASE_URL": servers.database_url,
            # Nobody is nudged: the next start finds what waits. Without it a stranger's Redis might be asked.
            "REDIS_URL": get_conf().redis_url or _NO_REDIS,
            "SECRET_KEY": get_conf().secret_key.get_secret_value() or servers.data.secret_key(),
        }
