"""What the server refuses is what the real API refuses, in the same words."""

from typing import Any

import pytest

from tests.modelserver import thinking
from tests.modelserver.models import find_model
from tests.modelserver.rules import IssuedThinking, RefusalError, check_request, check_version

Json = dict[str, Any]

CALL = {"type": "tool_use", "id": "toolu_1", "name": "remember", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}
TOOL = {"name": "remember", "input_schema": {"type": "object"}}
MARK = {"cache_control": {"type": "ephemeral"}}


def text(words: str = "hi", **more: Any) -> Json:
    return {"type": "text", "text": words, **more}


def user(*blocks: Json | str) -> Json:
    return {
        "role": "user",
        "content": list(blocks) if blocks and isinstance(blocks[0], dict) else "".join(blocks),
    }  # type: ignore[arg-type]


def assistant(*blocks: Json | str) -> Json:
    return {**user(*blocks), "role": "assistant"}


def body(*messages: Json, **fields: Any) -> Json:
    return {"model": "tiny-16k", "max_tokens": 100, "messages": list(messages) or [user("hi")], **fields}


def refusal(request: Json, issued: IssuedThinking | None = None, *, is_count: bool = False) -> str | None:
    model = find_model(request["model"])
    assert model is not None
    try:
        check_request(request, model, issued or IssuedThinking(), is_count=is_count)
    except RefusalError as refused:
        return refused.message
    return None


def without(request: Json, name: str) -> Json:
    return {key: value for key, value in request.items() if key != name}


PIXEL = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"


def picture(**source: Any) -> Json:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": PIXEL, **source}}


