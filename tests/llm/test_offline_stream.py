"""The offline responder as a model: its stream, its limits, and how it is cancelled."""

import threading

import pytest

from memoryapp.conf import Conf, get_conf
from memoryapp.llm.base import (
    Cancellation,
    Completed,
    ModelLimits,
    StreamEvent,
    TextDelta,
)
from memoryapp.llm.errors import Cancelled, ContextTooLong
from memoryapp.llm.offline import OfflineModel
from tests.llm.contract import ChatModelContract, Harness, completed
from tests.llm.offline_calls import MODEL, answered, asked, reply_to, said, streamed


class TestContract(ChatModelContract):
    @pytest.fixture
    def harness(self) -> Harness:
        return Harness(model=OfflineModel(delay_s=0))


def test_count_streams_every_number():
    reply = reply_to(said("Count to 200")).text

    assert reply.replace("\n\n", ", ").split(", ") == [str(n) for n in range(1, 201)]


def test_longest_count_fits_the_output_limit():
    reply = reply_to(said("count to 9999"), max_tokens=MODEL.limits("offline").max_output_tokens)

    assert reply.stop_reason == "end_turn"
    assert reply.text.endswith("499, 500\n\nI stop at 500.")


def test_story_is_long_and_markdown_shows_everything():
    assert len(reply_to(said("Tell me a long story")).text.split()) > 500
    markdown = reply_to(said("Show me markdown")).text
    assert all(mark in markdown for mark in ("# ", "- ", "1. ", "|---|", "```python", "> "))


def test_words_arrive_one_by_one():
    *deltas, last = streamed(asked(said("Tell me a long story")))

    assert isinstance(last, Completed)
    assert all(isinstance(delta, TextDelta) and len(delta.text.split()) == 1 for delta in deltas)


def test_same_request_gives_the_same_events():
    for words in ("I like tea.", "What time is it?", "The sky is blue."):
        assert streamed(asked(said(words))) == streamed(asked(said(words)))


def test_ids_differ_from_run_to_run():
    first = reply_to(said("I like tea."))
    again = reply_to(said("I like tea."), answered("Noted."), said("I like tea."))

    assert first.tool_uses[0].id != again.tool_uses[0].id


def test_reply_is_cut_at_max_tokens():
    reply = reply_to(said("Tell me a long story"), max_tokens=50)
    whole = reply_to(said("Tell me a long story"))

    assert reply.stop_reason == "max_tokens"
    assert whole.text.startswith(reply.text)
    assert 0 < reply.usage.output_tokens <= 60


def test_usage_and_model_are_its_own():
    request = asked(said("Hi"))
    reply = completed(streamed(request))

    assert reply.model == MODEL.name == "offline"
    assert reply.usage.input_tokens == MODEL.count_tokens(request)
    assert MODEL.limits("anything").window_tokens == get_conf().window_tokens


def test_prompt_beyond_the_window_is_refused():
    request = asked(said("word " * 4 * get_conf().window_tokens))

    with pytest.raises(ContextTooLong) as refusal:
        streamed(request)

    assert refusal.value.details == {
        "prompt_tokens": MODEL.count_tokens(request),
        "limit_tokens": get_conf().window_tokens,
    }


def test_limits_may_be_set_for_one_name(monkeypatch):
    settings = (
        '{"offline": {"window_tokens": 4000, "max_output_tokens": 300}, "big": {"max_output_tokens": 9000}}'
    )
    monkeypatch.setattr("memoryapp.llm.offline.model.configured", lambda: Conf(model_settings=settings))

    assert MODEL.limits("offline") == ModelLimits(4_000, 300)
    assert MODEL.limits("big").max_output_tokens == MODEL.limits("other").max_output_tokens


def test_request_without_a_user_message_is_answered():
    assert reply_to().text
    assert reply_to(answered("Hello")).text


class CountingCancellation(Cancellation):
    """Set when the model pauses for the n-th time."""

    def __init__(self, set_at: int) -> None:
        super().__init__()
        self.pauses: list[float] = []
        self._set_at = set_at

    def wait(self, timeout_s: float) -> bool:
        self.pauses.append(timeout_s)
        if len(self.pauses) == self._set_at:
            self.set()
        return super().wait(0)


def test_cancelled_between_words_keeps_quiet():
    cancellation = CountingCancellation(set_at=5)
    deltas: list[StreamEvent] = []

    with pytest.raises(Cancelled):
        deltas.extend(
            event for event in OfflineModel(delay_s=0.02).stream(asked(said("Count to 50")), cancellation)
        )

    assert cancellation.pauses == [0, 0.02, 0.02, 0.02, 0.02]


def test_cancelled_before_a_tool_call():
    with pytest.raises(Cancelled):
        list(MODEL.stream(asked(said("I like tea.")), CountingCancellation(set_at=2)))


def test_cancelled_during_a_pause():
    cancellation = Cancellation()
    stream = OfflineModel(delay_s=600).stream(asked(said("Count to 50")), cancellation)
    stopper = threading.Timer(0.05, cancellation.set)
    stopper.start()

    with pytest.raises(Cancelled):
        next(stream)
    stopper.join()
