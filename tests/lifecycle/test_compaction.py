"""The older part of a conversation becomes its one summary: when, what of it, and only if it is faithful."""

import itertools

import pytest

from memoryapp.lifecycle.compaction import compact_if_due, extract, is_faithful
from memoryapp.lifecycle.models import LifecycleRun
from memoryapp.lifecycle.tasks import after_turn
from memoryapp.llm.tokens import estimate_text
from memoryapp.transcript import operations as transcript
from memoryapp.transcript import queries
from memoryapp.transcript.models import Message, Summary, Turn
from tests.modelserver import calls, fails, reply
from tests.talking import say
from tests.turns import COMMITTED, at_once, claim, post, start

FAITHFUL = "## Goal\n- Plan the trip\n## Facts and decisions\n- The train at 7:40 costs 129 euros."
# Of 4,000 tokens 60 % are 2,400: the padding makes each turn about 310.
PADDING = "word " * 100


@pytest.fixture
def conversation(alice):
    return start(alice)


@pytest.fixture
def small_window(configure):
    """The offline responder, in the smallest window there is."""
    configure(STRATA_WINDOW_TOKENS="4000")


@pytest.fixture
def small_model(configure, model):
    """A real model by the strict server, in a window of 8,000 tokens, of which a quarter triggers."""
    configure(STRATA_CHAT_MODEL="tiny-8k", STRATA_COMPACTION_TRIGGER_SHARE="0.3")
    return model


def talk(conversation, turns: int) -> None:
    for _ in range(turns):
        number = conversation.turns.count() + 1
        text = f"Plan the trip, part {number}: {PADDING}" if number == 1 else f"Question {number}: {PADDING}"
        say(conversation, text, f"Answer {number}: the train at 7:40 costs 129 euros. {PADDING}")


def compact(conversation):
    return compact_if_due(conversation.user_id, conversation.id)


def summaries(conversation) -> list[Summary]:
    return list(queries.summaries(conversation.user_id, conversation.id))


def test_nothing_happens_below_the_share_of_the_window(conversation, small_window):
    talk(conversation, 7)

    assert compact(conversation) is None
    assert summaries(conversation) == []


def test_past_it_all_but_the_newest_turns_are_covered(conversation, small_window, configure):
    configure(STRATA_WINDOW_TOKENS="4000", STRATA_COMPACTION_KEEP_TURNS="2")
    talk(conversation, 9)

    assert compact(conversation) is not None

    (summary,) = summaries(conversation)
    assert (summary.version, summary.last_seq, summary.method) == (1, 7, "extractive")
    assert summary.tokens_after == estimate_text(summary.text) < summary.tokens_before


def test_the_first_goal_and_the_newest_covered_turns_are_in_the_extract(conversation, small_window):
    talk(conversation, 12)

    compact(conversation)

    text = summaries(conversation)[0].text
    assert text.startswith("## Goal\n- Plan the trip, part 1:")
    assert f"- (turn {summaries(conversation)[0].last_seq}) The assistant said: Answer" in text


def test_once_compacted_it_is_not_due_again(conversation, small_window):
    talk(conversation, 9)
    compact(conversation)

    assert compact(conversation) is None
    assert len(summaries(conversation)) == 1


def test_the_next_one_rolls_the_summary_forward_over_every_turn_once(conversation, small_window):
    for _ in range(4):
        talk(conversation, 9)
        compact(conversation)

    rows = summaries(conversation)[::-1]
    assert [summary.version for summary in rows] == list(range(1, len(rows) + 1))
    assert all(one.last_seq < other.last_seq for one, other in itertools.pairwise(rows))
    current = queries.current_summary(conversation.user_id, conversation.id)
    rest = queries.spoken_turns(
        conversation.user_id, conversation.id, after_seq=current.last_seq, before_seq=99
    )
    assert [turn.seq for turn in rest] == list(range(current.last_seq + 1, 37))


def test_however_often_it_is_rolled_forward_goal_and_newest_stay_and_it_does_not_grow(
    conversation, small_window
):
    sizes = []
    for _ in range(6):
        talk(conversation, 9)
        compact(conversation)
        sizes.append(estimate_text(summaries(conversation)[0].text))

    newest = summaries(conversation)[0]
    assert newest.text.startswith("## Goal\n- Plan the trip, part 1:")
    assert f"(turn {newest.last_seq}) The assistant said" in newest.text
    assert "(turn 1)" not in newest.text
    assert max(sizes) < 2_500


