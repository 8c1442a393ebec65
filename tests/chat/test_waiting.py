"""A turn that cannot go on now waits without a worker, and goes on as if nothing had been."""

from dataclasses import replace

import pytest
from django.utils import timezone

from chat import sending, tools
from chat.draining import drain
from chat.reaper import reap_turns
from chat.tasks import run_turn
from memoryapp.nudges import RUN_TURN
from memoryapp.scratchpad import queries as runs
from memoryapp.tooling.base import Arguments, Tool, ToolOutput
from memoryapp.transcript import claims
from memoryapp.transcript.models import Turn
from tests.modelserver import calls, fails, reply
from tests.turns import (
    COMMITTED,
    answer,
    answering,
    ask,
    claim,
    fresh,
    post,
    published,
    reply_to,
    start,
    streamed,
)

pytestmark = [COMMITTED, pytest.mark.usefixtures("nudges")]

# A tool from elsewhere: with one, results may be too long to be read at once.
SHELF = Tool.of("shelf", "A shelf.", Arguments, lambda _arguments, _context: ToolOutput("empty"))


@pytest.fixture(autouse=True)
def patient(configure, model):
    configure(STRATA_MODEL_MAX_RETRIES="3")


def overloaded(**options):
    return fails(529, "overloaded_error", **options)


def end_of_wait(turn: Turn) -> None:
    """The time it waits for is over."""
    Turn.objects.filter(id=turn.id).update(resume_at=timezone.now(), lease_until=timezone.now())


def sum_up():
    return reply("One moment.", calls("calculate", expression="6 * 7"))


def test_a_model_that_asks_to_wait_binds_no_worker(alice, model):
    model.script(overloaded(retry_after="12"))

    turn = ask(alice, "Hello")

    assert (turn.status, turn.wait_reason) == ("waiting", "model")
    assert turn.wait_message == "The model is overloaded."
    assert 12 <= (turn.resume_at - timezone.now()).total_seconds() <= 14
    told = published(turn)[-1]
    assert (told["type"], told["reason"], told["until"]) == ("waiting", "model", turn.resume_at.isoformat())


def test_nobody_takes_it_up_before_its_time(alice, model):
    model.script(overloaded(retry_after="12"))
    turn = ask(alice, "Hello")

    assert claims.claim_turn(turn.id) is None


def test_it_goes_on_with_the_very_request(alice, model):
    model.script(sum_up(), overloaded(retry_after="12"), reply("42."))
    turn = ask(alice, "What is 6 * 7?")
    assert (turn.status, turn.partial_text) == ("waiting", "One moment.")

    end_of_wait(turn)
    ended = answer(turn)

    assert (ended.status, reply_to(ended)) == ("completed", "One moment.\n\n42.")
    assert model.calls[2].body == model.calls[1].body
    assert streamed(ended) == "One moment.\n\n42."
    assert (ended.wait_reason, ended.wait_message, ended.resume_at) == ("", "", None)


def test_waiting_is_no_crash(alice, model):
    model.script(*(overloaded(retry_after="1") for _ in range(3)), reply("At last."))
    turn = ask(alice, "Hello")

    for _ in range(3):
        end_of_wait(turn)
        ended = answer(turn)

    assert (ended.status, reply_to(ended)) == ("completed", "At last.")
    assert ended.attempts_left == 2


def test_waits_grow_from_worker_to_worker_and_end(alice, model):
    model.script(*(overloaded() for _ in range(4)))
    turn = ask(alice, "Hello")
    waits = []

    while turn.status == "waiting":
        waits.append((turn.resume_at - timezone.now()).total_seconds())
        end_of_wait(turn)
        turn = answer(turn)

    assert (turn.status, turn.error_code) == ("failed", "model_overloaded")
    assert len(model.calls) == 4
    assert waits[0] < waits[1] < waits[2]


def test_an_answer_in_between_forgives_the_failures_before_it(alice, model):
    one_more = [overloaded(), overloaded(), overloaded()]
    model.script(*one_more, sum_up(), *one_more, reply("42."))
    turn = ask(alice, "What is 6 * 7?")

    while turn.status == "waiting":
        end_of_wait(turn)
        turn = answer(turn)

    assert (turn.status, reply_to(turn)) == ("completed", "One moment.\n\n42.")


def test_a_lost_nudge_is_sent_again_once_it_is_overdue(alice, model, nudges):
    model.script(overloaded(retry_after="12"))
    turn = ask(alice, "Hello")
    nudges.clear()
    reap_turns()
    assert nudges == []

    end_of_wait(turn)
    reap_turns()

    assert nudges == [(RUN_TURN, turn.id)]


def test_the_conversations_next_message_waits_behind_it(alice, model):
    model.script(overloaded(retry_after="12"))
    conversation = start(alice)
    ask(alice, "Hello", conversation)
    following = post(alice, "And?", conversation)

    assert claims.claim_turn(following.id) is None


