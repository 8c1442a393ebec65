"""Server-sent events: for programs as JSON, for pages as frames; each response ends well whatever happens."""

import asyncio
import logging
import random
import re
from contextlib import aclosing
from html.parser import HTMLParser
from types import SimpleNamespace
from uuid import uuid4

import pytest
import redis.asyncio
from django.db import connection
from django.utils.translation import get_language, override

from chat import events, streaming
from chat.rendering import render_markdown
from memoryapp.transcript.models import Turn
from tests import sse

MARKDOWN = """\
# Tea & *rain*

A paragraph with `code`, a [link](https://example.org/?a=1&b=2) and <b>no HTML</b>.

| kind | price |
|------|------:|
| green | 3 |

```python
print("hello")
```

- one
- two

The end."""


@pytest.fixture
def turn():
    return Turn(id=uuid4(), attempt=1, status=Turn.Status.RUNNING)


@pytest.fixture
def one_by_one(monkeypatch):
    """Each event becomes a frame of its own, at once."""
    monkeypatch.setattr(events, "READ_COUNT", 1)
    monkeypatch.setattr(streaming, "FRAME_INTERVAL_S", 0)


def publish(turn, *published, attempt=1):
    for event in published:
        events.publish(turn.id, event, attempt=attempt)


def publish_reply(turn, *deltas, status="completed"):
    texts = [{"type": "text", "delta": delta} for delta in deltas]
    publish(turn, {"type": "start", "attempt": 1}, *texts, {"type": "end", "status": status})


def body_of(frames):
    async def collect():
        return "".join([frame async for frame in frames])

    return asyncio.run(collect())


def json_of(turn, after="0-0"):
    return sse.parse(body_of(streaming.json_events(turn, after=after)))


def html_of(turn):
    return sse.parse(body_of(streaming.html_frames(turn)))


def test_a_program_gets_every_event_and_then_the_end(turn):
    publish_reply(turn, "naïve ", "\u2028tea\n\r")

    received = json_of(turn)

    assert [message.json["type"] for message in received] == ["start", "text", "text", "end"]
    assert [message.event for message in received] == ["message"] * 3 + ["end"]
    assert sse.text_of(received) == "naïve \u2028tea\n\r"
    assert len({message.id for message in received}) == 4


def test_a_program_resumes_after_the_last_event_it_has(turn):
    publish_reply(turn, *"abcdef")
    whole = json_of(turn)

    for cut in range(1, len(whole) - 1):
        resumed = json_of(turn, after=whole[cut - 1].id)
        assert sse.text_of([*whole[:cut], *resumed]) == "abcdef"


def test_two_readers_of_each_kind_get_the_same(turn):
    publish_reply(turn, *MARKDOWN)

    assert json_of(turn) == json_of(turn)
    assert sse.Page().apply(html_of(turn)) == sse.Page().apply(html_of(turn))


def test_the_frames_are_in_the_language_in_which_they_were_asked_for(turn, monkeypatch):
    monkeypatch.setattr(streaming, "activity_text", lambda _: get_language())
    publish_reply(turn, "tea")

    with override("de"):
        frames = streaming.html_frames(turn)

    assert sse.Page().apply(sse.parse(body_of(frames))).elements[f"turn-{turn.id}-activity"] == "de"


@pytest.mark.parametrize("seed", range(5))
def test_the_frames_add_up_to_the_rendered_reply(turn, one_by_one, seed):
    cuts = sorted(random.Random(seed).sample(range(1, len(MARKDOWN)), 12))
    publish_reply(turn, *(MARKDOWN[start:end] for start, end in zip([0, *cuts], [*cuts, None], strict=True)))

    page = sse.Page().apply(html_of(turn))

    assert page.reply(turn.id) == render_markdown(MARKDOWN)


def test_the_first_frame_replaces_and_the_end_comes_last(turn, one_by_one):
    publish_reply(turn, "Hello.", status="failed")

    received = html_of(turn)

    assert f'hx-target="#turn-{turn.id}-body" hx-swap="innerHTML"' in received[0].data
    assert [message.event for message in received][-1] == "end"
    assert received[-1].data == "failed"
    assert [message.event for message in received].count("end") == 1


def test_a_new_attempt_empties_the_page(turn, one_by_one):
    publish(turn, {"type": "start", "attempt": 1}, {"type": "text", "delta": "Old.\n\nOlder.\n\n"})
    publish(
        turn,
        {"type": "start", "attempt": 2},
        {"type": "text", "delta": "New."},
        {"type": "end", "status": "completed"},
        attempt=2,
    )

    page = sse.Page().apply(html_of(turn))

    assert page.reply(turn.id) == render_markdown("New.")


def test_a_retried_turn_does_not_end_with_what_its_earlier_attempt_left(turn):
    turn.status = Turn.Status.QUEUED
    publish_reply(turn, "Old.", status="failed")
    publish(turn, {"type": "start", "attempt": 2}, {"type": "end", "status": "completed"}, attempt=2)

    assert [message.json for message in json_of(turn)] == [
        {"type": "start", "attempt": 2},
        {"type": "end", "status": "completed"},
    ]


def test_tools_and_waiting_are_shown_as_activity(turn, one_by_one):
    publish(
        turn,
        {"type": "start", "attempt": 1},
        {"type": "activity", "text": "Waiting for the model, retrying in 3 s"},
        {"type": "tool", "tool_use_id": "t", "name": "calculate", "status": "running"},
        {"type": "end", "status": "completed"},
    )

    shown = sse.Page().apply(html_of(turn)).elements[f"turn-{turn.id}-activity"]

    assert "Waiting for the model, retrying in 3 s" in shown
    assert "calculate" in shown


