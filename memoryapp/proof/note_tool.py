"""A tool whose result says what its arguments do not; ``prove_forgetting`` adds it as a package does."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from memoryapp.policies.trust import Origin
from memoryapp.tooling.base import Arguments, Tool, ToolContext, ToolOutput

NAME: Final = "read_note"


class NoteArguments(Arguments):
    backwards: str


def tools() -> Iterator[Tool]:
    yield Tool.of(NAME, "Read a note by its name, written backwards.", NoteArguments, _read)


def _read(arguments: NoteArguments, _context: ToolContext) -> ToolOutput:
    text = f"The note says: {arguments.backwards[::-1]}"
    return ToolOutput(text, origin=Origin.TOOL, facts=[("note", text)])


def on_a_path(directory: Path) -> Path:
    """A directory for Python's path with a package in it that adds the tool."""
    added = directory / "added"
    package = added / "strata_proof_tools-1.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: strata-proof-tools\nVersion: 1\n")
    (package / "entry_points.txt").write_text(f"[strata.tools]\nnote = {__name__}:tools\n")
    return added
