"""A strict Messages API on 127.0.0.1, in a thread or as a process, that says what it is told to say."""

import asyncio
import itertools
import json
import threading
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.modelserver import rules, thinking
from tests.modelserver.counting import PromptCache, count_output, count_prompt
from tests.modelserver.http import HangupError, PeerWatch, Request, Response, serve_connection
from tests.modelserver.models import Model, find_model, known_models
from tests.modelserver.personas import PERSONAS, newest_user_text
from tests.modelserver.rules import RefusalError
from tests.modelserver.steps import Json, Step, shortened, stream_events

_SSE = (("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache"))


@dataclass(slots=True)
class Captured:
    """One request as it arrived. ``status`` is what it was answered with; 0 while it is being answered."""

    method: str
    path: str
    headers: dict[str, str]
    body: Json
    status: int = 0
    sent_bytes: int = 0  # of the answer's body
    is_abandoned: bool = False  # the client hung up before the answer was complete


class _Gate:
    """Where a response waits until a test lets it go on."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.reached = asyncio.Event()


class _Service:
    """The server's state and endpoints; everything here runs in one event loop."""

    def __init__(self, *, api_key: str | None, persona: str) -> None:
        self.api_key = api_key
        self.persona = persona
        self.requests: list[Captured] = []
        self.steps: list[Step] = []
        self.open_streams = 0
        self._streams_changed = asyncio.Condition()
        self._gates: dict[str, _Gate] = {}
        self._cache = PromptCache()
        self._issued = rules.IssuedThinking()
        self._ids = itertools.count(1)

    def gate(self, name: str) -> _Gate:
        return self._gates.setdefault(name, _Gate())

    def open_gate(self, name: str) -> None:
        self.gate(name).opened.set()

    def reset(self) -> None:
        self.requests.clear()
        self.steps.clear()
        self._gates.clear()

    async def handle(self, request: Request, response: Response, watch: PeerWatch) -> None:
        path = urlsplit(request.path).path
        if path.startswith("/control/"):
            await self._control(request, response)
            return
        captured = Captured(request.method, path, request.headers, {})
        self.requests.append(captured)
        request_id = f"req_{next(self._ids):06}"
        try:
            await self._answer(request, captured, response, watch, request_id)
        except RefusalError as refusal:
            captured.status = refusal.status
            error = {"type": refusal.kind, "message": refusal.message}
            body = {"type": "error", "error": error, "request_id": request_id}
            await response.send_json(refusal.status, body, (("request-id", request_id),))
        except (HangupError, OSError):
            captured.is_abandoned = True
            raise

    async def _answer(
        self, request: Request, captured: Captured, response: Response, watch: PeerWatch, request_id: str
    ) -> None:
        self._check_key(request.headers)
        rules.check_version(request.headers.get("anthropic-version"))
        if request.method == "GET" and captured.path.startswith("/v1/models"):
            captured.status = 200
            await response.send_json(200, _models(captured.path.removeprefix("/v1/models").strip("/")))
            return
        if request.method != "POST" or captured.path not in ("/v1/messages", "/v1/messages/count_tokens"):
            raise RefusalError("Not found", status=404, kind="not_found_error")
        captured.body = body = _parse(request.body)
        model = find_model(body.get("model"))
        if "model" in body and model is None:
            raise RefusalError(f"model: {body['model']}", status=404, kind="not_found_error")
        if model is None:
            raise RefusalError("model: Field required")
        is_count = captured.path.endswith("/count_tokens")
        rules.check_request(body, model, self._issued, is_count=is_count)
        captured.status = 200
        if is_count:
            await response.send_json(200, {"input_tokens": count_prompt(body)})
            return
        call = _Call(self, body, model, captured, response, watch, request_id)
        await call.answer(self._next_step(body))

    def _check_key(self, headers: dict[str, str]) -> None:
        bearer = headers.get("authorization", "").removeprefix("Bearer ").strip()
        key = headers.get("x-api-key") or bearer
        if not key:
            raise RefusalError("x-api-key header is required", status=401, kind="authentication_error")
        if self.api_key is not None and key != self.api_key:
            raise RefusalError("invalid x-api-key", status=401, kind="authentication_error")

    def _next_step(self, body: Json) -> Step:
        words = newest_user_text(body)
        for index, step in enumerate(self.steps):
            if step.matches(body, words):
                return self.steps.pop(index)
        return PERSONAS[self.persona](body)

    def finish(self, body: Json, model: Model, step: Step) -> Json:
        """The whole message that ``step`` makes: ids, signatures, usage, and cut off where its tokens end."""
        usage = self._cache.usage(body, min_tokens=model.min_cache_tokens)
        prompt_tokens = sum(usage.values())
        room = model.window_tokens - prompt_tokens
        blocks = self._completed(body, model, step)
        stop_reason = step.stop_reason or (
            "tool_use" if any(b["type"] == "tool_use" for b in blocks) else "end_turn"
        )
        budget = min(body["max_tokens"], room)
        if count_output(blocks) > budget:
            blocks = shortened(blocks, budget, count_output)
            is_out_of_window = room < body["max_tokens"]
            stop_reason = "model_context_window_exceeded" if is_out_of_window else "max_tokens"
        self._note_thinking(blocks)
        return {
            "id": f"msg_{next(self._ids):06}",
            "type": "message",
            "role": "assistant",
            "model": model.id,
            "content": blocks,
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "usage": {**usage, "output_tokens": count_output(blocks)},
        }

    def _completed(self, body: Json, model: Model, step: Step) -> list[Json]:
        prefix = thinking.prefix_digest(body, rules.merge(body["messages"]))
        display = (body.get("thinking") or {}).get(
            "display", "omitted" if model.is_thinking_hidden else "summarized"
        )
        completed = []
        for block in step.blocks:
            if block["type"] == "thinking":
                shown = "" if display == "omitted" else block["thinking"]
                completed.append(
                    {**block, "thinking": shown, "signature": thinking.sign(shown, prefix=prefix)}
                )
            elif block["type"] == "tool_use":
                completed.append({"id": f"toolu_{next(self._ids):06}", **block})
            else:
                completed.append(block)
        return completed

    def _note_thinking(self, blocks: list[Json]) -> None:
        thoughts = [block for block in blocks if block["type"] in ("thinking", "redacted_thinking")]
        for block in blocks:
            if block["type"] == "tool_use" and thoughts:
                self._issued.by_tool_use_id[block["id"]] = thoughts

    # Control: for tests in another process, which reach the server only by its address.

    async def _control(self, request: Request, response: Response) -> None:
        parts = urlsplit(request.path)
        verb, _, argument = parts.path.removeprefix("/control/").partition("/")
        argument = unquote(argument)
        value: Any = {"ok": True}
        match verb, request.method:
            case "script", "POST":
                self.steps += [Step.from_json(step) for step in json.loads(request.body)]
            case "requests", "GET":
                value = [_as_json(captured) for captured in self.requests]
            case "state", "GET":
                value = {"open_streams": self.open_streams, "steps": len(self.steps), "persona": self.persona}
            case "persona", "POST" if argument in PERSONAS:
                self.persona = argument
            case "release", "POST":
                self.open_gate(argument)
            case "held", "GET":
                value = {"held": await self.is_held(argument, _timeout_s(parts.query))}
            case "streams", "GET":
                value = {"reached": await self.reaches(int(argument), _timeout_s(parts.query))}
            case "reset", "POST":
                self.reset()
            case _:
                await response.send_json(404, {"error": f"no control {verb}/{argument}"})
                return
        await response.send_json(200, value)

    async def is_held(self, gate: str, timeout_s: float) -> bool:
        return await _within(timeout_s, self.gate(gate).reached.wait())

    async def reaches(self, streams: int, timeout_s: float) -> bool:
        async def reached() -> None:
            async with self._streams_changed:
                await self._streams_changed.wait_for(lambda: self.open_streams == streams)

        return await _within(timeout_s, reached())

    @asynccontextmanager
    async def open_stream(self) -> AsyncIterator[None]:
        await self._count_streams(1)
        try:
            yield
        finally:
            await self._count_streams(-1)

    async def _count_streams(self, change: int) -> None:
        async with self._streams_changed:
            self.open_streams += change
            self._streams_changed.notify_all()


