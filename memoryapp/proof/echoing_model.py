"""A model server that repeats what it is told wherever it may, so that what people say gets as far as it can.

It answers by how a message begins (``Cue``), writes titles, summaries and lessons in the words of what it read, and
keeps every request that it was sent.
"""

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from memoryapp.bench.serving import serving
from memoryapp.lifecycle import prompts
from memoryapp.proof.canaries import WORD_CHARS
from memoryapp.proof.note_server import SLUG as NOTE_SERVER
from memoryapp.proof.note_tool import NAME as NOTE_TOOL

_WORD: Final = re.compile(rf"\bzqx[a-z]{{{WORD_CHARS - 3}}}\b")
_RECALLED: Final = re.compile(r"<(recalled-memories)\b.*?</\1>\s*", re.DOTALL)
_USAGE: Final = {"input_tokens": 10, "output_tokens": 2}
_SUMMARY_LINE_CHARS: Final = 160
_ECHO_CHARS: Final = 300

Json = dict[str, Any]


class Cue(StrEnum):
    """How a message begins that wants more than an echo; the rest of its line is what it is about."""

    REMEMBER = "Remember that "
    FOR_LATER = "For later: "  # what the background finds worth keeping
    WORK_OUT = "Work out "  # four tools, the last of them the plan
    READ_NOTE = "Read the note "  # a tool whose result says what its arguments do not
    ASK_SERVER = "Ask the server for the letter "  # the same by a tool of an MCP server
    LOOK_UP = "Look up "  # every tool that reads memory
    LISTEN = "Just listen. "  # a reply that repeats nothing
    BREAK_OFF = "Break off at "  # the provider fails in the middle of its reply, quoting it


class EchoingModel:
    """The part of the Messages API that turns and background jobs need, on threads of its own."""

    def __init__(self) -> None:
        self._requests: list[bytes] = []
        self._server = _Server(("127.0.0.1", 0), _handler(self))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def asked(self) -> int:
        """How many requests came so far."""
        return len(self._requests)

    def requests(self, *, since: int = 0) -> Sequence[bytes]:
        """The bodies as they came, after the first ``since``."""
        return self._requests[since:]

    @contextmanager
    def serving(self) -> Iterator["EchoingModel"]:
        with serving(self._server, name="echoing-model"):
            yield self

    def keep(self, body: bytes) -> None:
        self._requests.append(body)


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_args: Any) -> None:
        """Silence: whoever asked may end before it is answered."""


