"""``manage.py restore FILE``: a backup in the place of the database, without what was forgotten since."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from memoryapp.conf import get_conf
from memoryapp.embedded.data_directory import DataDirectory
from memoryapp.forgetting import backups, erasures
from memoryapp.management.installation import InstallationCommand, joined


class Command(InstallationCommand):
    help = (
        "Put a backup in the place of the database. What was forgotten after it was made is forgotten again before "
        "anybody is served: until then, pages answer 503 if Strata is up. It need not be."
    )
    starts_servers = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE")
        parser.add_argument(
            "--erasures", metavar="FILE", help="the journal (default: that of the installation)"
        )
        parser.add_argument("--replace", action="store_true", help="the database holds data, which goes")

    def handle(
        self,
        *_args: Any,
        file: str,
        erasures: str | None,
        replace: bool,
        data_dir: str,
        **_options: Any,
    ) -> None:
        data = DataDirectory(Path(data_dir))
        path = Path(file).absolute()
        journal = Path(erasures or get_conf().erasures_file or data.erasures).absolute()
        if erasures and not journal.exists():
            raise CommandError(f"There is no journal at {journal}.")
        with joined(Path(data_dir)) as environment:
            url = environment["DATABASE_URL"]
            _require_journal_since(journal, path, url=url)
            done = backups.restore(
                url,
                path,
                erasures=journal,
                environment=environment,
                replaces=replace,
                say=self.stdout.write,
            )
        self.stdout.write(
            f"Restored the backup of {done.made_at:%Y-%m-%d %H:%M} UTC in {done.took_s:.1f} s: {done.said}"
        )


def _require_journal_since(journal: Path, path: Path, *, url: str) -> None:
    made_at = backups.made_at(path, url=url)
    if journal.exists() and not erasures.covers(journal, made_at=made_at):
        raise CommandError(
            f"The backup of {made_at:%Y-%m-%d} is older than the journal {journal}: what was forgotten in between "
            "would come back. Name an older copy of the journal with --erasures."
        )
