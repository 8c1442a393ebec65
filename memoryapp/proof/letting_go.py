"""The forgetting of every word that was told, each by the way that a person would take."""

from collections.abc import Sequence
from typing import Final

from memoryapp.proof.doors import UNKEPT, Entered
from memoryapp.proof.installing import Place

# What a person said in a conversation that they want to keep: the words go out of it.
BY_WORDS: Final = ("message", "pinned line", "summary")
BY_MEMORY_AND_SOURCE: Final = ("remember tool", "extraction")
BY_LESSON: Final = ("run",)


def forget(place: Place, entered: Sequence[Entered]) -> None:
    """All of them; returns when each is answered as forgotten."""
    for each in entered:
        if each.door in UNKEPT:
            continue
        for lesson in each.all("experience_id") if each.door in BY_LESSON else ():
            _ask(place, "experience", lesson)
        for memory in each.all("memory_id"):
            _ask(place, "memory_and_source" if each.door in BY_MEMORY_AND_SOURCE else "memory", memory)
        if each.door in BY_WORDS:
            _redact(place, each)
    # What later turns were told, and what has no words of its person to go by, goes with its conversation.
    for each in entered:
        stays = 1 if each.door in (*BY_WORDS, *BY_MEMORY_AND_SOURCE, *UNKEPT) else 0
        for conversation in each.all("conversation_id")[stays:]:
            _ask(place, "conversation", conversation)


def _ask(place: Place, scope: str, id_: str) -> None:
    """What is gone already went with something else: a lesson with what it was drawn from, a run with its turn."""
    body = {"scope": scope, "id": id_, "confirm": True}
    place.alice.call("POST", "/forget", body, may_be_gone=True)


def _redact(place: Place, each: Entered) -> None:
    """Wherever their conversation says it."""
    first = each.all("message_id")[0]
    place.alice.call("PATCH", f"/messages/{first}", {"redact": each.canary.word, "everywhere": True})
