"""The text of a summary as pages show it: by its headings, and against the version before."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from memoryapp.policies import summaries as policy

SAME_SHOWN: Final = 2  # unchanged lines in a row; more are folded
_HEADING: Final = re.compile(r"#{1,6}\s+(.+?)[\s#:]*")
_ITEM: Final = re.compile(r"\s*(?:[-*•]|\d{1,3}[.)])\s+(.+)")


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that belong together: the items of a list, or one paragraph."""

    is_list: bool
    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class Section:
    """``heading`` is empty for what stands before the first one."""

    heading: str
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class DiffGroup:
    """Lines of one kind in a row: added, removed or same."""

    kind: str
    lines: Sequence[str]

    @property
    def is_folded(self) -> bool:
        return self.kind == "same" and len(self.lines) > SAME_SHOWN


def sections(text: str) -> list[Section]:
    """The text by its headings, without the marks that made them."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    for line in text.splitlines():
        if heading := _HEADING.fullmatch(line.strip()):
            parts.append((heading[1], []))
        elif line.strip():
            parts[-1][1].append(line)
    return [Section(heading, _blocks(lines)) for heading, lines in parts if heading or lines]


def diff_groups(before: str, after: str) -> list[DiffGroup]:
    runs = groupby(policy.diff(before, after), key=lambda line: line.kind)
    return [DiffGroup(kind, [line.text for line in run]) for kind, run in runs]


def _blocks(lines: Iterable[str]) -> list[Block]:
    found: list[Block] = []
    for is_list, run in groupby(lines, key=lambda line: bool(_ITEM.fullmatch(line))):
        if is_list:
            found.append(Block(is_list=True, lines=[_bare(line) for line in run]))
        else:
            found += [Block(is_list=False, lines=[line.strip()]) for line in run]
    return found


def _bare(line: str) -> str:
    item = _ITEM.fullmatch(line)
    return item[1] if item else line
