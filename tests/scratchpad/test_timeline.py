"""What ran when: from the moments that the rows of a run have."""

from datetime import UTC, datetime, timedelta

from memoryapp.scratchpad.models import Approval, Run, Step
from memoryapp.scratchpad.timeline import Call, Recorded, Work, spans

START = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def drawn(
    *, calls=(), steps=(), approvals=(), kept=(), ended: float | None = None, now: float = 100, waiting=False
):
    """(what, number, began, ended, goes on) in seconds since the beginning."""
    run = Run(started_at=START, finished_at=None if ended is None else at(ended))
    recorded = Recorded(
        run=run,
        calls=calls,
        steps=steps,
        approvals=approvals,
        kept_at=[at(seconds) for seconds in kept],
        is_waiting=waiting,
    )
    return [
        (
            span.work,
            span.number,
            (span.began_at - START).total_seconds(),
            (span.ended_at - START).total_seconds(),
            span.is_open,
        )
        for span in spans(recorded, now=at(now))
    ]


def call(seconds: float, *, attempt=1, is_answered=True) -> Call:
    return Call(at(seconds), attempt, is_answered)


def step(number: int, seconds: float, *, took: float = 0, status=Step.Status.OK) -> Step:
    return Step(number=number, created_at=at(seconds), duration_ms=round(took * 1000), status=status)


def test_a_call_lasts_until_its_answer_is_kept_and_the_last_until_the_end():
    found = drawn(calls=[call(1), call(9)], steps=[step(1, 8, took=2)], kept=[0, 5, 8.5], ended=12)

    assert found == [
        (Work.MODEL, 1, 1, 5, False),
        (Work.STEP, 1, 6, 8, False),
        (Work.MODEL, 2, 9, 12, False),
    ]


def test_what_goes_on_lasts_until_now():
    assert drawn(calls=[call(1, is_answered=False)], now=7) == [(Work.MODEL, 1, 1, 7, True)]
    assert drawn(steps=[step(1, 4, status=Step.Status.RUNNING)], now=7) == [(Work.STEP, 1, 4, 7, True)]


def test_a_step_written_before_its_call_began_then():
    found = drawn(calls=[call(1)], kept=[5], steps=[step(1, 5.1, took=2)], ended=8)

    assert found[1] == (Work.STEP, 1, 5.1, 7.1, False)


def test_steps_follow_each_other():
    found = drawn(steps=[step(1, 3, took=2), step(2, 3, took=2)], ended=8)

    assert [(began, ended) for _, _, began, ended, _ in found] == [(1, 3), (3, 5)]


def test_the_time_until_a_decision_is_a_wait():
    asked = Approval(created_at=at(5), decided_at=at(50), status="approved")

    found = drawn(calls=[call(1)], kept=[4.9], approvals=[asked], steps=[step(1, 52, took=1)], ended=53)

    assert found == [
        (Work.MODEL, 1, 1, 4.9, False),
        (Work.WAIT, 0, 4.9, 51, False),
        (Work.STEP, 1, 51, 52, False),
    ]


def test_a_granted_call_waited_for_nobody():
    granted = Approval(created_at=at(5), decided_at=None, status="approved", is_always=True)

    found = drawn(calls=[call(1)], kept=[5], approvals=[granted], steps=[step(1, 8, took=1)], ended=9)

    assert [work for work, *_ in found] == [Work.MODEL, Work.STEP]


def test_an_unanswered_call_of_an_earlier_attempt_has_no_length_and_a_wait_after_it():
    found = drawn(calls=[call(1, is_answered=False), call(30, attempt=2)], kept=[0], ended=33)

    assert found == [
        (Work.MODEL, 1, 1, 1, False),
        (Work.WAIT, 0, 1, 30, False),
        (Work.MODEL, 2, 30, 33, False),
    ]


def test_a_turn_that_waits_now_waits_since_its_last_work():
    found = drawn(calls=[call(1)], kept=[4], waiting=True, now=60)

    assert found == [(Work.MODEL, 1, 1, 4, False), (Work.WAIT, 0, 4, 60, True)]
