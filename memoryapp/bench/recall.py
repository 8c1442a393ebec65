"""``bench recall``: what finding something costs one person among many, and that nobody's rows starve another's.

The measuring itself (``memoryapp.bench.finding``) runs in a process of its own on throw-away servers, because Django
reads where its database is before any command runs.
"""

import json
from collections.abc import Callable

from memoryapp.bench.commands import manage, own_servers
from memoryapp.bench.report import Row

SIZES: dict[str, int] = {}  # where they differ from memoryapp.bench.finding.Sizes


def run(say: Callable[[str], None]) -> list[Row]:
    with own_servers() as environment:
        measured = manage(["find_among_many", "--sizes", json.dumps(SIZES)], environment, say=say)
    return [Row(**row) for row in json.loads(measured)]
