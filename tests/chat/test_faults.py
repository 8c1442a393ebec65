"""Faults that only a test can time: at the very end of a turn, in the resolver.

``test_fault_stack.py`` hurts real processes, ``test_killed_anywhere.py`` ends workers at every point.
"""

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from django.db import DatabaseError, connections, transaction

from chat import sending
from chat.reaper import reap_turns
from chat.turn import run_turn
from memoryapp.scratchpad import queries as runs
from memoryapp.transcript import claims
from memoryapp.transcript.models import Turn
from tests.turns import COMMITTED, answer, ask, claim, expire_lease, fresh, post, published, reply_to

pytestmark = [COMMITTED, pytest.mark.usefixtures("nudges")]


class Killed(BaseException):
    """Ends a worker as SIGKILL does: what is not committed is gone, and nothing is tidied up."""


def killed_while_answering(turn: Turn) -> Turn:
    """The turn after its worker was killed, its lease has passed, and the reaper has looked after it."""
    with pytest.raises(Killed):
        run_turn(claim(turn))
    connections.close_all()
    expire_lease(turn)
    reap_turns()
    return fresh(turn)


def test_a_worker_killed_before_its_reply_was_stored_leaves_it_as_shown(alice, model, monkeypatch):
    def die(*_args: Any, **_options: Any) -> None:
        raise Killed

    monkeypatch.setattr(claims, "finish_turn", die)

    ended = killed_while_answering(post(alice, "Hello"))

    assert (ended.status, reply_to(ended)) == ("interrupted", "You said: Hello")
    assert ended.error_message
    assert runs.run_of_turn(alice.id, ended.id).status == "failed"


def test_a_worker_killed_after_its_reply_was_stored_leaves_no_run_at_work(alice, model, monkeypatch):
    finish = claims.finish_turn

    def finish_and_die(held: claims.Claim, **options: Any) -> None:
        finish(held, **options)
        raise Killed

    monkeypatch.setattr(claims, "finish_turn", finish_and_die)

    ended = killed_while_answering(post(alice, "Hello"))

    assert (ended.status, reply_to(ended)) == ("completed", "You said: Hello")
    assert runs.run_of_turn(alice.id, ended.id).status == "completed"


@contextmanager
def frozen_in_a_transaction(turn: Turn) -> Iterator[None]:
    """Another process has written to the turn and sleeps before it commits, as long as the block lasts."""
    is_frozen, wakes = threading.Event(), threading.Event()

    def freeze() -> None:
        with suppress(DatabaseError), transaction.atomic():  # it may be ended by the server
            Turn.objects.filter(id=turn.id).update(partial_text="Half")
            is_frozen.set()
            wakes.wait()
        connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(freeze)
        assert is_frozen.wait(timeout=5)
        try:
            yield
        finally:
            wakes.set()


def test_a_worker_frozen_in_a_transaction_does_not_keep_the_reaper_from_others(alice, model):
    frozen, other = post(alice, "Hello"), post(alice, "And me")
    for turn in (frozen, other):
        claim(turn)
        expire_lease(turn)

    with ThreadPoolExecutor(1) as pool, frozen_in_a_transaction(frozen):
        reaping = pool.submit(reap)
        with suppress(TimeoutError):
            reaping.result(timeout=3)
        status = fresh(other).status

    assert status == "queued"


def reap() -> None:
    try:
        reap_turns()
    finally:
        connections.close_all()


def test_a_stop_that_comes_with_the_end_changes_nothing(alice, model, monkeypatch):
    finish = claims.finish_turn

    def stop_and_finish(held: claims.Claim, **options: Any) -> bool:
        sending.stop(alice, held.turn_id)
        return finish(held, **options)

    monkeypatch.setattr(claims, "finish_turn", stop_and_finish)

    ended = ask(alice, "Hello")

    assert (ended.status, reply_to(ended)) == ("completed", "You said: Hello")
    assert [event["status"] for event in published(ended) if event["type"] == "end"] == ["completed"]
    assert sending.stop(alice, ended.id).status == "completed"


def test_a_name_that_does_not_resolve_is_waited_for_and_then_told(alice, configure, monkeypatch):
    configure(ANTHROPIC_BASE_URL="http://model.invalid", ANTHROPIC_API_KEY="key")
    resolve = socket.getaddrinfo

    def fail(host: Any, *args: Any, **options: Any) -> Any:
        if host not in ("model.invalid", b"model.invalid"):
            return resolve(host, *args, **options)
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    turn = ask(alice, "Hello")
    waits = []
    while turn.status == "waiting":
        waits.append(turn.wait_message)
        Turn.objects.filter(id=turn.id).update(resume_at=turn.created_at)
        turn = answer(turn)

    assert waits == ["The model cannot be reached."] * 3
    assert (turn.status, turn.error_code) == ("failed", "model_unreachable")
    assert "model.invalid" in turn.error_message
