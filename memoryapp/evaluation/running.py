"""An evaluation in a process of its own, on servers of its own, of which nothing is left.

In a process of its own because Django reads where its database is before any command runs.
"""

import json
import os
from collections.abc import Callable, Sequence
from typing import Any, Final

from memoryapp.bench.commands import manage, own_servers

# By the names that the command takes; "none": rows without vectors, so that words alone decide.
EMBEDDERS: Final = {
    "bundled": {},
    "minilm": {"STRATA_BUNDLED_MODEL": "minilm"},
    "use": {"STRATA_BUNDLED_MODEL": "use"},
    "pair": {"STRATA_BUNDLED_MODEL": "pair"},
    "voyage": {"STRATA_EMBEDDER": "voyage"},
    "none": {},
}


def run(arguments: Sequence[str], *, embedder: str, say: Callable[[str], None]) -> dict[str, Any]:
    """What ``manage.py measure_recall`` with these arguments finds. Raises BenchFailedError with its output."""
    with own_servers() as servers:
        environment = servers | EMBEDDERS[embedder] | _service_of(embedder)
        without = ["--words-alone"] if embedder == "none" else []
        found: dict[str, Any] = json.loads(
            manage(["measure_recall", *arguments, *without], environment, say=say)
        )
    return found


def _service_of(embedder: str) -> dict[str, str]:
    """How to reach the service that was asked for; nothing else of this machine's configuration counts."""
    names = [name for name in os.environ if name.startswith(("VOYAGE_", "STRATA_VOYAGE_"))]
    return {name: os.environ[name] for name in names} if embedder == "voyage" else {}
