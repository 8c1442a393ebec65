"""The measuring part of ``bench forgetting``, on the servers that it starts; not for an installation in use."""

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from memoryapp.bench.erasing import Sizes, measure


class Command(BaseCommand):
    help = "Measure forgetting (part of 'bench forgetting'; it empties the database it is given)."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--sizes", default="{}", help="as JSON, fields of memoryapp.bench.erasing.Sizes")

    def handle(self, *_args: Any, sizes: str, **_options: Any) -> None:
        rows = measure(Sizes(**json.loads(sizes)), lambda text: self.stdout.write(f"· {text}"))
        self.stdout.write(json.dumps([asdict(row) for row in rows]))