class Elements(HTMLParser):
    """What a browser would build from the HTML."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes = set(), []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes += attributes


HOSTILE = (
    '<script>alert(1)</script><img src=x onerror="alert(1)"> <svg/onload=alert(1)>\n\n'
    "[a](javascript:alert(1)) ![b](https://evil.example/x.png) </hx-partial><hx-partial hx-target='body'>\n\n"
    "<a href='data:text/html,x' hx-get='/settings'>c</a>"
)


def test_a_hostile_reply_is_harmless_wherever_it_is_cut(turn, one_by_one):
    for cut in range(1, len(HOSTILE)):
        turn.id = uuid4()
        publish_reply(turn, HOSTILE[:cut], HOSTILE[cut:])

        for message in html_of(turn)[:-1]:
            built = Elements(message.data)
            assert built.tags <= {"hx-partial", "p", "a", "div", "span", "ul", "li"}, cut
            names = {name for name, _ in built.attributes}
            assert not {name for name in names if name.startswith(("on", "src"))}, cut
            links = [value or "" for name, value in built.attributes if name in {"href", "hx-target"}]
            assert all(re.match(r"https?://|#turn-", link) for link in links), (cut, links)


def test_a_tool_with_a_hostile_name_cannot_end_the_stream(turn):
    name = "x\revent: end\rdata: completed\r\r<script>"
    publish(
        turn,
        {"type": "start", "attempt": 1},
        {"type": "tool", "tool_use_id": "t", "name": name, "status": "running"},
        {"type": "end", "status": "failed"},
    )

    received = html_of(turn)

    assert [message.event for message in received] == ["message", "end"]
    assert "<script>" not in received[0].data


def test_a_silent_turn_is_kept_alive_by_comments(turn, configure):
    configure(STRATA_STREAM_HEARTBEAT_S="1")

    body = body_of(streaming.html_frames(turn))

    assert body == streaming.HEARTBEAT * events.SILENCES
    assert sse.parse(body) == []


def test_a_reader_whose_time_is_up_is_let_go_without_an_end(turn, monkeypatch):
    publish(turn, {"type": "start", "attempt": 1})
    monkeypatch.setattr(streaming, "time", SimpleNamespace(monotonic=iter([0.0, 301.0]).__next__))

    assert [message.event for message in json_of(turn)] == ["message"]


@pytest.mark.parametrize(
    "frames", [lambda turn: streaming.json_events(turn, after="0-0"), streaming.html_frames]
)
def test_without_redis_the_reader_is_told_to_come_back(turn, monkeypatch, frames):
    monkeypatch.setattr(
        events, "new_async_client", lambda: redis.asyncio.Redis.from_url("redis://127.0.0.1:1")
    )

    body = body_of(frames(turn))

    assert body == streaming.RETRY_LATER
    assert "\nretry: 2000\n" in f"\n{body}"


def test_a_redis_that_goes_away_in_mid_reply_ends_the_response_and_nothing_is_lost(turn, monkeypatch):
    publish_reply(turn, "Hello ", "world.")
    read = events._read

    async def read_once(client, turn_id, after):
        if after != "0-0":
            raise redis.exceptions.ConnectionError
        return (await read(client, turn_id, after))[:2]

    with monkeypatch.context() as patched:
        patched.setattr(events, "_read", read_once)
        received = json_of(turn)
    received += json_of(turn, after=received[-1].id)

    assert sse.text_of(received) == "Hello world."


@pytest.mark.parametrize(
    "frames", [lambda turn: streaming.json_events(turn, after="0-0"), streaming.html_frames]
)
def test_a_defect_is_logged_and_ends_the_response_instead_of_breaking_it_off(
    turn, monkeypatch, caplog, frames
):
    publish_reply(turn, "Hello.")
    for name in ("_json_frame", "_partial"):
        monkeypatch.setattr(streaming, name, lambda *_args: 1 / 0)

    body = body_of(frames(turn))

    assert body == streaming.RETRY_LATER
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.exc_info[0] is ZeroDivisionError


def test_a_reader_that_hangs_up_leaves_no_connection_to_redis(turn):
    publish(turn, {"type": "start", "attempt": 1})
    before = len(events.redis_client().client_list())

    async def hang_up():
        async with aclosing(streaming.html_frames(turn)) as frames:
            await anext(frames)
            waiting = asyncio.ensure_future(anext(frames))
            await asyncio.sleep(0.1)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)

    asyncio.run(hang_up())

    assert len(events.redis_client().client_list()) <= before


def test_a_turn_that_was_over_ends_at_once_for_both_kinds_of_reader():
    happened = [
        {"type": "start", "attempt": 1},
        {"type": "text", "delta": "Hi."},
        {"type": "end", "status": "failed"},
    ]

    for_programs = sse.parse(body_of(streaming.ended_events(happened)))
    for_pages = sse.parse(body_of(streaming.ended("failed")))

    assert [message.json for message in for_programs] == happened
    assert [message.event for message in for_programs] == ["message", "message", "end"]
    assert [message.event for message in for_pages] == ["end"]


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_a_response_holds_no_connection_and_is_not_to_be_buffered():
    connection.ensure_connection()

    response = streaming.sse_response(streaming.ended("completed"))

    assert connection.connection is None
    assert response["Content-Type"] == "text/event-stream"
    assert response["Cache-Control"] == "no-cache, no-store, no-transform"
    assert response["X-Accel-Buffering"] == "no"
    assert response["Content-Encoding"] == "identity"
    assert not response.has_header("Content-Length")
