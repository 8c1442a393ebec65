"""``manage.py bench NAME``: measure, on servers of its own, and leave nothing behind."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memoryapp.bench import faults, forgetting, inspector, load, recall, report, runs, transcript
from memoryapp.bench.installation import BenchFailedError
from memoryapp.bench.report import Row
from memoryapp.management.ending import ending_in_order

BENCHES: dict[str, Callable[[Callable[[str], None]], list[Row]]] = {
    "faults": faults.run,
    "forgetting": forgetting.run,
    "inspector": inspector.run,
    "load": load.run,
    "recall": recall.run,
    "runs": runs.run,
    "transcript": transcript.run,
}
REPEATED = ("faults",)


class Command(BaseCommand):
    help = "Measure an aspect of Strata on an installation of its own."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help=f"one of: {', '.join(BENCHES)}")
        parser.add_argument(
            "--size",
            type=int,
            default=1,
            metavar="N",
            help=f"N times the smallest number of repetitions, for: {', '.join(REPEATED)}",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")

    def handle(self, *_args: Any, name: str, size: int, json: bool, **_options: Any) -> None:
        if name not in BENCHES:
            raise CommandError(f"There is no bench '{name}'. There are: {', '.join(BENCHES)}.")
        if size < 1 or (size > 1 and name not in REPEATED):
            raise CommandError(f"The bench '{name}' has no size {size}.")
        bench = partial(faults.run, size=size) if name in REPEATED else BENCHES[name]
        try:
            with ending_in_order():
                rows = bench(self.stderr.write)
        except BenchFailedError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(report.as_json(rows) if json else report.table(rows))
