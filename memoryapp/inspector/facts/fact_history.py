"""How a fact was put, version by version, and how it became as sure as it is."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Final

from django.utils.translation import gettext, gettext_lazy, ngettext

from memoryapp.inspector.amounts import count_text
from memoryapp.longterm import queries as longterm
from memoryapp.longterm.models import Feedback, Memory, MemoryVersion
from memoryapp.policies.feedback import Verdict
from memoryapp.policies.trust import INITIAL_CONFIDENCE, Origin
from memoryapp.policies.wording import Piece, changes

BASES: Final = {
    Origin.USER_TYPED: gettext_lazy("Begins at {percent} %, because you wrote it yourself"),
    Origin.USER_CONFIRMED: gettext_lazy("Begins at {percent} %, because you confirmed it"),
    Origin.MODEL_INFERRED: gettext_lazy(
        "Begins at {percent} %, because the model concluded it from what you wrote"
    ),
    Origin.TOOL: gettext_lazy("Begins at {percent} %, because a tool found it"),
    Origin.IMPORTED: gettext_lazy("Begins at {percent} %, because it was imported"),
    Origin.UNTRUSTED: gettext_lazy(
        "Begins at {percent} %, because it comes from text that you did not write"
    ),
}
WORDS: Final = {
    Verdict.CONFIRMED: gettext_lazy("You said that it is right"),
    Verdict.CORRECTED: gettext_lazy("You corrected its words"),
    Verdict.WRONG: gettext_lazy("You said that it is wrong"),
    Verdict.NOT_RELEVANT: gettext_lazy("You said that it was not relevant to a reply"),
}
BY: Final = {
    MemoryVersion.Author.USER: gettext_lazy("by you"),
    MemoryVersion.Author.ASSISTANT: gettext_lazy("by the assistant"),
    MemoryVersion.Author.SYSTEM: gettext_lazy("by Strata"),
}
REASONS: Final = {  # as versions are written
    "confirmed": gettext_lazy("confirmed"),
    "edited": gettext_lazy("edited"),
    "brought back": gettext_lazy("brought back"),
    "set aside as wrong": gettext_lazy("set aside as wrong"),
    "waits again": gettext_lazy("waits again"),
}


@dataclass(frozen=True, slots=True)
class VersionRow:
    """``changes``: word by word since the version before; empty for the first, and when the words stayed."""

    version: int
    statement: str
    changed_by: str
    recorded_at: datetime
    reason: str
    notes: Sequence[str] = ()
    changes: Sequence[Piece] = ()
    is_current: bool = False


@dataclass(frozen=True, slots=True)
class Reason:
    """A step on the way to how sure it is; ``percent`` afterwards."""

    text: str
    percent: int | None = None
    at: datetime | None = None


def reasons(memory: Memory, versions: Sequence[MemoryVersion]) -> list[Reason]:
    """Where it began, what moved it, in order of time; the last is where it stands."""
    origin = Origin(memory.origin)
    begun = versions[-1] if versions else None
    base = begun.confidence if begun else INITIAL_CONFIDENCE[origin]
    because = BASES[origin].format(percent=_percent(base))
    first = Reason(because, _percent(base), memory.recorded_at)
    said = list(longterm.feedback_on(memory))
    steps = [_word(word) for word in said]
    steps += _by_hand(versions, said)
    again = longterm.sources(memory).exclude(message=memory.source_message_id).count()
    steps.sort(key=lambda step: step.at or memory.recorded_at)
    if again:
        said_again = ngettext(
            "Said again once: its lifetime starts again, and it is no surer",
            "Said again {n} times: its lifetime starts again, and it is no surer",
            again,
        )
        steps.append(Reason(said_again.format(n=count_text(again))))
    return [first, *steps]


def _word(word: Feedback) -> Reason:
    return Reason(str(WORDS[Verdict(word.verdict)]), _percent(word.confidence_after), word.created_at)


def _by_hand(versions: Sequence[MemoryVersion], said: Iterable[Feedback]) -> list[Reason]:
    """Versions that set another confidence without a word that explains it; ``versions`` come newest first."""
    explained = {_percent(word.confidence_after) for word in said}
    steps = []
    for newer, older in pairwise(versions):
        percent = _percent(newer.confidence)
        if percent != _percent(older.confidence) and percent not in explained:
            text = gettext("Set {by}, in version {n}").format(by=_by(newer), n=newer.version)
            steps.append(Reason(text, percent, newer.recorded_at))
    return steps


def corrected_at(versions: Sequence[MemoryVersion]) -> datetime | None:
    """Since when it is in the words that its person gave it; None while it is in its first. ``versions``: newest
    first."""
    for newer, older in pairwise(versions):
        if newer.statement != older.statement:
            return newer.recorded_at if newer.changed_by == MemoryVersion.Author.USER else None
    return None


def version_rows(versions: Sequence[MemoryVersion], memory: Memory) -> list[VersionRow]:
    """Newest first, as they come; each compared with the one below it."""
    olders: list[MemoryVersion | None] = [*versions[1:], None]
    kinds = {kind.slug: gettext(kind.label) for kind in longterm.kinds()}
    return [
        _version_row(version, older, memory, kinds) for version, older in zip(versions, olders, strict=False)
    ]


def _version_row(
    version: MemoryVersion, older: MemoryVersion | None, memory: Memory, kinds: Mapping[str, str]
) -> VersionRow:
    is_typed = version.version == 1 and memory.origin == Origin.USER_TYPED and memory.source_message_id
    is_reworded = older is not None and older.statement != version.statement
    return VersionRow(
        version=version.version,
        statement=version.statement,
        changed_by=gettext("from your message") if is_typed else _by(version),
        recorded_at=version.recorded_at,
        reason=_why(version, memory),
        notes=_notes(version, older, kinds),
        changes=changes(older.statement, version.statement) if older and is_reworded else (),
        is_current=version.version == memory.version,
    )


def _why(version: MemoryVersion, memory: Memory) -> str:
    if version.version == 1:
        is_again = version.reason.startswith(longterm.SAID_AGAIN)
        began = (
            gettext("said again after you had it forgotten, through {channel}")
            if is_again
            else gettext("first said, through {channel}")
        )
        return began.format(channel=memory.get_channel_display())
    return str(REASONS.get(version.reason, version.reason))


def _notes(version: MemoryVersion, older: MemoryVersion | None, kinds: Mapping[str, str]) -> list[str]:
    """What else changed with it. ``kinds``: their labels by slug."""
    if older is None:
        return []
    none = gettext("none")
    pairs = [
        (gettext("kind"), *(kinds.get(slug, slug) for slug in (older.kind_slug, version.kind_slug))),
        (gettext("key"), older.key or none, version.key or none),
        (gettext("sure"), f"{_percent(older.confidence)} %", f"{_percent(version.confidence)} %"),
    ]
    return [f"{name}: {before} → {after}" for name, before, after in pairs if before != after]


def _by(version: MemoryVersion) -> str:
    return str(BY[MemoryVersion.Author(version.changed_by)])


def _percent(share: float) -> int:
    return round(share * 100)
