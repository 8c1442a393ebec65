"""Deleting turns: gone at once, brought back for a while, then gone for good, with exact coverage all along."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from memoryapp.errors import NotFoundError
from memoryapp.lifecycle import compaction
from memoryapp.nudges import REBUILD_SUMMARY
from memoryapp.scratchpad import queries as runs
from memoryapp.scratchpad.models import Run
from memoryapp.transcript import (
    branches,
    conversations,
    deletions,
    operations,
    passages,
    queries,
    search,
    tree,
)
from memoryapp.transcript.conversations import NotShownError, ReplyInProgressError
from memoryapp.transcript.models import Conversation, Message, Summary, Turn
from tests.transcript.branching import edited, said, summarised, talk
from tests.turns import post, start
from tests.world import finished_turn

NOW = timezone.now()


def delete(turn: Turn, *, following: bool = False) -> deletions.Deletion:
    return deletions.delete_turns(turn.user_id, turn.id, following=following, now=timezone.now())


def seen(turn: Turn) -> list[tuple[int, str]]:
    rows = queries.turns(turn.user_id, turn.conversation_id)
    return [(row.seq, queries.text_of(row, Message.Role.USER)) for row in rows]


def spoken(turn: Turn) -> list[str]:
    told = queries.spoken_turns(turn.user_id, turn.conversation_id, after_seq=0, before_seq=queries.MAX_SEQ)
    return [one.user_text for one in told]


def make_final() -> int:
    """As if the time to undo were over."""
    deleted = Turn.everything.exclude(deletion_id=None)
    deleted.update(deleted_at=NOW - timedelta(days=1), undo_until=NOW - timedelta(days=1))
    return deletions.delete_turns_for_good()


def is_whole(turn: Turn) -> bool:
    """Places 1..n of the shown branch, each below the one before."""
    rows = list(Turn.everything.filter(conversation=turn.conversation_id, is_current=True).order_by("seq"))
    last_seq = Conversation.objects.get(id=turn.conversation_id).last_seq
    parents = [None, *(row.id for row in rows)]
    return [row.seq for row in rows] == list(range(1, last_seq + 1)) and [
        row.parent_id for row in rows
    ] == parents[: len(rows)]


@pytest.fixture(autouse=True)
def quiet(nudges):
    """No worker is woken."""


def test_one_in_the_middle_goes_and_the_others_keep_their_numbers(alice):
    first, second, _ = talk(alice, "figs", "zanzibar", "dates")

    deletion = delete(second)

    assert seen(first) == [(1, "figs"), (3, "dates")]
    assert spoken(first) == ["figs", "dates"]
    assert (deletion.turns, is_whole(first)) == (1, True)


def test_all_from_one_on_go_and_the_chat_goes_on_from_there(alice):
    first, second, _ = talk(alice, "figs", "zanzibar", "dates")

    deletion = delete(second, following=True)
    said(alice, "apples", first.conversation)

    assert (deletion.turns, seen(first)) == (2, [(1, "figs"), (2, "apples")])
    assert is_whole(first)


def test_a_place_that_nothing_follows_any_more_is_none(alice):
    first, second, third = talk(alice, "figs", "zanzibar", "dates")
    delete(second)

    delete(third)
    said(alice, "apples", first.conversation)

    assert seen(first) == [(1, "figs"), (2, "apples")]
    assert is_whole(first)


def test_a_message_can_follow_the_last_that_is_left(alice):
    """A tab that shows turn 1 sends below it, though turns 2 and 3 were there."""
    first, second, third = talk(alice, "figs", "zanzibar", "dates")
    delete(second)
    delete(third)

    turn, is_new = operations.post_turn(
        alice, first.conversation_id, text="apples", idempotency_key=str(uuid4()), now=NOW, after=first.id
    )

    assert (turn.parent_id, is_new) == (first.id, True)


def test_nothing_finds_or_counts_a_deleted_turn(alice):
    conversation = start(alice)
    first = finished_turn(alice, conversation.id, text="figs", reply="ok")
    second = finished_turn(alice, conversation.id, text="zanzibar", reply="noted")
    finished_turn(alice, conversation.id, text="dates", reply="ok")
    message_ids = list(Message.objects.filter(turn=second).values_list("id", flat=True))

    delete(second)

    found = passages.passages(alice.id, embedding=None, model_id="")
    assert len(found.passages.session) == 4
    assert search.search_messages(alice.id, "zanzibar", limit=5) == []
    assert queries.past_messages(alice.id, message_ids) == {}
    assert queries.message_counts(alice.id, [conversation.id]) == {conversation.id: 4}
    assert runs.runs(alice.id).filter(turn=second).count() == 0
    assert runs.run_of_turn(alice.id, second.id) is None
    with pytest.raises(NotFoundError):
        queries.get_turn(alice.id, second.id)
    assert first.id in queries.turn_ids(alice.id, conversation.id)


def test_undoing_brings_the_middle_back(alice):
    first, second, _ = talk(alice, "figs", "zanzibar", "dates")
    deletion = delete(second)

    deletions.undo_deletion(alice.id, deletion.id)

    assert seen(first) == [(1, "figs"), (2, "zanzibar"), (3, "dates")]
    assert is_whole(first)


def test_undoing_brings_the_end_back(alice):
    first, second, _ = talk(alice, "figs", "zanzibar", "dates")
    deletion = delete(second, following=True)

    deletions.undo_deletion(alice.id, deletion.id)

    assert seen(first) == [(1, "figs"), (2, "zanzibar"), (3, "dates")]
    assert is_whole(first)


def test_what_comes_back_after_the_chat_went_on_is_another_version(alice):
    first, second, _ = talk(alice, "figs", "zanzibar", "dates")
    deletion = delete(second, following=True)
    apples = said(alice, "apples", first.conversation)

    deletions.undo_deletion(alice.id, deletion.id)

    assert seen(first) == [(1, "figs"), (2, "apples")]
    assert queries.siblings(alice.id, [apples]) == {apples.id: [second.id, apples.id]}
    assert is_whole(first)


def test_deletions_are_undone_in_any_order(alice):
    first, second, third = talk(alice, "figs", "zanzibar", "dates")
    middle, end = delete(second), delete(third)

    deletions.undo_deletion(alice.id, middle.id)
    deletions.undo_deletion(alice.id, end.id)

    assert seen(first) == [(1, "figs"), (2, "zanzibar"), (3, "dates")]
    assert is_whole(first)


def test_all_versions_of_a_message_go_with_it(alice):
    first, second = talk(alice, "figs", "zanzibar")
    newer = edited(second, "zanzibar city")

    delete(newer)

    assert queries.siblings(alice.id, list(queries.turns(alice.id, first.conversation_id))) == {}
    assert search.search_messages(alice.id, "zanzibar", limit=5) == []


def test_another_branch_keeps_what_it_shows(alice):
    first, second, _ = talk(alice, "figs", "zanzibar", "dates")
    edited(first, "apples")
    branches.show_branch(alice.id, first.id)
    delete(second)

    branches.show_branch(alice.id, first.id)

    assert seen(first) == [(1, "figs"), (3, "dates")]
    assert is_whole(first)


def test_for_good_the_words_go_and_the_place_stays(alice):
    conversation = start(alice)
    first = finished_turn(alice, conversation.id, text="figs", reply="ok")
    second = finished_turn(alice, conversation.id, text="zanzibar", reply="noted")
    third = finished_turn(alice, conversation.id, text="dates", reply="ok")
    deletion = delete(second)

    assert make_final() == 1

    assert not Message.objects.filter(turn=second).exists()
    assert not Run.objects.filter(turn=second).exists()
    assert not Turn.everything.filter(id=second.id).exists()
    assert seen(third) == [(1, "figs"), (3, "dates")]
    assert is_whole(first)
    with pytest.raises(NotFoundError):
        deletions.undo_deletion(alice.id, deletion.id)
    assert make_final() == 0


def test_what_was_deleted_later_can_be_brought_back_below_what_is_gone_for_good(alice):
    first, second, third = talk(alice, "figs", "zanzibar", "dates")
    middle, end = delete(second), delete(third)
    Turn.everything.filter(deletion_id=middle.id).update(undo_until=NOW - timedelta(minutes=1))
    assert deletions.delete_turns_for_good() == 1

    deletions.undo_deletion(alice.id, end.id)

    assert seen(first) == [(1, "figs"), (3, "dates")]
    assert is_whole(first)


def test_for_good_nothing_is_left_of_an_end(alice):
    first, second, _ = talk(alice, "figs", "zanzibar", "dates")
    delete(second, following=True)

    make_final()

    assert Turn.everything.filter(conversation=first.conversation_id).count() == 1


def test_until_the_time_is_over_the_sweep_leaves_it(alice):
    _, second, _ = talk(alice, "figs", "zanzibar", "dates")
    deletion = delete(second)

    assert deletions.delete_turns_for_good() == 0

    deletions.undo_deletion(alice.id, deletion.id)


def test_a_summary_made_of_it_is_unused_until_the_deletion_is_undone(
    alice, nudges, django_capture_on_commit_callbacks
):
    first, second, third = talk(alice, "figs", "zanzibar", "dates")
    summarised(first, "Figs.")
    covering = summarised(third, "Figs, zanzibar and dates.")
    with django_capture_on_commit_callbacks(execute=True):
        deletion = delete(second)
    meanwhile = queries.current_summary(alice.id, first.conversation_id)

    deletions.undo_deletion(alice.id, deletion.id)

    assert (meanwhile.text, REBUILD_SUMMARY in dict(nudges)) == ("Figs.", True)
    assert queries.current_summary(alice.id, first.conversation_id) == covering


def test_a_summary_stays_unused_while_another_turn_that_it_was_made_of_is_deleted(alice):
    first, second, third = talk(alice, "figs", "zanzibar", "dates")
    covering = summarised(third, "Figs, zanzibar and dates.")
    one, other = delete(first), delete(second)

    deletions.undo_deletion(alice.id, one.id)
    meanwhile = queries.current_summary(alice.id, first.conversation_id)
    deletions.undo_deletion(alice.id, other.id)

    assert meanwhile is None
    assert queries.current_summary(alice.id, first.conversation_id) == covering


def test_a_summary_goes_with_the_first_turn_of_it_that_is_gone_for_good(alice):
    first, second, third = talk(alice, "figs", "zanzibar", "dates")
    summarised(third, "Figs, zanzibar and dates.")
    one, _ = delete(first), delete(second)
    Turn.everything.filter(id=second.id).update(undo_until=NOW - timedelta(days=1))
    deletions.delete_turns_for_good()

    deletions.undo_deletion(alice.id, one.id)

    assert queries.current_summary(alice.id, first.conversation_id) is None
    assert not Summary.objects.filter(text__contains="zanzibar").exists()


def test_a_summary_made_between_two_deletions_does_not_come_back_for_both_turns(alice):
    first, second, third = talk(alice, "figs", "zanzibar", "dates")
    earlier = delete(second)
    third.conversation.refresh_from_db()
    summarised(third, "Figs and dates.")
    later = delete(first)

    deletions.undo_deletion(alice.id, earlier.id)
    deletions.undo_deletion(alice.id, later.id)

    assert queries.current_summary(alice.id, first.conversation_id) is None


def test_until_when_it_can_be_undone_is_as_it_was_said(alice, configure):
    _, second, _ = talk(alice, "figs", "zanzibar", "dates")
    configure(STRATA_UNDO_MINUTES="10")
    deletion = delete(second)

    configure(STRATA_UNDO_MINUTES="0")

    assert deletions.delete_turns_for_good() == 0
    deletions.undo_deletion(alice.id, deletion.id)
    assert Turn.everything.filter(undo_until=None).count() == 3


def test_a_summary_made_without_it_does_not_stand_for_it_once_it_is_back(alice):
    _, second, third = talk(alice, "figs", "zanzibar", "dates")
    deletion = delete(second)
    third.conversation.refresh_from_db()
    summarised(third, "Figs and dates.")

    deletions.undo_deletion(alice.id, deletion.id)

    assert queries.current_summary(alice.id, third.conversation_id) is None
    assert spoken(third) == ["figs", "zanzibar", "dates"]


def test_for_good_summaries_made_of_it_go_too(alice):
    _, second, third = talk(alice, "figs", "zanzibar", "dates")
    summarised(third, "Figs, zanzibar and dates.")
    delete(second)

    make_final()

    assert not Summary.objects.filter(conversation=third.conversation_id).exists()


def test_compaction_covers_every_turn_once_around_a_deleted_one(alice, configure):
    configure(STRATA_WINDOW_TOKENS="4000", STRATA_COMPACTION_KEEP_TURNS="2")
    turns = talk(alice, *(f"question {number} {'word ' * 40}" for number in range(8)))
    delete(turns[2])
    delete(turns[4])

    compaction.compact(alice.id, turns[0].conversation_id, used_tokens=10_000, trigger=Summary.Trigger.MANUAL)

    summary = queries.current_summary(alice.id, turns[0].conversation_id)
    assert summary is not None
    assert "question 2" not in summary.text
    after = queries.spoken_turns(
        alice.id, summary.conversation_id, after_seq=summary.last_seq, before_seq=queries.MAX_SEQ
    )
    assert [turn.seq for turn in after] == [
        seq for seq in range(summary.last_seq + 1, 9) if seq not in (3, 5)
    ]


def test_a_summary_may_end_with_a_place(alice, configure):
    first, second, third, *_ = talk(alice, "figs", "dates", "zanzibar", "apples")
    delete(third)
    second.conversation.refresh_from_db()
    place = tree.place(alice.id, first.conversation_id, 3)

    assert summarised(place, "Figs and dates.") is not None
    make_final()

    summary = queries.current_summary(alice.id, first.conversation_id)
    assert (summary.last_seq, summary.text) == (3, "Figs and dates.")


def test_a_copy_holds_places_without_words(alice):
    _, second, third = talk(alice, "figs", "zanzibar", "dates")
    delete(second)

    copy = conversations.fork_conversation(alice, third.id, idempotency_key="k", now=NOW)

    turn = queries.turns(alice.id, copy.id).first()
    assert seen(turn) == [(1, "figs"), (3, "dates")]
    assert is_whole(turn)
    assert not Message.objects.filter(turn__conversation=copy, text__contains="zanzibar").exists()


def test_a_title_made_of_the_first_words_follows_them(alice):
    first, _ = talk(alice, "zanzibar", "dates")

    deletion = delete(first)
    without = queries.get_conversation(alice.id, first.conversation_id).title
    back = deletions.undo_deletion(alice.id, deletion.id).title

    assert (without, back) == ("dates", "zanzibar")


def test_a_chat_of_which_all_is_deleted_is_empty(alice):
    (turn,) = talk(alice, "zanzibar")

    delete(turn)

    conversation = queries.get_conversation(alice.id, turn.conversation_id)
    assert (conversation.last_seq, conversation.title) == (0, "")
    said(alice, "figs", conversation)
    assert seen(turn) == [(1, "figs")]


def test_while_a_reply_is_written_nothing_is_deleted(alice):
    (turn,) = talk(alice, "zanzibar")
    post(alice, "figs", turn.conversation)

    with pytest.raises(ReplyInProgressError):
        delete(turn)


def test_only_what_is_shown_is_deleted(alice):
    (turn,) = talk(alice, "zanzibar")
    edited(turn, "figs")

    with pytest.raises(NotShownError):
        delete(turn)


def test_bob_deletes_and_undoes_nothing_of_alices(alice, bob):
    first, second = talk(alice, "figs", "zanzibar")
    with pytest.raises(NotFoundError):
        deletions.delete_turns(bob.id, first.id, following=True, now=NOW)
    deletion = delete(second)

    with pytest.raises(NotFoundError):
        deletions.undo_deletion(bob.id, deletion.id)

    assert seen(first) == [(1, "figs")]


def test_a_title_says_the_first_words_that_are_left(alice):
    first, second, _ = talk(alice, "figs", "zanzibar", "dates")

    titles = []
    for turn in (first, second):
        delete(turn)
        titles.append(queries.get_conversation(alice.id, first.conversation_id).title)

    assert titles == ["zanzibar", "dates"]


def test_a_title_says_the_first_words_that_are_back(alice):
    first, second, _ = talk(alice, "figs", "zanzibar", "dates")
    delete(first)
    deletion = delete(second)

    deletions.undo_deletion(alice.id, deletion.id)

    assert queries.get_conversation(alice.id, first.conversation_id).title == "zanzibar"
