"""A tool that a person is asked about: it runs on their word alone, for the very call they saw, once."""

import json
from dataclasses import replace

import pytest
from django.db.models import F
from django.utils import timezone

from chat import sending, tools
from memoryapp.accounts.models import User
from memoryapp.errors import NotFoundError
from memoryapp.llm.errors import Cancelled
from memoryapp.policies.trust import Origin
from memoryapp.scratchpad import queries as runs
from memoryapp.scratchpad.approvals import ApprovalChangedError, ApprovalClosedError, withdraw
from memoryapp.scratchpad.models import Approval
from memoryapp.tooling.base import Arguments, Tool, ToolOutput
from memoryapp.transcript.models import Turn
from tests.modelserver import calls, reply
from tests.turns import COMMITTED, answer, ask, at_once, fresh, published, reply_to, start

pytestmark = [COMMITTED, pytest.mark.usefixtures("nudges")]


class Letter(Arguments):
    to: str


@pytest.fixture(autouse=True)
def sent(monkeypatch):
    """Who got a letter, by a tool that asks first."""
    letters = []

    def send(letter, context):
        letters.append((letter.to, context.idempotency_key))
        return ToolOutput(json.dumps({"sent": letter.to}), origin=Origin.USER_TYPED)

    tool = Tool.of(
        "send_letter",
        "Send a letter.",
        Letter,
        send,
        needs_approval=True,
        side_effects=True,
        touches=lambda letter: f"the letter box of {letter.to}",
        source="Post",
    )
    monkeypatch.setattr(tools, "added_tools", lambda _taken: (tool,))
    return letters


def letter(to="Ann", said="I will write to Ann."):
    return reply(said, calls("send_letter", to=to))


def approval(turn: Turn) -> Approval:
    [asked] = runs.approvals(turn.user_id, [turn.id])
    return asked


def decide(turn: Turn, **word: object) -> Turn:
    asked = approval(turn)
    return sending.decide(
        turn.user, turn.id, asked.tool_use_id, **{"approve": True, "nonce": asked.nonce, **word}
    )


def test_the_call_waits_for_a_word_and_says_what_it_is_about(alice, model, sent):
    model.script(letter())

    turn = ask(alice, "Write to Ann")

    assert (turn.status, turn.wait_reason, turn.partial_text) == (
        "waiting",
        "approval",
        "I will write to Ann.",
    )
    asked = approval(turn)
    assert (asked.action, asked.arguments, asked.why, asked.touches) == (
        "send_letter",
        {"to": "Ann"},
        "I will write to Ann.",
        "the letter box of Ann",
    )
    assert sent == []
    assert published(turn)[-1]["reason"] == "approval"
    assert list(runs.pending_approvals(alice.id)) == [asked]


def test_a_yes_runs_it_once(alice, model, sent):
    model.script(letter(), reply("Written."))
    turn = ask(alice, "Write to Ann")

    decide(turn)
    ended = answer(turn)

    assert (ended.status, reply_to(ended)) == ("completed", "I will write to Ann.\n\nWritten.")
    assert [to for to, _ in sent] == ["Ann"]
    assert [(step.action, step.status) for step in runs.steps(ended.run)] == [("send_letter", "ok")]


def test_a_no_is_told_to_the_model_with_its_reason_and_nothing_runs(alice, model, sent):
    model.script(letter(), reply("As you wish."))
    turn = ask(alice, "Write to Ann")

    decide(turn, approve=False, reason="She moved.")
    answer(turn)

    [result] = [b for b in model.calls[1].body["messages"][-1]["content"] if b["type"] == "tool_result"]
    assert (result["is_error"], json.loads(result["content"])["message"]) == (
        True,
        "The user said no: She moved.",
    )
    assert sent == []
    [step] = runs.steps(fresh(turn).run)
    assert (step.status, step.error) == ("refused", "The user said no: She moved.")


def test_what_was_denied_is_not_asked_again(alice, model, sent):
    model.script(letter(), letter(), reply("As you wish."))
    turn = ask(alice, "Write to Ann")

    decide(turn, approve=False)
    ended = answer(turn)

    assert ended.status == "completed"
    assert runs.approvals(alice.id, [turn.id]).count() == 1
    assert sent == []


def test_always_asks_no_more_in_this_conversation_alone(alice, model, sent):
    conversation = start(alice)
    model.script(letter(), reply("Written."), letter("Bea"), reply("Written."), letter("Cy"))
    turn = ask(alice, "Write to Ann", conversation)
    decide(turn, always=True)
    answer(turn)

    second = ask(alice, "And to Bea", conversation)
    elsewhere = ask(alice, "Write to Cy")

    assert (second.status, elsewhere.status) == ("completed", "waiting")
    assert [to for to, _ in sent] == ["Ann", "Bea"]


