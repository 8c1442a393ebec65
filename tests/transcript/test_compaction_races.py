"""Two tabs and two compactions at once, again and again: every turn is told once, by the summary or in full."""

import re
from contextlib import suppress
from uuid import uuid4

from chat.tools import toolbox
from memoryapp.context import assembly
from memoryapp.errors import NotFoundError
from memoryapp.lifecycle import compaction
from memoryapp.llm.base import ModelLimits, ModelMessage, Text, Usage
from memoryapp.transcript import branches, claims, conversations, queries, queue, summaries, tree
from memoryapp.transcript.conversations import ReplyInProgressError
from memoryapp.transcript.models import Message, Summary, Turn
from tests.turns import COMMITTED, NOW, at_once, post, start

ROUNDS, ALL_ROUNDS = 30, 100  # the last is for `make faults`
PADDING = "word " * 40


def talk(user, conversation, number: int) -> None:
    """A tab: post, and answer whatever is first in line, as workers do."""
    post(user, f"question {number} {PADDING}", conversation)
    answer_queue(conversation)


def answer_queue(conversation) -> None:
    while turn_id := queue.next_queued(conversation.id):
        claim = claims.claim_turn(turn_id)
        if claim:
            claims.finish_turn(claim, reply=f"answer {PADDING}", model="m", usage=Usage())


def compact(conversation) -> int:
    """How many versions this pass says that it added."""
    return compaction.compact(
        conversation.user_id, conversation.id, used_tokens=10_000, trigger=Summary.Trigger.AFTER_TURN
    ).versions


def change_branch(conversation, number: int) -> None:
    """What a person does in a third tab; refused while a reply is written."""
    shown = list(queries.turns(conversation.user_id, conversation.id))
    turn = shown[number % len(shown)]
    with suppress(ReplyInProgressError):
        if number % 3 == 0:
            branches.ask_anew(
                conversation.user, turn.id, idempotency_key=str(uuid4()), now=NOW, text="edited"
            )
        elif number % 3 == 1:
            taken = branches.take_off(conversation.user_id, turn.id)
            branches.show_branch(conversation.user_id, taken.id)
        else:
            branches.show_branch(conversation.user_id, turn.id)


def told(conversation) -> list[int]:
    """The numbers of the turns in the next prompt: covered by its summary, or word for word."""
    window = assembly.open_window(
        conversation,
        before_seq=conversation.last_seq + 1,
        run=[ModelMessage("user", (Text("next"),))],
        tools=toolbox(use_memory=False, save_memory=False).definitions,
        model="m",
        limits=ModelLimits(window_tokens=1_000_000, max_output_tokens=1_000),
    )
    covered = list(range(1, window.summary.last_seq + 1)) if window.summary else []
    return covered + [said.seq for said in window.spoken]


def check_chain(versions: list[Summary], *, base: Summary | None) -> None:
    """Where nobody changed the branch, each version of a round replaces the one before and covers more."""
    for summary in versions:
        assert summary.replaces == base
        assert summary.last_seq > (base.last_seq if base else 0)
        base = summary


def check_words(summary: Summary) -> None:
    """What it tells of a turn was said in that turn of the branch that it covers."""
    path = Turn.objects.filter(id__in=tree.path_to(summary.last_turn)).prefetch_related("messages")
    said = {turn.seq: queries.text_of(turn, Message.Role.USER) for turn in path}
    for seq, words in re.findall(r"\(turn (\d+)\) The user said: (question \d+|edited)", summary.text):
        assert said[int(seq)].startswith(words)


def check(conversation) -> None:
    conversation.refresh_from_db()
    shown = list(queries.turns(conversation.user_id, conversation.id))
    assert [turn.seq for turn in shown] == list(range(1, conversation.last_seq + 1))
    assert [turn.parent_id for turn in shown] == [None, *(turn.id for turn in shown[:-1])]
    assert told(conversation) == [turn.seq for turn in shown]
    versions = list(queries.summaries(conversation.user_id, conversation.id))[::-1]
    assert [summary.version for summary in versions] == list(range(1, len(versions) + 1))
    for summary in versions:
        assert summary.last_turn.seq == summary.last_seq
        assert summary.tokens_after < summary.tokens_before


@COMMITTED
def test_two_tabs_and_two_compactions_at_once_leave_exact_coverage_every_time(
    alice, nudges, configure, has_all_faults
):
    rounds = ALL_ROUNDS if has_all_faults else ROUNDS
    configure(STRATA_WINDOW_TOKENS="4000", STRATA_COMPACTION_KEEP_TURNS="2")
    conversation = start(alice)
    talk(alice, conversation, 0)
    added = 0

    for number in range(1, rounds + 1):
        base = queries.current_summary(alice.id, conversation.id)
        work = [
            lambda number=number: talk(alice, conversation, 2 * number),
            lambda number=number: talk(alice, conversation, 2 * number + 1),
            lambda: compact(conversation),
            lambda: compact(conversation),
        ]
        if number % 4 == 0:
            work.append(lambda number=number: change_branch(conversation, number))
        done = at_once(len(work), lambda which, work=work: work[which]())
        answer_queue(conversation)
        check(conversation)
        versions = list(queries.summaries(alice.id, conversation.id).select_related("replaces"))[::-1]
        assert len(versions) == added + done[2] + done[3]  # each has one winner
        if number % 4:
            check_chain(versions[added:], base=base)
        for summary in versions[added:]:
            check_words(summary)
        added = len(versions)

    asked = Message.objects.filter(turn__conversation=conversation, role="user", text__startswith="question")
    numbers = sorted(int(text.split()[1]) for text in asked.values_list("text", flat=True))
    assert numbers == [0, *range(2, 2 * rounds + 2)]  # none is lost, none is doubled
    assert Turn.objects.filter(conversation=conversation).count() >= 2 * rounds + 1
    assert queries.summaries(alice.id, conversation.id).count() > rounds // 10


def unless_deleted(work) -> None:
    """In the moment in which the conversation is deleted, it is not there."""
    with suppress(NotFoundError):
        work()


@COMMITTED
def test_pinning_compacting_deleting_and_bringing_back_at_once_keep_everything_whole(
    alice, nudges, configure
):
    configure(STRATA_WINDOW_TOKENS="4000", STRATA_COMPACTION_KEEP_TURNS="2")
    conversation = start(alice)
    for number in range(8):
        talk(alice, conversation, number)
    first = queries.turns(alice.id, conversation.id)[0]

    def delete_and_bring_back() -> None:
        conversations.delete_conversation(alice.id, conversation.id)
        conversations.restore_conversation(alice.id, conversation.id)

    for _ in range(10):
        work = [
            lambda: unless_deleted(lambda: summaries.pin_line(alice.id, first.id, text="question 0")),
            lambda: unless_deleted(lambda: compact(conversation)),
            delete_and_bring_back,
        ]
        at_once(len(work), lambda which, work=work: work[which]())
        check(conversation)

    summaries.pin_line(alice.id, first.id, text="question 0")
    pins = queries.pinned_lines(alice.id, conversation.id).filter(kind="pin")
    assert [line.text for line in pins] == ["question 0"]
