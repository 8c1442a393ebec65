"""What another tab deletes or redacts between a request's first look and its turn at the conversation."""

from uuid import uuid4

import pytest
from django.utils import timezone

from memoryapp.errors import NotFoundError
from memoryapp.transcript import branches, conversations, deletions, queries, redaction, summaries
from memoryapp.transcript.models import Conversation, Message, PinnedLine
from memoryapp.transcript.operations import MalformedTextError
from memoryapp.transcript.redaction import MARK
from tests.transcript.branching import everything_said, talk

pytestmark = pytest.mark.django_db

ACTS = {
    "answer again": lambda turn: branches.ask_anew(
        turn.user, turn.id, idempotency_key=str(uuid4()), now=timezone.now()
    ),
    "copy": lambda turn: conversations.fork_conversation(
        turn.user, turn.id, idempotency_key=str(uuid4()), now=timezone.now()
    ),
    "show": lambda turn: branches.show_branch(turn.user_id, turn.id),
    "take off": lambda turn: branches.take_off(turn.user_id, turn.id),
    "keep": lambda turn: summaries.pin_line(turn.user_id, turn.id, text="zanzibar"),
}


@pytest.fixture(autouse=True)
def quiet(nudges):
    """No worker is woken."""


@pytest.fixture
def meanwhile(monkeypatch):
    """Have something done once, right after the next look at a turn."""

    def arrange(work):
        look = queries.get_turn

        def looked(user_id, turn_id):
            monkeypatch.setattr(queries, "get_turn", look)
            turn = look(user_id, turn_id)
            work()
            return turn

        monkeypatch.setattr(queries, "get_turn", looked)

    return arrange


def redact(turn):
    asked = Message.objects.get(turn=turn, role=Message.Role.USER)
    redaction.redact_message(turn.user_id, asked.id, words="zanzibar")


@pytest.mark.parametrize("act", ACTS)
def test_on_a_turn_that_was_deleted_it_is_refused(alice, meanwhile, act):
    _, turn = talk(alice, "figs", "To zanzibar")
    meanwhile(lambda: deletions.delete_turns(alice.id, turn.id, following=True, now=timezone.now()))

    with pytest.raises(NotFoundError, match="There is no such turn"):
        ACTS[act](turn)

    assert Conversation.objects.count() == 1


@pytest.mark.parametrize("act", ACTS)
def test_in_a_chat_that_was_deleted_it_is_refused(alice, meanwhile, act):
    (turn,) = talk(alice, "To zanzibar")
    meanwhile(lambda: conversations.delete_conversation(alice.id, turn.conversation_id))

    with pytest.raises(NotFoundError, match="There is no such"):
        ACTS[act](turn)

    assert Conversation.objects.count() == 1


def test_answering_again_says_what_the_message_says_now(alice, meanwhile):
    (turn,) = talk(alice, "To zanzibar")
    meanwhile(lambda: redact(turn))

    ACTS["answer again"](turn)

    assert everything_said(turn) == {f"To {MARK}", f"To {MARK}!"}


def test_words_that_were_redacted_are_not_kept(alice, meanwhile):
    (turn,) = talk(alice, "To zanzibar")
    meanwhile(lambda: redact(turn))

    with pytest.raises(MalformedTextError):
        ACTS["keep"](turn)

    assert not PinnedLine.objects.exists()