def test_a_person_may_try_at_once(alice, model):
    model.script(overloaded(retry_after="12"), reply("Hello."))
    turn = ask(alice, "Hello")

    sending.go_on(alice, turn.id)
    ended = answer(turn)

    assert (ended.status, reply_to(ended)) == ("completed", "Hello.")


def test_a_stop_ends_the_wait_at_once_and_keeps_what_was_said(alice, model):
    model.script(sum_up(), overloaded(retry_after="12"))
    turn = ask(alice, "What is 6 * 7?")

    stopped = sending.stop(alice, turn.id)

    assert (stopped.status, reply_to(turn)) == ("cancelled", "One moment.")
    assert runs.run_of_turn(alice.id, turn.id).status == "cancelled"
    assert published(turn)[-1] == {"type": "end", "status": "cancelled"}


def test_a_stop_that_comes_with_the_wait_is_not_lost(alice, model):
    model.script(overloaded(retry_after="12"))
    turn = post(alice, "Hello")
    held = claim(turn)
    sending.stop(alice, turn.id)

    until = claims.wait_turn(held, reason=Turn.WaitReason.MODEL, message="", wait_s=12, partial_text="Half")

    assert until is None
    assert fresh(turn).status == "running"  # the worker ends it, as it would have


def test_only_what_waits_can_be_told_to_go_on(alice, bob, model):
    turn = ask(alice, "Hello")

    with pytest.raises(claims.TurnNotWaitingError):
        sending.go_on(alice, turn.id)


# A run that gets nowhere.


def divide():
    return reply(calls("calculate", expression="1 / 0"))


def test_a_stuck_run_goes_on_when_its_person_says_so(alice, model):
    model.script(divide(), divide(), divide(), reply("I cannot."))
    turn = ask(alice, "Divide")
    assert (turn.status, turn.wait_reason) == ("waiting", "stuck")

    sending.go_on(alice, turn.id)
    ended = answer(turn)

    assert (ended.status, reply_to(ended)) == ("completed", "I cannot.")


def test_a_stuck_run_ends_when_nobody_says_so(alice, model):
    model.script(divide(), divide(), divide())
    turn = ask(alice, "Divide")

    end_of_wait(turn)
    ended = answer(turn)

    assert (ended.status, ended.error_code) == ("failed", "run_stuck")
    assert "Nobody said to go on" in ended.error_message


def test_steps_without_news_pause_the_run(alice, model, configure):
    configure(STRATA_RUN_STALL_STEPS="4")
    plan = [reply(calls("update_plan", todo=[f"step {n}"])) for n in range(5)]
    model.script(*plan)

    turn = ask(alice, "Think about it")

    assert (turn.status, turn.wait_message) == ("waiting", "The last 4 steps told nothing new.")
    assert len(model.calls) == 5  # the first plan was news


def test_different_things_that_are_read_are_news(alice, model, configure, monkeypatch):
    configure(STRATA_RUN_STALL_STEPS="3")
    pages = iter(range(9))
    read = Tool.of(
        "read_next",
        "Read on.",
        Arguments,
        lambda _arguments, _context: ToolOutput(f"page {next(pages)}"),
        is_volatile=True,
    )
    monkeypatch.setattr(tools, "added_tools", lambda _taken: (read,))
    model.script(*(reply(calls("read_next")) for _ in range(5)), reply("Read."))

    assert ask(alice, "Read the book").status == "completed"


def test_equal_failures_of_one_round_count_once(alice, model):
    division = calls("calculate", expression="1 / 0")
    model.script(
        reply(division, calls("calculate", expression="2 / 0"), calls("calculate", expression="3 / 0")),
        reply("No."),
    )

    assert ask(alice, "Divide").status == "completed"


def test_a_persons_own_tries_are_not_counted(alice, model):
    model.script(*(overloaded() for _ in range(6)), reply("At last."))
    turn = ask(alice, "Hello")

    for _ in range(6):
        sending.go_on(alice, turn.id)
        turn = answer(turn)

    assert (turn.status, reply_to(turn)) == ("completed", "At last.")


def test_a_run_at_its_limit_goes_on_with_a_fresh_allowance(alice, model, configure):
    configure(STRATA_RUN_MAX_STEPS="2")
    model.script(*(reply(calls("calculate", expression=f"{n} + 1")) for n in range(3)), reply("Done."))
    stopped = ask(alice, "Go on for ever")
    assert (stopped.status, stopped.error_code) == ("failed", "run_limit_reached")

    sending.retry(alice, stopped.id)
    ended = answer(stopped)

    assert (ended.status, reply_to(ended)) == ("completed", "Done.")
    assert runs.run_of_turn(alice.id, ended.id).model_calls == 4


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"STRATA_RUN_MAX_TOKENS": "1000"}, "1,000 tokens"),
        (
            {
                "STRATA_RUN_MAX_USD": "0.01",
                "STRATA_MODEL_SETTINGS": (
                    '{"claude-sonnet-5-5": {"usd_per_million_input": 100, "usd_per_million_output": 100}}'
                ),
            },
            "$0.01",
        ),
    ],
)
def test_tokens_and_money_are_limits_too(alice, model, configure, limits, told):
    configure(**limits)
    model.script(*(reply(calls("calculate", expression=f"{n} + 1")) for n in range(9)))

    turn = ask(alice, "Go on for ever")

    assert turn.error_code == "run_limit_reached"
    assert told in turn.error_message
    assert len(model.calls) < 9


