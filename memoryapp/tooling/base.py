"""What a tool is: the one thing that packages which add tools import.

A package offers a ``Tool``, or a function without arguments that returns several, under the entry point group
``strata.tools``; ``docs/tools.md`` shows one in full.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from memoryapp.llm.base import Cancellation, ToolDefinition
from memoryapp.policies.trust import Origin

TIMEOUT_S = 20.0
MAX_OUTPUT_CHARS = 8_000  # about 2,000 tokens of every prompt that follows in the run


class Arguments(BaseModel):
    """The base of a tool's arguments: nothing is converted, and what is not declared is refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


@dataclass(frozen=True, slots=True)
class Heard:
    """A user message that the model has in front of it."""

    message_id: UUID
    text: str
    said_at: datetime


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool may know of the run it works for. Nothing in it comes from the model.

    ``idempotency_key`` is the same when a call is made again after a crash. ``cancellation`` is set when the user
    stops the run or the time is up: a tool that takes long should end then. ``heard``: the user's messages in the
    prompt, newest first. ``taint``: the weakest origin in the prompt. ``hears_strangers``: tools that others describe
    are offered, so that what is not the user's own may be theirs. ``without``: ids of what the user wants this reply to
    be made without.
    """

    user_id: UUID
    conversation_id: UUID
    run_id: UUID
    tool_use_id: str
    time_zone: str
    now: datetime
    epoch_at_start: int
    cancellation: Cancellation
    heard: Sequence[Heard] = ()
    taint: Origin = Origin.USER_TYPED
    may_search_others: bool = True
    without: Collection[UUID] = frozenset()
    hears_strangers: bool = False
    remembered_so_far: int = 0

    @property
    def idempotency_key(self) -> str:
        return f"{self.run_id}:{self.tool_use_id}"


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a call came to.

    ``content``: for the model, JSON or plain text. ``origin``: the trust of ``content``; a tool that is marked
    ``untrusted_output`` cannot raise it. ``facts``: (key, value) pairs worth a line on the scratchpad. ``done``: what
    was done in a few words; the call itself when there is neither. ``event``: shown to the person in the chat.
    ``plan``: the to-do list and the open questions from now on. ``given``: ids of the memories and experiences that
    ``content`` tells of, which the person is shown as what the reply was given.
    """

    content: str
    origin: Origin = Origin.TOOL
    facts: Sequence[tuple[str, str]] = ()
    done: str = ""
    event: Mapping[str, Any] | None = None  # JSON, with a "type"
    plan: tuple[Sequence[str], Sequence[str]] | None = None
    given: Sequence[UUID] = ()


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool, its marks and its limits.

    ``run`` gets checked arguments. It raises ``MemoryAppError`` (or a child) for what the model should read; any
    other exception is a defect, which the model reads as such.

    ``side_effects``: changes something outside the run; a call that a crash overtook is not made again, unless it
    ``is_idempotent`` by ``ToolContext.idempotency_key``. ``needs_approval``: a person says yes to each call, or to
    those of which the function of arguments and context says so.
    ``untrusted_output``: what comes back was written by strangers. ``touches``: what a call will touch, for the person
    who is asked. ``is_volatile``: the same call may answer differently, so it always runs. ``is_atomic``: writes to
    this application's database only, within the caller's transaction, in which the step is recorded, too.
    ``is_foreign``: what it says of itself was not written here, nor by a package that the operator installed.
    ``timeout_s``: None for what only reads or writes this application's database, in the worker's own thread.
    """

    definition: ToolDefinition
    arguments: type[BaseModel] | None
    run: Callable[[Any, ToolContext], ToolOutput]  # of the arguments' own type
    side_effects: bool = False
    needs_approval: bool | Callable[[Any, ToolContext], bool] = False
    untrusted_output: bool = False
    is_idempotent: bool = False
    is_volatile: bool = False
    is_atomic: bool = False
    is_foreign: bool = False
    timeout_s: float | None = TIMEOUT_S
    max_output_chars: int = MAX_OUTPUT_CHARS
    touches: str | Callable[[Any], str] = ""
    source: str = field(default="Strata")  # who offers it: this application, a package, or an MCP server

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def fingerprint(self) -> str:
        """Of what a person who allows it relies on: who offers it, and what it says of itself."""
        said = [self.source, self.name, self.definition.description, self.definition.input_schema]
        return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()[:16]

    def asks_first(self, arguments: Any, context: ToolContext) -> bool:
        """Whether a person says yes before this call is made. ``arguments``: checked."""
        return (
            self.needs_approval(arguments, context) if callable(self.needs_approval) else self.needs_approval
        )

    def will_touch(self, arguments: Any) -> str:
        """For the person who is asked. ``arguments``: checked."""
        return self.touches(arguments) if callable(self.touches) else self.touches

    @classmethod
    def of(
        cls,
        name: str,
        description: str,
        arguments: type[BaseModel],
        run: Callable[[Any, ToolContext], ToolOutput],
        **marks: Any,  # the other fields of this class
    ) -> Self:
        """A tool whose JSON schema is that of its arguments."""
        schema = _without_titles(arguments.model_json_schema())
        return cls(
            definition=ToolDefinition(name=name, description=description, input_schema=schema),
            arguments=arguments,
            run=run,
            **marks,
        )

    def checked(self, arguments: Mapping[str, Any]) -> Any:
        """The arguments as the tool's own type (as they are for a tool without one).

        Raises pydantic's ``ValidationError``.
        """
        return self.arguments.model_validate(dict(arguments)) if self.arguments else dict(arguments)


def _without_titles(schema: Any) -> Any:  # JSON
    """Pydantic titles everything; a model reads the name beside it. (A property may be called so.)"""
    match schema:
        case dict():
            return {
                key: _without_titles(value)
                for key, value in schema.items()
                if key != "title" or not isinstance(value, str)
            }
        case list():
            return [_without_titles(item) for item in schema]
    return schema
