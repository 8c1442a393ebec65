import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryapp.llm import tokens
from memoryapp.llm.base import (
    ModelMessage,
    ModelRequest,
    RedactedThinking,
    Text,
    Thinking,
    ToolDefinition,
    ToolResult,
    ToolUse,
)

# Texts with their length in the last published tokenizer (anthropic 0.34), measured with it.
MEASURED = {
    "english": (
        37,
        (
            "Yesterday I went with friends to a new restaurant near the station. The food was very good and "
            "not "
            "expensive, so next week we want to go there again and take the family along."
        ),
    ),
    "german": (
        41,
        (
            "Gestern bin ich mit Freunden in ein neues Restaurant gegangen, das Essen war ausgezeichnet und "
            "gar "
            "nicht "
            "teuer. Nächste Woche gehen wir wieder hin."
        ),
    ),
    "russian": (
        65,
        (
            "Вчера мы с друзьями ходили в новый ресторан, и там было очень вкусно и недорого. На следующей "
            "неделе "
            "собираемся снова."
        ),
    ),
    "chinese": (
        56,
        "我昨天和朋友去了一家新开的餐厅,那里的菜很好吃,价格也不贵。下个星期我们打算再去一次,顺便带上家人。",
    ),
    "japanese": (
        43,
        "昨日、友達と新しいレストランに行きました。料理はとても美味しくて、値段も安かったです。",
    ),
    "code": (
        49,
        (
            "def estimate(text: str) -> int:\n    if not text:\n        return 0\n    data = text.encode()\n"
            "    return max(1, round(sum(weight * count(data) for weight in WEIGHTS)))\n"
        ),
    ),
    "json": (
        146,
        json.dumps(
            [
                {"id": n, "kind": "preference", "statement": "Drinks only decaf.", "confidence": 0.9}
                for n in range(5)
            ]
        ),
    ),
}
REMEMBER = ToolDefinition("remember", "Keep a fact.", {"type": "object", "properties": {}})


@pytest.mark.parametrize("name", MEASURED)
def test_estimate_is_near_the_measured_length(name: str) -> None:
    measured, text = MEASURED[name]

    assert 0.8 <= tokens.estimate_text(text) / (measured * tokens.NEWER_TOKENIZER) <= 1.3


def test_nothing_costs_nothing() -> None:
    assert tokens.estimate_text("") == 0
    assert tokens.estimate_tools(()) == 0


@given(st.text(min_size=1), st.text())
def test_estimate_is_positive_and_never_shrinks(text: str, more: str) -> None:
    assert 1 <= tokens.estimate_text(text) <= tokens.estimate_text(text + more)


@given(st.text())
def test_no_text_is_longer_in_tokens_than_in_bytes_and_a_half(text: str) -> None:
    assert tokens.estimate_text(text) <= 1.5 * len(text.encode()) + 1


def test_lone_surrogates_are_counted() -> None:
    assert tokens.estimate_text("\ud83d") >= 1


@pytest.mark.parametrize(
    "block",
    [
        Text("hello"),
        Thinking("", "s" * 400),
        RedactedThinking("d" * 400),
        ToolUse("toolu_1", "remember", {"statement": "decaf"}),
        ToolResult("toolu_1", "done"),
    ],
)
def test_every_block_costs_something(block) -> None:
    assert tokens.estimate_block(block) > 0


def test_hidden_thinking_counts_by_its_signature() -> None:
    assert tokens.estimate_block(Thinking("", "s" * 400)) >= 100


def test_request_is_the_sum_of_its_parts() -> None:
    message = ModelMessage("user", (Text("I only drink decaf."),))
    request = ModelRequest("any", "You are Strata.", (message, message), (REMEMBER,), 100)

    assert tokens.estimate_request(request) == (
        tokens.estimate_text("You are Strata.")
        + tokens.estimate_tools((REMEMBER,))
        + 2 * tokens.estimate_message(message)
    )
