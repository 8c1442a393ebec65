"""What was learned from messages, in the words of the chips under a reply: built from the committed rows."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db.models import prefetch_related_objects
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy, pgettext_lazy

from memoryapp.inspector.presentation import fact_url
from memoryapp.longterm import queries as longterm
from memoryapp.longterm import tombstones
from memoryapp.longterm.feedback import is_set_aside
from memoryapp.longterm.models import Memory, MemorySource
from memoryapp.longterm.presentation import expires_text
from memoryapp.policies.reconciliation import Outcome
from memoryapp.policies.secrets import find_secret
from memoryapp.policies.trust import Origin
from memoryapp.transcript import keys
from memoryapp.transcript import queries as transcript
from memoryapp.transcript.models import Conversation, Turn

REFUSED = "refused"
GONE = "gone"
AGAIN = "again"
# What a chip begins with, by what became of the statement.
TOLD: Mapping[str, Promise] = {
    Outcome.ADDED: gettext_lazy("Remembered:"),
    AGAIN: gettext_lazy("Remembered again, after you had it forgotten:"),
    Outcome.REINFORCED: gettext_lazy("Already known:"),
    Outcome.SUPERSEDED: gettext_lazy("Updated:"),
    Outcome.PENDING: gettext_lazy("Waiting for your word:"),
    Outcome.CONFLICT: gettext_lazy("Doesn’t fit what you said before:"),
    REFUSED: gettext_lazy("Not kept:"),
    GONE: gettext_lazy("Taken back or forgotten:"),
}
SOURCES = {
    Origin.USER_TYPED: gettext_lazy("from your message"),
    Origin.USER_CONFIRMED: gettext_lazy("confirmed by you"),
    Origin.MODEL_INFERRED: gettext_lazy("concluded from your message"),
    Origin.TOOL: gettext_lazy("from a tool"),
    Origin.IMPORTED: gettext_lazy("imported"),
    Origin.UNTRUSTED: gettext_lazy("because this chat has read text you did not write"),
}
# What a person can do about it, by how the memory stands now.
ACTIONS: Mapping[str, Promise] = {
    Memory.Status.ACTIVE: pgettext_lazy("memory", "Edit"),
    Memory.Status.PENDING: pgettext_lazy("memory", "Review"),
    Memory.Status.CONFLICT: pgettext_lazy("memory", "Decide"),
    Memory.Status.SUPERSEDED: pgettext_lazy("memory", "Show"),
}
# Seconds until a page asks again what was learned in the background, each time it asked in vain.
ASKS_AFTER_S = (2, 3, 5, 10, 20)
LEARNS_WITHIN = timedelta(minutes=2)  # of the reply; what takes longer is there on the next load


@dataclass(frozen=True, slots=True)
class Learned:
    """``was``: what the statement replaced. ``ended``: why it is not in use any more. ``action``: the words of a link.

    ``undo_url`` is empty where there is nothing to take back, or where a person has made the memory their own since.
    """

    outcome: str
    told: str
    statement: str
    memory_id: UUID | None = None
    was: str = ""
    source: str = ""
    expires_text: str = ""
    memory_url: str = ""
    action: str = ""
    undo_url: str = ""
    ended: str = ""


@dataclass(frozen=True, slots=True)
class Asking:
    """When and where a page asks again what was learned from a message; ``seen``: how many chips it shows."""

    url: str
    after_s: int


def learned_from(conversation: Conversation, turns: Sequence[Turn]) -> Mapping[UUID, Sequence[Learned]]:
    """By turn, what its message taught, in the order in which it was learned, and that more was once, or not kept."""
    turn_of_message = {transcript.user_message(turn).id: turn for turn in turns}
    sources = list(longterm.taken_from(conversation.user_id, turn_of_message))
    prefetch_related_objects([source.memory for source in sources], "superseded_by__supersedes", "supersedes")
    found: dict[UUID, list[Learned]] = {}
    for source in sources:
        assert source.message_id  # it was found by it
        turn = turn_of_message[source.message_id]
        found.setdefault(turn.id, []).append(_learned(source, turn))
    for turn_id, refused in _refused(conversation, turn_of_message).items():
        found.setdefault(turn_id, []).append(refused)
    for turn_id in _unlearned(conversation, turns):
        gone = Learned(GONE, str(TOLD[GONE]), gettext("something that this message taught"))
        found.setdefault(turn_id, []).append(gone)
    return found


def asking(turn: Turn, conversation: Conversation, *, seen: int, tries: int = 0) -> Asking | None:
    """None once the message was read for what it teaches, or when nobody will read it any more."""
    is_over = turn.finished_at is None or timezone.now() - turn.finished_at > LEARNS_WITHIN
    is_read = transcript.user_message(turn).extracted_at is not None
    saves = conversation.save_memory and conversation.user.save_memory
    if is_over or is_read or not saves or tries >= len(ASKS_AFTER_S):
        return None
    url = reverse("chat:learned", args=[turn.id])
    return Asking(f"{url}?seen={seen}&tries={tries + 1}", after_s=ASKS_AFTER_S[tries])


def former_value(memory: Memory) -> Memory | None:
    """What this value replaced when it came; its former values are prefetched, and those of what replaced it."""
    family = (memory.superseded_by or memory).supersedes.all()
    before = [
        row
        for row in family
        if row.id != memory.id and row.valid_to is not None and row.valid_to <= memory.valid_from
    ]
    return max(before, key=lambda row: (row.valid_to or row.valid_from, row.id), default=None)


def ended_text(memory: Memory) -> str:
    """Why it is not in use any more; empty while it is, or waits."""
    if memory.status != Memory.Status.SUPERSEDED:
        return ""
    return gettext("set aside as wrong") if is_set_aside(memory) else gettext("replaced since")


def edit_url(memory: Memory) -> str:
    """The form for its words."""
    return f"{fact_url(memory)}?edit#statement"


def _learned(source: MemorySource, turn: Turn) -> Learned:
    memory = source.memory
    is_active = memory.status == Memory.Status.ACTIVE
    outcome = _outcome_now(source.outcome, memory)
    can_undo = is_active and memory.version == 1 and outcome in {Outcome.ADDED, Outcome.SUPERSEDED}
    was = former_value(memory) if outcome == Outcome.SUPERSEDED else None
    was_forgotten: bool = getattr(memory, "was_forgotten", False)
    return Learned(
        outcome=outcome,
        told=str(TOLD[AGAIN if outcome == Outcome.ADDED and was_forgotten else outcome]),
        statement=memory.statement,
        memory_id=memory.id,
        was=was.statement if was else "",
        source=str(SOURCES[Origin(source.origin)]),
        expires_text=expires_text(getattr(memory, "fades_at", None), now=timezone.now()) if is_active else "",
        memory_url=edit_url(memory) if is_active else fact_url(memory),
        action=str(ACTIONS[memory.status]),
        undo_url=reverse("chat:take_back", args=[turn.id, memory.id]) if can_undo else "",
        ended=ended_text(memory),
    )


def _outcome_now(outcome: str, memory: Memory) -> str:
    """What waited is remembered when its person has said so since."""
    waited = outcome in {Outcome.PENDING, Outcome.CONFLICT}
    return Outcome.ADDED if waited and memory.status not in longterm.WAITING else outcome


def _unlearned(conversation: Conversation, turns: Sequence[Turn]) -> Set[UUID]:
    """Where the reply may still say that it will be remembered."""
    ended = [turn.id for turn in turns if turn.status not in Turn.LIVE]
    return tombstones.forgotten_turns(conversation.user_id, ended) if ended else frozenset()


def _refused(conversation: Conversation, turn_of_message: Mapping[UUID, Turn]) -> Mapping[UUID, Learned]:
    """By turn, what held a secret: there is no row of what was not kept, and only its message says what it was."""
    if not (conversation.save_memory and conversation.user.save_memory):
        return {}
    suspected = [turn_of_message[id_] for id_ in keys.without_terms(conversation.user_id, turn_of_message)]
    secrets = {turn.id: find_secret(transcript.user_message(turn).text) for turn in suspected}
    return {
        turn_id: Learned(
            REFUSED, str(TOLD[REFUSED]), gettext("looks like {secret}").format(secret=gettext(secret))
        )
        for turn_id, secret in secrets.items()
        if secret
    }
