"""``manage.py prove_forgetting``: forget canaries on an installation of its own, and look for them everywhere."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memoryapp.bench.installation import BenchFailedError
from memoryapp.management.ending import ending_in_order
from memoryapp.proof import proving, report
from memoryapp.proof.proving import ALL, Level


class Command(BaseCommand):
    help = (
        "Tell an installation of its own words that exist nowhere else, by every way there is, forget them, and look "
        "for them in every answer, table, file, log and backup. Exit status 1 when one is found, or when a store could "
        "not be looked through."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
        parser.add_argument(
            "--levels",
            metavar="LEVELS",
            default=",".join(ALL),
            help="how far to go, by commas: G0 answers, G2 what is derived, G3 databases and queues, G4 files, "
            "G5 backups (default: %(default)s)",
        )

    def handle(self, *_args: Any, json: bool, levels: str, **_options: Any) -> None:
        try:
            wanted = sorted({Level(name.strip().upper()) for name in levels.split(",")})
        except ValueError:
            raise CommandError(f"The levels are {', '.join(ALL)}.") from None
        try:
            with ending_in_order():
                found = proving.prove(self.stderr.write, levels=wanted)
        except BenchFailedError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(report.as_json(found) if json else report.table(found))
        if not found.is_proven:
            sys.exit(1)