def _handler(model: EchoingModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            model.keep(body)
            request = json.loads(body)
            if self.path.endswith("/count_tokens"):
                self._send("application/json", json.dumps({"input_tokens": 10}))
                return
            events = list(_answer(request))
            if events[0]["type"] == "error":
                self._send("application/json", json.dumps(events[0]), status=HTTPStatus.BAD_REQUEST)
                return
            self._send("text/event-stream", "".join(map(_frame, events)))

        def do_GET(self) -> None:
            """What it is asked about models; like most local servers it does not know."""
            self._send("application/json", "{}", status=HTTPStatus.NOT_FOUND)

        def log_message(self, *_args: Any) -> None:
            """Silence: the default writes a line per request."""

        def _send(self, content_type: str, text: str, *, status: HTTPStatus = HTTPStatus.OK) -> None:
            data = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler


def _answer(request: Json) -> Iterator[Json]:
    system, told = _text_of(request.get("system", "")), _told(request)
    if system.startswith(prompts.TITLE):
        if Cue.BREAK_OFF in told:
            return iter([_refusal(told)])
        return _reply(f"About {(_WORD.findall(told) or ['nothing'])[-1]}")
    if system.startswith(prompts.COMPACTION):
        return _reply(_summary(told))
    if system.startswith(prompts.EXPERIENCE):
        return _reply(_lesson(told))
    if system.startswith(prompts.EXTRACTION):
        return _reply("", calls=[("note_statements", {"statements": _statements(told)})])
    return _turn(request)


def _turn(request: Json) -> Iterator[Json]:
    """The next step of a reply: a call for each step that the message wants, then words."""
    said, done = _asked_now(request["messages"])
    said = _RECALLED.sub("", said)  # else each conversation would say what was told in every other
    cue, about = _cue_in(said)
    steps = _steps(cue, about, tools=[tool["name"] for tool in request.get("tools", ())])
    if len(done) < len(steps):
        return _reply("", calls=[steps[len(done)]])
    if cue == Cue.BREAK_OFF:
        return _broken_off(about)
    if cue == Cue.LISTEN:
        return _reply("I do.")
    return _reply(f"I see: {(about or said)[:_ECHO_CHARS]} {' '.join(done)[:_ECHO_CHARS]}".strip())


def _steps(cue: Cue | None, about: str, *, tools: Sequence[str]) -> Sequence[tuple[str, Json]]:
    match cue:
        case Cue.ASK_SERVER:
            return [(name, {"backwards": about}) for name in tools if name.startswith(f"mcp_{NOTE_SERVER}_")]
        case Cue.REMEMBER:
            return [("remember", {"statement": about, "kind": "preference", "quote": about})]
        case Cue.READ_NOTE:
            # Backwards, so that the note itself stands in the result alone.
            return [(NOTE_TOOL, {"backwards": about})]
        case Cue.WORK_OUT:
            return [
                ("calculate", {"expression": "6 * 7"}),
                ("search_conversations", {"query": about}),
                ("calculate", {"expression": "6 * 8"}),
                ("update_plan", {"todo": [about], "open_questions": [f"Is it {about}"]}),
            ]
        case Cue.LOOK_UP:
            return [
                ("recall", {"query": about}),
                ("list_facts", {"limit": 20}),
                ("list_facts", {"limit": 20, "order": "oldest"}),
                ("search_conversations", {"query": about, "limit": 10}),
            ]
        case _:
            return []


def _cue_in(said: str) -> tuple[Cue | None, str]:
    for line in said.splitlines():
        for cue in Cue:
            if line.startswith(cue) and cue != Cue.FOR_LATER:
                return cue, line.removeprefix(cue)
    return None, ""


def _asked_now(messages: Sequence[Json]) -> tuple[str, list[str]]:
    """The newest message of the person, and what the tools that were called since said."""
    results: list[str] = []
    for message in reversed(messages):
        blocks = _blocks(message["content"])
        told = [_text_of(block.get("content", "")) for block in blocks if block["type"] == "tool_result"]
        if message["role"] == "user" and not told:
            return _text_of(blocks), results
        results = told + results
    return "", results


def _statements(told: str) -> list[Json]:
    listed = told.partition("<messages>\n")[2].partition("\n</messages>")[0]
    return [
        {"message": message["message"], "quote": about, "statement": about, "kind": "preference"}
        for message in json.loads(listed or "[]")
        for line in message["text"].splitlines()
        if line.startswith(Cue.FOR_LATER) and (about := line.removeprefix(Cue.FOR_LATER))
    ]


def _summary(told: str) -> str:
    """The form that is asked for, in the words of what was told."""
    said = re.findall(r"^User: (.+)$", told, re.MULTILINE)
    before = re.findall(r"^- .+$", told.partition("</summary-so-far>")[0], re.MULTILINE)
    lines = dict.fromkeys([*before, *(f"- The user said: {line[:_SUMMARY_LINE_CHARS]}" for line in said)])
    return "\n".join(["## Goal", "- To talk", "## Facts and decisions", *lines])


def _lesson(told: str) -> str:
    task = json.loads(told.partition("<task>\n")[2].partition("\n</task>")[0])
    return json.dumps({"goal": task["goal"][:_ECHO_CHARS], "worked": "calculate", "avoid": ""})


def _told(request: Json) -> str:
    return "\n".join(_text_of(message["content"]) for message in request["messages"])


def _blocks(content: str | list[Json]) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _text_of(content: str | list[Json]) -> str:
    return "\n".join(block["text"] for block in _blocks(content) if block["type"] == "text")


def _reply(text: str, *, calls: Sequence[tuple[str, Json]] = ()) -> Iterator[Json]:
    yield _opening()
    blocks: list[tuple[Json, Json]] = []
    if text:
        blocks.append(({"type": "text", "text": ""}, {"type": "text_delta", "text": text}))
    for name, arguments in calls:
        call = {"type": "tool_use", "id": f"toolu_{next(_numbers)}", "name": name, "input": {}}
        blocks.append((call, {"type": "input_json_delta", "partial_json": json.dumps(arguments)}))
    for index, (block, delta) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop_reason = "tool_use" if calls else "end_turn"
    yield {"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": _USAGE}
    yield {"type": "message_stop"}


def _broken_off(about: str) -> Iterator[Json]:
    yield _opening()
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    delta = {"type": "text_delta", "text": f"I was about to say: {about}"}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield _refusal(about)


def _refusal(about: str) -> Json:
    """As providers refuse: by quoting what they do not like."""
    return {"type": "error", "error": {"type": "invalid_request_error", "message": f"messages.0: {about}"}}


def _opening() -> Json:
    message: Json = {
        "id": f"msg_{next(_numbers)}", "type": "message", "role": "assistant", "model": "echo", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": _USAGE,
    }  # fmt: skip
    return {"type": "message_start", "message": message}


def _frame(event: Json) -> str:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


_numbers = itertools.count(1)
