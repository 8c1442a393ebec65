"""Turns that were said and answered before: imports and examples."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError
from django.utils import timezone

from memoryapp.accounts.models import User
from memoryapp.errors import NotFoundError
from memoryapp.transcript import claims, conversations, operations, queries, queue
from memoryapp.transcript.models import Conversation, Turn

LAST_YEAR = timezone.now() - timedelta(days=365)
SAID: dict[str, Any] = {
    "text": "Where do I live?",
    "reply": "In Porto.",
    "idempotency_key": "import:1",
    "said_at": LAST_YEAR,
}


@pytest.fixture
def conversation(alice: User) -> Conversation:
    return conversations.start_conversation(alice, now=LAST_YEAR)


def test_it_is_complete_and_dated_when_it_was_said(alice, conversation):
    turn = operations.record_turn(alice, conversation.id, **SAID)

    (spoken,) = queries.spoken_turns(alice.id, conversation.id, after_seq=0, before_seq=2)
    assert (spoken.user_text, spoken.reply, spoken.said_at) == ("Where do I live?", "In Porto.", LAST_YEAR)
    assert turn.status == Turn.Status.COMPLETED
    assert turn.finished_at == LAST_YEAR


def test_no_worker_can_claim_it(alice, conversation):
    turn = operations.record_turn(alice, conversation.id, **SAID)

    assert claims.claim_turn(turn.id) is None
    assert queue.overdue() == []


def test_a_new_message_comes_after_it(alice, conversation):
    operations.record_turn(alice, conversation.id, **SAID)

    turn, _ = operations.post_turn(
        alice, conversation.id, text="And now?", idempotency_key="now", now=timezone.now()
    )

    assert turn.seq == 2


def test_the_same_key_twice_is_refused_and_leaves_no_gap(alice, conversation):
    operations.record_turn(alice, conversation.id, **SAID)

    with pytest.raises(IntegrityError):
        operations.record_turn(alice, conversation.id, **SAID)

    assert queries.get_conversation(alice.id, conversation.id).last_seq == 1


def test_bob_cannot_write_into_alices_conversation(bob, conversation):
    with pytest.raises(NotFoundError):
        operations.record_turn(bob, conversation.id, **SAID)
