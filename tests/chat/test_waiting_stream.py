"""The stream of a turn that waits: the page is told to fetch the card, and is left alone while it shows it."""

import asyncio
from uuid import uuid4

import pytest
from django.urls import reverse

from chat import events, streaming
from memoryapp.transcript.models import Turn
from tests import sse

UNTIL = "2026-11-30T09:00:12+00:00"


@pytest.fixture
def turn():
    return Turn(id=uuid4(), attempt=1, status=Turn.Status.WAITING, partial_text="**Half** a thought")


def publish(turn, attempt, *published):
    for event in published:
        events.publish(turn.id, event, attempt=attempt)


def publish_wait(turn, attempt=1):
    publish(
        turn,
        attempt,
        {"type": "start", "attempt": attempt},
        {"type": "text", "delta": "Half a thought"},
        {"type": "waiting", "reason": "model", "text": "Waiting for the model", "until": UNTIL},
    )


def publish_rest(turn, attempt=2):
    publish(
        turn,
        attempt,
        {"type": "start", "attempt": attempt},
        {"type": "text", "delta": "Half a thought, and the rest"},
        {"type": "end", "status": "completed"},
    )


def received(frames):
    async def collect():
        return "".join([frame async for frame in frames])

    return sse.parse(asyncio.run(collect()))


def fetches(turn, message):
    """How often the frame has the page fetch the card."""
    return message.data.count(f'hx-get="{reverse("chat:waiting", args=[turn.id])}"')


@pytest.fixture
def one_by_one(monkeypatch):
    monkeypatch.setattr(events, "READ_COUNT", 1)
    monkeypatch.setattr(streaming, "FRAME_INTERVAL_S", 0)


def test_an_open_page_fetches_the_card_when_the_turn_begins_to_wait_and_again_when_it_goes_on(
    turn, one_by_one
):
    turn.status = Turn.Status.RUNNING
    publish_wait(turn)
    publish_rest(turn)

    frames = received(streaming.html_frames(turn))

    assert [fetches(turn, frame) for frame in frames] == [0, 0, 1, 1, 0, 0, 0]
    assert frames[2].id == "wait-1"
    assert not frames[3].id.startswith("wait-")
    assert "Half a thought, and the rest" in sse.Page().apply(frames).reply(turn.id)


def test_a_page_that_missed_the_beginning_of_the_wait_is_shown_what_the_database_knows(turn):
    publish_rest(turn)

    opening, *rest = received(streaming.html_frames(turn))

    assert "<p><strong>Half</strong> a thought</p>" in opening.data
    assert fetches(turn, opening) == 1
    assert opening.id == "wait-1"
    assert "and the rest" in rest[0].data


def test_a_page_that_shows_the_wait_hears_nothing_until_the_turn_goes_on(turn):
    publish_wait(turn)
    publish_rest(turn)

    first, *_ = received(streaming.html_frames(turn, seen="wait-1"))

    assert "and the rest" in first.data
    assert fetches(turn, first) == 1


@pytest.mark.parametrize("status", [Turn.Status.QUEUED, Turn.Status.RUNNING])
def test_a_page_that_shows_a_wait_that_is_over_fetches_what_stands_instead(turn, status):
    turn.status = status
    turn.attempt = 1 if status == Turn.Status.QUEUED else 2
    publish_rest(turn)

    opening, *rest = received(streaming.html_frames(turn, seen="wait-1"))

    assert fetches(turn, opening) == 1
    assert "-body" not in opening.data
    assert sum(fetches(turn, frame) for frame in rest) == 0


def test_the_next_wait_is_another_one(turn):
    turn.attempt = 2
    publish_rest(turn, attempt=3)

    opening, *_ = received(streaming.html_frames(turn, seen="wait-1"))

    assert opening.id == "wait-2"


def test_a_program_that_comes_during_a_wait_gets_all_that_was_said_and_that_it_waits(turn):
    publish_wait(turn)
    publish_rest(turn)

    messages = received(streaming.json_events(turn, after="0-0"))

    assert [message.json["type"] for message in messages] == [
        "start",
        "text",
        "waiting",
        "start",
        "text",
        "end",
    ]
    assert messages[2].json["until"] == UNTIL
