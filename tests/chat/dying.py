"""Runs whose worker dies at a chosen moment, and everything that is left of a run to compare it with another.

A kill point is before or after a statement, an event for the readers, an event of the model's stream, a tool's work.
Of points between which nothing changes outside the worker's memory, such as two reads or two statements of one
transaction, there is one.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import pytest
from django.db import connection, connections
from django.utils import timezone

from chat import events, sending, tools, turn
from chat.progress import allowance, spent_by
from chat.reaper import reap_turns
from chat.tasks import run_turn
from memoryapp.conf import get_conf
from memoryapp.longterm import queries as longterm
from memoryapp.policies.limits import Spent
from memoryapp.scratchpad import queries as runs
from memoryapp.scratchpad.models import Step
from memoryapp.transcript.models import Turn
from tests.modelserver import counting
from tests.turns import expire_lease, fresh, published, reply_to, streamed

Picture = dict[str, Any]

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")
_SIGNATURE = re.compile(r'"signature": "[^"]+"')
NOTHING_SPENT = Spent(model_calls=0, tokens=0, seconds=0)
# Of a picture, when a step's effect is not known: the step, what is told of it, and the tokens that takes.
DIFFERENT_WHERE_UNKNOWN = {"steps", "pad", "checkpoints", "usage", "spent"}
MOST_TRIES = 12  # of a worker or a person, before a turn counts as one that never ends


class Killed(BaseException):
    """Nothing catches it, and nothing is written after it: like SIGKILL."""


class Death:
    """Comes at the ``at``-th point, from 0 on, or never.

    ``passed``: the points before it. ``name``: where it was, "" as long as it has not come. ``was_late``: the turn had
    ended by then.
    """

    def __init__(self, at: int | None) -> None:
        self._at = at
        self.passed: list[str] = []
        self.name = ""
        self.was_late = False

    def reach(self, name: str) -> None:
        if self.name:
            return
        if len(self.passed) == self._at:
            self.name = name
            raise Killed(name)
        self.passed.append(name)


class Mortality(Protocol):
    def reach(self, name: str) -> None: ...


@contextmanager
def mortal(death: Mortality) -> Iterator[None]:
    """Work dies when ``death`` comes. Its transaction is rolled back, as the server does when it loses a client."""
    transaction: list[Any] = []
    is_reading = False

    def reach(name: str) -> None:
        nonlocal is_reading
        was_reading, is_reading = is_reading, name.startswith("before SELECT")
        if not (was_reading and is_reading):
            death.reach(name)

    def around(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **options: Any) -> Any:
            reach(f"before {name}")
            done = work(*args, **options)
            reach(f"after {name}")
            return done

        return wrapped

    def statement(execute: Any, sql: str, params: Any, many: Any, context: Any) -> Any:
        nonlocal transaction
        name = " ".join(str(sql).split())[:60]
        before, transaction = transaction, connection.atomic_blocks[:1]
        if not transaction or transaction != before:
            reach(f"before {name}")
        done = execute(sql, params, many, context)
        if not name.startswith("SELECT"):
            reach(f"after {name}")
        return done

    class MortalModel:
        """Whatever the process's model says, until death comes."""

        def __init__(self, model: Any) -> None:
            self._model = model

        def stream(self, *args: Any, **options: Any) -> Iterator[Any]:
            for event in self._model.stream(*args, **options):
                reach(f"before the model's {type(event).__name__}")
                yield event

        def __getattr__(self, name: str) -> Any:
            return getattr(self._model, name)

    get_chat_model = turn.get_chat_model
    with pytest.MonkeyPatch.context() as patched, connection.execute_wrapper(statement):
        patched.setattr(events, "publish", around("an event", events.publish))
        patched.setattr(tools, "run_within_time", around("a tool", tools.run_within_time))
        patched.setattr(turn, "get_chat_model", lambda: MortalModel(get_chat_model()))
        try:
            yield
        finally:
            connections.close_all()


def work(posted: Turn, death: Death) -> None:
    """What a worker does when it is nudged, until it dies."""
    try:
        with mortal(death):
            run_turn(str(posted.id))
    except Killed:
        death.was_late = fresh(posted).status not in Turn.LIVE


