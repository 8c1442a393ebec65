"""Every act of forgetting leaves a receipt of ids and numbers, in one piece with it, whoever asks for it."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from memoryapp.acting import Actor, acting_as
from memoryapp.longterm import forgettings
from memoryapp.longterm.models import Memory
from memoryapp.receipts import operations, queries
from memoryapp.receipts.models import Receipt, Scope, Sort
from memoryapp.scratchpad import queries as runs
from memoryapp.scratchpad import records
from memoryapp.transcript import conversations, deletions, redaction
from memoryapp.transcript import queries as transcript
from tests.longterm.saying import remember
from tests.world import finished_turn

SAID = "I keep a heron called Wotan"


@pytest.fixture
def turn(alice):
    conversation = conversations.start_conversation(alice, now=timezone.now())
    return finished_turn(alice, conversation.id, text=SAID, reply="Noted.")


def only(user) -> Receipt:
    (receipt,) = queries.receipts(user.id)
    return receipt


def test_forgetting_a_fact_leaves_a_receipt_with_its_ids_and_the_time_to_undo_it(alice):
    memory = remember(alice, SAID).memory

    with acting_as(Actor.PROGRAM, "notebook"):
        act = forgettings.forget(alice.id, [memory.id], now=timezone.now())

    receipt = only(alice)
    assert receipt.scope == Scope.MEMORY
    assert receipt.items == {"memory": [str(memory.id)]}
    assert (receipt.forgotten_at, receipt.undo_until) == (act.created_at, act.undo_until)
    assert (receipt.actor, receipt.actor_name) == ("program", "notebook")
    assert receipt.signature == operations.signature(receipt)


def test_the_receipt_of_what_is_gone_at_once_has_no_undo(alice):
    memory = remember(alice, SAID).memory

    forgettings.forget(alice.id, [memory.id], now=timezone.now(), is_final=True)

    assert only(alice).undo_until is None


def test_what_an_undo_brings_back_is_taken_off_the_receipt(alice):
    ids = [remember(alice, f"{SAID} {number}").memory.id for number in range(2)]
    act = forgettings.forget(alice.id, ids, now=timezone.now())

    forgettings.undo(alice.id, act.id, now=timezone.now())

    receipt = only(alice)
    assert receipt.restored == {"memory": sorted(map(str, ids))}
    assert receipt.undone_at is not None


def test_what_an_undo_leaves_forgotten_stays_on_the_receipt(alice):
    ids = [remember(alice, f"{SAID} {number}").memory.id for number in range(2)]
    act = forgettings.forget(alice.id, ids, now=timezone.now())
    remember(alice, f"{SAID} 0", said_at=timezone.now() + timedelta(minutes=1))

    undone = forgettings.undo(alice.id, act.id, now=timezone.now())

    receipt = only(alice)
    assert undone.kept_away == 1
    assert receipt.restored == {"memory": [str(ids[1])]}
    assert receipt.undone_at is None


def test_a_deleted_conversation_has_one_and_loses_it_when_brought_back(alice, turn):
    conversations.delete_conversation(alice.id, turn.conversation_id)
    deleted = only(alice)

    conversations.restore_conversation(alice.id, turn.conversation_id)

    assert deleted.items == {"conversation": [str(turn.conversation_id)]}
    assert deleted.undo_until is not None
    assert only(alice).undone_at is not None


def test_a_temporary_conversation_is_gone_at_once(alice):
    conversation = conversations.start_conversation(alice, now=timezone.now(), is_temporary=True)

    conversations.delete_conversation(alice.id, conversation.id)

    assert (only(alice).scope, only(alice).undo_until) == (Scope.CONVERSATION, None)


def test_deleted_turns_have_one_and_lose_it_when_brought_back(alice, turn):
    deletion = deletions.delete_turns(alice.id, turn.id, following=False, now=timezone.now())
    deleted = only(alice)

    deletions.undo_deletion(alice.id, deletion.id)

    assert deleted.items == {"turn": [str(turn.id)]}
    assert deleted.undo_until == deletion.until
    assert only(alice).undone_at is not None


def test_redacted_words_are_gone_at_once_and_not_on_the_receipt(alice, turn):
    message = transcript.user_message(turn)

    redaction.redact_message(alice.id, message.id, words="Wotan")

    receipt = only(alice)
    assert (receipt.scope, receipt.undo_until) == (Scope.REDACTION, None)
    assert receipt.items == {"message": [str(message.id)]}
    assert "Wotan" not in str(Receipt.objects.values())


def test_a_deleted_record_of_a_run_has_one(alice, turn):
    run_id = runs.run_ids_of_turns(alice.id, [turn.id])[turn.id]

    records.delete(alice.id, [run_id])

    assert only(alice).items == {"run": [str(run_id)]}


def test_what_did_not_happen_has_none(alice):
    memory = remember(alice, SAID).memory

    with transaction.atomic():
        forgettings.forget_within(alice.id, [memory.id], now=timezone.now())
        transaction.set_rollback(True)

    assert not queries.receipts(alice.id)
    assert Memory.objects.filter(id=memory.id).exists()


def test_what_several_tiers_forget_together_has_one_receipt(alice, turn):
    memory = remember(alice, SAID).memory
    message = transcript.user_message(turn)

    with (
        transaction.atomic(),
        operations.together(alice.id, Scope.MEMORY_AND_SOURCE, now=timezone.now(), subject_id=memory.id),
    ):
        forgettings.forget_within(alice.id, [memory.id], now=timezone.now())
        redaction.redact_within(alice.id, message.id, words="Wotan")

    receipt = only(alice)
    assert set(receipt.items) == {"memory", "message"}
    assert receipt.undo_until is None  # a redaction does not come back
    assert receipt.subject_id == memory.id


def test_a_receipt_that_was_changed_does_not_match_its_signature(alice):
    operations.issue(alice.id, Scope.RUN, items={Sort.RUN: [alice.id]}, now=timezone.now())
    receipt = only(alice)

    receipt.items = {}

    assert receipt.signature != operations.signature(receipt)


def test_receipts_of_others_are_not_there(alice, bob):
    operations.issue(alice.id, Scope.RUN, items={Sort.RUN: [alice.id]}, now=timezone.now())

    assert not queries.receipts(bob.id)


def test_a_receipt_outlives_its_person(alice):
    operations.issue(alice.id, Scope.ACCOUNT, items={}, now=timezone.now())

    alice.delete()

    assert Receipt.objects.count() == 1
