"""What every ``ChatModel`` must do. Each implementation's tests subclass ``ChatModelContract``::

    class TestOffline(ChatModelContract):
        @pytest.fixture
        def harness(self) -> Harness:
            return Harness(model=OfflineModel())

A model whose provider can be told what to answer passes a ``Provider``; the tests that need one are skipped
else.
"""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Protocol

import pytest

from memoryapp.llm.base import (
    Cancellation,
    ChatModel,
    Completed,
    ModelMessage,
    ModelReply,
    ModelRequest,
    Retrying,
    StreamEvent,
    Text,
    TextDelta,
    ToolDefinition,
    ToolResult,
    ToolUse,
    ToolUseStarted,
)
from memoryapp.llm.errors import Cancelled, ModelError, StreamBroken

REMEMBER = ToolDefinition(
    name="remember",
    description="Keep something the user said for later conversations.",
    input_schema={
        "type": "object",
        "properties": {"statement": {"type": "string"}, "quote": {"type": "string"}},
        "required": ["statement"],
    },
)


class Provider(Protocol):
    """Makes the model's provider behave; each applies to the next call."""

    def call_tool(self, name: str) -> None: ...

    def go_silent(self) -> None:
        """Begin a reply and then say nothing, until released or hung up on."""

    def wait_until_silent(self) -> None: ...

    def break_off(self) -> None:
        """End the stream in the middle of the text, cleanly as far as HTTP goes."""


@dataclass(frozen=True, slots=True)
class Harness:
    model: ChatModel
    model_name: str = "claude-sonnet-5-5"
    provider: Provider | None = None


def user(words: str) -> ModelMessage:
    return ModelMessage("user", (Text(words),))


def request(*messages: ModelMessage, model: str, tools: tuple[ToolDefinition, ...] = ()) -> ModelRequest:
    return ModelRequest(
        model=model, system="You are Strata.", messages=messages, tools=tools, max_tokens=1_024
    )


def completed(events: list[StreamEvent]) -> ModelReply:
    assert isinstance(events[-1], Completed)
    return events[-1].reply


