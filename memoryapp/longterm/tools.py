"""The long-term tools of the model.

``remember`` keeps: what it may claim is checked here; what it is worth, by code. ``get_fact`` and ``list_facts`` read,
for the questions that SQL answers better than a search by meaning: the value of a key, the last three, what ends soon.
"""

import json
from collections.abc import Sequence
from datetime import date, datetime, time
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from django.db.models import F, Q
from pydantic import Field

from memoryapp.accounts import queries as accounts
from memoryapp.conf import get_conf
from memoryapp.errors import InvalidInputError
from memoryapp.llm.base import ToolDefinition
from memoryapp.longterm import operations as longterm
from memoryapp.longterm import queries
from memoryapp.longterm.models import Memory, MemoryQuerySet
from memoryapp.policies import dates
from memoryapp.policies.fencing import inert
from memoryapp.policies.reconciliation import says
from memoryapp.policies.trust import Origin, own_words, weakest
from memoryapp.tooling.base import Arguments, Tool, ToolContext, ToolOutput


class RememberArguments(Arguments):
    """What the model may say; anything else (an origin, a user, a status) is refused."""

    statement: Annotated[str, Field(min_length=1, max_length=2_000)]
    kind: Annotated[str, Field(min_length=1, max_length=50)]
    quote: Annotated[str, Field(min_length=1, max_length=4_000)]
    key: Annotated[str, Field(max_length=100)] = ""


def remember_tool() -> Tool:
    """As the model sees it, it changes only when an admin changes the kinds."""
    return Tool(
        _remember_definition(),
        RememberArguments,
        run_remember,
        side_effects=True,
        is_atomic=True,
        timeout_s=None,
    )


def _remember_definition() -> ToolDefinition:
    kinds = list(queries.statement_kinds())
    meanings = "; ".join(f"{kind.slug}: {kind.label.lower()}" for kind in kinds)
    return ToolDefinition(
        name="remember",
        description=(
            "Keep a fact about the user for later conversations: something they said that stays true beyond this one. "
            f"Kinds: {meanings}. Do not keep secrets, small talk, guesses, or what other people or documents claim."
        ),
        input_schema={
            "type": "object",
            "properties": {
                "statement": {
                    "type": "string",
                    "description": "The fact, in the user's own words where possible.",
                },
                "kind": {"type": "string", "enum": [kind.slug for kind in kinds]},
                "quote": {"type": "string", "description": "The user's words that say so, copied exactly."},
                "key": {
                    "type": "string",
                    "description": (
                        "Only when there is one current value, such as 'city' or 'diet': "
                        "a new value replaces the old."
                    ),
                },
            },
            "required": ["statement", "kind", "quote"],
            "additionalProperties": False,
        },
    )


def run_remember(arguments: RememberArguments, context: ToolContext) -> ToolOutput:
    """What became of the statement, within the caller's transaction. Raises what ``remember_within`` raises."""
    if context.remembered_so_far >= get_conf().memories_per_turn:
        raise InvalidInputError("Enough was remembered for one message; leave the rest.")
    said = next((message for message in context.heard if arguments.quote in message.text), None)
    if said is None:
        raise longterm.QuoteNotFoundError("The quote must be copied word for word from what the user said.")
    candidate = longterm.Candidate(
        kind=arguments.kind,
        statement=arguments.statement,
        key=arguments.key,
        quote=arguments.quote,
        origin=_origin(arguments.statement, said.text, context),
        channel=Memory.Channel.CHAT,
        said_at=said.said_at,
        happened_at=dates.happened(arguments.quote, said_at=said.said_at, time_zone=context.time_zone),
        source=longterm.Source(message_id=said.message_id, text=said.text),
        run_id=context.run_id,
        epoch_at_start=context.epoch_at_start,
    )
    remembered = longterm.remember_within(context.user_id, candidate)
    memory = remembered.memory
    result = {
        "outcome": remembered.outcome,
        "statement": memory.statement,
        "memory_id": str(memory.id),
    }
    return ToolOutput(
        json.dumps(result, ensure_ascii=False),
        origin=Origin.USER_TYPED,
        done=f"{remembered.outcome}: {memory.statement}",
        event={"type": "memory", "kind": memory.kind.slug, **result},
    )


def _origin(statement: str, said: str, context: ToolContext) -> Origin:
    """The user typed it when their message holds the very words; else the model concluded it, or a stranger led it."""
    if says(said, statement):
        return own_words(context.taint)
    return weakest([context.taint, Origin.UNTRUSTED if context.hears_strangers else Origin.MODEL_INFERRED])


MAX_KEYS = 50  # about 250 tokens of keys, for a model that guessed wrong


class GetFactArguments(Arguments):
    # As keys are written, except that capitals are forgiven.
    key: Annotated[
        str,
        Field(
            max_length=100,
            pattern=r"^[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*$",
            description="Words joined by dots or underscores, such as 'city' or 'pet.name'.",
        ),
    ]


