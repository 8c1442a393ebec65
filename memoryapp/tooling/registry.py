"""The tools that installed packages add, found by their entry points."""

import logging
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from memoryapp.llm.base import ToolDefinition
from memoryapp.tooling.base import Tool
from memoryapp.tooling.listing import schema_problem

logger = logging.getLogger(__name__)

GROUP = "strata.tools"
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # what the Messages API takes
_OF_SERVERS = "mcp_"  # the beginning of the names of MCP servers' tools
_MIN_OUTPUT_CHARS = 200  # less has no room for the sentence that says that something was cut
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@cache
def added_tools(taken: frozenset[str] = frozenset()) -> tuple[Tool, ...]:
    """The tools of the entry points in ``strata.tools``, by name. ``taken``: names that are not to be had.

    Packages are looked for once in a process. What cannot be used is logged and left out: a package that is broken
    takes its own tools away and nothing else. Of two tools with one name the first package, by its name, has it.
    """
    tools: dict[str, Tool] = {}
    for tool in _offered():
        if tool.name in taken or tool.name in tools:
            logger.error("The tool %s of %s is left out: the name is taken.", tool.name, tool.source)
        else:
            tools[tool.name] = tool
    return tuple(tools[name] for name in sorted(tools))


def _offered() -> Iterator[Tool]:
    found = entry_points(group=GROUP)
    for entry_point in sorted(found, key=lambda entry_point: (_package(entry_point), entry_point.name)):
        for tool in _loaded(entry_point):
            if problem := _problem(tool):
                logger.error("A tool of %s is left out: %s.", _package(entry_point), problem)
            else:
                yield replace(tool, source=_package(entry_point))


def _loaded(entry_point: EntryPoint) -> list[Tool]:
    """What the package offers; anything it raises, even an exit, is its own trouble."""
    try:
        offered = entry_point.load()
        offered = offered() if callable(offered) else offered
        return [offered] if isinstance(offered, Tool) else _listed(offered)
    except BaseException:
        logger.exception("The tools of %s are left out: %r failed.", _package(entry_point), entry_point.value)
        return []


def _listed(offered: object) -> list[Tool]:
    if not isinstance(offered, Iterable) or isinstance(offered, str | bytes):
        raise TypeError("a tool, or a function that returns several, is expected")
    return list(offered)


def _problem(tool: object) -> str:
    """Why something that a package offers is no tool that the model could be given; "" when it is one."""
    if not isinstance(tool, Tool):
        return f"it is not a Tool, but a {type(tool).__name__}"
    definition: object = tool.definition
    if not isinstance(definition, ToolDefinition):
        return f"its definition is not a ToolDefinition, but a {type(definition).__name__}"
    if not isinstance(tool.name, str) or not NAME.fullmatch(tool.name):
        return f"{tool.name!r} is not a name of letters, digits, _ and -, 64 at most"
    return _problem_of_definition(definition) or _problem_of_limits(tool)


def _problem_of_definition(definition: ToolDefinition) -> str:
    name, description = definition.name, definition.description
    if name.startswith(_OF_SERVERS):
        return f"{name} begins with {_OF_SERVERS}, as the tools of MCP servers do"
    if not isinstance(description, str) or not description.strip() or _UNSTORABLE.search(description):
        return f"{name} has no description"
    if problem := schema_problem(definition.input_schema):
        return f"{name} cannot be offered: {problem}"
    return ""


def _problem_of_limits(tool: Tool) -> str:
    if tool.timeout_s is not None and not (_is_number(tool.timeout_s) and 0 < tool.timeout_s < math.inf):
        return f"{tool.name} has a timeout_s that is neither None nor a number of seconds"
    if type(tool.max_output_chars) is not int or tool.max_output_chars < _MIN_OUTPUT_CHARS:
        return f"{tool.name} has a max_output_chars that is not a whole number from {_MIN_OUTPUT_CHARS} on"
    return ""


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _package(entry_point: EntryPoint) -> str:
    """The distribution's name."""
    return entry_point.dist.name if entry_point.dist else entry_point.module
