"""Server-sent events of a turn, for the browser (HTML) and for programs (JSON).

The only asynchronous code of the application. It reads Redis alone: the caller has let go of every database
connection before the first byte, so that an open stream costs none.
"""

import asyncio
import json
import logging
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from uuid import UUID

from django.conf import settings
from django.db import connections
from django.http import StreamingHttpResponse
from django.template.loader import render_to_string
from django.utils.translation import get_language, gettext_noop, override
from redis.exceptions import RedisError

from chat import events
from chat.rendering import LiveRendering, render_markdown
from chat.tool_words import live_word, tool_name
from chat.waiting_presentation import WAIT_PREFIX, wait_id
from memoryapp.conf import get_conf
from memoryapp.inspector.stored_texts import activity_text
from memoryapp.transcript.models import Turn

logger = logging.getLogger(__name__)

FRAME_INTERVAL_S = 0.08  # about twelve frames a second read as fluent
HEARTBEAT = ": still here\n\n"
RETRY_LATER = f"retry: 2000\n{HEARTBEAT}"
THINKING = gettext_noop("Thinking")
WRITING = gettext_noop("Writing")
_LINE_BREAK = re.compile(r"\r\n|\r|\n")  # those of the event stream's grammar


def sse_response(body: AsyncIterator[str]) -> StreamingHttpResponse:
    """The one way to stream: no held connection, no buffering by proxies, no transformation by middleware."""
    connections.close_all()
    response = StreamingHttpResponse(body, content_type="text/event-stream")
    response["Cache-Control"] = "no-cache, no-store, no-transform"
    response["X-Accel-Buffering"] = "no"
    response["Content-Encoding"] = "identity"
    return response


def json_events(turn: Turn, *, after: str) -> AsyncIterator[str]:
    """``id:`` and ``data: {type, …}`` per event, then ``event: end``."""
    return _to_the_end(_json_frames(turn.id, attempt=_expected_attempt(turn), after=after))


def html_frames(turn: Turn, *, seen: str = "") -> AsyncIterator[str]:
    """The reply as ``<hx-partial>`` frames: the first one replaces, later ones append finished blocks.

    Each connection replays from the start, so that a reload, a second tab and a reconnect show the same text. A turn
    that waits is not replayed, it is shown as it stands; ``seen``: the last id the page has, which for a wait is that
    of the wait. A page that shows it already is left alone, with what its reader is typing there.
    """
    page = _LivePage(turn.id, wait_shown=seen if seen.startswith(WAIT_PREFIX) else "")
    now = wait_id(turn)
    opening = page.opening_frame(turn) if now != page.wait_shown else ""
    attempt = turn.attempt + 1 if now else _expected_attempt(turn)
    return _to_the_end(_html_frames(page, attempt=attempt, opening=opening))


def _expected_attempt(turn: Turn) -> int:
    """The one whose events are awaited; what earlier ones may still write is not for the reader."""
    return turn.attempt + 1 if turn.status == Turn.Status.QUEUED else turn.attempt


async def _to_the_end(frames: AsyncGenerator[str, None]) -> AsyncIterator[str]:
    """``frames`` until ``end``, a failure or ``stream_seconds``: each way the response itself ends well.

    A body that breaks off would look like a lost network; after a whole one the client reconnects and resumes.
    """
    ends_at = time.monotonic() + get_conf().stream_seconds
    async with aclosing(frames):
        try:
            async for frame in frames:
                yield frame
                if time.monotonic() > ends_at:
                    return
        except RedisError:
            yield RETRY_LATER
        except Exception:  # the edge of the response
            logger.exception("A stream failed")
            yield RETRY_LATER


async def _json_frames(turn_id: UUID, *, attempt: int, after: str) -> AsyncGenerator[str, None]:
    async with aclosing(events.tail(turn_id, attempt=attempt, after=after)) as batches:
        async for entries in batches:
            yield "".join(map(_json_frame, entries)) or HEARTBEAT


async def _html_frames(page: "_LivePage", *, attempt: int, opening: str) -> AsyncGenerator[str, None]:
    if opening:
        yield opening
    async with aclosing(events.tail(page.turn_id, attempt=attempt)) as batches:
        async for entries in batches:
            for entry in entries:
                page.take(entry)
            yield page.frame() if entries else HEARTBEAT
            if page.has_ended:
                yield f"event: end\ndata: {page.status}\n\n"
            await asyncio.sleep(FRAME_INTERVAL_S)


