"""What the Messages API refuses, in its own words.

The numbers in comments are those of the published rules collected for this project: 1 required fields, 2
message count, 4 typed blocks, 5 merging, 6 first role, 7 roles, 8 prefill, 9-12 tool pairs, 13 empty content,
14 cache marks, 16 thinking, 17 window. The newest models' rules (no sampling parameters, no forced tools
while they always think, thinking bound to its prefix) are applied by model.
"""

import base64
import itertools
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from jsonschema import Draft202012Validator, SchemaError

from tests.modelserver import thinking
from tests.modelserver.counting import as_blocks, count_prompt
from tests.modelserver.models import ALL_THINKING, Model

Json = dict[str, Any]

VERSIONS = frozenset({"2023-06-01", "2026-10-21"})
MAX_MESSAGES = 100_000
MAX_BODY_BYTES = 32 * 1024 * 1024
MAX_CACHE_MARKS = 4

_COUNT_FIELDS = frozenset(
    {
        "model",
        "messages",
        "system",
        "tools",
        "tool_choice",
        "thinking",
        "cache_control",
        "output_config",
        "speed",
    }
)
_CREATE_FIELDS = _COUNT_FIELDS | {
    "max_tokens", "container", "diagnostics", "inference_geo", "metadata", "service_tier", "stop_sequences",
    "stream",
}  # fmt: skip
_BLOCK_KEYS = {
    "text": {"text", "citations", "cache_control"},
    "thinking": {"thinking", "signature"},
    "redacted_thinking": {"data"},
    "tool_use": {"id", "name", "input", "caller", "cache_control"},
    "tool_result": {"tool_use_id", "content", "is_error", "cache_control"},
    "image": {"source", "cache_control"},
    "document": {"source", "title", "context", "citations", "cache_control"},
}
_REQUIRED_KEYS = {
    "text": ("text",),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
    "tool_use": ("id", "name", "input"),
    "tool_result": ("tool_use_id",),
    "image": ("source",),
    "document": ("source",),
}
_IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_ASSISTANT_ONLY = frozenset({"tool_use", "thinking", "redacted_thinking"})
_USER_ONLY = frozenset({"tool_result", "image"})
_TOOL_KEYS = {
    "type", "name", "description", "input_schema", "strict", "eager_input_streaming", "input_examples",
    "defer_loading", "allowed_callers", "cache_control",
}  # fmt: skip
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_TOOL_USE_ID = re.compile(r"[a-zA-Z0-9_-]+")
_THINKING_KEYS = {"type", "budget_tokens", "display"}
_FORBIDDEN_EXTRA = "{path}: Extra inputs are not permitted"


class RefusalError(Exception):
    """An error answer: HTTP status, error type and message."""

    def __init__(self, message: str, *, status: int = 400, kind: str = "invalid_request_error") -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.kind = kind


@dataclass(slots=True)
class IssuedThinking:
    """Which thinking preceded each tool call that this server made: it has to come back with the result."""

    by_tool_use_id: dict[str, list[Json]] = field(default_factory=dict)


def check_version(version: str | None) -> None:
    if version is None:
        raise RefusalError("anthropic-version: header is required")
    if version not in VERSIONS:
        raise RefusalError(f'anthropic-version: "{version}" is not a valid version')


def check_request(body: Json, model: Model, issued: IssuedThinking, *, is_count: bool = False) -> None:
    """Refuse what the API refuses; the order of checks is the API's: shape, then meaning, then size."""
    _check_fields(body, model, is_count=is_count)
    _check_tools(body, model)
    _check_thinking_mode(body, model)
    _check_shapes(body["messages"])
    _check_cache_marks(body)
    _check_alternation(body["messages"], model)
    messages = merge(body["messages"])
    _check_order(messages, model)
    _check_content(body, messages)
    _check_pairs(messages)
    _check_thinking_blocks(body, messages, model, issued)
    _check_window(body, model, is_count=is_count)


