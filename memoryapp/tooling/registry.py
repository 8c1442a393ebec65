"""The tools that installed packages add, found by their entry points."""

import json
import logging
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from memoryapp.tooling.base import Tool

logger = logging.getLogger(__name__)

GROUP = "strata.tools"
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # what the Messages API takes


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
    except (Exception, SystemExit):
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
    if not isinstance(tool.name, str) or not NAME.fullmatch(tool.name):
        return f"{tool.name!r} is not a name of letters, digits, _ and -, 64 at most"
    if not tool.definition.description:
        return f"{tool.name} has no description"
    schema = tool.definition.input_schema
    if not isinstance(schema, dict) or schema.get("type") != "object" or not _is_json(schema):
        return f"{tool.name} has no JSON schema of type object"
    return ""


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def _package(entry_point: EntryPoint) -> str:
    """The distribution's name."""
    return entry_point.dist.name if entry_point.dist else entry_point.module
