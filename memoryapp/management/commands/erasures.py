"""``manage.py erasures``: the journal of what was forgotten, for a restore to repeat it."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from memoryapp.conf import get_conf
from memoryapp.embedded.data_directory import DataDirectory
from memoryapp.forgetting import erasures
from memoryapp.management.installation import InstallationCommand, days


class Command(InstallationCommand):
    help = (
        "Append to the journal every forgetting that it does not hold yet, without what it said. 'up' does so each "
        "minute; where STRATA_ERASURES_FILE is not set, run this by cron, to a disk that the database is not on."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--to", metavar="FILE", help="the journal (default: that of the installation)")
        parser.add_argument(
            "--keep-days",
            metavar="N",
            type=days,
            help="drop what is older: no backup is, so nothing repeats it",
        )
        parser.add_argument(
            "--replay", metavar="FILE", help="forget again what this restored database still holds of it"
        )

    def handle(
        self,
        *_args: Any,
        to: str | None,
        keep_days: int | None,
        replay: str | None,
        data_dir: str,
        **_options: Any,
    ) -> None:
        if replay:
            self._replay(Path(replay))
            return
        path = Path(to or get_conf().erasures_file or DataDirectory(Path(data_dir)).erasures)
        written = erasures.write_journal(path)
        self.stdout.write(f"{written} added to {path}.")
        if keep_days is not None:
            dropped = erasures.trim_journal(path, older_than=timezone.now() - timedelta(days=keep_days))
            self.stdout.write(f"{dropped} dropped that were older than {keep_days} days.")

    def _replay(self, path: Path) -> None:
        if not path.exists():
            raise CommandError(f"There is no journal at {path}.")
        with path.open("rb") as lines:
            done = erasures.replay(lines)
        self.stdout.write(
            f"{done.repeated} forgotten again, {done.known} were in the backup already, {done.undone} had been undone."
        )