def test_giants_among_the_newest_turns_do_not_push_each_other_out_unsummarised(conversation, small_window):
    for number in range(3):
        say(conversation, f"giant {number} " + "word " * 1_500, "fine")

    compact(conversation)

    assert [summary.last_seq for summary in summaries(conversation)] == [2]


def test_a_turn_that_runs_ends_what_can_be_covered(conversation, small_window):
    talk(conversation, 12)
    Turn.objects.filter(seq=5).update(status=Turn.Status.RUNNING)

    compact(conversation)

    assert all(summary.last_seq < 5 for summary in summaries(conversation))


def test_turns_that_failed_are_covered_with_what_was_said(conversation, small_window):
    talk(conversation, 8)
    say(conversation, "Plan it again", "I was abou", status=Turn.Status.FAILED)
    say(conversation, "Once more", "", status=Turn.Status.CANCELLED)
    talk(conversation, 6)

    compact(conversation)

    text = summaries(conversation)[0].text
    assert "(turn 9) The assistant said: I was abou" in text
    assert "(turn 10) The user said: Once more" in text
    assert "(turn 10) The assistant" not in text


def test_the_whole_transcript_stays_stored(conversation, small_window):
    talk(conversation, 9)

    compact(conversation)

    assert Message.objects.filter(turn__conversation=conversation).count() == 18


def test_a_model_writes_the_summary_without_tools_and_from_exactly_the_covered_turns(
    conversation, small_model
):
    talk(conversation, 10)
    small_model.script(reply(FAITHFUL))

    usage = compact(conversation)

    (summary,) = summaries(conversation)
    assert (summary.text, summary.method, summary.model) == (FAITHFUL, "model", "claude-haiku-5-5")
    (call,) = small_model.calls
    told = call.body["messages"][0]["content"][0]["text"]
    assert "tools" not in call.body
    assert [f'<turn n="{n}">' in told for n in range(1, 11)] == [n <= summary.last_seq for n in range(1, 11)]
    assert usage.total_input_tokens > 1_000


def test_the_next_summary_is_made_from_the_last_one_and_the_turns_since(conversation, small_model):
    for _ in range(2):
        talk(conversation, 10)
        small_model.script(reply(FAITHFUL))
        compact(conversation)

    second, first = summaries(conversation)
    told = small_model.calls[-1].body["messages"][0]["content"][0]["text"]
    assert told.startswith(f"<summary-so-far>\n{FAITHFUL}\n</summary-so-far>")
    assert [n for n in range(1, 21) if f'<turn n="{n}">' in told] == list(
        range(first.last_seq + 1, second.last_seq + 1)
    )


UNFAITHFUL = {
    "a number": FAITHFUL.replace("129", "139"),
    "part of a number": FAITHFUL.replace("129", "12"),
    "a time": FAITHFUL.replace("7:40", "7:45"),
    "an address": FAITHFUL + "\n- See https://evil.example/pay",
    "an identifier": FAITHFUL + "\n- Ticket INC-20817 is open.",
    "a quotation": FAITHFUL + '\n- The user said "never take the bus".',
    "no sections": "The train at 7:40 costs 129 euros.",
    "nothing": " ",
    "too much": FAITHFUL + "\n- word" * 3_000,
}


@pytest.mark.parametrize("text", UNFAITHFUL.values(), ids=UNFAITHFUL.keys())
def test_an_unfaithful_summary_is_asked_for_once_more_and_then_done_without_the_model(
    conversation, small_model, text
):
    talk(conversation, 10)
    small_model.script(reply(text), reply(text))

    usage = compact(conversation)

    (summary,) = summaries(conversation)
    assert (summary.method, summary.model) == ("extractive", "")
    assert len(small_model.calls) == 2
    assert usage.total_input_tokens > 2_000  # what both tries cost


def test_the_second_try_may_do_better(conversation, small_model):
    talk(conversation, 10)
    small_model.script(reply(UNFAITHFUL["a number"]), reply(FAITHFUL))

    compact(conversation)

    assert summaries(conversation)[0].text == FAITHFUL


