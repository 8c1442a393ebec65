"""Calling Claude in tests: the client, the strict server behind it, and waits that take no time."""

import time
from collections.abc import Iterator

import pytest

from memoryapp.conf import Conf
from memoryapp.llm.base import (
    Cancellation,
    ModelRequest,
    StreamEvent,
    ToolDefinition,
)
from memoryapp.llm.claude import ClaudeModel
from memoryapp.llm.errors import (
    ModelError,
)
from tests.llm.contract import request, user
from tests.modelserver import (
    ModelServer,
)

KEY = "sk-test-of-the-right-length"
SONNET = "claude-sonnet-5-5"


class Patience(Cancellation):
    """A cancellation whose waits take no time and are written down."""

    def __init__(self) -> None:
        super().__init__()
        self.waits_s: list[float] = []

    def wait(self, timeout_s: float) -> bool:
        self.waits_s.append(timeout_s)
        return self.is_set


class TimedCancellation(Cancellation):
    """Knows when it was set."""

    set_at = float("inf")

    def set(self) -> None:
        self.set_at = time.monotonic()
        super().set()


def make_conf(server_url: str, **changes) -> Conf:
    given = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server_url, **changes}
    return Conf(**given)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(api_key=KEY) as running:
        yield running


@pytest.fixture
def model(server: ModelServer) -> ClaudeModel:
    return ClaudeModel(make_conf(server.url), jitter=lambda: 0.0)


def say(
    words: str = "Good morning", *, model: str = SONNET, tools: tuple[ToolDefinition, ...] = ()
) -> ModelRequest:
    return request(user(words), model=model, tools=tools)


def run(model: ClaudeModel, asked: ModelRequest | None = None) -> list[StreamEvent]:
    return list(model.stream(asked or say(), Patience()))


def failure_of(model: ClaudeModel, asked: ModelRequest | None = None) -> ModelError:
    with pytest.raises(ModelError) as caught:
        run(model, asked)
    return caught.value
