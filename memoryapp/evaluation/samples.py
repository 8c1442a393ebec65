"""Data sets of questions about conversations: LoCoMo's format, and what others make of it."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from memoryapp.errors import MemoryAppError
from memoryapp.evaluation import dates

Json = Mapping[str, Any]

# LoCoMo's numbers (github.com/snap-research/locomo); other sets bring names of their own, or none.
CATEGORIES: Final = {
    "1": "multi-hop",
    "2": "temporal",
    "3": "open-domain",
    "4": "single-hop",
    "5": "adversarial",
}
UNCATEGORISED: Final = "uncategorised"
# Asked about the wrong person: not a part of the overall figures.
ADVERSARIAL: Final = CATEGORIES["5"]
USER_ROLES: Final = frozenset({"user", "human", "me"})
ASSISTANT_ROLES: Final = frozenset({"assistant", "ai", "bot", "model", "chatbot"})
# Where a file does not say when; a day apart, so that the order of the sessions is kept.
UNDATED_FROM: Final = datetime(2023, 1, 1, 12, tzinfo=UTC)

_SESSION: Final = re.compile(r"session_(\d+)")
# LoCoMo writes most of its ids as D8:6, some as D:11:26 or D30:05, and two in one string.
_ID: Final = re.compile(r"D:?(\d+):0*(\d+)")


class UnreadableSetError(MemoryAppError):
    """The file is not a data set of this format; the message says what was expected."""

    code = "unreadable_set"


@dataclass(frozen=True, slots=True)
class Said:
    """One message. ``speaker``: a person's name; empty for a mere user or assistant."""

    id: str
    text: str
    speaker: str
    is_assistant: bool
    said_at: datetime


@dataclass(frozen=True, slots=True)
class Asked:
    """A question; ``evidence``: the ids of the messages that answer it, as far as they exist."""

    text: str
    category: str
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Sample:
    """The conversations of one person, oldest first. ``names``: of the people in them, by side."""

    id: str
    sessions: Sequence[Sequence[Said]]
    questions: Sequence[Asked]
    names: Sequence[str]

    @property
    def answerable(self) -> Sequence[Asked]:
        return [asked for asked in self.questions if asked.evidence]


def read(path: Path, *, only: Sequence[str] = ()) -> list[Sample]:
    """The samples of a file: a JSON list, one object, or JSON lines. ``only``: their ids; empty means all.

    Raises UnreadableSetError.
    """
    samples = [_sample(row, number) for number, row in enumerate(_rows(path), 1)]
    unknown = set(only) - {sample.id for sample in samples}
    if unknown:
        raise UnreadableSetError(
            f"{path.name} has no conversation {', '.join(sorted(unknown))}. "
            f"It has: {', '.join(sample.id for sample in samples)}."
        )
    chosen = [sample for sample in samples if not only or sample.id in only]
    if not any(sample.answerable for sample in chosen):
        raise UnreadableSetError(
            f"{path.name} asks nothing that can be measured: no question names a message as its 'evidence'."
        )
    return chosen


def _rows(path: Path) -> list[Json]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UnreadableSetError(
            f"{path} cannot be read: {error.strerror}. Give the path of a JSON file."
        ) from error
    except UnicodeDecodeError as error:
        raise UnreadableSetError(
            f"{path.name} is not text in UTF-8. Give the path of a JSON file."
        ) from error
    try:
        rows = _parsed(text)
    except ValueError as error:
        raise UnreadableSetError(f"{path.name} is neither JSON nor JSON lines: {error}.") from error
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise UnreadableSetError(
            f"{path.name} holds no conversations. Expected a list of objects with 'conversation' and 'qa', as in "
            "locomo10.json."
        )
    return rows


def _parsed(text: str) -> list[Json]:
    try:
        whole = json.loads(text)
    except ValueError:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2:
            raise
        return [json.loads(line) for line in lines]
    return whole if isinstance(whole, list) else [whole]


