"""The sweep: each of its jobs does its part, whatever happens to the others."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.db import transaction
from django.utils import timezone

from memoryapp.errors import NotFoundError
from memoryapp.lifecycle import tasks
from memoryapp.lifecycle.models import LifecycleRun
from memoryapp.llm.base import Usage
from memoryapp.longterm import forgettings
from memoryapp.longterm.models import Memory
from memoryapp.transcript import claims, conversations, queries
from memoryapp.transcript.models import Conversation, Message
from tests.longterm.saying import remember
from tests.talking import say
from tests.turns import COMMITTED, at_once, claim, post, start


@pytest.mark.django_db
@pytest.mark.parametrize(
    "broken", ["_delete_faded", "_finish_forgettings", "_delete_conversations", "_drop_run_records"]
)
def test_a_job_that_fails_does_not_stop_the_next(monkeypatch, caplog, broken):
    done = []

    def fail():
        raise ValueError("one row")

    fail.__name__ = broken
    monkeypatch.setattr(tasks, broken, fail)
    monkeypatch.setattr(tasks, "_embed_backlog", lambda: done.append("embedding"))

    tasks.sweep()

    assert done == ["embedding"]
    assert broken.strip("_") in caplog.text


def test_what_can_be_undone_no_longer_is_deleted_and_logged(alice):
    memories = [remember(alice, text).memory for text in ("I like figs", "I own a boat")]
    for memory, minutes in zip(memories, (11, 9), strict=True):
        forgettings.forget(alice.id, [memory.id], now=timezone.now() - timedelta(minutes=minutes))

    tasks.sweep()

    assert [memory.statement for memory in Memory.everything.all()] == ["I own a boat"]
    assert LifecycleRun.objects.get(job="expiry").rows == 1


@pytest.mark.django_db
class TestConversations:
    """What was deleted, or meant to be temporary, ends by itself."""

    def test_a_deleted_one_goes_for_good_when_its_time_is_over(self, alice):
        deleted = deleted_until(alice, minutes=-1)

        tasks.sweep()

        assert remaining() == set()
        assert not Message.objects.exists()
        with pytest.raises(NotFoundError):
            conversations.restore_conversation(alice.id, deleted.id)

    def test_until_then_it_can_be_brought_back_whole(self, alice):
        deleted = deleted_until(alice, minutes=1)

        tasks.sweep()

        assert conversations.restore_conversation(alice.id, deleted.id).title == "hello"
        assert [turn.seq for turn in queries.turns(alice.id, deleted.id)] == [1]

    def test_one_brought_back_stays(self, alice):
        deleted = deleted_until(alice, minutes=-1)
        conversations.restore_conversation(alice.id, deleted.id)

        tasks.sweep()

        assert remaining() == {deleted.id}

    def test_a_temporary_one_goes_after_its_hours_and_no_other_does(self, alice):
        old, fresh, ordinary = start(alice, is_temporary=True), start(alice, is_temporary=True), start(alice)
        age(old, hours=25)
        age(fresh, hours=23)
        age(ordinary, hours=25)

        tasks.sweep()

        assert remaining() == {fresh.id, ordinary.id}

    def test_none_goes_while_a_reply_is_being_written(self, alice):
        temporary = start(alice, is_temporary=True)
        turn = post(alice, "hello", temporary)
        held = claim(turn)
        age(temporary, hours=25)

        tasks.sweep()
        during = remaining()
        claims.finish_turn(held, reply="hi", model="m", usage=Usage())
        tasks.sweep()

        assert during == {temporary.id}
        assert remaining() == set()

    def test_what_it_did_is_logged_as_nobodys(self, alice):
        deleted_until(alice, minutes=-1)

        tasks.sweep()

        run = LifecycleRun.objects.get(job="expiry")
        assert (run.user_id, run.rows) == (None, 1)

    def test_how_long_is_a_setting_and_what_was_promised_stays_promised(self, alice, configure):
        configure(STRATA_DELETED_CONVERSATION_MINUTES="45")
        conversation = start(alice)
        conversations.delete_conversation(alice.id, conversation.id)
        configure(STRATA_DELETED_CONVERSATION_MINUTES="5")

        deleted = queries.deleted_conversations(alice.id).get()

        assert deleted.undo_until - deleted.deleted_at == timedelta(minutes=45)


@COMMITTED
def test_a_conversation_that_somebody_brings_back_at_that_moment_is_left_alone(alice):
    deleted = deleted_until(alice, minutes=-1)

    with transaction.atomic():
        Conversation.objects.select_for_update().get(id=deleted.id)  # as bringing it back does
        [count] = at_once(1, lambda _: conversations.delete_for_good())

    assert count == 0
    assert remaining() == {deleted.id}


def deleted_until(user, *, minutes: int) -> Conversation:
    conversation = start(user)
    say(conversation, "hello", "hi")
    conversations.delete_conversation(user.id, conversation.id)
    moment = timezone.now() + timedelta(minutes=minutes)
    Conversation.objects.filter(id=conversation.id).update(undo_until=moment)
    return conversation


def age(conversation: Conversation, *, hours: int) -> None:
    moment = timezone.now() - timedelta(hours=hours)
    Conversation.objects.filter(id=conversation.id).update(updated_at=moment)


def remaining() -> set[UUID]:
    return set(Conversation.objects.values_list("id", flat=True))