@dataclass(slots=True)
class _Call:
    """One call of ``/v1/messages`` being answered."""

    service: _Service
    body: Json
    model: Model
    captured: Captured
    response: Response
    watch: PeerWatch
    request_id: str

    async def answer(self, step: Step) -> None:
        async with self.service.open_stream():
            if step.gate is not None and step.hold_at is None:
                await self._hold(step.gate)
            if step.drop:
                raise HangupError
            if step.failure is not None:
                self.captured.status = step.failure.status
                headers = (*step.failure.headers, ("request-id", self.request_id))
                body = {**step.failure.body(), "request_id": self.request_id}
                await self.response.send_json(step.failure.status, body, headers)
                return
            await self._send(step, self.service.finish(self.body, self.model, step))

    async def _send(self, step: Step, message: Json) -> None:
        is_stream = self.body.get("stream") is True
        headers = _SSE if is_stream else (("content-type", "application/json"),)
        await self.response.begin(200, (*headers, ("request-id", self.request_id)))
        room = step.cut_after_bytes
        for chunk in await self._chunks(step, message, is_stream=is_stream):
            if isinstance(chunk, str):
                await self._hold(chunk)
                continue
            if step.event_delay_s:
                await self.watch.run(asyncio.sleep(step.event_delay_s))
            sent = chunk if room is None else chunk[: room - self.captured.sent_bytes]
            await self.response.write(sent)
            self.captured.sent_bytes += len(sent)
            if self.captured.sent_bytes == room:
                raise HangupError
        await self.response.end()

    async def _chunks(self, step: Step, message: Json, *, is_stream: bool) -> list[bytes | str]:
        """The body in pieces; a string is the name of a gate to wait at."""
        if step.raw is not None:
            return [step.raw.encode()]
        if not is_stream:
            whole = {**message, "content": [_without_partial(block) for block in message["content"]]}
            return [json.dumps(whole, ensure_ascii=False).encode()]
        events = stream_events(message, chunk_chars=step.chunk_chars, omit_stop_reason=step.omit_stop_reason)
        pieces: list[bytes | str] = list(itertools.islice(events, step.end_at))
        if step.error_event is not None:
            failure = json.dumps(step.error_event.body()).encode()
            pieces = [*pieces[: step.error_at], b"event: error\ndata: " + failure + b"\n\n"]
        if step.gate is not None and step.hold_at is not None:
            pieces.insert(step.hold_at, step.gate)
        return pieces

    async def _hold(self, name: str) -> None:
        gate = self.service.gate(name)
        gate.reached.set()
        await self.watch.run(gate.opened.wait())


