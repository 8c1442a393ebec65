"""Forgetting reaches the scratchpad: no run record and no lesson of a run still holds what was forgotten."""

import json

import pytest
from django.utils import timezone

from memoryapp.llm import messages_json
from memoryapp.llm.base import ModelMessage, ToolUse
from memoryapp.longterm import experiences, forgettings
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.experiences import Lesson
from memoryapp.longterm.models import Experience, Memory
from memoryapp.policies.trust import Origin
from memoryapp.scratchpad import approvals
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.scratchpad.models import Approval, Checkpoint, Run, Step
from memoryapp.scratchpad.operations import StepRecord
from memoryapp.scratchpad.pad import Pad, from_json
from memoryapp.transcript import claims
from memoryapp.transcript.models import Turn
from tests.longterm.saying import live, remember
from tests.turns import claim, fresh, post

STATEMENT = 'I call it "my <big> fig tree"'
IN_GERMAN = "Ich trinke nur grünen Tee \\ ärger dich nicht \U0001f375"


def open_run_again(run: Run) -> Run:
    return scratchpad.open_run(user_id=run.user_id, turn_id=run.turn_id, goal=run.goal, attempt=run.attempt)


def open_run(user, goal: str = "Help me", *, attempt: int = 1) -> Run:
    turn = post(user, goal)
    return scratchpad.open_run(user_id=user.id, turn_id=turn.id, goal=goal, attempt=attempt)


def step(run: Run, *, arguments=None, observation="", done="calculated", brief="", error="") -> None:
    record = StepRecord(
        tool_use_id="toolu_1",
        action="recall",
        arguments=arguments or {},
        observation=observation,
        status=Step.Status.OK,
        tokens=1,
        duration_ms=1,
        origin=Origin.USER_TYPED,
        brief=brief,
        error=error,
    )
    scratchpad.record_step(run, record, pad=Pad(goal=run.goal).with_done(done), attempt=1)


def close(run: Run, *, attempt: int = 1) -> None:
    scratchpad.close_run(run.turn_id, attempt=attempt, status=Run.Status.COMPLETED)


def forget(memory: Memory) -> None:
    longterm.forget(memory.user_id, memory.id, now=timezone.now())


def in_a_checkpoint(run: Run, text: str) -> None:
    told = json.dumps([{"statement": text}]).replace("<", "\\u003c")
    delta = [{"role": "user", "blocks": [{"text": told}]}]
    scratchpad.checkpoint(run, number=0, delta=delta, pad=Pad(goal=run.goal), taint="user_typed", attempt=1)


def in_a_call_of_a_checkpoint(run: Run, text: str) -> None:
    call = ToolUse(id="toolu_1", name="recall", input={"query": text})
    delta = [messages_json.to_json(ModelMessage(role="assistant", blocks=(call,)))]
    scratchpad.checkpoint(run, number=0, delta=delta, pad=Pad(goal=run.goal), taint="user_typed", attempt=1)


def question(run: Run, **shown) -> None:
    asked = {
        "action": "send_note",
        "arguments": {},
        "why": "",
        "touches": "",
        "source": "",
        "fingerprint": "",
    }
    approvals.ask(run, approvals.Question(tool_use_id="toolu_1", **(asked | shown)), attempt=1)


def wait(run: Run) -> None:
    held = claim(run.turn)
    claims.wait_turn(held, reason=Turn.WaitReason.APPROVAL, message="", wait_s=3600, partial_text="")


def in_a_refusal(run: Run, text: str) -> None:
    question(run)
    wait(run)
    approvals.decide(run.user_id, run.turn_id, "toolu_1", approve=False, reason=text)


def twice(text: str) -> str:
    return json.dumps({"result": json.dumps({"note": text})})


