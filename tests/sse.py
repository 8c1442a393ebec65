"""What the readers of an event stream do: parse it by the standard, and apply the frames that are meant for a page."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_PARTIAL = re.compile(r'<hx-partial hx-target="#([^"]+)" hx-swap="([^"]+)">(.*?)</hx-partial>', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Message:
    id: str
    event: str
    data: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.data)


def parse(stream: str) -> list[Message]:
    return list(messages(_LINE_BREAK.split(stream)))


def messages(lines: Iterable[str]) -> Iterator[Message]:
    """The messages of a stream of lines without their breaks; comments are passed over, as by a browser."""
    last_id, event, data = "", "message", []
    for line in lines:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if data:
                yield Message(last_id, event, "\n".join(data))
            event, data = "message", []
        elif name == "id":
            last_id = value
        elif name == "event":
            event = value
        elif name == "data":
            data.append(value)


def text_of(received: Iterable[Message]) -> str:
    """The reply that a program has when it follows ``start`` and ``text``."""
    text = ""
    for message in received:
        text = "" if message.json["type"] == "start" else text + message.json.get("delta", "")
    return text


@dataclass(slots=True)
class Page:
    """The elements that frames change, by id."""

    elements: dict[str, str] = field(default_factory=dict)

    def apply(self, received: Iterable[Message]) -> "Page":
        for message in received:
            for target, swap, html in _PARTIAL.findall(message.data):
                before = self.elements.get(target, "") if swap == "beforeend" else ""
                self.elements[target] = before + html
        return self

    def reply(self, turn_id: object) -> str:
        return self.elements.get(f"turn-{turn_id}-body", "") + self.elements.get(f"turn-{turn_id}-tail", "")