REFUSED: list[tuple[str, Json, str]] = [
    ("max_tokens missing", without(body(), "max_tokens"), "max_tokens: Field required"),
    ("messages missing", without(body(), "messages"), "messages: Field required"),
    ("no message", {**body(), "messages": []}, "messages: at least one message is required"),
    ("temperature", body(temperature=1), "temperature: Extra inputs are not permitted"),
    ("top_p", body(top_p=1), "top_p: Extra inputs are not permitted"),
    ("top_k", body(top_k=1), "top_k: Extra inputs are not permitted"),
    ("unknown field", body(memory=True), "memory: Extra inputs are not permitted"),
    (
        "max_tokens beyond the model",
        body(max_tokens=5_000),
        "max_tokens: 5000 > 4096, which is the maximum allowed number of output tokens for tiny-16k",
    ),
    (
        "unknown key in a block",
        body(user(text(colour="red"))),
        "messages.0.content.0.text.colour: Extra inputs are not permitted",
    ),
    (
        "cache mark on thinking",
        body(
            user("hi"), assistant({"type": "thinking", "thinking": "", "signature": "", **MARK}), user("go")
        ),
        "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
    ),
    (
        "system role",
        body({"role": "system", "content": "x"}),
        "messages.0.role: Input should be 'user' or 'assistant'",
    ),
    (
        "assistant first",
        body(assistant("hi"), user("hi")),
        'messages: first message must use the "user" role',
    ),
    (
        "prefill",
        body(user("hi"), assistant("Sure:")),
        (
            "This model does not support assistant message prefill. The conversation must end with a user "
            "message."
        ),
    ),
    (
        "prefill that ends in white space",
        body(user("hi"), assistant("Sure: "), model="legacy-16k"),
        "messages: final assistant content cannot end with trailing whitespace",
    ),
    (
        "strict alternation",
        body(user("a"), user("b"), model="legacy-16k"),
        (
            'messages: roles must alternate between "user" and "assistant", but found multiple "user" roles '
            "in a "
            "row"
        ),
    ),
    (
        "call without result",
        body(user("hi"), assistant(CALL), user("and?")),
        (
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. "
            "Each "
            "`tool_use` "
            "block must have a corresponding `tool_result` block in the next message."
        ),
    ),
    (
        "text before the result",
        body(user("hi"), assistant(CALL), user(text(), RESULT)),
        (
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. "
            "Each "
            "`tool_use` "
            "block must have a corresponding `tool_result` block in the next message."
        ),
    ),
    (
        "result without call",
        body(user("hi"), assistant("ok"), user(RESULT)),
        (
            "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. Each "
            "`tool_result` block "
            "must have a corresponding `tool_use` block in the previous message."
        ),
    ),
    (
        "one id twice",
        body(user("hi"), assistant(CALL), user(RESULT), assistant(CALL), user(RESULT)),
        "messages: `tool_use` ids must be unique",
    ),
    (
        "two results",
        body(user("hi"), assistant(CALL), user(RESULT, RESULT)),
        (
            "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` "
            "blocks "
            "with id: "
            "toolu_1"
        ),
    ),
    (
        "odd id",
        body(user("hi"), assistant({**CALL, "id": "a b"}), user(RESULT)),
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    (
        "call by the user",
        body(user(CALL)),
        "messages.0: `tool_use` blocks can only be in `assistant` messages",
    ),
    (
        "result by the assistant",
        body(user("hi"), assistant(RESULT), user("hi")),
        "messages.1: `tool_result` blocks can only be in `user` messages",
    ),
    (
        "empty message",
        body(user("hi"), {"role": "assistant", "content": []}, user("hi")),
        (
            "messages.1: all messages must have non-empty content except for the optional final assistant "
            "message"
        ),
    ),
    ("empty text", body(user(text(""))), "messages: text content blocks must be non-empty"),
    ("blank text", body(user(" \n")), "messages: text content blocks must be non-empty"),
    ("blank system", body(system=[text(" ")]), "system: text content blocks must be non-empty"),
    (
        "five cache marks",
        body(user(*[text(**MARK)] * 4), system=[text(**MARK)]),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    (
        "one hour after five minutes",
        body(user(text(**MARK), text(cache_control={"type": "ephemeral", "ttl": "1h"}))),
        "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block",
    ),
    (
        "schema without type",
        body(tools=[{"name": "a", "input_schema": {}}]),
        "tools.0.custom.input_schema.type: Field required",
    ),
    (
        "schema of a string",
        body(tools=[{"name": "a", "input_schema": {"type": "string"}}]),
        "tools.0.custom.input_schema.type: Input should be 'object'",
    ),
    (
        "tool name",
        body(tools=[{**TOOL, "name": "memory.add"}]),
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ),
    ("tool name twice", body(tools=[TOOL, TOOL]), "tools: Tool names must be unique."),
    (
        "tool with unknown key",
        body(tools=[{**TOOL, "parameters": {}}]),
        "tools.0.custom.parameters: Extra inputs are not permitted",
    ),
    (
        "forced tool on a model that always thinks",
        body(tools=[TOOL], tool_choice={"type": "any"}, model="claude-sonnet-5-5"),
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
    (
        "thinking turned off",
        body(thinking={"type": "disabled"}, model="claude-sonnet-5-5"),
        '"thinking.type.disabled" is not supported for this model. Use "thinking.type.adaptive".',
    ),
    (
        "thinking between tools on Haiku",
        body(thinking={"type": "between_tools"}, model="claude-haiku-5-5"),
        '"thinking.type.between_tools" is not supported for this model. Use "thinking.type.adaptive".',
    ),
    (
        "small thinking budget",
        body(thinking={"type": "enabled", "budget_tokens": 100}, max_tokens=2_000),
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
    ),
    (
        "thinking budget beyond max_tokens",
        body(thinking={"type": "enabled", "budget_tokens": 2_000}, max_tokens=2_000),
        "`max_tokens` must be greater than `thinking.budget_tokens`.",
    ),
    (
        "image of the assistant",
        body(user("hi"), assistant(picture())),
        "messages.1: `image` blocks can only be in `user` messages",
    ),
    (
        "image by URL",
        body(user(picture(type="url"))),
        "messages.0.content.0.image.source: Input should be a base64 source",
    ),
    (
        "image of another kind",
        body(user(picture(media_type="image/tiff"))),
        (
            "messages.0.content.0.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', "
            "'image/gif', 'image/webp'"
        ),
    ),
    (
        "image that is not base64",
        body(user(picture(data="no picture"))),
        "messages.0.content.0.image.source.base64: invalid base64 data",
    ),
    (
        "empty image",
        body(user(picture(data=""))),
        "messages.0.content.0.image.source.base64: image cannot be empty",
    ),
    (
        "image with a name",
        body(user(picture(name="cat.gif"))),
        "messages.0.content.0.image.source.base64.name: Extra inputs are not permitted",
    ),
    (
        "image of another kind in a result",
        body(user("hi"), assistant(CALL), user({**RESULT, "content": [picture(media_type="text/html")]})),
        (
            "messages.2.content.0.tool_result.content.0.image.source.base64.media_type: Input should be "
            "'image/jpeg', 'image/png', 'image/gif', 'image/webp'"
        ),
    ),
    (
        "odd name of an argument",
        body(tools=[{**TOOL, "input_schema": {"type": "object", "properties": {"filter[id]": {}}}}]),
        "tools.0.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'",
    ),
    (
        "choice at the top of a schema",
        body(tools=[{**TOOL, "input_schema": {"type": "object", "oneOf": [{"required": ["a"]}]}}]),
        (
            "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top "
            "level"
        ),
    ),
    (
        "schema of draft 4",
        body(
            tools=[
                {**TOOL, "input_schema": {"type": "object", "properties": {"n": {"exclusiveMinimum": True}}}}
            ]
        ),
        (
            "tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12 "
            "(https://json-schema.org/draft/2020-12)."
        ),
    ),
    (
        "too long",
        body(user("word " * 9_000), model="tiny-8k"),
        "prompt is too long: 9003 tokens > 8000 maximum",
    ),
    (
        "no room for the output",
        body(user("word " * 7_000), max_tokens=2_000, model="legacy-8k"),
        (
            "input length and `max_tokens` exceed context limit: 7003 + 2000 > 8000, decrease input length "
            "or "
            "`max_tokens` "
            "and try again"
        ),
    ),
]


@pytest.mark.parametrize(("request_body", "message"), [pytest.param(b, m, id=name) for name, b, m in REFUSED])
def test_is_refused(request_body: Json, message: str) -> None:
    assert refusal(request_body) == message


ACCEPTED: list[tuple[str, Json]] = [
    ("plain", body()),
    ("two user messages in a row", body(user("a"), user("b"))),
    (
        "parallel calls",
        body(user("hi"), assistant(CALL, {**CALL, "id": "b"}), user(RESULT, {**RESULT, "tool_use_id": "b"})),
    ),
    ("text after the results", body(user("hi"), assistant(CALL), user(RESULT, text()))),
    ("four cache marks", body(user(*[text(**MARK)] * 3), system=[text(**MARK)])),
    (
        "odd names and choices further in",
        body(
            tools=[
                {
                    **TOOL,
                    "input_schema": {
                        "type": "object",
                        "properties": {"a": {"anyOf": [{"properties": {"b[]": {}}}, {"type": "null"}]}},
                    },
                }
            ]
        ),
    ),
    ("forced tool", body(tools=[TOOL], tool_choice={"type": "tool", "name": "remember"})),
    ("adaptive thinking", body(thinking={"type": "adaptive"}, model="claude-sonnet-5-5")),
    ("prefill where allowed", body(user("hi"), assistant("Sure:"), model="claude-haiku-4-5")),
    ("image", body(user(picture(), text()))),
    ("image in a result", body(user("hi"), assistant(CALL), user({**RESULT, "content": [picture()]}))),
    ("empty result", body(user("hi"), assistant(CALL), user({**RESULT, "content": ""}))),
]


@pytest.mark.parametrize("request_body", [pytest.param(b, id=name) for name, b in ACCEPTED])
def test_is_accepted(request_body: Json) -> None:
    assert refusal(request_body) is None


def test_count_takes_no_max_tokens() -> None:
    assert refusal(body(), is_count=True) == "max_tokens: Extra inputs are not permitted"
    assert refusal(without(body(), "max_tokens"), is_count=True) is None


def thought(request: Json, words: str = "hm") -> Json:
    prefix = thinking.prefix_digest(request, request["messages"])
    return {"type": "thinking", "thinking": words, "signature": thinking.sign(words, prefix=prefix)}


def in_a_tool_loop(asked: Json, *blocks: Json) -> Json:
    return {**asked, "messages": [*asked["messages"], assistant(*blocks, CALL), user(RESULT)]}


def test_thinking_is_bound_to_what_came_before_it() -> None:
    asked = body(user(text("hi")), model="thinking-16k", system=[text("You are Strata.")])
    whole = in_a_tool_loop(asked, thought(asked))
    bound = "messages.1.content.0: The block is bound to a different conversation"

    assert refusal(whole) is None
    assert refusal({**whole, "system": [text("You are Strata.", **MARK)]}) is None
    assert refusal({**whole, "system": [text("You are someone else.")]}) == bound
    assert refusal({**whole, "tools": [TOOL]}) == bound
    assert refusal({**whole, "messages": [user("hello"), *whole["messages"][1:]]}) == bound


def test_edited_thinking_is_refused() -> None:
    asked = body(model="thinking-16k")

    edited = in_a_tool_loop(asked, {**thought(asked), "thinking": "hmm"})

    assert refusal(edited) == "messages.1.content.0: Invalid `signature` in `thinking` block"


def test_thinking_before_a_tool_call_must_come_back() -> None:
    asked = body(model="thinking-16k")
    first, second = thought(asked, "first"), thought(asked, "second")
    issued = IssuedThinking({"toolu_1": [first, second]})

    assert refusal(in_a_tool_loop(asked, first, second), issued) is None
    assert "Expected `thinking` or `redacted_thinking`, but found `tool_use`" in str(
        refusal(in_a_tool_loop(asked), issued)
    )
    for changed in ((second, first), (first,)):
        assert "cannot be modified" in str(refusal(in_a_tool_loop(asked, *changed), issued))


@pytest.mark.parametrize("version", [None, "2020-01-01"])
def test_version_header_is_required(version: str | None) -> None:
    with pytest.raises(RefusalError, match="anthropic-version"):
        check_version(version)