HOLDING = {
    "arguments of a step": lambda run, text: step(run, arguments={"statement": text}),
    "result of a step": lambda run, text: step(run, observation=json.dumps({"statement": text})),
    "line of the pad": lambda run, text: step(run, done=f"added: {text}"),
    "result inside a result": lambda run, text: step(run, observation=twice(text)),
    "result in capitals": lambda run, text: step(run, observation=json.dumps(text.upper())),
    "result over two lines": lambda run, text: step(run, observation=json.dumps(text.replace(" ", "\n"))),
    "result of a step in short": lambda run, text: step(run, brief=text),
    "reason of a failure": lambda run, text: step(run, error=text),
    "prompt of a checkpoint": in_a_checkpoint,
    "call of a checkpoint": in_a_call_of_a_checkpoint,
    "arguments of a question": lambda run, text: question(run, arguments={"to": text}),
    "reason of a question": lambda run, text: question(run, why=text),
    "what a question touches": lambda run, text: question(run, touches=text),
    "reason of a refusal": in_a_refusal,
}


@pytest.mark.parametrize("statement", [STATEMENT, IN_GERMAN], ids=["quoted", "not ASCII"])
@pytest.mark.parametrize("hold", HOLDING.values(), ids=HOLDING)
def test_the_record_of_a_run_that_holds_the_statement_is_dropped(alice, hold, statement):
    memory = remember(alice, statement).memory
    run = open_run(alice)
    hold(run, statement)
    close(run)

    forget(memory)

    assert not Run.objects.exists()


@pytest.mark.parametrize(
    "statement", [STATEMENT, IN_GERMAN, r"It is in C:\new\notes"], ids=["quoted", "not ASCII", "path"]
)
@pytest.mark.parametrize("hold", HOLDING.values(), ids=HOLDING)
def test_so_is_it_when_many_are_forgotten_at_once_and_no_other(alice, hold, statement):
    memories = [remember(alice, f"I know fact {number}").memory for number in range(21)]
    memories.append(remember(alice, statement).memory)
    holding, other = open_run(alice), open_run(alice, "What is 6 times 7?")
    hold(holding, statement)
    step(other, done="6 * 7")
    for run in (holding, other):
        close(run)

    forgettings.forget(alice.id, [memory.id for memory in memories], now=timezone.now())

    assert list(Run.objects.all()) == [other]


def test_a_record_that_is_gone_does_not_come_back_with_what_it_held(alice):
    memory = remember(alice, STATEMENT).memory
    run = open_run(alice)
    step(run, done=STATEMENT)
    close(run)
    act = forgettings.forget(alice.id, [memory.id], now=timezone.now())

    forgettings.undo(alice.id, act.id, now=timezone.now())

    assert live(alice) == [STATEMENT]
    assert not Run.objects.exists()


def test_so_is_one_that_holds_an_earlier_wording_a_former_value_the_quote_or_the_id(alice):
    former = remember(alice, "I live in Faro", key="city").memory
    memory = remember(alice, "I live in Porto", key="city", quote="to Porto, finally").memory
    longterm.edit(alice.id, memory.id, version=1, now=timezone.now(), statement="I live in Braga")
    for text in (former.statement, "I live in Porto", "to Porto, finally", str(memory.id)):
        run = open_run(alice)
        step(run, observation=text)
        close(run)

    forget(memory)

    assert not Run.objects.exists()


def test_so_is_the_run_that_remembered_it_in_whatever_words(alice):
    run = open_run(alice)
    memory = remember(alice, STATEMENT, run_id=run.id).memory
    close(run)

    forget(memory)

    assert not Run.objects.exists()


def test_other_records_and_other_peoples_stay(alice, bob):
    memory = remember(alice, STATEMENT).memory
    others = [open_run(alice, "What is 6 times 7?"), open_run(bob)]
    for run in others:
        step(run, done="6 * 7" if run.user_id == alice.id else f"added: {STATEMENT}")
        close(run)

    forget(memory)

    assert set(Run.objects.all()) == set(others)