def _sample(row: Json, number: int) -> Sample:
    talk = row["conversation"] if isinstance(row.get("conversation"), dict) else row
    name = str(row.get("sample_id") or row.get("id") or f"conversation-{number}")
    sessions = _sessions(talk)
    if not sessions:
        raise UnreadableSetError(
            f"'{name}' has no messages. Expected lists named 'session_1', 'session_2', … of objects with 'speaker' "
            "and 'text'."
        )
    known = {said.id for session in sessions for said in session}
    return Sample(name, sessions, [_asked(item, known) for item in _questions(row)], _names(sessions))


def _questions(row: Json) -> list[Json]:
    items = row.get("qa") or row.get("questions") or []
    return [item for item in items if isinstance(item, dict) and item.get("question")]


def _sessions(talk: Json) -> list[list[Said]]:
    numbered = sorted(
        (int(found[1]), value)
        for key, value in talk.items()
        if (found := _SESSION.fullmatch(key)) and isinstance(value, list) and value
    )
    user = _user_name(talk, [message for _, session in numbered for message in session])
    sessions, before = [], UNDATED_FROM - timedelta(days=1)
    for number, messages in numbered:
        held_at = dates.said_at(_first(talk, f"session_{number}_date_time", f"session_{number}_date"))
        began_at = held_at or before + timedelta(days=1)
        session = list(_session(messages, number, user=user, began_at=began_at))
        if session:
            sessions.append(session)
            before = session[-1].said_at
    return sorted(sessions, key=lambda session: session[0].said_at)


def _session(messages: Sequence[Json], number: int, *, user: str, began_at: datetime) -> Iterator[Said]:
    """Its messages, a second apart where they have no time of their own, never back in time."""
    now = began_at
    for place, message in enumerate(messages, 1):
        text = _text(message)
        if not text:
            continue
        own = dates.said_at(_first(message, "date_time", "timestamp", "time"))
        now = max(own or now + timedelta(seconds=1), now)
        name = _speaker(message)
        role = name.casefold()
        is_role = role in USER_ROLES | ASSISTANT_ROLES
        yield Said(
            id=_id(_first(message, "dia_id", "id"), default=f"D{number}:{place}"),
            text=text,
            speaker="" if is_role else name[:60],
            is_assistant=role in ASSISTANT_ROLES if is_role else name != user,
            said_at=now,
        )


def _text(message: Json) -> str:
    text = str(_first(message, "text", "clean_text", "content") or "").strip()
    caption = _first(message, "blip_caption", "caption")
    return _storable(f"{text} [image: {caption}]".strip() if caption else text)


def _storable(text: str) -> str:
    """Without NUL and halves of characters, which JSON can hold and a database cannot."""
    return text.replace("\x00", "").encode("utf-8", "ignore").decode("utf-8")


def _speaker(message: Json) -> str:
    return _storable(str(_first(message, "speaker", "role", "sender") or "user")).strip()


def _user_name(talk: Json, messages: Sequence[Json]) -> str:
    """Of two people one is the user: whom the file names first, else who speaks first."""
    names = {_speaker(message) for message in messages}
    named = str(_first(talk, "speaker_a", "speaker_1") or "").strip()
    return named if named in names else next(map(_speaker, messages), "")


def _asked(item: Json, known: set[str]) -> Asked:
    category = str(item.get("category") or UNCATEGORISED)
    name = CATEGORIES.get(category) or (f"category {category}" if category.isdigit() else category)
    return Asked(str(item["question"]).strip(), name, frozenset(_evidence(item.get("evidence"))) & known)


def _evidence(value: object) -> Iterator[str]:
    if isinstance(value, list | tuple):
        for part in value:
            yield from _evidence(part)
    elif value is not None:
        ids = [f"D{session}:{place}" for session, place in _ID.findall(str(value))]
        yield from ids or [str(value).strip()]


def _id(value: object, *, default: str) -> str:
    return default if value in (None, "") else next(_evidence(value))


def _names(sessions: Sequence[Sequence[Said]]) -> list[str]:
    """The users' side first, each in order of first words."""
    said = [message for session in sessions for message in session if message.speaker]
    ordered = sorted(said, key=lambda message: message.is_assistant)
    return list(dict.fromkeys(message.speaker for message in ordered))


def _first(row: Json, *names: str) -> Any:
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)
