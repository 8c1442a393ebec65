"""A ``ModelRequest`` as the Messages API wants it: plain dictionaries, no SDK.

The API refuses what is merely untidy (blank text, a fifth cache mark, empty messages), so that is settled
here.
"""

from typing import Any

from memoryapp.llm.base import (
    Block,
    Image,
    ModelMessage,
    ModelRequest,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)

Json = dict[str, Any]  # JSON object

_CACHE_MARK: Json = {"type": "ephemeral"}
# The API takes four marks in all; one of them always ends the static prefix (tools, then system).
_MESSAGE_CACHE_MARKS = 3


def encode_prompt(request: ModelRequest) -> Json:
    """What both a call and a token count need: model, system, tools and messages.

    Blank text blocks are left out, and messages that have nothing else. Of the cache marks in messages the
    newest three count.
    """
    encoded = [{"role": m.role, "content": _encode_blocks(m)} for m in request.messages]
    messages = [message for message in encoded if message["content"]]
    _keep_newest_marks(messages)
    prompt: Json = {"model": request.model, "messages": messages}
    tools = [_encode_tool(tool.name, tool.description, dict(tool.input_schema)) for tool in request.tools]
    if request.system.strip():
        prompt["system"] = [{"type": "text", "text": request.system, "cache_control": _CACHE_MARK}]
    elif tools:
        tools[-1]["cache_control"] = _CACHE_MARK
    if tools:
        prompt["tools"] = tools
    return prompt


def _encode_tool(name: str, description: str, input_schema: Json) -> Json:
    return {"name": name, "description": description, "input_schema": input_schema}


def _encode_blocks(message: ModelMessage) -> list[Json]:
    return [_encode_block(block) for block in message.blocks if not _is_blank(block)]


def _is_blank(block: Block) -> bool:
    # The API may itself return blank text beside a tool call, and refuses to take it back.
    return isinstance(block, Text) and not block.text.strip()


def _encode_block(block: Block) -> Json:
    match block:
        case Text(text=text, cache_mark=cache_mark):
            return _marked({"type": "text", "text": text}, is_marked=cache_mark)
        case Image(media_type=media_type, data=data, cache_mark=cache_mark):
            source = {"type": "base64", "media_type": media_type, "data": data}
            return _marked({"type": "image", "source": source}, is_marked=cache_mark)
        case Thinking(thinking=thinking, signature=signature):
            return {"type": "thinking", "thinking": thinking, "signature": signature}
        case RedactedThinking(data=data):
            return {"type": "redacted_thinking", "data": data}
        case ToolUse(id=tool_use_id, name=name, input=tool_input):
            return {"type": "tool_use", "id": tool_use_id, "name": name, "input": dict(tool_input)}
        case ToolResult(tool_use_id=tool_use_id, content=content, is_error=is_error, cache_mark=cache_mark):
            result: Json = {"type": "tool_result", "tool_use_id": tool_use_id, "content": content}
            if is_error:
                result["is_error"] = True
            return _marked(result, is_marked=cache_mark)


def _marked(block: Json, *, is_marked: bool) -> Json:
    return {**block, "cache_control": _CACHE_MARK} if is_marked else block


def _keep_newest_marks(messages: list[Json]) -> None:
    marked = [block for message in messages for block in message["content"] if "cache_control" in block]
    for block in marked[:-_MESSAGE_CACHE_MARKS]:
        del block["cache_control"]
