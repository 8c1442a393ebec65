"""A conversation that is read for what to remember, and what a model answers then."""

from datetime import timedelta

import pytest

from memoryapp.lifecycle import findings
from memoryapp.lifecycle.models import LifecycleRun
from memoryapp.lifecycle.tasks import extract_conversation
from memoryapp.llm.base import ModelReply, ToolUse, Usage
from memoryapp.transcript import queries
from memoryapp.transcript.models import Conversation, Message, Turn
from tests.longterm.saying import Source
from tests.modelserver import calls, reply
from tests.turns import start

SAID = "I live in Porto."


@pytest.fixture
def read_at_once(configure):
    configure(STRATA_EXTRACTION_DELAY_S="0")


@pytest.fixture
def conversation(alice) -> Conversation:
    return start(alice)


def read(conversation: Conversation) -> None:
    extract_conversation(str(conversation.id))


def noted(*statements: dict) -> object:
    """A step of the model server: the model notes these."""
    return reply(calls("note_statements", statements=list(statements)))


def statement(quote: str, *, message: int = 1, **values: object) -> dict:
    return {"message": message, "quote": quote, "statement": quote, "kind": "identity", **values}


def answer_with(monkeypatch, *statements: dict, meanwhile=lambda: None) -> None:
    """The model notes these; ``meanwhile`` happens while it thinks."""

    def whole_reply(*_: object, **__: object) -> ModelReply:
        meanwhile()
        call = ToolUse("toolu_1", "note_statements", {"statements": list(statements)})
        return ModelReply("m", "m", (call,), "tool_use", Usage(input_tokens=1))

    monkeypatch.setattr(findings, "whole_reply", whole_reply)
    monkeypatch.setattr("memoryapp.lifecycle.extraction._asks_the_model", lambda _: True)


def last_run() -> LifecycleRun:
    return LifecycleRun.objects.filter(job="extraction").latest("finished_at", "id")


def unread() -> int:
    return Message.objects.filter(role="user", extracted_at=None).count()


def source_of(turn: Turn) -> Source:
    message = queries.user_message(turn)
    return Source(message.id, message.text)


def later(*, minutes: int) -> None:
    """As if so much time had passed since the last run."""
    run = last_run()
    moment = run.finished_at - timedelta(minutes=minutes)
    LifecycleRun.objects.filter(id=run.id).update(finished_at=moment)