def test_always_can_be_taken_back(alice, model, sent):
    conversation = start(alice)
    model.script(letter(), reply("Written."), letter("Bea"))
    turn = ask(alice, "Write to Ann", conversation)
    decide(turn, always=True)
    answer(turn)

    withdraw(alice.id, conversation.id, "send_letter")

    assert ask(alice, "And to Bea", conversation).status == "waiting"


def test_a_question_nobody_answers_is_a_no(alice, model, sent):
    model.script(letter(), reply("Another time."))
    turn = ask(alice, "Write to Ann")
    Approval.objects.update(expires_at=timezone.now())
    Turn.objects.filter(id=turn.id).update(resume_at=timezone.now())

    ended = answer(turn)

    assert (ended.status, sent) == ("completed", [])
    assert approval(turn).status == "expired"
    assert "did not answer in time" in runs.steps(ended.run)[0].error


def test_an_expired_question_cannot_be_answered(alice, model):
    model.script(letter())
    turn = ask(alice, "Write to Ann")
    Approval.objects.update(expires_at=timezone.now())

    with pytest.raises(ApprovalClosedError):
        decide(turn)


def test_a_word_for_another_call_is_refused(alice, model, sent):
    model.script(letter())
    turn = ask(alice, "Write to Ann")

    with pytest.raises(ApprovalChangedError):
        decide(turn, nonce="of-another-call")

    assert approval(turn).status == "pending"


def test_of_many_words_at_once_one_counts(alice, model, sent):
    model.script(letter(), reply("Written."))
    turn = ask(alice, "Write to Ann")

    def word(number):
        try:
            decide(turn, approve=number % 2 == 0)
        except ApprovalClosedError:
            return None
        return number % 2 == 0

    said = [yes for yes in at_once(4, word) if yes is not None]
    answer(turn)

    assert len(said) == 1
    assert len(sent) == said.count(True)


def test_bob_decides_nothing_of_alices(alice, bob, model):
    model.script(letter())
    turn = ask(alice, "Write to Ann")
    asked = approval(turn)

    with pytest.raises(NotFoundError):
        sending.decide(bob, turn.id, asked.tool_use_id, approve=True, nonce=asked.nonce)

    assert not runs.pending_approvals(bob.id).exists()


def test_two_calls_wait_for_two_words(alice, model, sent):
    both = reply(calls("send_letter", to="Ann"), calls("send_letter", to="Bea"))
    model.script(both, reply("Written."))
    turn = ask(alice, "Write to both")
    first, second = runs.approvals(alice.id, [turn.id])

    waiting = sending.decide(alice, turn.id, first.tool_use_id, approve=True, nonce=first.nonce)
    going_on = sending.decide(alice, turn.id, second.tool_use_id, approve=False, nonce=second.nonce)
    answer(turn)

    assert (waiting.status, going_on.status) == ("waiting", "queued")
    assert [to for to, _ in sent] == ["Ann"]


def test_a_call_that_cannot_run_is_not_asked_about(alice, model, sent):
    model.script(reply(calls("send_letter", whom="Ann")), reply("I cannot."))

    turn = ask(alice, "Write to Ann")

    assert turn.status == "completed"
    assert not runs.approvals(alice.id, [turn.id]).exists()


def test_a_call_that_only_became_possible_in_its_round_does_not_run_unasked(alice, model, sent):
    """The second letter would be answered with the first one's result, had nothing been changed in between."""
    said = "I live in Porto."
    again = reply(
        calls("remember", statement=said, quote=said, kind="identity"), calls("send_letter", to="Ann")
    )
    model.script(letter(), again, reply("One letter."))
    turn = ask(alice, said)

    decide(turn)
    ended = answer(turn)

    assert (ended.status, len(sent)) == ("completed", 1)
    assert [step.status for step in runs.steps(ended.run)] == ["ok", "ok", "refused"]


def test_a_stop_ends_the_question_too(alice, model, sent):
    model.script(letter())
    turn = ask(alice, "Write to Ann")

    sending.stop(alice, turn.id)

    assert fresh(turn).status == "cancelled"
    assert not runs.pending_approvals(alice.id).exists()


def test_what_a_crash_overtook_is_not_done_again_and_said_so(alice, model, sent, monkeypatch):
    """The letter may be in the post: nobody knows."""
    model.script(letter(), reply("I do not know whether it went out."))
    turn = ask(alice, "Write to Ann")
    decide(turn)
    lost = tools.added_tools(())[0]
    monkeypatch.setattr(tools, "added_tools", lambda _taken: (replace(lost, run=_killed),))
    with pytest.raises(KeyboardInterrupt):
        answer(turn)
    monkeypatch.setattr(tools, "added_tools", lambda _taken: (lost,))
    Turn.objects.filter(id=turn.id).update(status="queued")

    ended = answer(turn)

    assert (ended.status, sent) == ("completed", [])
    [step] = runs.steps(ended.run)
    assert (step.status, step.number) == ("error", 1)
    assert "not known" in step.error


