"""Deleting conversations, bringing them back, and what goes for good."""

from datetime import timedelta

import pytest
from django.db.models.signals import pre_delete
from django.utils import timezone

from memoryapp.errors import NotFoundError
from memoryapp.llm.base import Usage
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.scratchpad.models import Run
from memoryapp.transcript import branches, claims, conversations, queries
from memoryapp.transcript import operations as transcript
from memoryapp.transcript.models import Conversation, Message, Turn
from tests.transcript.branching import said, shown, summarised, talk
from tests.turns import COMMITTED, at_once, claim, fresh, post, start
from tests.world import everything_of, rows_of

pytestmark = pytest.mark.django_db


def test_a_deleted_conversation_is_nowhere_and_can_be_brought_back_whole(alice):
    first, second = talk(alice, "one", "two")
    summarised(first)
    before = rows_of(alice)

    conversations.delete_conversation(alice.id, first.conversation_id)
    is_listed = queries.conversation_list(alice.id, archived=None).exists()
    with pytest.raises(NotFoundError):
        queries.get_turn(alice.id, second.id)
    conversations.restore_conversation(alice.id, first.conversation_id)

    assert not is_listed
    assert rows_of(alice) | {"activity.Entry": ""} == before | {
        "activity.Entry": ""
    }  # the log says what was done
    assert shown(first) == ["one", "two"]


def test_deleting_twice_is_deleting_once(alice):
    (turn,) = talk(alice, "one")

    for _ in range(2):
        conversations.delete_conversation(alice.id, turn.conversation_id)

    assert queries.is_restorable(alice.id, turn.conversation_id)


def test_bringing_back_what_is_there_or_gone_is_refused(alice):
    (turn,) = talk(alice, "one")
    with pytest.raises(NotFoundError):
        conversations.restore_conversation(alice.id, turn.conversation_id)
    conversations.delete_conversation(alice.id, turn.conversation_id)
    Conversation.objects.update(undo_until=timezone.now() - timedelta(days=2))

    conversations.delete_for_good()

    with pytest.raises(NotFoundError):
        conversations.restore_conversation(alice.id, turn.conversation_id)
    assert not Message.objects.exists()


def test_a_deletion_stops_what_is_being_answered(alice):
    running = post(alice, "one")
    held = claim(running)
    queued = post(alice, "two", running.conversation)

    conversations.delete_conversation(alice.id, running.conversation_id)

    assert queries.is_stop_requested([running.id]) == {running.id}
    stopped = Turn.objects.get(id=queued.id)
    assert (stopped.status, stopped.attempt) == ("cancelled", 1)
    assert claims.claim_turn(queued.id) is None
    assert claims.fail_turn(held, status=Turn.Status.CANCELLED, partial_text="on")


def test_nothing_is_written_into_a_deleted_conversation(alice):
    first, second = talk(alice, "one", "two")
    conversations.delete_conversation(alice.id, first.conversation_id)

    for attempt in (
        lambda: post(alice, "three", first.conversation),
        lambda: branches.ask_anew(alice, second.id, idempotency_key="k", now=timezone.now()),
        lambda: branches.show_branch(alice.id, first.id),
        lambda: branches.take_off(alice.id, first.id),
        lambda: transcript.retry_turn(alice.id, second.id),
    ):
        with pytest.raises(NotFoundError):
            attempt()

    assert summarised(first) is None


def test_a_temporary_conversation_goes_at_once_with_all_its_rows(alice):
    doomed = said(alice, "secret", start(alice, is_temporary=True))
    kept = said(alice, "other")

    conversations.delete_conversation(alice.id, doomed.conversation_id)

    assert list(Conversation.objects.all()) == [kept.conversation]
    assert set(Message.objects.values_list("text", flat=True)) == {"other", "other!"}
    with pytest.raises(NotFoundError):
        conversations.restore_conversation(alice.id, doomed.conversation_id)


def test_a_worker_hears_that_its_turn_is_gone(alice):
    turn = post(alice, "secret", start(alice, is_temporary=True))
    held = claim(turn)

    conversations.delete_conversation(alice.id, turn.conversation_id)

    assert queries.is_stop_requested([turn.id]) == {turn.id}
    assert not claims.renew_lease(held, partial_text="on")
    assert not claims.finish_turn(held, reply="late", model="m", usage=Usage())
    assert not Message.objects.exists()


@COMMITTED
def test_of_a_message_and_a_deletion_at_once_no_half_is_left(alice, nudges):
    first = said(alice, "one", start(alice, is_temporary=True))

    def act(number):
        try:
            if number:
                post(alice, "two", first.conversation)
            else:
                conversations.delete_conversation(alice.id, first.conversation_id)
        except NotFoundError:
            pass

    at_once(2, act)

    assert not Conversation.objects.exists()
    assert not Message.objects.exists()


@pytest.mark.parametrize(("hours", "is_gone"), [(23, False), (25, True)])
def test_a_temporary_conversation_ends_a_day_after_its_last_message(alice, hours, is_gone):
    turn = said(alice, "secret", start(alice, is_temporary=True))
    written_at = timezone.now() - timedelta(hours=hours)
    Conversation.objects.update(updated_at=written_at)

    conversations.delete_for_good()

    assert Turn.objects.filter(id=turn.id).exists() is not is_gone


def test_an_ordinary_conversation_does_not_end_by_itself(alice):
    turn = said(alice, "one")
    Conversation.objects.update(updated_at=timezone.now() - timedelta(days=4_000))

    assert conversations.delete_for_good() == 0
    assert fresh(turn)


def test_bob_neither_deletes_nor_brings_back_what_is_alices(alice, bob):
    everything_of(alice)
    (conversation,) = queries.conversation_list(alice.id)

    with pytest.raises(NotFoundError):
        conversations.delete_conversation(bob.id, conversation.id)
    conversations.delete_conversation(alice.id, conversation.id)
    with pytest.raises(NotFoundError):
        conversations.restore_conversation(bob.id, conversation.id)
    with pytest.raises(NotFoundError):
        conversations.delete_conversation(bob.id, conversation.id)

    assert queries.is_restorable(alice.id, conversation.id)
    assert not queries.is_restorable(bob.id, conversation.id)


@COMMITTED
def test_a_temporary_chat_goes_with_what_its_worker_records_while_it_is_deleted(alice, nudges):
    """The record comes between the look at what hangs on the turn and its deletion."""
    turn = post(alice, "hush", start(alice, is_temporary=True))
    recorded: list[Run] = []

    def record(**_signal: object) -> None:
        if not recorded:
            at_once(1, lambda _: recorded.append(open_run(turn)))

    pre_delete.connect(record, sender=Turn)
    try:
        conversations.delete_conversation(alice.id, turn.conversation_id)
    finally:
        pre_delete.disconnect(record, sender=Turn)

    assert recorded
    assert not Run.objects.exists()
    assert not Turn.objects.exists()


def open_run(turn: Turn) -> Run:
    return scratchpad.open_run(user_id=turn.user_id, turn_id=turn.id, goal="hush", attempt=1)