def _check_fields(body: Json, model: Model, *, is_count: bool) -> None:
    for required in ("model", "messages") if is_count else ("model", "max_tokens", "messages"):  # rule 1
        if required not in body:
            raise RefusalError(f"{required}: Field required")
    for name in body:
        # temperature, top_p and top_k are refused here too: version 2026-10-21 knows them no more.
        if name not in (_COUNT_FIELDS if is_count else _CREATE_FIELDS):
            raise RefusalError(_FORBIDDEN_EXTRA.format(path=name))
    if not isinstance(body["messages"], list):
        raise RefusalError("messages: Input should be a valid list")
    if not body["messages"]:
        raise RefusalError("messages: at least one message is required")
    if len(body["messages"]) > MAX_MESSAGES:  # rule 2
        raise RefusalError(f"messages: at most {MAX_MESSAGES} messages are allowed")
    if not is_count:
        _check_max_tokens(body["max_tokens"], model)


def _check_max_tokens(max_tokens: object, model: Model) -> None:
    if not isinstance(max_tokens, int) or isinstance(max_tokens, bool):
        raise RefusalError("max_tokens: Input should be a valid integer")
    if max_tokens < 0:
        raise RefusalError("max_tokens: Input should be greater than or equal to 0")
    if max_tokens > model.max_output_tokens:
        raise RefusalError(
            f"max_tokens: {max_tokens} > {model.max_output_tokens}, which is the maximum allowed number of "
            f"output "
            f"tokens for {model.id}"
        )


