"""What tests of branches say and look at: turns answered at once, and whether the shown branch is whole."""

from uuid import UUID, uuid4

from django.utils import timezone

from memoryapp.accounts.models import User
from memoryapp.llm.base import Usage
from memoryapp.transcript import branches, claims, queries, summaries
from memoryapp.transcript.models import Conversation, Message, Summary, Turn
from memoryapp.transcript.summaries import NewSummary
from tests.turns import claim, fresh, post


def said(user: User, text: str, conversation: Conversation | None = None) -> Turn:
    """A message with its answer, "<text>!"."""
    return answered(post(user, text, conversation))


def answered(turn: Turn, reply: str = "") -> Turn:
    text = queries.text_of(fresh(turn), Message.Role.USER)
    claims.finish_turn(claim(turn), reply=reply or f"{text}!", model="m", usage=Usage())
    return fresh(turn)


def edited(turn: Turn, text: str) -> Turn:
    """Another version of the turn with other words, answered."""
    asked, _ = branches.ask_anew(
        turn.user, turn.id, text=text, idempotency_key=str(uuid4()), now=timezone.now()
    )
    return answered(asked)


def talk(user: User, *texts: str) -> list[Turn]:
    """One conversation of these messages, each answered."""
    first = said(user, texts[0])
    return [first, *(said(user, text, first.conversation) for text in texts[1:])]


def summarised(turn: Turn, text: str = "In short.") -> Summary | None:
    """A version that covers everything up to this turn; None when the conversation has moved on."""
    new = NewSummary(
        last_turn_id=turn.id,
        last_seq=turn.seq,
        text=text,
        method=Summary.Method.MODEL,
        trigger=Summary.Trigger.MANUAL,
        tokens_before=100,
    )
    current = queries.current_summary(turn.user_id, turn.conversation_id)
    return summaries.add_summary(turn.conversation, new, replaces=current)


def shown(turn: Turn) -> list[str]:
    """The user's words on the shown branch, which must be whole: 1..n, each below the one before, and counted."""
    rows = list(queries.turns(turn.user_id, turn.conversation_id))
    conversation = Conversation.objects.get(id=turn.conversation_id)
    assert [row.seq for row in rows] == list(range(1, conversation.last_seq + 1))
    parents: list[UUID | None] = [None, *(row.id for row in rows)]
    assert [row.parent_id for row in rows] == parents[: len(rows)]
    live = Turn.objects.filter(conversation=conversation, status__in=Turn.LIVE, is_current=False)
    assert not live.exists()
    return [queries.text_of(row, Message.Role.USER) for row in rows]


def everything_said(turn: Turn) -> set[str]:
    """Of every branch."""
    return set(Message.objects.filter(turn__conversation=turn.conversation_id).values_list("text", flat=True))
