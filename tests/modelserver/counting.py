"""Tokens and the prompt cache, simulated: deterministic, monotone, about the size that real ones have.

A token is up to five letters, up to three digits, one other character, or one character of a script without
spaces. That is an approximation for tests; nothing in the application depends on it.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

_TOKEN = re.compile(r"[a-zA-Z]{1,5}|\d{1,3}|[^\sa-zA-Z\d]")
# The API looks for earlier cache entries at this many blocks before each mark.
_LOOKBACK_BLOCKS = 20


def count_text(text: str) -> int:
    return sum(1 for _ in _TOKEN.finditer(text))


def count_json(value: object) -> int:
    return count_text(json.dumps(value, ensure_ascii=False))


def as_blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or [])


def without_marks(value: Any) -> Any:
    """``value`` without any ``cache_control``: two prompts that differ only there are the same prompt."""
    if isinstance(value, dict):
        return {key: without_marks(item) for key, item in value.items() if key != "cache_control"}
    return [without_marks(item) for item in value] if isinstance(value, list) else value


def prompt_parts(body: dict[str, Any]) -> Iterator[tuple[dict[str, Any], int]]:
    """Each block of the prompt in the order the model reads it, with its tokens."""
    for index, tool in enumerate(body.get("tools") or []):
        yield {"tool": tool, **_mark_of(tool)}, count_json(without_marks(tool)) + (300 if index == 0 else 0)
    for block in as_blocks(body.get("system")):
        yield {"system": block, **_mark_of(block)}, count_text(block.get("text", "")) + 2
    for message in body.get("messages") or []:
        for index, block in enumerate(as_blocks(message["content"])):
            part = {"role": message["role"], "block": block, **_mark_of(block)}
            yield part, _count_block(block) + (3 if index == 0 else 0)


def count_prompt(body: dict[str, Any]) -> int:
    return sum(tokens for _, tokens in prompt_parts(body))


def _mark_of(block: dict[str, Any]) -> dict[str, Any]:
    return {"cache_control": block["cache_control"]} if block.get("cache_control") else {}


def _count_block(block: dict[str, Any]) -> int:
    match block.get("type"):
        case "text":
            return count_text(block["text"])
        case "thinking":
            return count_text(block["thinking"]) + 1
        case "image":
            return _count_image(block["source"])
        case "tool_result":
            content = block.get("content") or ""
            parts = as_blocks(content)
            return 4 + sum(_count_part(part) for part in parts)
        case "tool_use":
            return 4 + count_text(block["name"]) + count_json(block["input"])
        case _:
            return 20


def _count_part(part: dict[str, Any]) -> int:
    return _count_image(part["source"]) if part.get("type") == "image" else count_text(part.get("text", ""))


def _count_image(source: dict[str, Any]) -> int:
    """750 pixels a token; 1,600 is the most, and what images count whose size this does not read."""
    head = base64.b64decode(source["data"][:32])
    if not head.startswith(b"\x89PNG") or len(head) < 24:
        return 1_600
    width, height = int.from_bytes(head[16:20]), int.from_bytes(head[20:24])
    return max(1, min(1_600, -(-width * height // 750)))


def count_output(blocks: list[dict[str, Any]]) -> int:
    return max(1, sum(_count_block(block) for block in blocks)) if blocks else 0


@dataclass(slots=True)
class PromptCache:
    """Prefixes seen at cache marks. Entries do not age."""

    _prefixes: set[str] = field(default_factory=set)

    def usage(self, body: dict[str, Any], *, min_tokens: int) -> dict[str, int]:
        """The input side of ``usage``, after which the marked prefixes are cached."""
        digest = hashlib.sha256(str(body["model"]).encode())
        ends: list[tuple[str, int, bool]] = []
        total = 0
        for part, tokens in prompt_parts(body):
            total += tokens
            digest.update(json.dumps(without_marks(part), sort_keys=True).encode())
            ends.append((digest.hexdigest(), total, "cache_control" in part))
        if body.get("cache_control") and ends:
            ends[-1] = (*ends[-1][:2], True)
        marked = [
            index for index, (_, tokens, is_marked) in enumerate(ends) if is_marked and tokens >= min_tokens
        ]
        if not marked:
            return _input_usage(total, read=0, created=0)
        read = max((self._longest_hit(ends, index) for index in marked), default=0)
        self._prefixes.update(ends[index][0] for index in marked)
        last = ends[marked[-1]][1]
        return _input_usage(total - last, read=read, created=last - read)

    def _longest_hit(self, ends: list[tuple[str, int, bool]], mark: int) -> int:
        candidates = ends[max(0, mark - _LOOKBACK_BLOCKS) : mark + 1]
        return max((tokens for prefix, tokens, _ in candidates if prefix in self._prefixes), default=0)


def _input_usage(fresh: int, *, read: int, created: int) -> dict[str, int]:
    return {"input_tokens": fresh, "cache_read_input_tokens": read, "cache_creation_input_tokens": created}
