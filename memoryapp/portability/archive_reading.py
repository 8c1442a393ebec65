"""Strata's own archive, read a record at a time. Nothing in it is believed before it was looked at."""

import hmac
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import IO, Any, Final
from zipfile import BadZipFile, ZipFile, ZipInfo

from memoryapp.portability import record_checks
from memoryapp.portability.archive_writing import DATA, FORMAT, SIGNATURE, VERSION, seal
from memoryapp.portability.errors import DamagedArchiveError
from memoryapp.portability.records import Record

# One turn with all that was done for it. Of brackets alone it takes fifty times as much memory.
MAX_LINE_BYTES: Final = 16 * 1024 * 1024
MAX_TIMES_LARGER: Final = 200  # unpacked; text of chats becomes three to ten times smaller
MAX_SIGNATURE_BYTES: Final = 200
BLOCK_BYTES: Final = 1024 * 1024
SETTINGS: Final = '"settings":'
TURNS: Final = ',"turns":['
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_LIST: Final = re.compile(r'"([a-z_]+)":\[\Z')
_SUSPECT: Final = re.compile(r"\\u0000|\\ud[89a-f]", re.IGNORECASE)  # escaped NUL or half a pair, perhaps


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
CHECKS: Final[Mapping[Part, Callable[[Record], None]]] = {
    Part.SETTINGS: record_checks.check_settings,
    Part.REFUSAL: record_checks.check_refusal,
    Part.CONVERSATION: record_checks.check_conversation,
    Part.TURN: record_checks.check_turn,
    Part.CONVERSATION_END: record_checks.check_conversation_end,
    Part.MEMORY: record_checks.check_memory,
    Part.EXPERIENCE: record_checks.check_experience,
    Part.USE: record_checks.check_use,
}


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
                raise DamagedArchiveError("a conversation of it has no end")
            if found.part is Part.CONVERSATION_END:
                self.ending = found.record
            else:
                yield found.record


Unit = Chat | Found


def units(file: IO[bytes]) -> Iterator[Unit]:
    """All that an import restores, in the order of the file, each record checked. Raises DamagedArchiveError."""
    rest = _read(file)
    for found in rest:
        if found.part is Part.CONVERSATION:
            chat = Chat(found.record, rest)
            yield chat
            for _ in chat.turns():  # what nobody asked for
                pass
        else:
            yield found


def is_signed(file: IO[bytes]) -> bool:
    """Whether this installation wrote it, and nobody has changed it since. Raises DamagedArchiveError."""
    with _damage_told(), ZipFile(file) as archive:
        info = _data(archive)
        written = info.filename.removesuffix(DATA) + SIGNATURE
        if written not in archive.namelist():
            return False
        own = seal()
        with archive.open(info) as member:
            while block := member.read(BLOCK_BYTES):
                own.update(block)
        with archive.open(written) as member:
            return hmac.compare_digest(member.read(MAX_SIGNATURE_BYTES).strip(), own.hexdigest().encode())


def _read(file: IO[bytes]) -> Iterator[Found]:
    with _damage_told(), ZipFile(file) as archive:
        info = _data(archive)
        with archive.open(info) as member:
            yield from _found(_lines(member, most=info.file_size))


def _data(archive: ZipFile) -> ZipInfo:
    info = next((one for one in archive.infolist() if one.filename.rpartition("/")[2] == DATA), None)
    if info is None:
        raise DamagedArchiveError(f"there is no {DATA} in it")
    if info.file_size > max(info.compress_size, 1024) * MAX_TIMES_LARGER:
        raise DamagedArchiveError("it unpacks to far more than any account holds")
    return info


def _found(lines: Iterator[str]) -> Iterator[Found]:
    head = _loaded(next(lines, "").removesuffix(",") + "}")
    if head != {"format": FORMAT, "version": VERSION}:
        raise DamagedArchiveError(f"it is of another version than {VERSION}")
    place = _Place()
    for number, line in enumerate(lines, 2):
        with _line_named(number):
            found = place.read(line)
            check = CHECKS.get(found.part) if found else None
            if found and check:
                check(found.record)
        if found:
            yield found


@dataclass(slots=True)
class _Place:
    """Where in the file the next line stands."""

    section: str = field(default="")
    is_in_turns: bool = field(default=False)

    def read(self, line: str) -> Found | None:
        if not line:  # an empty list has one
            return None
        if line in {"],", "]}"}:
            self.section = ""
            return None
        if self.is_in_turns:
            return self._read_in_turns(line)
        return self._read_in_section(line) if self.section else self._read_between(line)

    def _read_in_turns(self, line: str) -> Found:
        if line.startswith('],"'):
            self.is_in_turns = False
            return Found(Part.CONVERSATION_END, _loaded("{" + line[2:].removesuffix(",")))
        return Found(Part.TURN, _loaded(line.removesuffix(",")))

    def _read_in_section(self, line: str) -> Found:
        if self.section == Part.CONVERSATION and line.endswith(TURNS):
            self.is_in_turns = True
            return Found(Part.CONVERSATION, _loaded(line.removesuffix(TURNS) + "}"))
        return Found(Part(self.section), _loaded(line.removesuffix(",")))

    def _read_between(self, line: str) -> Found | None:
        if line.startswith(SETTINGS):
            return Found(Part.SETTINGS, _loaded(line.removeprefix(SETTINGS).removesuffix(",")))
        named = _LIST.match(line)
        if named is None or named[1] not in SECTIONS:
            raise DamagedArchiveError("its lines are not as they were written")
        self.section = named[1]
        return None


def _lines(member: IO[bytes], *, most: int) -> Iterator[str]:
    read_bytes = 0
    while line := member.readline(MAX_LINE_BYTES + 1):
        read_bytes += len(line)
        if len(line) > MAX_LINE_BYTES or read_bytes > most:
            raise DamagedArchiveError("a record of it is too long")
        yield line.decode().removesuffix("\n")


def _loaded(line: str) -> Record:
    value: Any = json.loads(line, parse_constant=_no_number)
    if not isinstance(value, dict):
        raise DamagedArchiveError("a record of it is none")
    if _SUSPECT.search(line) and not _is_text(value):
        raise DamagedArchiveError("it holds what is not text")
    return value


def _no_number(name: str) -> None:
    raise DamagedArchiveError(f"{name} is no number")


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
def _line_named(number: int) -> Iterator[None]:
    try:
        yield
    except DamagedArchiveError as error:
        raise DamagedArchiveError(error.why, line=number) from error
    except (ValueError, RecursionError) as error:
        raise DamagedArchiveError("it cannot be read", line=number) from error


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
        raise DamagedArchiveError("it cannot be read") from error