def test_a_call_that_went_well_is_not_made_again(alice, model, monkeypatch):
    computed = []
    monkeypatch.setattr("chat.everyday_tools.calculate", lambda text: computed.append(text) or "2")
    again = reply(calls("calculate", expression="1 + 1"))
    model.script(again, again, reply("2."))

    turn = ask(alice, "Add")

    first, second = runs.steps(turn.run)
    assert (first.status, second.status) == ("ok", "repeated")
    assert (first.observation, computed) == (second.observation, ["1 + 1"])


def test_what_a_change_may_have_made_old_is_asked_again(alice, model):
    said = "I live in Porto."
    listing = reply(calls("list_facts"))
    model.script(
        listing, reply(calls("remember", statement=said, quote=said, kind="identity")), listing, reply("Ok.")
    )

    turn = ask(alice, said)

    steps = list(runs.steps(turn.run))
    assert [step.status for step in steps] == ["ok", "ok", "ok"]
    assert (said in steps[0].observation, said in steps[2].observation) == (False, True)


def test_a_long_result_is_read_in_parts(alice, model, monkeypatch):
    text = "".join(f"line {n}\n" for n in range(5_000))
    book = replace(
        tools.SEARCH_CONVERSATIONS,
        run=lambda _arguments, _context: ToolOutput(text),
        max_output_chars=1_000,
    )
    monkeypatch.setattr(tools, "SEARCH_CONVERSATIONS", book)
    monkeypatch.setattr(tools, "added_tools", lambda _taken: (SHELF,))
    model.script(
        reply(calls("search_conversations", query="book")),
        reply(calls("read_result", step=1, start=880)),
        reply("Read."),
    )

    turn = ask(alice, "Read the book")

    first, second = runs.steps(turn.run)
    assert first.observation == text
    [shown] = [b for b in model.calls[1].body["messages"][-1]["content"] if b["type"] == "tool_result"]
    assert 'read_result {"step": 1, "start": 880} reads on]' in shown["content"]
    assert text[:880] in shown["content"]
    assert second.status == "ok"
    assert "more_from" in second.observation


# A worker that leaves.


@pytest.fixture
def leaving():
    yield drain
    drain.end()


def test_a_worker_that_leaves_finishes_its_step_and_hands_over(alice, model, nudges, leaving, monkeypatch):
    monkeypatch.setattr("chat.everyday_tools.calculate", lambda _: leaving.begin() or "42")
    model.script(sum_up(), reply("42."))

    handed_over = ask(alice, "What is 6 * 7?")
    assert (handed_over.status, handed_over.attempts_left) == ("queued", 3)
    assert nudges[-1] == (RUN_TURN, handed_over.id)
    assert len(model.calls) == 1
    leaving.end()
    ended = answer(handed_over)

    assert (ended.status, reply_to(ended)) == ("completed", "One moment.\n\n42.")
    assert [step.status for step in runs.steps(ended.run)] == ["ok"]


@pytest.fixture
def hurrying(leaving, configure):
    configure(STRATA_DRAIN_SECONDS="0")
    return leaving


@pytest.mark.parametrize(("hold_at", "status"), [(None, "queued"), (4, "interrupted")])
def test_a_worker_that_must_leave_at_once_loses_nothing_that_was_read(
    alice, model, hurrying, hold_at, status
):
    model.script(reply("Half a thought", gate="silence", hold_at=hold_at))
    turn = post(alice, "Tell me")

    with answering(turn):
        model.wait_until_held("silence")
        hurrying.begin()

    assert fresh(turn).status == status
    assert reply_to(turn) == ("Half a t" if hold_at else "")


def test_a_stop_counts_for_more_than_leaving(alice, model, hurrying):
    model.script(reply("Half a thought", gate="silence"))
    turn = post(alice, "Tell me")

    with answering(turn):
        model.wait_until_held("silence")
        sending.stop(alice, turn.id)
        hurrying.begin()

    assert fresh(turn).status == "cancelled"


def test_a_worker_that_leaves_takes_nothing_up(alice, model, leaving):
    turn = post(alice, "Hello")
    leaving.begin()

    run_turn(str(turn.id))

    assert fresh(turn).status == "queued"
