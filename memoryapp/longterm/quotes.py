"""What memories hold of the messages they were taken from, when such a message comes to say something else."""

from collections.abc import Callable, Iterable, Mapping
from uuid import UUID

from memoryapp.longterm.models import Memory, MemorySource, MemoryVersion
from memoryapp.policies.terms import sought, term_hash, terms


def follow(user_id: UUID, said: Mapping[UUID, str], rewrite: Callable[[str], str]) -> None:
    """Let no quote say what its message does not say any more; a part of the caller's transaction.

    ``said``: what each of the messages says now. A quote that does not stand in it becomes ``rewrite`` of it where that
    does, else empty. Memories that are being forgotten are among them: that can be undone.
    """
    sources = MemorySource.objects.filter(user_id=user_id, message_id__in=said).exclude(quote="")
    for id_, message_id, quote in sources.values_list("id", "message_id", "quote"):
        MemorySource.objects.filter(id=id_).update(quote=_now(quote, said[message_id], rewrite))
    memories = Memory.everything.for_user(user_id).filter(source_message_id__in=said).exclude(quote="")
    for id_, message_id, quote in memories.values_list("id", "source_message_id", "quote"):
        Memory.everything.filter(id=id_).update(quote=_now(quote, said[message_id], rewrite))


def _now(quote: str, text: str, rewrite: Callable[[str], str]) -> str:
    """A quote is copied word for word: it stands in the text as it is, or it is none."""
    return next((words for words in (quote, rewrite(quote)) if words in text), "")


def saying(user_id: UUID, memory_ids: Iterable[UUID], *, before: str, after: str = "") -> list[UUID]:
    """Those of these that say, or said in a former version, a word of ``before`` that ``after`` has not.

    Small words do not count, and a word is the same in all its forms.
    """
    gone = _hashes(before) - _hashes(after)
    asked = list(memory_ids)
    found: dict[UUID, list[str]] = {}
    for rows in (
        Memory.objects.for_user(user_id).filter(id__in=asked).values_list("id", "statement"),
        MemoryVersion.objects.filter(user_id=user_id, memory__in=asked, memory__forgetting=None).values_list(
            "memory_id", "statement"
        ),
    ):
        for id_, statement in rows:
            found.setdefault(id_, []).append(statement)
    return [id_ for id_ in asked if any(_has_one(statement, gone) for statement in found.get(id_, []))]


def _hashes(text: str) -> set[int]:
    return {term_hash(term) for term in terms(text)}


def _has_one(statement: str, hashes: set[int]) -> bool:
    return any(not hashes.isdisjoint(word.variants) for word in sought(statement).words)