def test_a_run_at_work_meanwhile_goes_on_and_leaves_no_record(alice):
    memory = remember(alice, STATEMENT).memory
    run = open_run(alice)

    forget(memory)
    step(run, observation=STATEMENT)
    assert Run.objects.get().steps.count() == 1
    close(run)

    assert not Run.objects.exists()


@pytest.mark.parametrize("is_waiting", [True, False], ids=["waiting", "queued"])
def test_a_run_that_no_worker_holds_loses_what_it_noted(alice, is_waiting):
    memory = remember(alice, STATEMENT).memory
    run = open_run(alice)
    step(run, observation=STATEMENT)
    in_a_checkpoint(run, STATEMENT)
    question(run, arguments={"to": STATEMENT})
    if is_waiting:
        wait(run)

    forget(memory)

    kept = Run.objects.get()
    assert (kept.goal, from_json(kept.pad), kept.status) == ("Help me", Pad(goal="Help me"), "running")
    assert not any(model.objects.exists() for model in (Step, Checkpoint, Approval))
    assert kept.memory_epoch == run.memory_epoch  # so that it is seen to be overtaken
    assert fresh(run.turn).status == ("waiting" if is_waiting else "queued")


def test_not_even_its_goal_stays_when_that_holds_it(alice):
    memory = remember(alice, STATEMENT).memory
    run = open_run(alice, f"Note: {STATEMENT}")
    wait(run)

    forget(memory)

    kept = Run.objects.get()
    assert (kept.goal, from_json(kept.pad)) == ("", Pad(goal=""))


def test_a_run_that_a_worker_is_at_keeps_what_it_works_with(alice):
    memory = remember(alice, STATEMENT).memory
    run = open_run(alice)
    claim(run.turn)
    step(run, observation=STATEMENT)

    forget(memory)

    assert Step.objects.get().observation == STATEMENT


def test_what_waits_and_does_not_hold_it_stays_as_it_is_and_so_do_other_peoples(alice, bob):
    memory = remember(alice, STATEMENT).memory
    for user, text in ((alice, "6 * 7"), (bob, STATEMENT)):
        run = open_run(user)
        step(run, observation=text)
        wait(run)

    forget(memory)

    assert Step.objects.count() == 2


def test_a_run_that_begins_afterwards_leaves_its_record(alice):
    forget(remember(alice, STATEMENT).memory)
    run = open_run(alice)

    close(run)

    assert Run.objects.get() == run


def test_a_run_that_starts_over_afterwards_leaves_its_record(alice):
    memory = remember(alice, STATEMENT).memory
    run = open_run(alice)
    forget(memory)

    open_run_again(run)
    close(run)

    assert Run.objects.get() == run


@pytest.mark.parametrize("is_recorded", [True, False])
def test_what_such_a_run_taught_goes_with_it_also_when_its_record_is_gone(alice, is_recorded):
    memory = remember(alice, STATEMENT).memory
    run = open_run(alice)
    step(run, done=f"added: {STATEMENT}")
    close(run)
    for owner, worked in ((run, f"added: {STATEMENT}"), (open_run(alice), "6 * 7")):
        lesson = Lesson(
            goal=f"Help me: {worked}", tools=(), worked=worked, avoid="", origin=Origin.MODEL_INFERRED
        )
        experiences.record(alice.id, lesson, run_id=owner.id, epoch_at_start=0, now=timezone.now())
    if not is_recorded:
        Run.objects.filter(id=run.id).delete()

    forget(memory)

    assert [lesson.worked for lesson in Experience.objects.all()] == ["6 * 7"]


def test_a_forgetting_that_cannot_reach_the_runs_did_not_happen(alice, monkeypatch):
    memory = remember(alice, STATEMENT).memory

    def fail(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(scratchpad, "drop_records", fail)
    with pytest.raises(RuntimeError):
        forget(memory)

    assert live(alice) == [STATEMENT]
