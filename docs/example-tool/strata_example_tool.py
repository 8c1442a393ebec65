"""Two tools for Strata: ``roll_dice`` changes nothing, ``send_note`` does and is asked for."""

import json
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from memoryapp.errors import MemoryAppError
from memoryapp.tooling.base import Arguments, Tool, ToolContext, ToolOutput


class RollDice(Arguments):
    dice: Annotated[int, Field(ge=1, le=20, description="How many dice.")] = 1
    sides: Annotated[int, Field(ge=2, le=1000, description="Sides of each.")] = 6


def roll_dice(arguments: RollDice, _context: ToolContext) -> ToolOutput:
    rolled = [secrets.randbelow(arguments.sides) + 1 for _ in range(arguments.dice)]
    return ToolOutput(json.dumps({"rolled": rolled, "sum": sum(rolled)}))


class SendNote(Arguments):
    text: Annotated[str, Field(min_length=1, max_length=500, description="The note, in one paragraph.")]


class NoNotebookError(MemoryAppError):
    """The model reads the message, so it says what to do."""

    code = "no_notebook"


def send_note(arguments: SendNote, context: ToolContext) -> ToolOutput:
    """Append the note to the file that the operator named, once, however often the call is repeated."""
    notebook = os.environ.get("EXAMPLE_NOTEBOOK")
    if not notebook:
        raise NoNotebookError("There is no notebook: the operator has to name a file in EXAMPLE_NOTEBOOK.")
    path = Path(notebook)
    written = path.read_text().splitlines() if path.exists() else []
    if context.idempotency_key not in (json.loads(line)["key"] for line in written):
        with path.open("a") as file:
            file.write(json.dumps({"key": context.idempotency_key, "text": arguments.text}) + "\n")
    return ToolOutput("The note is in the notebook.", done="sent a note")


def tools() -> Sequence[Tool]:
    return [
        Tool.of(
            "roll_dice",
            "Roll dice. Use it whenever chance is to decide.",
            RollDice,
            roll_dice,
            is_volatile=True,  # the same call rolls again
        ),
        Tool.of(
            "send_note",
            "Write a note into the notebook that people of this installation share.",
            SendNote,
            send_note,
            side_effects=True,
            needs_approval=True,
            is_idempotent=True,  # by context.idempotency_key: after a crash the call is made again
            touches="The shared notebook.",
        ),
    ]
