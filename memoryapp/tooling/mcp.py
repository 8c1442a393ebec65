"""The tools of MCP servers as ``Tool`` objects: those that a person has switched on in a conversation.

Each call asks first, whatever the server says of itself: its hints are a stranger's words. What comes back is too.
"""

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, cast
from uuid import UUID

from jsonschema import Draft202012Validator, ValidationError, validators
from referencing import Registry

from memoryapp.errors import InvalidInputError
from memoryapp.llm.base import ToolDefinition
from memoryapp.policies.trust import Origin
from memoryapp.tooling import queries
from memoryapp.tooling.base import Tool, ToolContext, ToolOutput
from memoryapp.tooling.listing import offered_name, on_its_own
from memoryapp.tooling.models import McpServer

if TYPE_CHECKING:
    from memoryapp.llm.base import Cancellation
    from memoryapp.tooling.listing import ListedTool

_GRACE_S: Final = 2.0  # the exchange ends by itself, and says what it waited for
_MAX_STEPS: Final = 50_000  # of a check, a quarter of a second: a short schema can ask for years
_MAX_TOUCHES_CHARS: Final = 300  # of what a person is asked


class ArgumentsRefusedError(InvalidInputError):
    """They are not what the tool's schema asks for; the message says where."""

    code = "arguments_refused"


class ClientModule(Protocol):
    """``mcp_client``, where both are described."""

    def list_tools(self, server: McpServer) -> "Sequence[ListedTool]": ...

    def call_tool(
        self,
        server: McpServer,
        name: str,
        arguments: dict[str, Any],
        *,
        idempotency_key: str,
        cancellation: "Cancellation",
    ) -> str: ...


def tools_of(user_id: UUID, conversation_id: UUID) -> tuple[Tool, ...]:
    """By server, each in the server's own order; the same from turn to turn. One statement."""
    return tuple(
        _tool(server, listed)
        for server in queries.used_in(user_id, conversation_id)
        for listed in server.tools
    )


def call_tool(server: McpServer, name: str, arguments: dict[str, Any], context: ToolContext) -> ToolOutput:
    """Have the server do it. Raises ``mcp_client.McpError``, for the model to read."""
    content = client().call_tool(
        server, name, arguments, idempotency_key=context.idempotency_key, cancellation=context.cancellation
    )
    return ToolOutput(content=content, origin=Origin.UNTRUSTED)


def client() -> "ClientModule":
    """The official client, imported when a server is first talked to: most processes never do (0.4 s, 27 MB)."""
    return cast("ClientModule", importlib.import_module("memoryapp.tooling.mcp_client"))


def check_arguments(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    """Raises ``ArgumentsRefusedError`` with the first problem, and for a schema that cannot be followed."""
    try:
        # On its own: a "$schema" further in would have the library go on without our keywords.
        # An empty registry: a schema must not make us fetch another one.
        validator = _counting(_Steps())(on_its_own(schema), registry=Registry())
        problem = next(validator.iter_errors(arguments), None)
    except Exception as error:
        # Both are a stranger's, and the library raises whatever comes of them: OverflowError, AttributeError…
        raise ArgumentsRefusedError("The schema of this tool's arguments cannot be followed.") from error
    if problem is not None:
        raise ArgumentsRefusedError(f"{_place(problem)}: {problem.message[:300]}")


class _CannotFollowError(Exception):
    """A schema leads out of itself, or on and on."""


@dataclass(slots=True)
class _Steps:
    """How much of a check is left."""

    left: int = _MAX_STEPS

    def take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise _CannotFollowError


def _counting(steps: _Steps) -> Any:  # the library's class of validators has no type
    """Validators that take steps for each keyword that they look at, by what they compare and quote."""

    def counted(keyword: Callable[..., Iterator[ValidationError] | None]) -> Callable[..., Any]:
        def check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError] | None:
            steps.take(1 + _weight(value) + _weight(instance))
            return keyword(validator, value, instance, schema)

        return check

    keywords = {**Draft202012Validator.VALIDATORS, **_OUR_KEYWORDS}
    return validators.extend(  # type: ignore[no-untyped-call]
        Draft202012Validator, {name: counted(keyword) for name, keyword in keywords.items()}
    )


def _weight(value: object) -> int:
    match value:
        case list() | dict():
            return len(value)
        case str():
            return len(value) // 100  # each problem has the text in its message
    return 0


def _place(problem: ValidationError) -> str:
    return ".".join(map(str, problem.absolute_path)) or "The arguments"


def _left_to_the_server(*_: object) -> Iterator[ValidationError]:
    """Nothing to object to."""
    yield from ()


def _additional(
    validator: Any, value: Any, instance: Any, schema: dict[str, Any]
) -> Iterator[ValidationError]:
    if "patternProperties" not in schema:
        yield from Draft202012Validator.VALIDATORS["additionalProperties"](validator, value, instance, schema)


def _here(name: str) -> Callable[..., Iterator[ValidationError]]:
    """A reference within the schema: the library knows others by their addresses, and checks those its own way."""

    def follow(validator: Any, value: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
        if not value.startswith("#"):
            raise _CannotFollowError
        yield from Draft202012Validator.VALIDATORS[name](validator, value, instance, schema)

    return follow


_OUR_KEYWORDS: Final = {
    "$ref": _here("$ref"),
    "$dynamicRef": _here("$dynamicRef"),
    # A regular expression of a stranger's may run for hours, and Python cannot stop it; nor are the comparisons of
    # the last two counted. The server checks all these itself.
    "pattern": _left_to_the_server,
    "patternProperties": _left_to_the_server,
    "additionalProperties": _additional,
    "unevaluatedProperties": _left_to_the_server,
    "unevaluatedItems": _left_to_the_server,
    "uniqueItems": _left_to_the_server,
}


@dataclass(frozen=True, slots=True)
class _ServerTool(Tool):
    """Its arguments are known by their schema alone."""

    def checked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Raises ``ArgumentsRefusedError``: nobody is asked about a call that the server would refuse."""
        check_arguments(dict(self.definition.input_schema), dict(arguments))
        return dict(arguments)


def _tool(server: McpServer, listed: dict[str, Any]) -> Tool:
    is_read_only = listed["annotations"].get("readOnlyHint") is True
    return _ServerTool(
        definition=ToolDefinition(
            name=offered_name(server.slug, listed["name"]),
            description=listed["description"] or f"A tool of {server.name}.",
            input_schema=listed["input_schema"],
        ),
        arguments=None,
        run=partial(call_tool, server, listed["name"]),
        side_effects=not is_read_only,
        needs_approval=True,
        untrusted_output=True,
        is_foreign=True,
        is_volatile=is_read_only,  # what is only read there may have changed
        timeout_s=server.timeout_s + _GRACE_S,
        touches=f"{server.name} at {server.host}"[:_MAX_TOUCHES_CHARS],
        source=f"{server.name} at {server.host}",
    )
