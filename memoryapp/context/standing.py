"""The facts that stand in every prompt, whatever is asked: those of the kinds that are always used, within a limit."""

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from memoryapp.context import considered as verdicts
from memoryapp.context.considered import Considered
from memoryapp.context.items import prompt_tokens
from memoryapp.longterm import queries as longterm
from memoryapp.longterm.models import Memory
from memoryapp.policies import ranking

RULES = "constraint"  # the kind
# Tokens by which an item, estimated by itself, may seem too small: many alike would be too many.
_ROUNDING = 1


def facts(user_id: UUID, *, max_tokens: int, leave_out: Collection[UUID] = ()) -> Sequence[Considered]:
    """All of them, oldest first, so that prompts begin alike; over the limit those that were affirmed last stay.

    A rule goes after all else: left out it does harm, who somebody is can still be found when it is asked for.
    ``leave_out``: ids of what stands in the prompt already.
    """
    rows = [memory for memory in longterm.always_used(user_id) if memory.id not in leave_out]
    ranked = sorted(map(_always, rows), key=_precedence, reverse=True)
    sizes = (prompt_tokens(item) + _ROUNDING for item in ranked)
    fits = ranking.pack(sizes, budget=max_tokens, max_items=len(ranked))
    kept = {item.what.id for item, is_in in zip(ranked, fits, strict=True) if is_in}
    return [
        item if item.what.id in kept else verdicts.left_out(item, verdicts.OVER_STANDING)
        for item in map(_always, rows)
    ]


def _precedence(item: Considered) -> tuple[bool, datetime, int]:
    memory = item.memory
    return memory.kind.slug == RULES, memory.affirmed_at, memory.id.int


def _always(memory: Memory) -> Considered:
    return Considered(memory, {}, None, 1.0, included=True, reason=verdicts.ALWAYS_USED)
