"""The entries of a JSON file one after another, each built only as far as somebody reads it."""

import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import ijson

from memoryapp.portability.importers.clean_bytes import CHUNK_BYTES, CleanBytes
from memoryapp.portability.importers.errors import UnreadableFileError
from memoryapp.portability.importers.values import Value

Events = Iterator[tuple[str, Any]]

# Products that wrap their list into an object use one of these.
LIST_KEYS: Final = frozenset({"results", "conversations", "chats", "data", "items", "memories"})
_OPENING: Final = frozenset({"start_map", "start_array"})
_CLOSING: Final = frozenset({"end_map", "end_array"})
# Of a value in memory besides its characters: the place in its container, a key's entry, an empty container.
_VALUE_BYTES: Final = 64


class Unbuilt(Enum):
    """An entry that was not built, for it would take more memory than one may."""

    TOO_LARGE = "too_large"


@dataclass(slots=True)
class _Budget:
    left: int


def entries(stream: CleanBytes, *, unread: Collection[str], entry_bytes: int) -> Iterator[Value | Unbuilt]:
    """The elements of the list that the file is, or that one of ``LIST_KEYS`` holds; else the whole as one entry.

    Memory is bounded by ``entry_bytes``, counted as Python objects take it. Values under keys in ``unread`` are passed
    over wherever they stand. Raises ``UnreadableFileError`` where the JSON ends or stops being JSON.
    """
    events: Events = ijson.basic_parse(stream, buf_size=CHUNK_BYTES)
    try:
        event, scalar = next(events)
        if event == "start_array":
            yield from _elements(events, unread, entry_bytes)
        elif event == "start_map":
            yield from _in_object(events, unread, entry_bytes)
        else:
            yield scalar
        for _ in events:  # what follows the end would be an error, so look
            pass
    # Numbers that Python refuses to read (thousands of digits) are ValueErrors and ArithmeticErrors.
    except (ijson.JSONError, ValueError, ArithmeticError) as error:
        raise UnreadableFileError from error


def _elements(events: Events, unread: Collection[str], entry_bytes: int) -> Iterator[Value | Unbuilt]:
    for event, scalar in events:
        if event == "end_array":
            return
        yield _built(event, scalar, events, unread, _Budget(entry_bytes))


def _in_object(events: Events, unread: Collection[str], entry_bytes: int) -> Iterator[Value | Unbuilt]:
    whole: dict[str, Any] = {}
    budget = _Budget(entry_bytes)
    has_list = is_too_large = False
    for event, key in events:
        if event == "end_map":
            break
        opening, scalar = next(events)
        if opening == "start_array" and key in LIST_KEYS:
            has_list = True
            yield from _elements(events, unread, entry_bytes)
        elif key in unread:
            _pass_over(opening, events)
        else:
            budget.left -= _VALUE_BYTES + len(key)
            whole[key] = _built(opening, scalar, events, unread, budget)
            if budget.left < 0:
                is_too_large = True
                whole.clear()
    if is_too_large:
        yield Unbuilt.TOO_LARGE
    elif whole and not has_list:
        yield whole


def _built(
    event: str, scalar: Any, events: Events, unread: Collection[str], budget: _Budget
) -> Value | Unbuilt:
    """The value that begins with ``event``, without recursion: it may be nested as deep as the file is long."""
    if event not in _OPENING:
        budget.left -= sys.getsizeof(scalar)
        return scalar if budget.left >= 0 else Unbuilt.TOO_LARGE
    root: Value = _container(event)
    within: list[Any] = [root]
    key = ""
    while within:
        event, scalar = next(events)
        if event in _CLOSING:
            within.pop()
        elif event == "map_key":
            key = scalar
            budget.left -= len(key)
            if key in unread:
                _pass_over(next(events)[0], events)
        else:
            value = _container(event) if event in _OPENING else scalar
            budget.left -= _VALUE_BYTES + (sys.getsizeof(scalar) if event == "string" else 0)
            if budget.left < 0:
                _pass_over(event, events, depth=len(within))
                return Unbuilt.TOO_LARGE
            _put(value, key, within[-1])
            if event in _OPENING:
                within.append(value)
    return root


def _container(event: str) -> Any:
    return {} if event == "start_map" else []


def _put(value: Any, key: str, container: Any) -> None:
    if type(container) is dict:
        container[key] = value
    else:
        container.append(value)


def _pass_over(event: str, events: Events, *, depth: int = 0) -> None:
    """Read to the end of the value that ``event`` begins, or of ``depth`` containers that are open."""
    depth += event in _OPENING
    while depth:
        event, _ = next(events)
        depth += (event in _OPENING) - (event in _CLOSING)