@pytest.mark.parametrize(
    "step",
    [
        fails(529, "overloaded_error"),
        fails(400, "invalid_request_error"),
        reply("## Goal", omit_stop_reason=True),
        reply(FAITHFUL, cut_after_bytes=300),
        reply("Let me first", stop_reason="max_tokens"),
        reply(calls("remember", statement="a")),
    ],
    ids=["overloaded", "refused", "no stop reason", "cut", "out of tokens", "a tool call"],
)
def test_a_model_that_fails_costs_no_turn_its_place(conversation, small_model, step):
    talk(conversation, 10)
    small_model.script(step, step)

    compact(conversation)

    assert summaries(conversation)[0].method == "extractive"
    small_model.reset()


@COMMITTED
@pytest.mark.usefixtures("nudges")
def test_of_two_compactions_at_once_one_wins(conversation, small_window):
    talk(conversation, 9)

    at_once(4, lambda _: compact(conversation))

    (summary,) = summaries(conversation)
    assert summary.version == 1


def test_a_turn_that_ends_while_the_model_writes_is_told_after_the_summary(
    conversation, small_model, monkeypatch
):
    talk(conversation, 10)
    late = post(conversation.user, "one more", conversation)
    small_model.script(reply(FAITHFUL))
    add_summary = transcript.add_summary

    def end_a_turn_first(*args, **values):
        held = claim(late)
        transcript.fail_turn(held, status=Turn.Status.CANCELLED, partial_text="")
        return add_summary(*args, **values)

    monkeypatch.setattr(transcript, "add_summary", end_a_turn_first)
    compact(conversation)

    (summary,) = summaries(conversation)
    rest = queries.spoken_turns(
        conversation.user_id, conversation.id, after_seq=summary.last_seq, before_seq=99
    )
    assert [turn.seq for turn in rest] == list(range(summary.last_seq + 1, 12))


def test_the_job_log_says_what_it_cost_and_nothing_of_what_was_said(conversation, small_model):
    talk(conversation, 10)
    small_model.script(reply(FAITHFUL))

    after_turn(str(conversation.turns.last().id))

    run = LifecycleRun.objects.get(job="compaction")
    assert (run.user_id, run.subject_id) == (conversation.user_id, conversation.id)
    assert run.input_tokens > 1_000
    assert run.output_tokens > 0
    assert "train" not in str(LifecycleRun.objects.values())


@pytest.mark.parametrize(
    ("summary", "source", "is_allowed"),
    [
        ("## Goal\n- Ship on 2026-03-01", "We ship on 2026-03-01.", True),
        ("## Goal\n- Ship in 2026", "We ship on 2026-03-01.", True),
        ("## Goal\n- Invoice 104", "Invoice 1041 and 1042.", False),
        ("## Goal\n- Invoice 1041", "Invoice (1041), 1042.", True),
        ("## Goal\n- See https://a.example/x.", "Look at (https://a.example/x), please", True),
        ("## Goal\n- See https://a.example/", "Look at https://a.example/x", False),
        ("## Goal\n- The user said “never touch prod”", "Please never  touch\nprod again", True),
        ("## Goal\n- The user said “always touch prod”", "Please never touch prod", False),
        ("## Goal\n- INC-20817", "Ticket inc-20817", False),
        ("## Goal\n- 茶を3杯", "茶を3杯飲みます。", True),
        ("## Goal\n- v1.10.2", "v1.10.2 is out", True),
    ],
)
def test_what_counts_as_invented(summary, source, is_allowed):
    assert is_faithful(summary, source, tokens_before=10_000) is is_allowed


def test_an_extract_above_a_models_summary_leaves_it_as_it_is(conversation, small_model):
    talk(conversation, 10)
    small_model.script(reply(FAITHFUL))
    compact(conversation)
    current = queries.current_summary(conversation.user_id, conversation.id)
    spoken = queries.spoken_turns(
        conversation.user_id, conversation.id, after_seq=current.last_seq, before_seq=99
    )

    text = extract(current, spoken)

    assert text.startswith(f"{FAITHFUL}\n## What was said\n- (turn ")