class ChatModelContract:
    @pytest.fixture
    def harness(self) -> Harness:
        raise NotImplementedError

    @pytest.fixture
    def provider(self, harness: Harness) -> Provider:
        if harness.provider is None:
            pytest.skip("this model's provider cannot be scripted")
        return harness.provider

    def ask(self, harness: Harness, words: str, **options) -> list[StreamEvent]:
        return list(
            harness.model.stream(request(user(words), model=harness.model_name, **options), Cancellation())
        )

    def test_completed_comes_once_and_last(self, harness: Harness) -> None:
        events = self.ask(harness, "Good morning")

        assert [type(event) for event in events].count(Completed) == 1
        assert isinstance(events[-1], Completed)
        assert all(isinstance(event, StreamEvent) for event in events)

    def test_deltas_add_up_to_the_replys_text(self, harness: Harness) -> None:
        events = self.ask(harness, "Good morning")

        said = "".join(event.text for event in events if isinstance(event, TextDelta))
        assert said == completed(events).text
        assert said.strip()

    def test_reply_says_why_it_stopped_and_what_it_cost(self, harness: Harness) -> None:
        reply = completed(self.ask(harness, "Good morning"))

        assert reply.stop_reason == "end_turn"
        assert reply.message_id
        assert reply.model
        assert reply.usage.total_input_tokens > 0
        assert reply.usage.output_tokens > 0

    def test_conversation_goes_on_from_its_replies(self, harness: Harness) -> None:
        first = completed(self.ask(harness, "Good morning"))

        events = list(
            harness.model.stream(
                request(
                    user("Good morning"),
                    ModelMessage("assistant", (Text(first.text),)),
                    user("And good evening"),
                    model=harness.model_name,
                ),
                Cancellation(),
            )
        )

        assert completed(events).stop_reason == "end_turn"

    def test_tool_call_is_announced_and_its_result_accepted(
        self, harness: Harness, provider: Provider
    ) -> None:
        question = user("I only drink decaf.")
        provider.call_tool("remember")
        asked = request(question, model=harness.model_name, tools=(REMEMBER,))
        events = list(harness.model.stream(asked, Cancellation()))
        reply = completed(events)

        assert reply.stop_reason == "tool_use"
        (tool_use,) = reply.tool_uses
        assert ToolUseStarted(tool_use.id, "remember") in events
        assert isinstance(tool_use, ToolUse)
        result = ModelMessage("user", (ToolResult(tool_use.id, "Remembered."),))
        answered = replace(asked, messages=(question, ModelMessage("assistant", reply.blocks), result))

        assert completed(list(harness.model.stream(answered, Cancellation()))).stop_reason == "end_turn"

    def test_cancelled_before_it_starts(self, harness: Harness) -> None:
        cancellation = Cancellation()
        cancellation.set()

        with pytest.raises(Cancelled):
            list(harness.model.stream(request(user("Good morning"), model=harness.model_name), cancellation))

    def test_cancelled_between_events(self, harness: Harness) -> None:
        cancellation = Cancellation()
        stream = harness.model.stream(
            request(user("Good morning to all of you"), model=harness.model_name), cancellation
        )
        first = next(stream)
        cancellation.set()

        assert not isinstance(first, Completed)
        with pytest.raises(Cancelled):
            list(stream)

    def test_cancelled_while_the_provider_is_silent(self, harness: Harness, provider: Provider) -> None:
        cancellation = Cancellation()
        stopped_after_s: list[float] = []

        def stop() -> None:
            provider.wait_until_silent()
            stopped_after_s.append(time.monotonic())
            cancellation.set()

        provider.go_silent()
        stopper = threading.Thread(target=stop)
        stopper.start()
        with pytest.raises(Cancelled):
            list(harness.model.stream(request(user("Good morning"), model=harness.model_name), cancellation))
        ended_at = time.monotonic()
        stopper.join()

        assert ended_at - stopped_after_s[0] < 1.0

    def test_stream_that_ends_early_is_never_a_reply(self, harness: Harness, provider: Provider) -> None:
        provider.break_off()
        events: list[StreamEvent] = []

        with pytest.raises(StreamBroken):
            events.extend(
                harness.model.stream(request(user("Good morning"), model=harness.model_name), Cancellation())
            )

        assert not any(isinstance(event, Completed) for event in events)

    def test_failures_are_model_errors(self, harness: Harness, provider: Provider) -> None:
        provider.break_off()

        with pytest.raises(ModelError) as failure:
            list(
                harness.model.stream(request(user("Good morning"), model=harness.model_name), Cancellation())
            )

        assert str(failure.value)
        assert "Traceback" not in str(failure.value)

    def test_abandoned_stream_lets_the_next_one_run(self, harness: Harness) -> None:
        stream = harness.model.stream(request(user("Good morning"), model=harness.model_name), Cancellation())
        next(stream)
        stream.close()  # type: ignore[attr-defined]  # both implementations are generators

        assert completed(self.ask(harness, "Good evening"))

    def test_token_counts_are_positive_and_grow(self, harness: Harness) -> None:
        counts = [
            harness.model.count_tokens(request(*messages, model=harness.model_name, tools=tools))
            for messages, tools in (
                ((user("Good morning"),), ()),
                ((user("Good morning, how are you today?"),), ()),
                ((user("Good morning, how are you today?"),), (REMEMBER,)),
            )
        ]

        assert counts[0] > 0
        assert counts == sorted(set(counts))

    def test_limits_are_sane(self, harness: Harness) -> None:
        limits = harness.model.limits(harness.model_name)

        assert limits.window_tokens >= 4_000
        assert 0 < limits.max_output_tokens <= limits.window_tokens

    def test_one_instance_serves_many_threads(self, harness: Harness) -> None:
        words = [f"Message number {n} of many" for n in range(12)]
        with ThreadPoolExecutor(len(words)) as pool:
            replies = list(pool.map(lambda w: completed(self.ask(harness, w)), words))

        assert all(reply.stop_reason == "end_turn" for reply in replies)
        assert len({reply.message_id for reply in replies}) == len(words)

    def test_request_is_not_changed(self, harness: Harness) -> None:
        asked = request(user("Good morning"), model=harness.model_name, tools=(REMEMBER,))
        before = repr(asked)

        list(harness.model.stream(asked, Cancellation()))

        assert repr(asked) == before

    def test_has_a_name(self, harness: Harness) -> None:
        assert harness.model.name
        assert not any(isinstance(event, Retrying) for event in self.ask(harness, "Good morning"))