def _check_tools(body: Json, model: Model) -> None:
    tools = body.get("tools") or []
    for index, tool in enumerate(tools):
        path = f"tools.{index}.custom"
        for key in ("name", "input_schema"):
            if key not in tool:
                raise RefusalError(f"{path}.{key}: Field required")
        for key in tool:
            if key not in _TOOL_KEYS:
                raise RefusalError(_FORBIDDEN_EXTRA.format(path=f"{path}.{key}"))
        if not isinstance(tool["name"], str) or not _TOOL_NAME.fullmatch(tool["name"]):
            raise RefusalError(f"{path}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        _check_schema(tool["input_schema"], path)
    if len({tool["name"] for tool in tools}) < len(tools):
        raise RefusalError("tools: Tool names must be unique.")
    _check_tool_choice(body, {tool["name"] for tool in tools}, model)


def _check_schema(schema: object, path: str) -> None:
    if not isinstance(schema, dict):
        raise RefusalError(f"{path}.input_schema: Input should be a valid dictionary")
    if "type" not in schema:
        raise RefusalError(f"{path}.input_schema.type: Field required")
    if schema["type"] != "object":
        raise RefusalError(f"{path}.input_schema.type: Input should be 'object'")
    if schema.keys() & {"oneOf", "allOf", "anyOf"}:
        raise RefusalError(
            f"{path}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
        )
    properties = schema.get("properties")
    if isinstance(properties, dict) and not all(map(_PROPERTY.fullmatch, properties)):
        raise RefusalError(
            f"{path}.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{{1,64}}$'"
        )
    if not _is_draft_2020_12(json.dumps(schema)):
        raise RefusalError(
            f"{path}.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 "
            "(https://json-schema.org/draft/2020-12)."
        )


@lru_cache(maxsize=256)  # every request brings the same ones
def _is_draft_2020_12(schema: str) -> bool:
    try:
        Draft202012Validator.check_schema(json.loads(schema))
    except SchemaError:
        return False
    return True


def _check_tool_choice(body: Json, names: set[str], model: Model) -> None:
    choice = body.get("tool_choice")
    if choice is None:
        return
    if not names:
        raise RefusalError("tool_choice: tool_choice may only be specified while providing tools")
    kind = choice.get("type")
    if kind not in ("auto", "any", "tool", "none"):
        raise RefusalError(
            f"tool_choice: Input tag '{kind}' found using 'type' does not match any of the expected tags: "
            "'auto', 'any', 'tool', 'none'"
        )
    if kind == "tool" and choice.get("name") not in names:
        raise RefusalError(f"tool_choice.name: Tool '{choice.get('name')}' not found in provided tools")
    is_thinking = (body.get("thinking") or {}).get("type") in ("enabled", "adaptive", "between_tools")
    if kind in ("any", "tool") and (model.is_always_thinking or is_thinking):
        raise RefusalError("Thinking may not be enabled when tool_choice forces tool use.")


def _check_thinking_mode(body: Json, model: Model) -> None:
    config = body.get("thinking")
    if config is None:
        return
    kind = config.get("type")
    if kind not in ALL_THINKING:
        raise RefusalError(
            f"thinking: Input tag '{kind}' found using 'type' does not match any of the expected tags"
        )
    for key in config:
        if key not in _THINKING_KEYS:
            raise RefusalError(_FORBIDDEN_EXTRA.format(path=f"thinking.{kind}.{key}"))
    if kind not in model.thinking_modes:
        raise RefusalError(
            f'"thinking.type.{kind}" is not supported for this model. Use "thinking.type.adaptive".'
        )
    effort = (body.get("output_config") or {}).get("effort")
    if kind == "between_tools" and effort in ("xhigh", "max"):
        raise RefusalError(f'"thinking.type.between_tools" is not supported with effort "{effort}".')
    if kind == "enabled":
        budget = config.get("budget_tokens")
        if not isinstance(budget, int):
            raise RefusalError("thinking.enabled.budget_tokens: Field required")
        if budget < 1024:  # rule 16
            raise RefusalError(
                "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
            )
        if budget >= body.get("max_tokens", budget + 1):
            raise RefusalError("`max_tokens` must be greater than `thinking.budget_tokens`.")


def _check_shapes(messages: list[Any]) -> None:
    for index, message in enumerate(messages):
        path = f"messages.{index}"
        for key in ("role", "content"):
            if key not in message:
                raise RefusalError(f"{path}.{key}: Field required")
        for key in message:
            if key not in ("role", "content"):
                raise RefusalError(_FORBIDDEN_EXTRA.format(path=f"{path}.{key}"))
        if message["role"] not in ("user", "assistant"):  # rule 7
            raise RefusalError(f"{path}.role: Input should be 'user' or 'assistant'")
        if isinstance(message["content"], str):
            continue
        if not isinstance(message["content"], list):
            raise RefusalError(f"{path}.content: Input should be a valid string or list")
        for position, block in enumerate(message["content"]):
            _check_block(block, f"{path}.content.{position}", role=message["role"], message_path=path)


def _check_block(block: Any, path: str, *, role: str, message_path: str) -> None:  # rule 4
    kind = block.get("type") if isinstance(block, dict) else None
    if kind not in _BLOCK_KEYS:
        tags = ", ".join(f"'{tag}'" for tag in _BLOCK_KEYS)
        raise RefusalError(
            f"{path}: Input tag '{kind}' found using 'type' does not match any of the expected tags: {tags}"
        )
    for key in _REQUIRED_KEYS[kind]:
        if key not in block:
            raise RefusalError(f"{path}.{kind}.{key}: Field required")
    for key in block:
        if key not in _BLOCK_KEYS[kind] | {"type"}:
            raise RefusalError(_FORBIDDEN_EXTRA.format(path=f"{path}.{kind}.{key}"))
    if (kind in _ASSISTANT_ONLY and role != "assistant") or (kind in _USER_ONLY and role != "user"):
        owner = "user" if kind in _USER_ONLY else "assistant"
        raise RefusalError(f"{message_path}: `{kind}` blocks can only be in `{owner}` messages")
    _check_values(block, f"{path}.{kind}")


def _check_values(block: Json, path: str) -> None:
    for key in ("text", "thinking", "signature", "data", "id", "name", "tool_use_id"):
        if key in block and not isinstance(block[key], str):
            raise RefusalError(f"{path}.{key}: Input should be a valid string")
    if block["type"] == "tool_use":
        if not _TOOL_USE_ID.fullmatch(block["id"]):  # rule 12
            raise RefusalError(f"{path}.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
        if not isinstance(block["input"], dict):
            raise RefusalError(f"{path}.input: Input should be a valid dictionary")
    if block["type"] == "image":
        _check_image(block["source"], f"{path}.source")
    if block["type"] == "tool_result" and not isinstance(block.get("content", ""), str):
        for index, part in enumerate(block["content"]):
            if part.get("type") not in ("text", "image", "document", "search_result", "tool_reference"):
                raise RefusalError(f"{path}.content.{index}: Input tag '{part.get('type')}' is not expected")
            if part.get("type") == "text" and not part.get("text"):
                raise RefusalError("messages: text content blocks must be non-empty")
            if part.get("type") == "image":
                _check_image(part.get("source"), f"{path}.content.{index}.image.source")


def _check_image(source: Any, path: str) -> None:
    if not isinstance(source, dict) or source.get("type") != "base64":
        raise RefusalError(f"{path}: Input should be a base64 source")
    for key in ("media_type", "data"):
        if key not in source:
            raise RefusalError(f"{path}.base64.{key}: Field required")
    for key in source:
        if key not in ("type", "media_type", "data"):
            raise RefusalError(_FORBIDDEN_EXTRA.format(path=f"{path}.base64.{key}"))
    if source["media_type"] not in _IMAGE_TYPES:
        allowed = ", ".join(f"'{kind}'" for kind in _IMAGE_TYPES)
        raise RefusalError(f"{path}.base64.media_type: Input should be {allowed}")
    try:
        is_empty = not base64.b64decode(source["data"], validate=True)
    except (TypeError, ValueError):
        raise RefusalError(f"{path}.base64: invalid base64 data") from None
    if is_empty:
        raise RefusalError(f"{path}.base64: image cannot be empty")


def _check_cache_marks(body: Json) -> None:  # rule 14
    marked = [*(body.get("tools") or []), *as_blocks(body.get("system"))]
    marked += [block for message in body["messages"] for block in as_blocks(message["content"])]
    marks = [block["cache_control"] for block in marked if block.get("cache_control")]
    if body.get("cache_control"):
        marks.append(body["cache_control"])
    if len(marks) > MAX_CACHE_MARKS:
        raise RefusalError(
            f"A maximum of {MAX_CACHE_MARKS} blocks with cache_control may be provided. Found {len(marks)}."
        )
    if any(b.get("cache_control") and b.get("type") == "text" and not b["text"] for b in marked):
        raise RefusalError("cache_control cannot be set for empty text blocks")
    lifetimes = []
    for mark in marks:
        if mark.get("type") != "ephemeral":
            raise RefusalError("cache_control.type: Input should be 'ephemeral'")
        if mark.get("ttl", "5m") not in ("5m", "1h"):
            raise RefusalError("cache_control.ephemeral.ttl: Input should be '5m' or '1h'")
        lifetimes.append(mark.get("ttl", "5m"))
    if "5m" in lifetimes and "1h" in lifetimes[lifetimes.index("5m") :]:
        raise RefusalError(
            "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block"
        )


def _check_alternation(messages: list[Json], model: Model) -> None:  # rule 5, as it was in 2024
    roles = [message["role"] for message in messages]
    for role, following in itertools.pairwise(roles):
        if model.is_strict_alternation and role == following:
            raise RefusalError(
                'messages: roles must alternate between "user" and "assistant", but found multiple '
                f'"{role}" roles in a row'
            )


def merge(messages: list[Json]) -> list[Json]:  # rule 5
    """``messages`` with runs of one role made one message, contents as blocks."""
    runs = itertools.groupby(messages, key=lambda message: message["role"])
    return [
        {"role": role, "content": [b for m in run for b in as_blocks(m["content"])]} for role, run in runs
    ]


def _check_order(messages: list[Json], model: Model) -> None:
    if messages[0]["role"] != "user":  # rule 6
        raise RefusalError('messages: first message must use the "user" role')
    if messages[-1]["role"] != "assistant":
        return
    if not model.allows_prefill:  # rule 8
        raise RefusalError(
            "This model does not support assistant message prefill. The conversation must end with a user "
            "message."
        )
    last = messages[-1]["content"][-1:] or [{"type": "text", "text": ""}]
    if last[0]["type"] == "text" and last[0]["text"] != last[0]["text"].rstrip():
        raise RefusalError("messages: final assistant content cannot end with trailing whitespace")


def _check_content(body: Json, messages: list[Json]) -> None:  # rule 13
    for block in as_blocks(body.get("system")) if not isinstance(body.get("system"), str) else []:
        if not block.get("text", "").strip():
            raise RefusalError("system: text content blocks must be non-empty")
    for index, message in enumerate(messages):
        is_prefill = index == len(messages) - 1 and message["role"] == "assistant"
        if not message["content"] and not is_prefill:
            raise RefusalError(
                f"messages.{index}: all messages must have non-empty content except for the optional final "
                f"assistant "
                "message"
            )
        if any(block["type"] == "text" and not block["text"].strip() for block in message["content"]):
            raise RefusalError("messages: text content blocks must be non-empty")


def _check_pairs(messages: list[Json]) -> None:
    calls = [[b["id"] for b in m["content"] if b["type"] == "tool_use"] for m in messages]
    if any(count > 1 for count in Counter(call for ids in calls for call in ids).values()):  # rule 12
        raise RefusalError("messages: `tool_use` ids must be unique")
    for index, message in enumerate(messages):
        _check_results(index, message["content"], calls[index - 1] if index else [])
        following = messages[index + 1]["content"] if index + 1 < len(messages) else []
        _check_answered(index, calls[index], following)


def _check_results(index: int, content: list[Json], called: list[str]) -> None:
    seen: set[str] = set()
    for position, block in enumerate(content):
        if block["type"] != "tool_result":
            continue
        tool_use_id = block["tool_use_id"]
        if tool_use_id not in called:  # rule 10
            raise RefusalError(
                f"messages.{index}.content.{position}: unexpected `tool_use_id` found in `tool_result` "
                f"blocks: "
                f"{tool_use_id}. Each `tool_result` block must have a corresponding `tool_use` block in the "
                f"previous "
                "message."
            )
        if tool_use_id in seen:  # rule 12
            raise RefusalError(
                f"messages.{index}.content.{position}: each tool_use must have a single result. Found "
                f"multiple "
                f"`tool_result` blocks with id: {tool_use_id}"
            )
        seen.add(tool_use_id)


def _check_answered(index: int, called: list[str], following: list[Json]) -> None:
    leading = []
    for block in following:
        if block["type"] != "tool_result":  # rule 11: results come first
            break
        leading.append(block["tool_use_id"])
    missing = [tool_use_id for tool_use_id in called if tool_use_id not in leading]
    if missing:  # rule 9
        raise RefusalError(
            f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in "
            f"the next "
            "message."
        )


def _check_thinking_blocks(
    body: Json, messages: list[Json], model: Model, issued: IssuedThinking
) -> None:  # rule 16
    for index, message in enumerate(messages):
        blocks = message["content"]
        prefix = (
            thinking.prefix_digest(body, messages[:index])
            if any(b["type"] == "thinking" for b in blocks)
            else ""
        )
        for position, block in enumerate(blocks):
            if block["type"] != "thinking":
                continue
            path = f"messages.{index}.content.{position}"
            if not thinking.is_genuine(block):
                raise RefusalError(f"{path}: Invalid `signature` in `thinking` block")
            if model.is_thinking_bound and not thinking.is_bound_to(block, prefix=prefix):
                raise RefusalError(f"{path}: The block is bound to a different conversation")
    if messages[-1]["content"] and messages[-1]["content"][0]["type"] == "tool_result":
        _check_returned_thinking(len(messages) - 2, messages[-2]["content"], issued)


def _check_returned_thinking(index: int, blocks: list[Json], issued: IssuedThinking) -> None:
    calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    expected = issued.by_tool_use_id.get(calls[0], []) if calls else []
    returned = [block for block in blocks if block["type"] in ("thinking", "redacted_thinking")]
    if expected and not returned:
        raise RefusalError(
            f"messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{blocks[0]['type']}`. When `thinking` is enabled, a final `assistant` message must start with "
            f"a thinking "
            "block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
        )
    if expected and returned != expected:
        raise RefusalError(
            f"messages.{index}.content: `thinking` or `redacted_thinking` blocks in the latest assistant "
            f"message cannot "
            "be modified. These blocks must remain as they were in the original response."
        )


def _check_window(body: Json, model: Model, *, is_count: bool) -> None:  # rule 17
    if is_count:
        return
    tokens = count_prompt(body)
    if tokens > model.window_tokens:
        raise RefusalError(f"prompt is too long: {tokens} tokens > {model.window_tokens} maximum")
    if model.counts_output and tokens + body["max_tokens"] > model.window_tokens:
        raise RefusalError(
            f"input length and `max_tokens` exceed context limit: {tokens} + {body['max_tokens']} > "
            f"{model.window_tokens}, decrease input length or `max_tokens` and try again"
        )
