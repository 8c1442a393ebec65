"""``bench transcript``: what a conversation costs per turn as it grows, and whether anything said in it gets lost.

The measuring itself (``memoryapp.bench.growing``) runs in a process of its own on throw-away servers, because Django
reads where its database is before any command runs.
"""

import json
from collections.abc import Callable

from memoryapp.bench import needles
from memoryapp.bench.commands import manage, own_servers
from memoryapp.bench.report import Row
from memoryapp.bench.scripted import ScriptedModel

SIZES: dict[str, int] = {}  # where they differ from memoryapp.bench.growing.Sizes
MODEL, CHEAP_MODEL = "bench-16k", "bench-cheap"
WINDOWS = {MODEL: 16_000, CHEAP_MODEL: 200_000}
MAX_OUTPUT_TOKENS = 4_000


def run(say: Callable[[str], None]) -> list[Row]:
    """Rows about assembly, about 200 scripted turns, and about 50 facts planted in 400 turns of chit-chat."""
    needles.data_set()  # where it is missing, that is said now and not after minutes
    with own_servers() as servers, ScriptedModel(summarises=CHEAP_MODEL, windows=WINDOWS).serving() as model:
        environment = servers | {
            "ANTHROPIC_BASE_URL": model.url,
            "STRATA_CHAT_MODEL": MODEL,
            "STRATA_CHEAP_MODEL": CHEAP_MODEL,
            "STRATA_MODEL_TITLES": "false",
            "STRATA_MODEL_EXPERIENCES": "false",
            "STRATA_MODEL_EXTRACTION": "false",
            "STRATA_MODEL_SETTINGS": json.dumps(
                {
                    name: {"window_tokens": tokens, "max_output_tokens": MAX_OUTPUT_TOKENS}
                    for name, tokens in WINDOWS.items()
                }
            ),
        }
        sizes = ["--sizes", json.dumps(SIZES)]
        costs = manage(["grow_conversations", "costs", *sizes], environment, say=say)
        facts = manage(["grow_conversations", "facts", *sizes], environment, say=say)
        without_model = environment | {"STRATA_MODEL_SUMMARIES": "false"}
        fallback = manage(["grow_conversations", "facts", *sizes], without_model, say=say)
    rows = [Row(**row) for measured in (costs, facts, fallback) for row in json.loads(measured)]
    return [*rows, Row("requests larger than a model's window", model.refused, "", 0)]
