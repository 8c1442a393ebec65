"""The models that the server pretends to be, and what each of them refuses."""

import re
from dataclasses import dataclass, replace
from typing import Any

ALL_THINKING = frozenset({"adaptive", "between_tools", "enabled", "disabled"})


@dataclass(frozen=True, slots=True)
class Model:
    """``is_strict_alternation`` and ``counts_output`` are the rules of 2024, kept by some servers."""

    id: str
    window_tokens: int
    max_output_tokens: int
    min_cache_tokens: int = 1_024
    thinking_modes: frozenset[str] = ALL_THINKING
    is_always_thinking: bool = False
    is_thinking_hidden: bool = False
    is_thinking_bound: bool = False
    allows_prefill: bool = False
    is_strict_alternation: bool = False
    counts_output: bool = False

    def info(self) -> dict[str, Any]:
        return {
            "type": "model",
            "id": self.id,
            "display_name": self.id.replace("-", " ").title(),
            "created_at": "2026-01-01T00:00:00Z",
            "lifecycle": "active",
            "max_input_tokens": self.window_tokens,
            "max_tokens": self.max_output_tokens,
        }


_NEWEST = Model(
    id="claude-sonnet-5-5",
    window_tokens=1_000_000,
    max_output_tokens=128_000,
    thinking_modes=frozenset({"adaptive", "between_tools"}),
    is_always_thinking=True,
    is_thinking_hidden=True,
    is_thinking_bound=True,
)
_PLAIN = Model(id="tiny-16k", window_tokens=16_000, max_output_tokens=4_096, min_cache_tokens=512)
_LEGACY = replace(_PLAIN, allows_prefill=True, is_strict_alternation=True, counts_output=True)

_KNOWN = {
    model.id: model
    for model in (
        _NEWEST,
        replace(_NEWEST, id="claude-opus-5-5"),
        replace(_NEWEST, id="claude-fable-5-2", min_cache_tokens=512),
        replace(_NEWEST, id="claude-haiku-5-5", min_cache_tokens=512, thinking_modes=frozenset({"adaptive"})),
        Model(id="claude-sonnet-4-6", window_tokens=200_000, max_output_tokens=64_000),
        Model(
            id="claude-haiku-4-5",
            window_tokens=200_000,
            max_output_tokens=64_000,
            min_cache_tokens=4_096,
            allows_prefill=True,
        ),
        _PLAIN,
    )
}
# "tiny-8k" is a plain model with a window of 8,000 tokens; "legacy-8k" also keeps the rules of 2024;
# "thinking-8k" has the rules of the newest models.
_SIZED = re.compile(r"^(tiny|legacy|thinking)-(\d+)k$")
_FAMILIES = {"tiny": _PLAIN, "legacy": _LEGACY, "thinking": _NEWEST}


def known_models() -> list[Model]:
    return list(_KNOWN.values())


def find_model(name: object) -> Model | None:
    if not isinstance(name, str):
        return None
    sized = _SIZED.match(name)
    if sized is None:
        return _KNOWN.get(name)
    window_tokens = int(sized[2]) * 1_000
    return replace(
        _FAMILIES[sized[1]],
        id=name,
        window_tokens=window_tokens,
        max_output_tokens=min(4_096, window_tokens // 2),
        min_cache_tokens=512,
    )
