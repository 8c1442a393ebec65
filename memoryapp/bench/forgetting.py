"""``bench forgetting``: how long somebody who has kept a great deal waits until it is forgotten, and until it is back.

The measuring itself (``memoryapp.bench.erasing``) runs in a process of its own on throw-away servers, because Django
reads where its database is before any command runs. They write to the disk, as those of an installation do.
"""

import json
from collections.abc import Callable

from memoryapp.bench.commands import manage, own_servers
from memoryapp.bench.report import Row

SIZES: dict[str, int] = {}  # where they differ from memoryapp.bench.erasing.Sizes


def run(say: Callable[[str], None]) -> list[Row]:
    with own_servers(is_durable=True) as environment:
        measured = manage(["forget_facts", "--sizes", json.dumps(SIZES)], environment, say=say)
    return [Row(**row) for row in json.loads(measured)]
