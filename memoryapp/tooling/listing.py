"""What of a server's own listing is offered to the model. Pure: the listing is a stranger's text.

Descriptions reach the model's instructions, and names reach its provider, which is strict about them. A tool that
cannot be offered as it is stays out, with the reason, and the others are offered all the same.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from jsonschema import Draft202012Validator, SchemaError
from jsonschema.validators import validator_for

MAX_TOOLS: Final = 64  # each is a part of every prompt of the conversation
MAX_DESCRIPTION_CHARS: Final = 1_000
MAX_SCHEMA_CHARS: Final = 16_000
MAX_NAME_CHARS: Final = 64  # what the strictest provider allows
_MAX_OWN_NAME_CHARS: Final = 128  # MCP's own limit

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
# Variation selectors: shown as nothing, and able to carry a text of their own.
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as its server describes it. ``annotations``: MCP's hints, by MCP's names."""

    name: str
    description: str
    input_schema: dict[str, Any]  # JSON schema
    annotations: dict[str, Any]  # JSON


@dataclass(frozen=True, slots=True)
class Listing:
    """``tools``: JSON, as ``McpServer.tools`` keeps it. ``ignored``: the others, each with the reason."""

    tools: list[dict[str, Any]]
    ignored: list[str]


def offered_name(slug: str, name: str) -> str:
    """What the model calls the tool ``name`` of a server: ``mcp_<slug>_<name>``, cut where it is too long."""
    whole = f"mcp_{slug}_{_NOT_IN_NAMES.sub('_', name)}"
    if len(whole) <= MAX_NAME_CHARS:
        return whole
    digest = hashlib.sha256(name.encode()).hexdigest()[:6]  # two long names may begin alike
    return f"{whole[: MAX_NAME_CHARS - 7]}_{digest}"


def accepted(slug: str, listed: Iterable[ListedTool]) -> Listing:
    """In the server's order; of two names that look alike to the model, the first."""
    listing = Listing([], [])
    taken: set[str] = set()
    for tool in listed:
        name, schema = offered_name(slug, tool.name), _visible_json(tool.input_schema)
        reason = _why_not(tool, schema, is_taken=name in taken, is_full=len(listing.tools) >= MAX_TOOLS)
        if reason:
            listing.ignored.append(f"{visible(tool.name)[:MAX_NAME_CHARS]} ({reason})")
            continue
        taken.add(name)
        listing.tools.append(
            {
                "name": tool.name,
                "description": visible(tool.description)[:MAX_DESCRIPTION_CHARS].strip(),
                "input_schema": schema,
                "annotations": {
                    hint: value for hint, value in tool.annotations.items() if value in (True, False)
                },
            }
        )
    return listing


def visible(text: str) -> str:
    """The text without control characters (new lines stay), and without what can be read and not seen."""
    return "".join(char for char in _SELECTORS.sub("", text) if char == "\n" or _is_visible(char))


def _is_visible(char: str) -> bool:
    return not unicodedata.category(char).startswith("C") and char not in "\u2028\u2029"


def _visible_json(value: Any) -> Any:  # JSON
    match value:
        case str():
            return visible(value)
        case dict():
            return {visible(key): _visible_json(inner) for key, inner in value.items()}
        case list():
            return [_visible_json(inner) for inner in value]
    return value


def _why_not(tool: ListedTool, schema: dict[str, Any], *, is_taken: bool, is_full: bool) -> str:
    tests: Sequence[tuple[bool, str]] = (
        (is_full, f"a server has at most {MAX_TOOLS} tools"),
        (
            not tool.name or len(tool.name) > _MAX_OWN_NAME_CHARS or visible(tool.name) != tool.name,
            "its name",
        ),
        (is_taken, "another tool has this name"),
        (schema.get("type") != "object", "its arguments are no object"),
        (
            len(json.dumps(schema)) > MAX_SCHEMA_CHARS,
            f"its schema is larger than {MAX_SCHEMA_CHARS:,} characters",
        ),
    )
    reason = next((reason for is_so, reason in tests if is_so), "")
    return reason or ("" if _is_schema(schema) else "its schema is not valid")


def _is_schema(schema: dict[str, Any]) -> bool:
    try:
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except (SchemaError, RecursionError):
        return False
    return True
