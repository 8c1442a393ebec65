"""The provider finds a prompt too long that seemed to fit: one compaction, one more try, then the truth."""

import json
from dataclasses import replace

import pytest

from memoryapp.transcript import queries
from memoryapp.transcript.models import Message, Summary
from tests.modelserver import calls, fails, reply
from tests.modelserver.counting import count_prompt
from tests.talking import say
from tests.turns import COMMITTED, ask, published, reply_to, start, streamed

pytestmark = [COMMITTED, pytest.mark.usefixtures("nudges")]

CHEAP = "claude-haiku-5-5"
FAITHFUL = "## Goal\n- Plan the trip\n## Facts and decisions\n- The train is booked."
# As the API says it, and as a server that tells no numbers.
WORDINGS = [
    "prompt is too long: {tokens} tokens > 8000 maximum",
    "input is too long for requested model",
]


@pytest.fixture
def believed(configure, model):
    """``believed(40_000)``: a model with a window of 8,000 tokens, of which the configuration believes that."""

    def believed(window_tokens, name="tiny-8k"):
        own = {name: {"window_tokens": window_tokens, "max_output_tokens": 1_000}}
        configure(STRATA_CHAT_MODEL=name, STRATA_MODEL_SETTINGS=json.dumps(own))
        return model

    return believed


@pytest.fixture
def conversation(alice):
    """About 9,000 tokens that the strict server counts."""
    conversation = start(alice)
    for number in range(1, 31):
        said = f"Plan the trip, part {number}: the train is booked. " + "word " * 120
        say(conversation, said, f"Answer {number}. " + "word " * 150)
    return conversation


def stored(conversation) -> list[tuple[str, str]]:
    return list(
        Message.objects.filter(turn__conversation=conversation)
        .order_by("turn__seq", "role")
        .values_list("turn__status", "text")
    )


def refuses(message: str):
    return fails(400, "invalid_request_error", message)


def chat_calls(model):
    return [call for call in model.calls if call.body["model"] != CHEAP]


@pytest.mark.parametrize("window_tokens", [20_000, 40_000, 200_000])
def test_it_compacts_once_tries_again_and_succeeds(alice, conversation, believed, window_tokens):
    model = believed(window_tokens)
    model.script(*(reply(FAITHFUL, model=CHEAP) for _ in range(3)))
    before = stored(conversation)

    ended = ask(alice, "When do I leave?", conversation)

    refused, again = chat_calls(model)
    assert [refused.status, again.status] == [400, 200]
    assert (ended.status, reply_to(ended)) == ("completed", "You said: When do I leave?")
    assert count_prompt(again.body) + again.body["max_tokens"] <= 8_000
    [summary] = queries.summaries(alice.id, conversation.id)
    assert (summary.trigger, summary.method) == (Summary.Trigger.TOO_LONG, Summary.Method.MODEL)
    first = again.body["messages"][0]["content"][0]["text"]
    assert FAITHFUL in first
    told = [text for message in again.body["messages"] for text in texts_of(message)]
    assert told[-1] == "When do I leave?"
    parts = [text.split(":")[0].split()[-1] for text in told if text.startswith("Plan the trip, part")]
    assert parts == [str(number) for number in range(summary.last_seq + 1, 31)]
    assert stored(conversation)[: len(before)] == before
    model.reset()  # it refused, as it should


def texts_of(message) -> list[str]:
    return [block["text"] for block in message["content"] if block["type"] == "text"]


@pytest.mark.parametrize("wording", WORDINGS)
def test_it_works_with_every_wording_even_when_the_summarising_model_is_away(
    alice, conversation, believed, wording
):
    model = believed(40_000, name="tiny-16k")
    model.script(replace(fails(529, "overloaded_error"), model=CHEAP))
    model.script(replace(refuses(wording.format(tokens=9_500)), model="tiny-16k"))

    ended = ask(alice, "When do I leave?", conversation)

    refused, again = chat_calls(model)
    assert (ended.status, reply_to(ended)) == ("completed", "You said: When do I leave?")
    assert count_prompt(again.body) <= 0.75 * count_prompt(refused.body)
    [summary] = queries.summaries(alice.id, conversation.id)
    assert (summary.method, summary.fallback_reason) == (Summary.Method.EXTRACTIVE, "model_overloaded")
    model.reset()


def test_refused_again_it_fails_with_a_clear_message_and_the_conversation_is_unharmed(
    alice, conversation, believed
):
    model = believed(40_000)
    model.script(*(reply(FAITHFUL, model=CHEAP) for _ in range(3)))
    too_long = replace(refuses("prompt is too long: 9000 tokens > 8000 maximum"), model="tiny-8k")
    model.script(too_long, too_long)
    before = stored(conversation)

    ended = ask(alice, "When do I leave?", conversation)

    assert (ended.status, ended.error_code, reply_to(ended)) == ("failed", "model_context_too_long", "")
    assert ended.error_message == "The conversation no longer fits the window of tiny-8k."
    assert len(chat_calls(model)) == 2
    assert queries.summaries(alice.id, conversation.id).count() == 1
    assert stored(conversation)[: len(before)] == before
    assert published(ended)[-1] == {"type": "end", "status": "failed"}
    again = ask(alice, "And now?", conversation)
    assert reply_to(again) == "You said: And now?"
    model.reset()


def test_in_the_middle_of_a_run_nothing_is_said_or_done_twice(alice, conversation, believed):
    model = believed(40_000, name="tiny-32k")
    model.script(
        reply("Let me see. ", calls("calculate", expression="6 * 7"), model="tiny-32k"),
        replace(refuses("prompt is too long: 12000 tokens > 8000 maximum"), model="tiny-32k"),
        reply("At 42.", model="tiny-32k"),
        reply(FAITHFUL, model=CHEAP),
    )

    ended = ask(alice, "When do I leave?", conversation)

    assert (ended.status, reply_to(ended)) == ("completed", "Let me see. \n\nAt 42.")
    assert streamed(ended) == reply_to(ended)
    tools = [event["status"] for event in published(ended) if event["type"] == "tool"]
    assert tools == ["running", "done"]
    again = chat_calls(model)[-1].body["messages"]
    assert FAITHFUL in again[0]["content"][0]["text"]
    assert again[-1]["content"][0]["type"] == "tool_result"
    model.reset()


def test_a_message_that_alone_is_too_long_fails_and_stays_stored(alice, conversation, believed):
    model = believed(40_000)

    ended = ask(alice, "word " * 9_000, conversation)

    assert (ended.status, ended.error_code) == ("failed", "model_context_too_long")
    assert len(chat_calls(model)) == 2
    assert queries.text_of(ended, Message.Role.USER) == ("word " * 9_000).strip()
    model.reset()
