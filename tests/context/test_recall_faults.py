"""Recall when the embedder is away, and when a question is not made for a database."""

import pytest
from django.utils import timezone

from memoryapp.context import recall as recalls
from memoryapp.context.tools import RecallArguments, run_recall
from memoryapp.embeddings.base import EmbedderUnavailable
from memoryapp.lifecycle import embedding
from memoryapp.longterm.models import Memory
from tests.longterm.saying import remember
from tests.tool_contexts import tool_context

TEA = "I only drink green tea, never coffee."


class NoEmbedder:
    """Its weights are missing; it still has a name and a calibration."""

    model_id = "gone"

    def __init__(self, calibration):
        self.calibration = calibration

    def embed_queries(self, texts):
        raise EmbedderUnavailable("The model file is missing.")


@pytest.fixture
def no_embedder(embedder, monkeypatch):
    monkeypatch.setattr(recalls, "get_embedder", lambda: NoEmbedder(embedder.calibration))


def recalled(user, question: str) -> list[str]:
    found = recalls.recall(user.id, question, now=timezone.now())
    return [item.memory.statement for item in found.included]


def test_without_an_embedder_the_words_decide(alice, no_embedder):
    embedding.embed_memory(remember(alice, TEA).memory.id)
    remember(alice, "I have a car")

    assert recalled(alice, "Which green tea do I drink?") == [TEA]
    assert recalled(alice, "Why is the sky blue?") == []


def test_and_the_log_says_so_without_what_was_asked(alice, no_embedder, caplog):
    remember(alice, TEA)

    recalled(alice, "Which green tea?")

    assert "by words only" in caplog.text
    assert "tea" not in caplog.text


QUESTIONS = {
    "nothing": "",
    "spaces": "   \n\t",
    "NUL": "tea\x00 please",
    "half a character": "tea \ud83d please",
    "the other half": "\udc00tea",
    "emoji": "🍵🍵🍵 tea?",
    "operators": "tea & | ! <-> :* () 'a' \\ tea:AB <2> !!",
    "quotes": """ '"`´“” tea """,
    "injection": "tea'; DROP TABLE longterm_memory; --",
    "placeholders": "100%s %(user_id)s %% {0} $1 :name ?",
    "wildcards": "% _ .* [a-z]* (?:x+x+)+y",
    "stop words": "the of and what is it",
    "right to left": "\u202eeet \u2066 شاي",
    "Chinese": "我喝什么茶?",
    "one long word": "a" * 100_000,
    "a long paste": "tea and biscuits " * 6_000,
    "many lines": "\n".join(["tea"] * 5_000),
    "controls": "".join(map(chr, range(1, 32))) + "tea",
    "tags": "\U000e0041\U000e0042 tea",
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS.keys())
@pytest.mark.parametrize("is_embedded", [True, False], ids=["by meaning", "by words"])
def test_no_question_fails(alice, question, is_embedded, request):
    if not is_embedded:
        request.getfixturevalue("no_embedder")
    memory = remember(alice, TEA).memory
    embedding.embed_memory(memory.id)

    recalls.recall(alice.id, question, now=timezone.now())

    assert Memory.objects.get().statement == TEA


def test_a_question_with_unsearchable_characters_still_finds_its_answer(alice):
    embedding.embed_memory(remember(alice, TEA).memory.id)

    assert recalled(alice, "Which\x00green\ud83dtea do I drink?") == [TEA]


def context(user):
    return tool_context(user.id, now=timezone.now())


def test_the_tool_answers_with_the_items_and_their_weakest_origin(alice):
    remember(alice, TEA, origin="model_inferred")

    output = run_recall(RecallArguments(query="Which green\x00 tea do I drink?"), context(alice))

    assert TEA in output.content
    assert output.origin == "model_inferred"


def test_the_tool_says_when_nothing_is_known(alice, bob):
    remember(bob, TEA)

    output = run_recall(RecallArguments(query="Which tea do I drink?"), context(alice))

    assert output.content == '{"memories": []}'