async def ended_events(happened: Sequence[events.Event]) -> AsyncIterator[str]:
    """``json_events`` of a turn that is over; its ids let a resumed reader see that it has everything."""
    for number, event in enumerate(happened, start=1):
        yield _json_frame(events.Entry(f"0-{number}", event))


async def ended(status: str) -> AsyncIterator[str]:
    """The stream of a turn that was over before anyone connected."""
    yield f"event: end\ndata: {json.dumps({'type': 'end', 'status': status})}\n\n"


class _LivePage:
    """What one reader's page shows, and what must change in it next."""

    def __init__(self, turn_id: UUID, *, wait_shown: str) -> None:
        self.turn_id = turn_id
        self.wait_shown = wait_shown
        self.status = ""
        self.last_id = ""
        self._id = f"turn-{turn_id}"
        self._language = get_language() or settings.LANGUAGE_CODE  # of the request; frames are made after it
        self._activity = THINKING
        self._tools: dict[str, dict[str, str]] = {}
        self._shown_activity = ""
        self._is_fresh = True
        self._attempt = 0
        self._is_card_stale = False
        self._rendering = LiveRendering()

    @property
    def has_ended(self) -> bool:
        return bool(self.status)

    def take(self, entry: events.Entry) -> None:
        event = entry.event
        self.last_id = entry.id
        match event["type"]:
            case "start":
                self._rendering = LiveRendering()
                self._tools = {}
                self._activity = THINKING
                self._is_fresh = True
                self._attempt = event["attempt"]
                self._is_card_stale, self.wait_shown = bool(self.wait_shown), ""
            case "waiting":
                self._activity = event["text"]
                self._is_card_stale, self.wait_shown = True, f"{WAIT_PREFIX}{self._attempt}"
            case "text":
                self._rendering.feed(event["delta"])
                self._activity = WRITING
            case "activity":
                self._activity = event["text"]
            case "tool":
                self._tools[event["tool_use_id"]] = {
                    "name": event["name"],
                    "status": event["status"],
                }
            case "end":
                self.status = event["status"]

    def frame(self) -> str:
        with override(self._language):
            return self._frame()

    def _frame(self) -> str:
        frame = self._rendering.take_frame()
        body = "".join(frame.committed_html)
        parts = []
        if body or self._is_fresh:
            parts.append(_partial(f"{self._id}-body", "innerHTML" if self._is_fresh else "beforeend", body))
        parts.append(_partial(f"{self._id}-tail", "innerHTML", frame.tail_html))
        activity = self._activity_html()
        if activity != self._shown_activity:
            parts.append(_partial(f"{self._id}-activity", "innerHTML", activity))
        if self._is_card_stale:
            parts.append(self._card())
        self._is_fresh, self._is_card_stale, self._shown_activity = False, False, activity
        return f"id: {self.wait_shown or self.last_id}\n{_data(''.join(parts))}\n\n"

    def opening_frame(self, turn: Turn) -> str:
        """For a page that does not know yet that the turn waits, or that it does not wait any more."""
        self.wait_shown = wait_id(turn)
        parts = [self._card()]
        if self.wait_shown:
            parts.append(_partial(f"{self._id}-body", "innerHTML", render_markdown(turn.partial_text)))
            parts.append(_partial(f"{self._id}-tail", "innerHTML", ""))
        return f"id: {self.wait_shown}\n{_data(''.join(parts))}\n\n"

    def _card(self) -> str:
        """Has the page fetch what the turn waits for, as the database knows it."""
        loader = render_to_string("chat/_waiting.html#loader", {"turn_id": self.turn_id})
        return _partial(f"{self._id}-waiting", "innerHTML", loader)

    def _activity_html(self) -> str:
        tools = [
            {"name": tool_name(tool["name"]), "status": live_word(tool["status"])}
            for tool in self._tools.values()
        ]
        context = {"activity_text": activity_text(self._activity), "tools": tools}
        return render_to_string("chat/_turn.html#activity", context).strip()


def _partial(target: str, swap: str, html: str) -> str:
    return f'<hx-partial hx-target="#{target}" hx-swap="{swap}">{html}</hx-partial>'


def _data(text: str) -> str:
    return "\n".join(f"data: {line}" for line in _LINE_BREAK.split(text))


def _json_frame(entry: events.Entry) -> str:
    name = "event: end\n" if entry.event["type"] == "end" else ""
    return f"id: {entry.id}\n{name}data: {json.dumps(entry.event, ensure_ascii=False)}\n\n"