def carry_on(posted: Turn, death: Death, *, end_outage: Callable[[], None]) -> Spent:
    """Everything that workers, the reaper and the turn's person do until it is answered.

    Returns what it had spent when its person pressed Retry, nothing if that was not needed.
    """
    spent = NOTHING_SPENT
    for _ in range(MOST_TRIES):
        status, wait_reason = Turn.objects.values_list("status", "wait_reason").get(id=posted.id)
        match status:
            case Turn.Status.QUEUED:
                work(posted, death)
            case Turn.Status.RUNNING:
                expire_lease(posted)
                reap_turns()
            case Turn.Status.INTERRUPTED:
                run = runs.run_of_turn(posted.user_id, posted.id)
                assert run is not None
                spent = spent_by(run)
                sending.retry(posted.user, posted.id)
            case Turn.Status.WAITING if wait_reason == Turn.WaitReason.APPROVAL:
                for asked in runs.pending_approvals(posted.user_id):
                    sending.decide(posted.user, posted.id, asked.tool_use_id, approve=True, nonce=asked.nonce)
            case Turn.Status.WAITING:
                end_outage()
                Turn.objects.filter(id=posted.id).update(resume_at=timezone.now())
                work(posted, death)
            case _:
                break
    return spent


def picture(posted: Turn, *, retried_at: Spent = NOTHING_SPENT) -> Picture:
    """All that the turn left, without what differs from run to run: ids, times, attempts.

    Cached tokens are counted with the others: a request that is sent again finds more in the provider's cache.
    """
    ended = fresh(posted)
    run = runs.run_of_turn(posted.user_id, posted.id)
    assert run is not None
    steps = list(runs.steps(run))
    memories = longterm.memories(posted.user_id).order_by("recorded_at", "id")
    return _masked(
        {
            "turn": [ended.status, ended.error_code, ended.wait_reason, ended.partial_text, reply_to(posted)],
            "usage": [_input_of(ended), ended.output_tokens],
            "run": [run.status, run.finished_at is not None, run.goal, run.model_failures],
            "spent": [run.model_calls, run.input_tokens, run.output_tokens],
            "limits": _beyond(run.limits, retried_at),
            "pad": run.pad,
            "steps": [_of_step(step) for step in steps],
            "checkpoints": [[one.number, one.delta, one.taint] for one in runs.checkpoints(run)],
            "approvals": [
                [one.tool_use_id, one.action, one.arguments, one.why, one.touches, one.status, one.is_always]
                for one in runs.approvals(posted.user_id, [posted.id])
            ],
            "memories": [
                [
                    memory.statement,
                    memory.kind.slug,
                    memory.origin,
                    memory.status,
                    [source.quote for source in longterm.sources(memory)],
                ]
                for memory in memories
            ],
            "shown": streamed(ended),
            "last event": published(ended)[-1],
        }
    )


def differences(one: Picture, other: Picture) -> set[str]:
    return {name for name in one if one[name] != other[name]}


def effect_is_unknown(posted: Turn) -> bool:
    run = runs.run_of_turn(posted.user_id, posted.id)
    assert run is not None
    return any("effect_unknown" in step.observation for step in runs.steps(run))


@pytest.fixture
def ids_of_one_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model server counts an id as one token: usage does not differ with the letters in it."""
    monkeypatch.setattr(counting, "_TOKEN", re.compile(f"{UUID.pattern}|{counting._TOKEN.pattern}"))


def ids_masked(body: object) -> str:
    """The same text for requests that differ in ids and signatures alone."""
    seen: dict[str, int] = {}
    text = UUID.sub(lambda found: f"id-{seen.setdefault(found[0], len(seen))}", json.dumps(body))
    return _SIGNATURE.sub('"signature": "…"', text)


def _of_step(step: Step) -> Picture:
    told = {
        name: getattr(step, name)
        for name in (
            "number",
            "tool_use_id",
            "action",
            "arguments",
            "observation",
            "brief",
            "error",
            "status",
            "origin",
            "taint",
        )
    }
    # An id takes more or fewer tokens.
    return told | {"tokens": None if UUID.search(step.observation) else step.tokens}


def _input_of(ended: Turn) -> int:
    return ended.input_tokens + ended.cache_read_tokens + ended.cache_creation_tokens


def _beyond(limits: dict[str, float], spent: Spent) -> dict[str, float]:
    """How far the run may go from where its person let it go on."""
    assert set(limits) == set(allowance(get_conf()).to_json())
    return {
        "model_calls": limits["model_calls"] - spent.model_calls,
        "tokens": limits["tokens"] - spent.tokens,
        "seconds": round(limits["seconds"] - spent.seconds, 3),
        "usd": limits["usd"],
    }


def _masked(rows: Picture) -> Picture:
    return {name: json.loads(ids_masked(value)) for name, value in rows.items()}
