"""The shape of each JSON column in an archive: what the pages, the API and a resumed run rely on.

Nothing is changed by it: what fits is stored as it stands in the file.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter

from memoryapp.llm import messages_json
from memoryapp.llm.base import ModelMessage
from memoryapp.portability.tables import NUMBERED

# Of values in values: pages print them with a function that calls itself.
MAX_DEPTH: Final = 64
MOST: Final = 10**12  # of any number: more is no count, no time and no price
_NAMES: Final = "|".join(table.name for table in NUMBERED)

Number = Annotated[float, Field(ge=-MOST, le=MOST)]
Allowance = Annotated[float, Field(ge=0, le=MOST)]
# As ``local_ids`` writes it, or of what is in no archive.
Id = Annotated[
    str,
    StringConstraints(
        pattern=rf"^(⟦({_NAMES}):[1-9][0-9]{{0,8}}⟧|[0-9a-f]{{8}}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}})$"
    ),
]


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class PadFact(Shape):
    key: str
    value: str
    source: str


class PadFailure(Shape):
    call: str
    why: str


class Pad(Shape):
    """As ``scratchpad.pad`` reads it; records of before there were the last two lack them."""

    goal: str
    facts: list[PadFact]
    done: list[str]
    todo: list[str]
    failed: list[PadFailure]
    open_questions: list[str]
    struck: list[str] = []
    may_retry: list[str] = []


class Section(Shape):
    name: str
    tokens: Annotated[int, Field(ge=-MOST, le=MOST)]
    cached: bool


class Recalled(Shape):
    memory_id: Id | None = None
    message_id: Id | None = None
    experience_id: Id | None = None
    arms: dict[str, Number | None]
    confidence: Number | None
    score: Number
    included: bool
    reason: str


_MESSAGE: Final = TypeAdapter(ModelMessage)


def _is_delta(value: Any) -> None:
    """As a run that goes on reads it. What is no message raises whatever reading it raises."""
    for data in TypeAdapter(list[dict[str, Any]]).validate_python(value, strict=True):
        message = messages_json.from_json(data)
        _MESSAGE.validate_json(json.dumps(asdict(message)), strict=True)


_OBJECT: Final = TypeAdapter(dict[str, Any]).validate_python
_LIMITS: Final = TypeAdapter(
    dict[Literal["model_calls", "tokens", "seconds", "usd"], Allowance], config=ConfigDict(strict=True)
)
SHAPES: Final[Mapping[tuple[str, str], Callable[[Any], object]]] = {
    ("run", "pad"): Pad.model_validate,
    ("run", "limits"): _LIMITS.validate_python,
    ("step", "arguments"): _OBJECT,
    ("approval", "arguments"): _OBJECT,
    ("checkpoint", "delta"): _is_delta,
    ("experience", "tools"): TypeAdapter(list[str]).validate_python,
    ("snapshot", "sections"): TypeAdapter(list[Section]).validate_python,
    ("snapshot", "recalled"): TypeAdapter(list[Recalled]).validate_python,
}


def has_its_shape(table: str, column: str, value: Any) -> bool:
    try:
        if _is_too_deep(value):
            return False
        SHAPES[table, column](value)
    except (ValueError, TypeError, KeyError, AttributeError):  # pydantic's errors are ValueErrors
        return False
    return True


def _is_too_deep(value: Any) -> bool:
    ahead = [value]
    for _ in range(MAX_DEPTH):
        ahead = [inner for one in ahead for inner in _within(one)]
    return bool(ahead)


def _within(value: Any) -> list[Any]:
    match value:
        case dict():
            return list(value.values())
        case list():
            return value
    return []
