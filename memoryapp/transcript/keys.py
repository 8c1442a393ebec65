"""Writes of keys, by which recall finds messages: words at once, vectors when there is time.

A key is derived from its message: it can be made again at any time, and goes with it. Messages of temporary chats have
none, so nothing can find them from another chat.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import Q, QuerySet

from memoryapp.policies import dialogue
from memoryapp.policies import terms as words
from memoryapp.policies.secrets import find_secret
from memoryapp.transcript.models import Message, MessageKey

# Of a longer message, a pasted document, the beginning: it stands for what the rest is about, its making must not
# hold up the transaction that keeps the message, and full-text search reads all of it. About as much as
# ``policies.terms.MAX_TERMS`` has room for.
KEYED_CHARS = 20_000
# The terms of a message that holds a secret: it has a key, but nothing finds it, and it gets no vector.
NOTHING = b""
DERIVED = ("user", "turn", "conversation_id", "position", "said_at", "speaker", "terms", "traits", "words")


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A message without a vector of the current model. ``terms``: of its key when it was read."""

    message_id: UUID
    text: str
    terms: bytes


def keep_key(message: Message) -> None:
    """Make a message's key, or make it anew from its present text; within the caller's transaction."""
    keep_keys(message.user_id, [message.id])


def keep_keys(user_id: UUID, message_ids: Collection[UUID]) -> None:
    """The same for several messages of one person."""
    _keep(Message.objects.filter(user_id=user_id, id__in=message_ids))


def keep_missing(*, limit: int) -> int:
    """Keys for messages that have none: of an older installation, or of a copied conversation.

    Oldest first; returns how many were made.
    """
    # Both sides are read in the order of their primary keys, without the rows: a tenth of a second for a million.
    missing = Message.objects.filter(key=None, turn__conversation__is_temporary=False)
    chosen = list(missing.order_by("id").values_list("id", flat=True)[:limit])
    return _keep(Message.objects.filter(id__in=chosen))


def drop_keys(user_id: UUID, conversation_id: UUID) -> None:
    """Nothing finds its messages from another conversation any more; within the caller's transaction."""
    MessageKey.objects.filter(user_id=user_id, conversation_id=conversation_id).delete()


def not_embedded(model_id: str) -> QuerySet[MessageKey]:
    """Keys that recall can so far find by words only, oldest first."""
    # Not ``exclude``: of two ranges the index message_key_model finds the few in a large table.
    another_model = Q(embedding_model__lt=model_id) | Q(embedding_model__gt=model_id)
    return MessageKey.objects.filter(another_model).exclude(terms=NOTHING).order_by("message_id")


def without_terms(user_id: UUID, message_ids: Collection[UUID]) -> set[UUID]:
    """Those of these that hold a secret: by its words nothing finds them."""
    found = MessageKey.objects.filter(user_id=user_id, message__in=message_ids, terms=NOTHING)
    return set(found.values_list("message_id", flat=True))


def to_embed(keys: QuerySet[MessageKey], *, max_chars: int) -> Sequence[Unembedded]:
    """These with the beginnings of their messages, without who said them: a name is no part of what was said."""
    rows = keys.select_related("message").only("message__text", "terms")
    return [Unembedded(key.message_id, key.message.text[:max_chars], bytes(key.terms)) for key in rows]


def store_embedding(waiting: Unembedded, embedding: list[float], model_id: str) -> bool:
    """Keep a message's vector, unless it has other words by now, or is gone."""
    same_words = MessageKey.objects.filter(message_id=waiting.message_id, terms=waiting.terms)
    return same_words.update(embedding=embedding, embedding_model=model_id) == 1


def _keep(messages: QuerySet[Message]) -> int:
    rows = messages.exclude(turn__conversation__is_temporary=True).select_related("user", "turn")
    kept = MessageKey.objects.bulk_create(
        _made(rows.defer("search_vector")),
        update_conflicts=True,
        unique_fields=["message"],
        update_fields=[*DERIVED, "embedding", "embedding_model"],
    )
    return len(kept)


def _made(messages: Iterable[Message]) -> list[MessageKey]:
    return [_key(message) for message in messages]


def _key(message: Message) -> MessageKey:
    text = message.text[:KEYED_CHARS]
    terms = NOTHING if find_secret(text) else _terms(message, text)
    return MessageKey(
        message=message,
        user_id=message.user_id,
        turn_id=message.turn_id,
        conversation_id=message.turn.conversation_id,
        position=2 * message.turn.seq + (message.role == Message.Role.ASSISTANT),
        said_at=message.created_at,
        speaker=dialogue.speaker_key(message.speaker),
        terms=terms,
        traits=dialogue.traits(text),
        words=len(text.split()),
    )


def _terms(message: Message, text: str) -> bytes:
    said_on = message.created_at.astimezone(ZoneInfo(message.user.time_zone)).date()
    return words.packed(words.terms(text, said_on=said_on))