def _killed(_arguments, _context):
    raise KeyboardInterrupt


def run_again(turn: Turn) -> None:
    """The wait is over, whatever it was for."""
    Turn.objects.filter(id=turn.id).update(resume_at=timezone.now(), lease_until=timezone.now())


def test_a_yes_is_good_for_what_was_shown_alone(alice, model, sent, monkeypatch):
    """The tool leads elsewhere by now: the person is asked anew."""
    model.script(letter(), reply("Written."))
    turn = ask(alice, "Write to Ann")
    shown = approval(turn)
    [tool] = tools.added_tools(())
    monkeypatch.setattr(tools, "added_tools", lambda _taken: (replace(tool, touches="another letter box"),))

    decide(turn)
    waiting = answer(turn)

    assert (waiting.status, sent) == ("waiting", [])
    assert approval(turn).touches == "another letter box"
    assert approval(turn).nonce != shown.nonce


def test_always_ends_when_the_tool_says_something_else_of_itself(alice, model, sent, monkeypatch):
    conversation = start(alice)
    model.script(letter(), reply("Written."), letter("Bea"))
    turn = ask(alice, "Write to Ann", conversation)
    decide(turn, always=True)
    answer(turn)
    [tool] = tools.added_tools(())
    other = replace(tool, definition=replace(tool.definition, description="Send money."))
    monkeypatch.setattr(tools, "added_tools", lambda _taken: (other,))

    assert ask(alice, "And to Bea", conversation).status == "waiting"


def test_a_stopped_question_cannot_be_answered(alice, model, sent):
    model.script(letter())
    turn = ask(alice, "Write to Ann")
    sending.stop(alice, turn.id)

    with pytest.raises(ApprovalClosedError):
        decide(turn, always=True)

    assert approval(turn).status == "expired"


def test_no_effect_begins_after_a_stop(alice, model, sent, monkeypatch):
    [tool] = tools.added_tools(())
    stopping = replace(tool, needs_approval=False, timeout_s=None, run=_stop_after(tool.run))
    monkeypatch.setattr(tools, "added_tools", lambda _taken: (stopping,))
    model.script(reply(*(calls("send_letter", to=f"Ann {n}") for n in range(5))))

    turn = ask(alice, "Write to all")

    assert (turn.status, len(sent)) == ("cancelled", 1)


def _stop_after(run):
    def stopping(arguments, told):
        output = run(arguments, told)
        told.cancellation.set()
        return output

    return stopping


def test_a_retry_after_a_stop_in_mid_effect_reads_that_it_is_unknown(alice, model, sent, monkeypatch):
    [tool] = tools.added_tools(())
    monkeypatch.setattr(
        tools, "added_tools", lambda _taken: (replace(tool, needs_approval=False, run=_cancelled),)
    )
    model.script(letter())
    turn = ask(alice, "Write to Ann")
    model.script(reply("I do not know."))

    sending.retry(alice, turn.id)
    ended = answer(turn)

    assert (turn.status, ended.status) == ("cancelled", "completed")
    [step] = runs.steps(ended.run)
    assert "not known" in step.error


def _cancelled(_arguments, told):
    told.cancellation.set()
    raise Cancelled("Stopped.")


def test_a_forgetting_does_not_repeat_what_was_done(alice, model, sent):
    model.script(letter(), letter("Bea"))
    turn = ask(alice, "Write to both")
    decide(turn)
    waiting = answer(turn)
    assert (waiting.status, len(sent)) == ("waiting", 1)
    User.objects.filter(id=alice.id).update(memory_epoch=F("memory_epoch") + 1)

    run_again(turn)
    ended = answer(turn)

    assert (ended.status, ended.error_code, len(sent)) == ("failed", "run_overtaken", 1)


def test_a_run_that_a_forgetting_overtook_keeps_nothing_while_it_would_wait(alice, model, sent, monkeypatch):
    def forget(_text):
        User.objects.filter(id=alice.id).update(memory_epoch=F("memory_epoch") + 1)
        return "42"

    monkeypatch.setattr("chat.everyday_tools.calculate", forget)
    model.script(reply(calls("calculate", expression="6 * 7")), letter())

    turn = ask(alice, "Work it out and write to Ann")
    assert turn.status == "queued"
    model.script(reply("Anew."))
    ended = answer(turn)

    assert (ended.status, reply_to(ended), sent) == ("completed", "Anew.", [])
    assert not runs.approvals(alice.id, [turn.id]).exists()
