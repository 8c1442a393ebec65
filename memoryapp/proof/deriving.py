"""Everything that is made of what was said, made now: what was learned, titles, summaries, lessons, vectors, caches."""

from collections.abc import Sequence
from functools import partial
from typing import LiteralString

from memoryapp.proof.doors import Entered, note_turn, talk, wait_until_read
from memoryapp.proof.echoing_model import Cue
from memoryapp.proof.installing import Place

_VECTORS_MISSING: LiteralString = """
SELECT (SELECT count(*) FROM longterm_memory WHERE embedding IS NULL AND status = 'active')
  + (SELECT count(*) FROM transcript_messagekey WHERE embedding IS NULL)
  + (SELECT count(*) FROM longterm_experience WHERE embedding IS NULL)
"""
_SUMMARIES: LiteralString = (
    "SELECT count(*) FROM transcript_summary WHERE conversation_id = %s::uuid AND NOT is_stale"
)
_MEMORIES: LiteralString = "SELECT id::text FROM longterm_memory WHERE statement LIKE %s OR quote LIKE %s"
_EXPERIENCES: LiteralString = "SELECT id::text FROM longterm_experience WHERE goal LIKE %s"


def everything(place: Place, entered: Sequence[Entered]) -> None:
    """Returns once the background has come to rest."""
    for each in entered:
        if each.door == "summary":
            _summarise(place, each)
    place.sweep()
    wait_until_read(place)
    place.require(lambda: not place.rows(_VECTORS_MISSING)[0][0], "everything has its vector")
    _recalled_again(place, entered)
    for each in entered:
        _note_what_came_of_it(place, each)


def _summarise(place: Place, entered: Entered) -> None:
    for conversation_id in entered.all("conversation_id"):
        place.alice.call("POST", f"/conversations/{conversation_id}/summaries", {})
        place.require(partial(_has_summary, place, conversation_id), "a summary is made")


def _has_summary(place: Place, conversation_id: str) -> bool:
    return bool(place.rows(_SUMMARIES, conversation_id)[0][0])


def _recalled_again(place: Place, entered: Sequence[Entered]) -> None:
    """What is known is given to later turns, whose prompts and results hold it, too."""
    for each in entered:
        if each.question:
            note_turn(each, talk(place, place.alice, f"{Cue.LOOK_UP}{each.question}"))


def _note_what_came_of_it(place: Place, entered: Entered) -> None:
    like = f"%{entered.canary.word}%"
    for (id_,) in place.rows(_MEMORIES, like, like):
        entered.note("memory_id", id_)
    for (id_,) in place.rows(_EXPERIENCES, like):
        entered.note("experience_id", id_)
