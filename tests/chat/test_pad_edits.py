"""A person changes the scratchpad of a run that goes on: the next call of the model has it last."""

import json

import pytest
from django.db import transaction

from chat import sending
from chat.tools import describe
from chat.turn import run_turn
from memoryapp.llm.base import ToolUse
from memoryapp.scratchpad import edits, operations
from memoryapp.scratchpad import pad as pads
from memoryapp.scratchpad import queries as runs
from memoryapp.scratchpad.edits import PadChangedError, RunEndedError
from memoryapp.scratchpad.models import PadEdit
from memoryapp.scratchpad.pad import Edit, Op
from memoryapp.transcript import claims
from memoryapp.transcript.models import Turn
from tests.chat.test_waiting import end_of_wait
from tests.modelserver import calls, fails, reply, thinks
from tests.turns import COMMITTED, answer, answering, ask, claim, expire_lease, fresh, post

pytestmark = [COMMITTED, pytest.mark.usefixtures("nudges")]


@pytest.fixture(autouse=True)
def patient(configure, model):
    configure(STRATA_MODEL_MAX_RETRIES="3")


def busy():
    return fails(529, "overloaded_error", retry_after="12")


def change(turn: Turn, op: Op, target: str = "", text: str = "") -> PadEdit:
    run = runs.run_of_turn(turn.user_id, turn.id)
    return edits.edit(turn.user_id, run.id, Edit(op, target, text))


def pad_read_last(call) -> pads.Pad:
    """What the request ends with."""
    newest = call.body["messages"][-1]
    assert newest["role"] == "user"
    pad = pads.read(newest["content"][-1]["text"])
    assert pad
    return pad


def waiting_after(alice, model, *rounds) -> Turn:
    """A turn that did ``rounds`` and waits for the model."""
    model.script(*rounds, busy(), reply("Done."))
    turn = ask(alice, "Plan the trip")
    assert (turn.status, turn.wait_reason) == ("waiting", "model")
    return turn


def go_on(turn: Turn) -> Turn:
    end_of_wait(turn)
    return answer(turn)


def test_a_corrected_fact_is_what_the_next_call_reads_and_says_who_corrected_it(alice, model):
    turn = waiting_after(alice, model, reply(calls("calculate", expression="6 * 7")))

    change(turn, Op.CORRECT_FACT, "6 * 7", "43")
    ended = go_on(turn)

    (fact,) = pad_read_last(model.calls[-1]).facts
    assert (ended.status, fact) == ("completed", pads.Fact("6 * 7", "43", pads.CORRECTED))


def test_a_struck_to_do_is_gone_from_the_next_call(alice, model):
    plan = reply(calls("update_plan", todo=["Book the hotel", "Rent a car"]))
    turn = waiting_after(alice, model, plan)

    change(turn, Op.STRIKE_TODO, "Rent a car")
    go_on(turn)

    read = pad_read_last(model.calls[-1])
    assert (read.todo, read.struck) == (("Book the hotel",), ("Rent a car",))


def test_a_struck_to_do_is_not_planned_again(alice, model):
    plan = reply(calls("update_plan", todo=["Book the hotel", "Rent a car"]))
    model.script(plan, busy(), plan, reply("Done."))
    turn = ask(alice, "Plan the trip")

    change(turn, Op.STRIKE_TODO, "Rent a car")
    go_on(turn)

    assert pads.from_json(runs.run_of_turn(alice.id, turn.id).pad).todo == ("Book the hotel",)


def test_a_call_that_is_not_to_be_retried_runs_again_once_it_is_cleared(alice, model, monkeypatch):
    computed = []

    def calculate(text):
        computed.append(text)
        if len(computed) == 1:
            raise ValueError("The abacus is broken.")
        return "2"

    monkeypatch.setattr("chat.everyday_tools.calculate", calculate)
    again = reply(calls("calculate", expression="1 + 1"))
    model.script(again, busy(), again, reply("2."))
    turn = ask(alice, "Add")
    (failure,) = pads.from_json(runs.run_of_turn(alice.id, turn.id).pad).failed

    change(turn, Op.CLEAR_FAILURE, failure.call)
    go_on(turn)

    assert computed == ["1 + 1", "1 + 1"]
    told = pad_read_last(model.calls[2])
    assert (told.failed, told.may_retry) == ((), (failure.call,))
    assert [step.status for step in runs.steps(runs.run_of_turn(alice.id, turn.id))] == ["error", "ok"]


