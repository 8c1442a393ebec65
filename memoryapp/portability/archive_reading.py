"""Strata's own archive, read a record at a time. Nothing in it is believed before it was looked at."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import IO, Any, Final
from zipfile import BadZipFile, ZipFile

from memoryapp.errors import InvalidInputError
from memoryapp.portability.archive_writing import DATA, FORMAT, VERSION
from memoryapp.portability.records import Record

# One turn with all that was done for it. Of brackets alone it takes fifty times as much memory.
MAX_LINE_BYTES: Final = 16 * 1024 * 1024
MAX_TIMES_LARGER: Final = 200  # unpacked; text of chats becomes three to ten times smaller
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_LIST: Final = re.compile(r'"([a-z_]+)":\[\Z')
_SUSPECT: Final = re.compile(r"\\u0000|\\ud[89a-f]", re.IGNORECASE)  # escaped NUL or half a pair, perhaps


class DamagedArchiveError(InvalidInputError):
    """It is not as Strata wrote it."""

    code = "damaged_archive"


class Part(StrEnum):
    SETTINGS = "settings"
    REFUSAL = "refused_kinds"
    CONVERSATION = "conversations"  # its own columns; its turns follow
    TURN = "turns"
    CONVERSATION_END = "conversation_end"  # its summaries and pinned lines
    MEMORY = "memories"
    EXPERIENCE = "experiences"
    USE = "uses"


SECTIONS: Final = frozenset({Part.REFUSAL, Part.CONVERSATION, Part.MEMORY, Part.EXPERIENCE, Part.USE})


@dataclass(frozen=True, slots=True)
class Found:
    part: Part
    record: Record


@dataclass(slots=True)
class Chat:
    """A conversation whose turns are read as they are asked for; ``ending``: its summaries and pinned lines, after."""

    head: Record
    rest: Iterator[Found]
    ending: Record | None = None

    def turns(self) -> Iterator[Record]:
        while self.ending is None:
            found = next(self.rest, None)
            if found is None or found.part not in {Part.TURN, Part.CONVERSATION_END}:
                raise _damaged("a conversation of it has no end")
            if found.part is Part.CONVERSATION_END:
                self.ending = found.record
            else:
                yield found.record


Unit = Chat | Found


def units(file: IO[bytes]) -> Iterator[Unit]:
    """All that an import restores, in the order of the file. Raises DamagedArchiveError."""
    rest = _read(file)
    for found in rest:
        if found.part is Part.CONVERSATION:
            chat = Chat(found.record, rest)
            yield chat
            for _ in chat.turns():  # what nobody asked for
                pass
        else:
            yield found


def _read(file: IO[bytes]) -> Iterator[Found]:
    with _damage_told(), ZipFile(file) as archive:
        info = next((one for one in archive.infolist() if one.filename.rpartition("/")[2] == DATA), None)
        if info is None:
            raise _damaged(f"there is no {DATA} in it")
        if info.file_size > max(info.compress_size, 1024) * MAX_TIMES_LARGER:
            raise _damaged("it unpacks to far more than any account holds")
        with archive.open(info) as member:
            yield from _found(_lines(member, most=info.file_size))


def _found(lines: Iterator[str]) -> Iterator[Found]:
    head = _loaded(next(lines, "").removesuffix(",") + "}")
    if head != {"format": FORMAT, "version": VERSION}:
        raise _damaged(f"it is of another version than {VERSION}")
    section = ""
    is_in_turns = False
    for line in filter(None, lines):  # an empty list has an empty line
        if line in {"],", "]}"}:
            section = ""
        elif is_in_turns and line.startswith('],"'):
            is_in_turns = False
            yield Found(Part.CONVERSATION_END, _loaded("{" + line[2:].removesuffix(",")))
        elif is_in_turns:
            yield Found(Part.TURN, _loaded(line.removesuffix(",")))
        elif not section and line.startswith('"settings":'):
            yield Found(Part.SETTINGS, _loaded(line.removeprefix('"settings":').removesuffix(",")))
        elif not section:
            section = _section(line)
        elif section == Part.CONVERSATION and line.endswith(',"turns":['):
            is_in_turns = True
            yield Found(Part.CONVERSATION, _loaded(line.removesuffix(',"turns":[') + "}"))
        else:
            yield Found(Part(section), _loaded(line.removesuffix(",")))


def _section(line: str) -> str:
    named = _LIST.match(line)
    if named is None or named[1] not in SECTIONS:
        raise _damaged("its lines are not as they were written")
    return named[1]


def _lines(member: IO[bytes], *, most: int) -> Iterator[str]:
    read_bytes = 0
    while line := member.readline(MAX_LINE_BYTES + 1):
        read_bytes += len(line)
        if len(line) > MAX_LINE_BYTES or read_bytes > most:
            raise _damaged("a record of it is too long")
        yield line.decode().removesuffix("\n")


def _loaded(line: str) -> Record:
    value: Any = json.loads(line)
    if not isinstance(value, dict):
        raise _damaged("a record of it is none")
    if _SUSPECT.search(line) and not _is_text(value):
        raise _damaged("it holds what is not text")
    return value


def _is_text(value: object) -> bool:
    match value:
        case str():
            return "\x00" not in value and not _SURROGATE.search(value)
        case dict():
            return all(_is_text(key) and _is_text(one) for key, one in value.items())
        case list():
            return all(map(_is_text, value))
    return True


@contextmanager
def _damage_told() -> Iterator[None]:
    try:
        yield
    except DamagedArchiveError:
        raise
    except (
        BadZipFile,
        OSError,
        ValueError,
        KeyError,
        RecursionError,
        EOFError,
        NotImplementedError,
    ) as error:
        raise _damaged("it cannot be read") from error


def _damaged(why: str) -> DamagedArchiveError:
    return DamagedArchiveError(f"This archive is damaged: {why}. Export it again, and import the new file.")
