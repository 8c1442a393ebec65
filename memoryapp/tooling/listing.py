"""What of a server's own listing is offered to the model. Pure: the listing is a stranger's text.

Descriptions reach the model's instructions, and names reach its provider, which is strict about them. A tool that
cannot be offered as it is stays out, with the reason, and the others are offered all the same.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from jsonschema import Draft202012Validator

MAX_TOOLS: Final = 64  # each is a part of every prompt of the conversation
MAX_DESCRIPTION_CHARS: Final = 1_000
MAX_SCHEMA_CHARS: Final = 16_000
MAX_NAME_CHARS: Final = 64  # what the strictest provider allows
_MAX_OWN_NAME_CHARS: Final = 128  # MCP's own limit

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
# Variation selectors: shown as nothing, and able to carry a text of their own.
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
# Of the Messages API, which answers a whole request with 400 for one tool that breaks them.
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_NOT_AT_THE_TOP: Final = ("oneOf", "anyOf", "allOf")
_HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


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


def accepted(slug: str, listed: Iterable[ListedTool], *, secret: str = "") -> Listing:
    """In the server's order; of two names that look alike to the model, the first.

    ``secret``: what the server knows and must not repeat, its token. Raises nothing for what the server says.
    """
    listing = Listing([], [])
    taken: set[str] = set()

    def clean(text: str) -> str:
        # In this order: a secret with something invisible inside it is one as soon as that is gone.
        return visible(text).replace(secret, "[token]") if secret else visible(text)

    for tool in listed:
        name, offered = clean(tool.name), _offered(tool, clean)
        reason = (
            (len(listing.tools) >= MAX_TOOLS and f"a server has at most {MAX_TOOLS} tools")
            or ((not name or name != tool.name or len(name) > _MAX_OWN_NAME_CHARS) and "its name")
            or (offered_name(slug, name) in taken and "another tool has this name")
            or (offered["input_schema"] is None and "its schema is too deep")
            or _problem_of_size(offered["input_schema"])
            or schema_problem(offered["input_schema"])
        )
        if reason:
            listing.ignored.append(f"{name[:MAX_NAME_CHARS]} ({reason})")
        else:
            taken.add(offered_name(slug, name))
            listing.tools.append(offered)
    return listing


def _offered(tool: ListedTool, clean: Callable[[str], str]) -> dict[str, Any]:
    try:
        schema = on_its_own(_cleaned(tool.input_schema, clean))
    except RecursionError:
        schema = None  # deeper than anybody writes
    return {
        "name": tool.name,
        "description": clean(tool.description)[:MAX_DESCRIPTION_CHARS].strip(),
        "input_schema": schema,
        "annotations": {
            hint: tool.annotations[hint] for hint in _HINTS if isinstance(tool.annotations.get(hint), bool)
        },
    }


def visible(text: str) -> str:
    """The text without control characters (new lines stay), and without what can be read and not seen."""
    return "".join(char for char in _SELECTORS.sub("", text) if char == "\n" or _is_visible(char))


def _is_visible(char: str) -> bool:
    return not unicodedata.category(char).startswith("C") and char not in "\u2028\u2029"


def on_its_own(schema: Any) -> Any:  # JSON
    """The schema without ``$schema`` and ``$id``: it is read as draft 2020-12, and refers to itself alone."""
    match schema:
        case dict():
            return {
                key: on_its_own(inner)
                for key, inner in schema.items()
                # A property may be called so.
                if key not in ("$schema", "$id") or isinstance(inner, dict)
            }
        case list():
            return [on_its_own(inner) for inner in schema]
    return schema


def _cleaned(value: Any, clean: Callable[[str], str]) -> Any:  # JSON
    match value:
        case str():
            return clean(value)
        case dict():
            return {clean(key): _cleaned(inner, clean) for key, inner in value.items()}
        case list():
            return [_cleaned(inner, clean) for inner in value]
    return value


def _problem_of_size(schema: object) -> str:
    text = _json(schema)
    return (
        f"its schema is larger than {MAX_SCHEMA_CHARS:,} characters" if len(text) > MAX_SCHEMA_CHARS else ""
    )


def schema_problem(schema: object) -> str:
    """Why the Messages API would not take a tool with this schema of its arguments; "" when it would."""
    if not _json(schema):
        return "its schema is no JSON"
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return "its arguments are no object"
    if any(key in schema for key in _NOT_AT_THE_TOP):
        return f"its schema has one of {', '.join(_NOT_AT_THE_TOP)} at the top"
    if not _is_draft_2020_12(schema):
        return "its schema is not valid as JSON Schema draft 2020-12"
    odd = next((key for key in schema.get("properties", ()) if not _PROPERTY.fullmatch(key)), None)
    if odd is not None:
        return (
            f"{odd[:MAX_NAME_CHARS]!r}, an argument, is not named by 1 to 64 of letters, digits, _, . and -"
        )
    return ""


def _json(value: object) -> str:
    """Empty when it is none: JSON has neither NaN nor half characters."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (TypeError, ValueError, RecursionError):
        return ""
    return text


def _is_draft_2020_12(schema: dict[str, Any]) -> bool:
    try:
        Draft202012Validator.check_schema(schema)
    except Exception:  # noqa: BLE001 - SchemaError, and whatever else a stranger's text makes the library raise
        return False
    return True