async def _within(timeout_s: float, waiting: Awaitable[object]) -> bool:
    try:
        await asyncio.wait_for(waiting, timeout_s)
    except TimeoutError:
        return False
    return True


def _timeout_s(query: str) -> float:
    return float(parse_qs(query)["timeout_s"][0])


def _without_partial(block: Json) -> Json:
    return {key: value for key, value in block.items() if key != "partial_json"}


def _parse(body: bytes) -> Json:
    if len(body) > rules.MAX_BODY_BYTES:  # rule 3
        raise RefusalError("Request exceeds the maximum size", status=413, kind="request_too_large")
    try:
        parsed = json.loads(body)
    except ValueError:
        raise RefusalError("The request body is not valid JSON") from None
    if not isinstance(parsed, dict):
        raise RefusalError("Input should be a valid dictionary")
    return parsed


def _models(name: str) -> Json:
    if not name:
        data = [model.info() for model in known_models()]
        return {"data": data, "has_more": False, "first_id": data[0]["id"], "last_id": data[-1]["id"]}
    model = find_model(unquote(name))
    if model is None:
        raise RefusalError(f"model: {name}", status=404, kind="not_found_error")
    return model.info()


def _as_json(captured: Captured) -> Json:
    return {name: getattr(captured, name) for name in Captured.__slots__}


