"""What was forgotten does not come back by a file that still holds it."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from memoryapp.forgetting import operations
from memoryapp.forgetting.scopes import Asked
from memoryapp.longterm.models import Experience
from memoryapp.receipts.models import Receipt, Scope
from memoryapp.transcript import conversations, deletions
from memoryapp.transcript.models import Conversation, Message, Turn
from tests.portability.archives import archive_of
from tests.portability.bringing import brought, undone
from tests.portability.test_merging import chat, chatgpt, remembered
from tests.world import everything_of, finished_turn

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)

FORGOTTEN = {"forgotten": {"conversation": 1}}


def forget(user, scope, subject=""):
    return operations.forget(user.id, Asked(scope, str(subject)), now=timezone.now(), at_once=True)


def swept():
    Conversation.objects.exclude(deleted_at=None).update(undo_until=timezone.now() - timedelta(days=2))
    Conversation.objects.exclude(deleted_at=None).update(deleted_at=timezone.now() - timedelta(days=2))
    conversations.delete_for_good()
    Turn.everything.exclude(deleted_at=None).update(undo_until=timezone.now() - timedelta(days=2))
    deletions.delete_turns_for_good()


def end_before(turn):
    with transaction.atomic(durable=True):
        deletions.delete_turns_within(turn.user_id, turn.id, following=True, now=timezone.now())


def said(user):
    rows = Message.objects.filter(user=user, turn__deleted_at=None, turn__conversation__deleted_at=None)
    return list(rows.order_by("id").values_list("text", flat=True))


def test_after_forgetting_everything_an_old_archive_brings_nothing(alice):
    everything_of(alice)
    chat(alice)
    remembered(alice, "Likes marmalade")
    old = archive_of(alice)
    forget(alice, Scope.EVERYTHING)

    batch = brought(alice, old)

    assert set(batch.counts) <= {"forgotten", "skipped"}
    assert not said(alice)
    assert not Experience.everything.filter(user=alice).exists()


def test_after_forgetting_everything_the_other_chats_export_brings_nothing(alice):
    brought(alice, chatgpt("I love marmalade", "Noted."))
    forget(alice, Scope.EVERYTHING)

    shown = brought(alice, chatgpt("I love marmalade", "Noted."), is_preview=True)

    assert shown.counts == FORGOTTEN
    assert shown.samples["forgotten"] == [{"sort": "conversation", "text": "Parrots"}]


def test_what_began_after_forgetting_everything_comes(alice, bob):
    forget(alice, Scope.EVERYTHING)
    chat(bob)

    assert brought(alice, archive_of(bob)).counts == {"new": {"conversation": 1}}


@pytest.mark.parametrize("is_swept", [False, True])
def test_the_forgotten_end_of_a_conversation_does_not_come_back_from_an_archive(alice, is_swept):
    conversation = conversations.start_conversation(alice, now=timezone.now(), title="T")
    finished_turn(alice, conversation.id, text="hello", reply="hi")
    last = finished_turn(alice, conversation.id, text="I keep marmalade", reply="noted")
    old = archive_of(alice)
    end_before(last)
    if is_swept:
        swept()

    assert brought(alice, old).counts == FORGOTTEN
    assert said(alice) == ["hello", "hi"]


@pytest.mark.parametrize("is_swept", [False, True])
def test_the_forgotten_end_of_another_chats_conversation_does_not_come_back(alice, is_swept):
    file = chatgpt("hello", "hi", "I keep marmalade", "noted")
    brought(alice, file)
    end_before(Turn.objects.filter(user=alice).latest("seq"))
    if is_swept:
        swept()

    assert brought(alice, file).counts == FORGOTTEN
    assert said(alice) == ["hello", "hi"]


def test_the_forgotten_end_of_another_chats_conversation_does_not_come_back_by_an_archive_of_it(alice):
    brought(alice, chatgpt("hello", "hi", "I keep marmalade", "noted"))
    old = archive_of(alice)
    end_before(Turn.objects.filter(user=alice).latest("seq"))
    swept()

    assert brought(alice, old).counts == FORGOTTEN


def test_the_forgotten_end_of_an_imported_conversation_does_not_come_back(alice, bob):
    conversation = conversations.start_conversation(alice, now=timezone.now(), title="T")
    finished_turn(alice, conversation.id, text="hello", reply="hi")
    finished_turn(alice, conversation.id, text="I keep marmalade", reply="noted")
    remembered(bob, "Likes marmalade")
    old = archive_of(alice)
    brought(bob, old)
    end_before(Turn.objects.filter(user=bob).latest("seq"))
    swept()

    assert brought(bob, old).counts == FORGOTTEN


def test_an_import_that_is_forgotten_and_gone_does_not_come_back_by_an_archive_of_it(alice):
    brought(alice, chatgpt("I keep marmalade", "noted"))
    old = archive_of(alice)
    forget(alice, Scope.CONVERSATION, Conversation.objects.get(user=alice).id)
    swept()

    assert brought(alice, old).counts == FORGOTTEN


def test_a_restored_conversation_that_is_forgotten_and_gone_does_not_come_back(alice, bob):
    chat(alice)
    Conversation.objects.filter(user=alice).update(created_at=timezone.now() - timedelta(days=3))
    old = archive_of(alice)
    assert brought(bob, old).is_restore
    forget(bob, Scope.CONVERSATION, Conversation.objects.get(user=bob).id)
    swept()

    assert brought(bob, old).counts == FORGOTTEN


def test_a_forgotten_lesson_does_not_come_back_from_an_old_archive(alice):
    everything_of(alice)
    lesson = Experience.objects.get(user=alice)
    old = archive_of(alice)
    forget(alice, Scope.EXPERIENCE, lesson.id)

    assert brought(alice, old).counts["forgotten"] == {"experience": 1}
    assert not Experience.everything.filter(user=alice).exists()


def test_an_import_whose_undoing_was_undone_is_known(alice):
    batch = brought(alice, chatgpt("hello", "hi"))
    undone(alice, batch)
    receipt = Receipt.objects.get(user_id=alice.id, scope=Scope.BATCH)
    operations.undo(alice.id, receipt.id, now=timezone.now())

    assert brought(alice, chatgpt("hello", "hi")).counts == {"duplicate": {"conversation": 1}}
    assert said(alice) == ["hello", "hi"]