class ListFactsArguments(Arguments):
    kind: Annotated[
        str, Field(max_length=50, pattern=r"^[-\w]*$", description="Only this kind; empty for all.")
    ] = ""
    order: Annotated[
        Literal["newest", "oldest", "expiring", "key"],
        Field(
            description="By when it was said; or what ends soonest, without what never does; or what has a key, by it."
        ),
    ] = "newest"
    limit: Annotated[int, Field(ge=1, le=20)] = 10
    # From JSON it comes as text, which a strict field refuses.
    said_after: Annotated[
        date | None, Field(strict=False, description="Only what was said on this day or later, YYYY-MM-DD.")
    ] = None


def _get_fact(arguments: GetFactArguments, context: ToolContext) -> ToolOutput:
    accounts.require_memory_use(context.user_id)
    key = arguments.key.lower()
    found = list(queries.memories(context.user_id, key=key).exclude(id__in=context.without))
    return _answer(found, context) if found else _known_keys(context)


def _known_keys(context: ToolContext) -> ToolOutput:
    """Nothing under that key: the keys there are, so that the model does not go on guessing."""
    known = list(_ORDERS["key"](queries.memories(context.user_id))[:MAX_KEYS])
    return ToolOutput(
        json.dumps({"memories": [], "known_keys": [memory.key for memory in known]}),
        origin=weakest(queries.trust_of(context.user_id, known).values()),
    )


def _list_facts(arguments: ListFactsArguments, context: ToolContext) -> ToolOutput:
    accounts.require_memory_use(context.user_id)
    if arguments.kind:
        queries.get_kind(arguments.kind)
    rows = _ORDERS[arguments.order](queries.memories(context.user_id, kind=arguments.kind))
    rows = rows.exclude(id__in=context.without)
    if arguments.said_after:
        midnight = datetime.combine(arguments.said_after, time(0), tzinfo=ZoneInfo(context.time_zone))
        rows = rows.filter(said_at__gte=midnight)
    found = list(rows[: arguments.limit + 1])
    return _answer(found[: arguments.limit], context, are_there_more=len(found) > arguments.limit)


def _newest(rows: MemoryQuerySet) -> MemoryQuerySet:
    return rows.order_by("-said_at", "-id")


def _oldest(rows: MemoryQuerySet) -> MemoryQuerySet:
    return rows.order_by("said_at", "id")


def _expiring(rows: MemoryQuerySet) -> MemoryQuerySet:
    return rows.exclude(Q(fades_at=None)).order_by(F("fades_at"), "id")


def _by_key(rows: MemoryQuerySet) -> MemoryQuerySet:
    return rows.exclude(key="").order_by("key", "id")


_ORDERS = {"newest": _newest, "oldest": _oldest, "expiring": _expiring, "key": _by_key}


def _answer(found: Sequence[Memory], context: ToolContext, *, are_there_more: bool = False) -> ToolOutput:
    """The memories as recall shows them; as trusted as the least trusted of them."""
    trust = queries.trust_of(context.user_id, found)
    items = [_item(memory, trust[memory.id], context) for memory in found]
    answer: dict[str, object] = {"memories": items}
    return ToolOutput(
        json.dumps(answer | ({"more": True} if are_there_more else {}), ensure_ascii=False),
        origin=weakest(trust.values()),
        given=[memory.id for memory in found],
    )


def _item(memory: Memory, origin: Origin, context: ToolContext) -> dict[str, object]:
    item: dict[str, object] = {
        "id": str(memory.id),
        "kind": memory.kind.slug,
        "statement": memory.statement,
        "origin": memory.origin,
        "said_on": memory.said_at.date().isoformat(),
        "confidence": round(memory.confidence, 2),
    }
    if memory.key:
        item["key"] = memory.key
    fades_at: datetime | None = getattr(memory, "fades_at", None)  # the query's
    if fades_at is not None:
        item["expires"] = fades_at.astimezone(ZoneInfo(context.time_zone)).isoformat(timespec="minutes")
    # A person who confirms a fact vouches for what it says, not for where its links lead.
    return inert(item) | {"origin": origin.value}


GET_FACT = Tool.of(
    "get_fact",
    "Look up the one current value that is remembered under a key about the user, such as 'city' or 'shoe_size'. "
    "When there is none, the keys that exist are listed.",
    GetFactArguments,
    _get_fact,
    timeout_s=None,
)
LIST_FACTS = Tool.of(
    "list_facts",
    "List what is remembered about the user, by date, by end or by key: 'my last three tickets', 'what did I tell you "
    "this week', 'what expires soon'. To find something by its meaning use recall.",
    ListFactsArguments,
    _list_facts,
    timeout_s=None,
)