class ModelServer:
    """The server in a thread of this process. Use as a context manager; every method may be called from any
    thread.
    """

    def __init__(
        self, *, api_key: str | None = None, persona: str = "echo", host: str = "127.0.0.1", port: int = 0
    ) -> None:
        self._service = _Service(api_key=api_key, persona=persona)
        self._address = (host, port)
        self._loop = asyncio.new_event_loop()
        self._is_up = threading.Event()
        self._thread = threading.Thread(target=self._run, name="modelserver", daemon=True)
        self._accepted = 0
        self.url = ""

    def __enter__(self) -> "ModelServer":
        self._thread.start()
        self._is_up.wait()
        if not self.url:
            self._thread.join()
            raise OSError(f"cannot listen at {self._address}")
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    def script(self, *steps: Step) -> None:
        """Answer the next matching calls with ``steps``, in order."""
        self._call(partial(self._service.steps.extend, steps))

    @property
    def requests(self) -> list[Captured]:
        """All requests so far, refused ones included, as copies."""
        return self._call(lambda: [replace(captured) for captured in self._service.requests])

    @property
    def calls(self) -> list[Captured]:
        """Those of ``requests`` that asked for a reply."""
        return [captured for captured in self.requests if captured.path == "/v1/messages"]

    @property
    def open_streams(self) -> int:
        return self._call(lambda: self._service.open_streams)

    @property
    def connections(self) -> int:
        """Connections accepted so far."""
        return self._accepted

    def use_persona(self, name: str) -> None:
        self._call(partial(setattr, self._service, "persona", name))

    def release(self, gate: str) -> None:
        """Let the responses go on that wait at ``gate``, now and later."""
        self._call(partial(self._service.open_gate, gate))

    def wait_until_held(self, gate: str, timeout_s: float = 10.0) -> None:
        """Return once a response waits at ``gate``; ``TimeoutError`` when none does."""
        held = asyncio.run_coroutine_threadsafe(self._service.is_held(gate, timeout_s), self._loop)
        if not held.result():
            raise TimeoutError(f"nothing waits at {gate}")

    def wait_until_streams(self, count: int, timeout_s: float = 10.0) -> None:
        """Return once exactly ``count`` calls are being answered, else raise ``TimeoutError``."""
        reached = asyncio.run_coroutine_threadsafe(self._service.reaches(count, timeout_s), self._loop)
        if not reached.result():
            raise TimeoutError(f"not {count} open streams but {self.open_streams}")

    def reset(self) -> None:
        """Forget scripts, gates and captured requests; the prompt cache stays."""
        self._call(self._service.reset)

    def _call(self, function: Any) -> Any:
        async def run() -> Any:
            return function()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._is_up.set()
            self._loop.close()

    async def _serve(self) -> None:
        self._stopping = asyncio.Event()
        connections: set[asyncio.Task[None]] = set()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._accepted += 1
            task = asyncio.ensure_future(serve_connection(reader, writer, self._service.handle))
            connections.add(task)
            task.add_done_callback(connections.discard)

        host, port = self._address
        server = await asyncio.start_server(accept, host, port, backlog=512)
        self.url = f"http://{host}:{server.sockets[0].getsockname()[1]}"
        self._is_up.set()
        await self._stopping.wait()
        server.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
