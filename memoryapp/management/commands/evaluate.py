"""``manage.py evaluate locomo FILE`` and ``evaluate pairs``: how well memory finds what it should."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memoryapp.bench.installation import BenchFailedError
from memoryapp.evaluation import report, running, samples
from memoryapp.evaluation.samples import UnreadableSetError
from memoryapp.management.ending import ending_in_order

EVALUATIONS = ("locomo", "pairs")


class Command(BaseCommand):
    help = "Measure how well recall finds what was said, on servers of its own (see docs/evaluation.md)."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", choices=EVALUATIONS, help="which evaluation")
        parser.add_argument(
            "file", nargs="?", type=Path, help="locomo: a data set in LoCoMo's format, such as locomo10.json"
        )
        parser.add_argument(
            "--conversations", default="", metavar="IDS", help="locomo: only these, separated by commas"
        )
        parser.add_argument(
            "--embedder", choices=running.EMBEDDERS, default="bundled", help="none: words alone decide"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")

    def handle(
        self,
        *_args: Any,
        name: str,
        file: Path | None,
        conversations: str,
        embedder: str,
        json: bool,
        **_options: Any,
    ) -> None:
        arguments = _of_dialogues(file, conversations) if name == "locomo" else _of_pairs(file, conversations)
        try:
            with ending_in_order():
                found = running.run([name, *arguments], embedder=embedder, say=self.stderr.write)
        except BenchFailedError as error:
            raise CommandError(str(error)) from error
        table = report.dialogues if name == "locomo" else report.pairs
        self.stdout.write(_as_json(found) if json else table(found))


def _of_dialogues(file: Path | None, conversations: str) -> list[str]:
    if file is None:
        raise CommandError(
            "Which data set? Give its file: manage.py evaluate locomo locomo10.json. "
            "docs/evaluation.md says where to get it."
        )
    only = [part.strip() for part in conversations.split(",") if part.strip()]
    try:
        samples.read(file, only=only)  # said now, not after the servers have started
    except UnreadableSetError as error:
        raise CommandError(str(error)) from error
    return [str(file.resolve()), "--conversations", ",".join(only)]


def _of_pairs(file: Path | None, conversations: str) -> list[str]:
    if file or conversations:
        raise CommandError(
            "The pairs are a set of our own: manage.py evaluate pairs takes no file and no ids."
        )
    return []


def _as_json(found: dict[str, Any]) -> str:
    return json.dumps(found, ensure_ascii=False)