def test_what_fails_again_after_it_was_cleared_is_refused_again(alice, model):
    again = reply(calls("calculate", expression="1 / 0"))
    model.script(again, busy(), again, again, reply("No."))
    turn = ask(alice, "Divide")

    change(turn, Op.CLEAR_FAILURE, _call("1 / 0"))
    go_on(turn)

    steps = runs.steps(runs.run_of_turn(alice.id, turn.id))
    assert [step.status for step in steps] == ["error", "error", "refused"]


def test_an_answered_question_is_a_fact_of_the_next_call(alice, model):
    asks = reply(calls("update_plan", todo=["Book"], open_questions=["Which month?"]))
    turn = waiting_after(alice, model, asks)

    change(turn, Op.ANSWER_QUESTION, "Which month?", "May")
    go_on(turn)

    read = pad_read_last(model.calls[-1])
    assert read.open_questions == ()
    assert read.facts == (pads.Fact("Which month?", "May", pads.ANSWERED),)


def test_a_stuck_run_goes_on_with_the_answer(alice, model):
    failing = (reply(calls("calculate", expression=f"{n} / 0")) for n in range(3))
    asks = reply(calls("update_plan", todo=["Book"], open_questions=["Which month?"]))
    model.script(asks, *failing, reply("May it is."))
    turn = ask(alice, "Plan the trip")
    assert (turn.status, turn.wait_reason) == ("waiting", "stuck")

    change(turn, Op.ANSWER_QUESTION, "Which month?", "May")
    sending.go_on(alice, turn.id)
    ended = answer(turn)

    assert ended.status == "completed"
    assert pads.Fact("Which month?", "May", pads.ANSWERED) in pad_read_last(model.calls[-1]).facts


def test_what_is_added_before_anything_was_done_is_read_too(alice, model):
    turn = waiting_after(alice, model)

    change(turn, Op.ADD_TODO, text="Ask about the dog")
    change(turn, Op.ADD_FACT, "dates", "1 to 8 May")
    go_on(turn)

    read = pad_read_last(model.calls[-1])
    assert read.todo == ("Ask about the dog",)
    assert read.facts == (pads.Fact("dates", "1 to 8 May", pads.ADDED),)
    assert [message["role"] for message in model.calls[-1].body["messages"]] == ["user"]


def test_a_running_worker_takes_it_up_before_its_next_call(alice, model):
    plan = calls("update_plan", todo=["Book the hotel", "Rent a car"])
    # Struck while the model is at the call in which it plans it once more: the edit wins.
    model.script(
        reply(plan), reply(calls("calculate", expression="1 + 1"), plan, gate="here"), reply("Done.")
    )
    turn = post(alice, "Plan the trip")

    with answering(turn):
        model.wait_until_held("here")
        change(turn, Op.STRIKE_TODO, "Rent a car")
        model.release("here")

    read = pad_read_last(model.calls[2])
    assert (read.todo, read.struck) == (("Book the hotel",), ("Rent a car",))
    assert len(_pads_in(model.calls[2])) == 2  # of each round, and none besides


def test_a_worker_that_takes_over_finds_what_nobody_took_up(alice, model):
    model.script(reply(calls("calculate", expression="6 * 7")), busy(), reply("Done."))
    turn = ask(alice, "Plan the trip")
    end_of_wait(turn)
    claim(turn)  # and dies before it reads anything

    change(turn, Op.CORRECT_FACT, "6 * 7", "43")
    expire_lease(turn)
    ended = answer_taken_over(turn)

    assert ended.status == "completed"
    assert pad_read_last(model.calls[-1]).facts[0].value == "43"


