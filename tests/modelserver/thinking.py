"""Thinking blocks that know the conversation they belong to, as those of the newest models do.

A signature carries a digest of the prompt (system, tools, all earlier messages, cache marks ignored) and a
MAC over that digest and the thinking. So a block that was edited and a block that was moved are told apart.
"""

import hashlib
import hmac
import json
from typing import Any

from tests.modelserver.counting import as_blocks, without_marks

_KEY = b"the same in every process, so that a restarted server knows its own blocks"


def prefix_digest(body: dict[str, Any], messages: list[dict[str, Any]]) -> str:
    prefix = {
        "system": as_blocks(body.get("system")),
        "tools": body.get("tools") or [],
        "messages": [{"role": m["role"], "content": as_blocks(m["content"])} for m in messages],
    }
    return hashlib.sha256(json.dumps(without_marks(prefix), sort_keys=True).encode()).hexdigest()[:32]


def sign(thinking: str, *, prefix: str) -> str:
    mac = hmac.new(_KEY, f"{prefix}:{thinking}".encode(), hashlib.sha256).hexdigest()[:32]
    return f"{prefix}.{mac}"


def is_genuine(block: dict[str, Any]) -> bool:
    prefix = str(block.get("signature", "")).partition(".")[0]
    return hmac.compare_digest(
        str(block.get("signature", "")), sign(block.get("thinking", ""), prefix=prefix)
    )


def is_bound_to(block: dict[str, Any], *, prefix: str) -> bool:
    return str(block.get("signature", "")).partition(".")[0] == prefix
