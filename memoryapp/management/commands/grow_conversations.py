"""The measuring part of ``bench transcript``, on the servers that it starts; not for an installation in use."""

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from memoryapp.bench import growing

PARTS = {"costs": growing.costs, "facts": growing.facts}


class Command(BaseCommand):
    help = "Measure growing conversations (part of 'bench transcript'; it fills the database it is given)."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("part", choices=PARTS)
        parser.add_argument("--sizes", default="{}", help="as JSON, fields of memoryapp.bench.growing.Sizes")

    def handle(self, *_args: Any, part: str, sizes: str, **_options: Any) -> None:
        rows = PARTS[part](growing.Sizes(**json.loads(sizes)), lambda text: self.stdout.write(f"· {text}"))
        self.stdout.write(json.dumps([asdict(row) for row in rows]))
