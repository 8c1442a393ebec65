"""``manage.py backup [FILE]``: all that the database holds, in one file."""

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.utils import timezone

from memoryapp.conf import get_conf
from memoryapp.embedded.data_directory import DataDirectory
from memoryapp.forgetting import backups
from memoryapp.management.installation import InstallationCommand, days, joined


class Command(InstallationCommand):
    help = (
        "Write a backup, whether Strata is up or not, and remove those that are too old. It does not hold the key "
        "(SECRET_KEY): keep that elsewhere."
    )
    starts_servers = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file", metavar="FILE", nargs="?", help="default: named by the time, in the data directory"
        )
        parser.add_argument(
            "--keep-days",
            metavar="N",
            type=days,
            help="remove backups beside it that are named by an older time (default: STRATA_BACKUP_DAYS)",
        )

    def handle(
        self, *_args: Any, file: str | None, keep_days: int | None, data_dir: str, **_options: Any
    ) -> None:
        data = DataDirectory(Path(data_dir))
        now = timezone.now()
        path = Path(file) if file else backups.new_path(data.backups, now=now)
        kept = get_conf().backup_days if keep_days is None else keep_days
        with joined(Path(data_dir)) as environment:
            done = backups.back_up(environment["DATABASE_URL"], path.absolute())
            self.stdout.write(f"{done.path}: {done.size_bytes:,} bytes in {done.took_s:.1f} s.")
            for old in backups.drop_old(path.absolute().parent, older_than=now - timedelta(days=kept)):
                self.stdout.write(f"Removed {old}: older than {kept} days.")
            journal = get_conf().erasures_file or os.fspath(data.erasures)
            if Path(journal).exists():
                _trim(journal, keep_days=kept + 1, environment=environment)


def _trim(journal: str, *, keep_days: int, environment: dict[str, str]) -> None:
    """A day more than the backups that it is for."""
    command = [sys.executable, "manage.py", "erasures", "--to", journal, "--keep-days", str(keep_days)]
    subprocess.run(  # noqa: S603 - our own command
        command, check=True, cwd=settings.BASE_DIR, env=environment, stdout=subprocess.DEVNULL
    )
