"""Turns in tests: posted, claimed and answered in this process, by a model that says what it is told to.

Rooms whose tests need them import the fixtures into their conftest.
"""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Barrier
from typing import TypeVar
from uuid import UUID, uuid4

import pytest
from django.db import connections

from chat.events import stream_key
from chat.turn import run_turn
from memoryapp.accounts.models import User
from memoryapp.conf import get_conf
from memoryapp.llm.registry import reset_chat_model
from memoryapp.redis_client import redis_client
from memoryapp.transcript import claims, conversations, queries
from memoryapp.transcript import operations as transcript
from memoryapp.transcript.claims import Claim
from memoryapp.transcript.models import Conversation, Message, Turn
from tests.modelserver import ModelServer

# What a worker, its lease keeper and the test see of each other is what is committed.
COMMITTED = pytest.mark.django_db(transaction=True, serialized_rollback=True)
NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)

Result = TypeVar("Result")


@pytest.fixture
def nudges(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, UUID]]:
    """What would have woken a worker; no worker is woken."""
    sent: list[tuple[str, UUID]] = []
    monkeypatch.setattr("memoryapp.nudges._send", lambda name, row_id, **_: sent.append((name, row_id)))
    return sent


@pytest.fixture
def configure(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """``configure(STRATA_RUN_MAX_STEPS="3")``: set knobs for the length of the test."""

    def configure(**variables: str) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        _forget_configuration()

    yield configure
    _forget_configuration()


@pytest.fixture
def model(configure: Callable[..., None]) -> Iterator[ModelServer]:
    """The strict server, reached through the official SDK. A request that it refuses fails the test.

    (One that is told to refuse ends with ``model.reset()``.)
    """
    with ModelServer() as server:
        configure(ANTHROPIC_BASE_URL=server.url, ANTHROPIC_API_KEY="key", STRATA_MODEL_MAX_RETRIES="0")
        yield server
        assert [call.body for call in server.calls if call.status == 400] == []


def _forget_configuration() -> None:
    get_conf.cache_clear()
    reset_chat_model()


def start(user: User, **options: object) -> Conversation:
    return conversations.start_conversation(user, now=NOW, **options)


def post(user: User, text: str, conversation: Conversation | None = None, *, key: str = "") -> Turn:
    conversation = conversation or start(user)
    turn, _ = transcript.post_turn(
        user, conversation.id, text=text, idempotency_key=key or str(uuid4()), now=NOW
    )
    return turn


def claim(turn: Turn) -> Claim:
    claimed = claims.claim_turn(turn.id)
    assert claimed is not None
    return claimed


def answer(turn: Turn) -> Turn:
    """Do what a worker does with the turn; as it stands afterwards."""
    run_turn(claim(turn))
    return fresh(turn)


def ask(user: User, text: str, conversation: Conversation | None = None) -> Turn:
    return answer(post(user, text, conversation))


@contextmanager
def answering(turn: Turn) -> Iterator[Claim]:
    """Let a worker answer the turn in a thread of its own meanwhile; its end is waited for."""
    held = claim(turn)

    def work() -> None:
        try:
            run_turn(held)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        worker = pool.submit(work)
        yield held
        worker.result(timeout=30)


def fresh(turn: Turn) -> Turn:
    return queries.get_turn(turn.user_id, turn.id)


def reply_to(turn: Turn) -> str:
    return queries.text_of(fresh(turn), Message.Role.ASSISTANT)


def expire_lease(turn: Turn) -> None:
    """As if its worker had been silent for longer than a lease."""
    Turn.objects.filter(id=turn.id).update(lease_until=datetime(2000, 1, 1, tzinfo=UTC))


def at_once(count: int, work: Callable[[int], Result]) -> list[Result]:
    """Run ``work(0 … count-1)`` in as many threads that all start at the same moment."""
    barrier = Barrier(count)

    def run(number: int) -> Result:
        barrier.wait()
        try:
            return work(number)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def published(turn: Turn) -> list[dict[str, object]]:
    """The events of a turn, in order, of all attempts."""
    rows = redis_client().xrange(stream_key(turn.id))
    return [json.loads(fields["event"]) for _, fields in rows]


def streamed(turn: Turn) -> str:
    """What a reader who joined at the beginning sees in the end."""
    text = ""
    for event in published(turn):
        text = "" if event["type"] == "start" else text + str(event.get("delta", ""))
    return text
