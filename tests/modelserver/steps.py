"""What the server is told to answer: steps, the words to write them with, and their form on the wire."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Failure:
    status: int
    kind: str
    message: str = "scripted"
    headers: tuple[tuple[str, str], ...] = ()
    error_code: str | None = None

    def body(self) -> Json:
        details = {"details": {"error_code": self.error_code}} if self.error_code else {}
        return {"type": "error", "error": {"type": self.kind, "message": self.message, **details}}


@dataclass(frozen=True, slots=True)
class Step:
    """One answer to one call of ``/v1/messages``.

    ``model`` and ``contains`` (in the newest user text) keep a step for the call it is meant for. Positions
    count SSE events; ``None`` means never. ``hold_at=None`` with a ``gate`` holds before the response's
    headers.
    """

    blocks: tuple[Json, ...] = ()
    stop_reason: str | None = None  # None: tool_use after a tool call, else end_turn
    failure: Failure | None = None  # answered instead of a reply
    error_event: Failure | None = None
    error_at: int = 0
    gate: str | None = None
    hold_at: int | None = None
    event_delay_s: float = 0.0
    cut_after_bytes: int | None = None  # of the body; the socket is then reset
    drop: bool = False  # hang up without any answer
    end_at: int | None = None  # a clean end of the body before this event
    omit_stop_reason: bool = False
    raw: str | None = None  # this body, whatever it is
    chunk_chars: int = 8
    model: str | None = None
    contains: str | None = None

    def matches(self, body: Json, newest_user_text: str) -> bool:
        return (self.model is None or self.model == body.get("model")) and (
            self.contains is None or self.contains in newest_user_text
        )

    def as_json(self) -> Json:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Json) -> "Step":
        fields = dict(data)
        for name in ("failure", "error_event"):
            if fields.get(name):
                headers = tuple((key, value) for key, value in fields[name].get("headers", ()))
                fields[name] = Failure(**{**fields[name], "headers": headers})
        fields["blocks"] = tuple(fields.get("blocks", ()))
        return cls(**fields)


def reply(*blocks: str | Json, **options: Any) -> Step:
    """A reply of text (strings) and other blocks; ``options`` are those of ``Step``."""
    return Step(blocks=tuple(text(block) if isinstance(block, str) else block for block in blocks), **options)


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def thinks(thought: str) -> Json:
    return {"type": "thinking", "thinking": thought}


def redacted(data: str) -> Json:
    return {"type": "redacted_thinking", "data": data}


def calls(
    name: str, *, tool_use_id: str | None = None, partial_json: str | None = None, **arguments: Any
) -> Json:
    """A tool call. ``partial_json`` is streamed in place of the arguments, to be damaged or cut short."""
    block = {"type": "tool_use", "name": name, "input": arguments}
    if tool_use_id is not None:
        block["id"] = tool_use_id
    if partial_json is not None:
        block["partial_json"] = partial_json
    return block


def fails(
    status: int, kind: str, message: str = "scripted", *, error_code: str | None = None, **headers: str
) -> Step:
    """An HTTP error; ``headers`` with ``_`` for ``-`` (``retry_after="2"``)."""
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Step(failure=Failure(status, kind, message, named, error_code))


def sse(kind: str, **data: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data}, ensure_ascii=False)}\n\n".encode()


def stream_events(message: Json, *, chunk_chars: int, omit_stop_reason: bool = False) -> Iterator[bytes]:
    """The events that stream ``message``, a finished reply."""
    start_usage = {**message["usage"], "output_tokens": 1}
    opening = {**message, "content": [], "stop_reason": None, "usage": start_usage}
    yield sse("message_start", message=opening)
    yield sse("ping")
    for index, block in enumerate(message["content"]):
        yield sse("content_block_start", index=index, content_block=_opened(block))
        for delta in _deltas(block, chunk_chars):
            yield sse("content_block_delta", index=index, delta=delta)
        yield sse("content_block_stop", index=index)
    if not omit_stop_reason:
        stopped = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        yield sse("message_delta", delta=stopped, usage={"output_tokens": message["usage"]["output_tokens"]})
    yield sse("message_stop")


def _opened(block: Json) -> Json:
    match block["type"]:
        case "text":
            return {"type": "text", "text": ""}
        case "thinking":
            return {"type": "thinking", "thinking": "", "signature": ""}
        case "tool_use":
            return {"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}}
        case _:
            return block


def _deltas(block: Json, size: int) -> Iterator[Json]:
    match block["type"]:
        case "text":
            yield from ({"type": "text_delta", "text": part} for part in _split(block["text"], size))
        case "thinking":
            for part in _split(block["thinking"], size):
                yield {"type": "thinking_delta", "thinking": part}
            yield {"type": "signature_delta", "signature": block["signature"]}
        case "tool_use":
            said = block.get("partial_json", json.dumps(block["input"], ensure_ascii=False))
            yield {"type": "input_json_delta", "partial_json": ""}
            yield from ({"type": "input_json_delta", "partial_json": part} for part in _split(said, size))


def _split(whole: str, size: int) -> Iterator[str]:
    return (whole[start : start + size] for start in range(0, len(whole), max(1, size)))


def shortened(blocks: list[Json], max_tokens: int, count: Any) -> list[Json]:
    """``blocks`` cut off where ``max_tokens`` of output end, as the API cuts: in the middle of a tool call,
    too.
    """
    kept: list[Json] = []
    for block in blocks:
        room = max_tokens - (count(kept) if kept else 0)
        if room <= 0:
            break
        kept.append(block if count([block]) <= room else _cut(block, room))
    return kept


def _cut(block: Json, room: int) -> Json:
    characters = 4 * room
    if block["type"] == "tool_use":
        return {**block, "partial_json": json.dumps(block["input"], ensure_ascii=False)[:characters]}
    return {**block, "text": block["text"][:characters]} if block["type"] == "text" else block