def test_a_worker_that_died_between_taking_up_and_asking_loses_nothing(alice, model):
    turn = waiting_after(alice, model, reply(calls("calculate", expression="6 * 7")))
    change(turn, Op.CORRECT_FACT, "6 * 7", "43")
    end_of_wait(turn)
    held = claim(turn)
    run = operations.open_run(user_id=alice.id, turn_id=turn.id, goal="Plan the trip", attempt=held.attempt)
    edits.take_up(run, pads.from_json(run.pad), attempt=held.attempt)

    expire_lease(turn)
    answer_taken_over(turn)

    assert pad_read_last(model.calls[-1]).facts[0].value == "43"


def test_a_correction_outlives_a_tool_that_says_the_old_thing_again(alice, model):
    again = reply(calls("current_time"))
    model.script(again, busy(), again, reply("Done."))
    turn = ask(alice, "What time is it?")
    key = pads.from_json(runs.run_of_turn(alice.id, turn.id).pad).facts[0].key

    change(turn, Op.CORRECT_FACT, key, "half past nine")
    go_on(turn)

    assert pad_read_last(model.calls[2]).facts[0].value == "half past nine"
    assert pads.from_json(runs.run_of_turn(alice.id, turn.id).pad).facts[0].value == "half past nine"


def test_thinking_stays_valid(alice, model):
    turn = waiting_after(
        alice, model, reply(thinks("Six times seven."), calls("calculate", expression="6 * 7"))
    )

    change(turn, Op.CORRECT_FACT, "6 * 7", "43")
    ended = go_on(turn)

    assert ended.status == "completed"
    assert '"43"' in json.dumps(model.calls[-1].body["messages"][-1]).replace('\\"', '"')


def test_a_forgetting_takes_the_edits_that_hold_it(alice, model):
    turn = waiting_after(alice, model, reply(calls("calculate", expression="6 * 7")))
    change(turn, Op.ADD_FACT, "breakfast", "marmalade")
    run = runs.run_of_turn(alice.id, turn.id)

    assert run in runs.runs_holding(alice.id, ["Marmalade"])
    with transaction.atomic():
        operations.empty_idle(alice.id, [run.id], forgotten=["marmalade"])

    assert not PadEdit.objects.exists()


def test_nothing_is_taken_up_twice(alice, model):
    turn = waiting_after(alice, model, reply(calls("calculate", expression="6 * 7")))
    change(turn, Op.ADD_TODO, text="Ask about the dog")
    go_on(turn)

    (row,) = PadEdit.objects.all()
    applied_at = row.applied_at
    run = runs.run_of_turn(alice.id, turn.id)

    assert applied_at
    assert runs.waiting_edits(run) == []


def test_an_ended_run_takes_no_edit(alice, model):
    model.script(reply("Hello."))
    turn = ask(alice, "Hello")

    with pytest.raises(RunEndedError):
        change(turn, Op.ADD_TODO, text="Ask about the dog")


def test_an_entry_that_changed_meanwhile_is_told_with_what_stands_now(alice, model):
    turn = waiting_after(alice, model, reply(calls("calculate", expression="6 * 7")))
    run = runs.run_of_turn(alice.id, turn.id)

    with pytest.raises(PadChangedError) as changed:
        edits.edit(alice.id, run.id, Edit(Op.CORRECT_FACT, "6 * 7", "43"), seen="41")
    with pytest.raises(PadChangedError) as gone:
        change(turn, Op.STRIKE_TODO, "Rent a car")

    assert (changed.value.now, gone.value.now) == ("42", None)


def _call(expression: str) -> str:
    return describe(ToolUse("", "calculate", {"expression": expression}))


def _pads_in(call) -> list[pads.Pad]:
    texts = (
        block.get("text", "")
        for message in call.body["messages"]
        for block in message["content"]
        if isinstance(block, dict)
    )
    return [pad for pad in map(pads.read, texts) if pad]


def answer_taken_over(turn: Turn) -> Turn:
    taken = claims.take_over(turn.id)
    assert taken
    run_turn(taken)
    return fresh(turn)
