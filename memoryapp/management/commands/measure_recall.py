"""The measuring part of ``evaluate``, on the servers that it starts; not for an installation in use."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import timezone

from memoryapp.evaluation import dialogues, pairs, samples


class Command(BaseCommand):
    help = "Measure recall (part of 'evaluate'; it fills the database it is given)."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", choices=("locomo", "pairs"))
        parser.add_argument("file", nargs="?", type=Path)
        parser.add_argument("--conversations", default="")
        parser.add_argument("--words-alone", action="store_true")

    def handle(
        self,
        *_args: Any,
        name: str,
        file: Path | None,
        conversations: str,
        words_alone: bool,
        **_options: Any,
    ) -> None:
        if name == "pairs":
            found = pairs.measure(with_vectors=not words_alone, now=timezone.now(), say=self._say)
        else:
            assert file is not None
            chosen = samples.read(file, only=list(filter(None, conversations.split(","))))
            found = dialogues.measure(chosen, with_vectors=not words_alone, say=self._say)
        self.stdout.write(json.dumps(found))

    def _say(self, text: str) -> None:
        self.stdout.write(f"· {text}")
        self.stdout.flush()
