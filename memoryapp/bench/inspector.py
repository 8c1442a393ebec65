"""``bench inspector``: what the pages of the memory inspector cost somebody who has kept a great deal.

The measuring itself (``memoryapp.bench.inspecting``) runs in a process of its own on throw-away servers, because Django
reads where its database is before any command runs.
"""

import json
from collections.abc import Callable

from memoryapp.bench.commands import manage, own_servers
from memoryapp.bench.report import Row

SIZES: dict[str, int] = {}  # where they differ from memoryapp.bench.inspecting.Sizes


def run(say: Callable[[str], None]) -> list[Row]:
    with own_servers() as environment:
        measured = manage(["visit_pages", "--sizes", json.dumps(SIZES)], environment, say=say)
    return [Row(**row) for row in json.loads(measured)]
