"""``manage.py bench NAME``: measure, on servers of its own, and leave nothing behind."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memoryapp.bench import load, report, transcript
from memoryapp.bench.installation import BenchFailedError
from memoryapp.bench.report import Row

BENCHES: dict[str, Callable[[Callable[[str], None]], list[Row]]] = {
    "load": load.run,
    "transcript": transcript.run,
}


class Command(BaseCommand):
    help = "Measure an aspect of Strata on an installation of its own."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help=f"one of: {', '.join(BENCHES)}")
        parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")

    def handle(self, *_args: Any, name: str, json: bool, **_options: Any) -> None:
        if name not in BENCHES:
            raise CommandError(f"There is no bench '{name}'. There are: {', '.join(BENCHES)}.")
        try:
            with _ending_in_order():
                rows = BENCHES[name](self.stderr.write)
        except BenchFailedError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(report.as_json(rows) if json else report.table(rows))


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """SIGTERM ends the bench like Ctrl-C does, so that its servers and its directory go with it."""
    before = signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
