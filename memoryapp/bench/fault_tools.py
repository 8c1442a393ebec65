"""Tools that fail on purpose; ``bench faults`` adds them to its workers by an entry point, as a package would."""

import os
from collections.abc import Iterator

from memoryapp.errors import MemoryAppError
from memoryapp.tooling.base import Arguments, Tool, ToolContext, ToolOutput

CRASH_STATUS = 9
HUGE_CHARS = 10_000_000
SLOW_TIMEOUT_S = 1.0


class ToolBrokenError(MemoryAppError):
    code = "tool_broken"


def tools() -> Iterator[Tool]:
    for name, run in (("crash", _crash), ("broken", _broken), ("defect", _defect), ("huge", _huge)):
        yield Tool.of(name, "A tool that fails.", Arguments, run)
    yield Tool.of("slow", "A tool that fails.", Arguments, _slow, timeout_s=SLOW_TIMEOUT_S)


def _crash(_arguments: Arguments, _context: ToolContext) -> ToolOutput:
    os._exit(CRASH_STATUS)


def _broken(_arguments: Arguments, _context: ToolContext) -> ToolOutput:
    raise ToolBrokenError("It is broken.")


def _defect(_arguments: Arguments, _context: ToolContext) -> ToolOutput:
    raise ZeroDivisionError


def _huge(_arguments: Arguments, _context: ToolContext) -> ToolOutput:
    return ToolOutput("x" * HUGE_CHARS)


def _slow(_arguments: Arguments, context: ToolContext) -> ToolOutput:
    context.cancellation.wait(60)
    return ToolOutput("too late")
