"""The long-term tool of the model: ``remember``. What it may claim is checked here; what it is worth, by code."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from memoryapp.llm.base import ToolDefinition
from memoryapp.longterm import operations as longterm
from memoryapp.longterm import queries
from memoryapp.longterm.models import Memory
from memoryapp.policies.reconciliation import says
from memoryapp.policies.trust import Origin, weakest


class RememberArguments(BaseModel):
    """What the model may say; anything else (an origin, a user, a status) is refused."""

    model_config = ConfigDict(extra="forbid", strict=True)

    statement: Annotated[str, Field(min_length=1, max_length=2_000)]
    kind: Annotated[str, Field(min_length=1, max_length=50)]
    quote: Annotated[str, Field(min_length=1, max_length=4_000)]
    key: Annotated[str, Field(max_length=100)] = ""


@dataclass(frozen=True, slots=True)
class Heard:
    """A user message the model could quote."""

    message_id: UUID
    text: str
    said_at: datetime


def remember_definition() -> ToolDefinition:
    """The tool as the model sees it; it changes only when an admin changes the kinds."""
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


def run_remember(
    arguments: RememberArguments,
    *,
    user_id: UUID,
    heard: Sequence[Heard],
    taint: Origin,
    run_id: UUID,
    epoch_at_start: int,
) -> tuple[str, longterm.Remembered]:
    """The result for the model as JSON text, and what became of the statement. Raises what ``remember`` raises.

    ``heard``: the user's messages in the prompt, newest first. ``taint``: the weakest origin in the prompt.
    """
    said = next((message for message in heard if arguments.quote in message.text), None)
    if said is None:
        raise longterm.QuoteNotFoundError("The quote must be copied word for word from what the user said.")
    candidate = longterm.Candidate(
        kind=arguments.kind,
        statement=arguments.statement,
        key=arguments.key,
        quote=arguments.quote,
        origin=weakest([taint, _origin(arguments.statement, said.text)]),
        channel=Memory.Channel.CHAT,
        said_at=said.said_at,
        source=longterm.Source(message_id=said.message_id, text=said.text),
        run_id=run_id,
        epoch_at_start=epoch_at_start,
    )
    remembered = longterm.remember(user_id, candidate)
    result = {
        "outcome": remembered.outcome,
        "statement": remembered.memory.statement,
        "memory_id": str(remembered.memory.id),
    }
    return json.dumps(result, ensure_ascii=False), remembered


def _origin(statement: str, said: str) -> Origin:
    """The user typed it when their message holds the very words; else the model concluded it."""
    return Origin.USER_TYPED if says(said, statement) else Origin.MODEL_INFERRED
