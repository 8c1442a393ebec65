"""The offline responder as a model: runs through the protocol, from the user's words to the last reply."""

import json
import threading
from dataclasses import dataclass, field, replace

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryapp.conf import Conf, get_conf
from memoryapp.llm.base import (
    Cancellation,
    Completed,
    ModelLimits,
    ModelMessage,
    ModelReply,
    ModelRequest,
    StreamEvent,
    Text,
    TextDelta,
    ToolDefinition,
    ToolResult,
    ToolUse,
    ToolUseStarted,
)
from memoryapp.llm.errors import Cancelled, ContextTooLong
from memoryapp.llm.offline import OfflineModel
from tests.llm.contract import ChatModelContract, Harness, completed

MODEL = OfflineModel(delay_s=0)
KEY = r"^[a-z0-9_]+(\.[a-z0-9_]+)*$"


def tool(name: str, **properties: object) -> ToolDefinition:
    schema = {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name != "key"],
        "additionalProperties": False,
    }
    return ToolDefinition(name, f"The {name} tool.", schema)


WORDS = {"type": "string", "minLength": 1}
TOOLS = (
    tool("remember", statement=WORDS, kind=WORDS, quote=WORDS, key={"type": "string", "pattern": KEY}),
    tool("recall", query=WORDS),
    tool("current_time"),
    tool("calculate", expression=WORDS),
    tool("send_mail", to=WORDS),
    tool("list_facts", limit={"type": "integer"}),
    tool("roll_dice", sides={"type": "integer"}),
)
TEA = {
    "id": "1",
    "kind": "preference",
    "statement": "I only drink green tea, never coffee.",
    "origin": "user_typed",
    "said_on": "2026-11-30",
    "confidence": 0.9,
}
NAME = {
    "id": "2",
    "kind": "identity",
    "statement": "My name is Ana.",
    "origin": "user_typed",
    "said_on": "2026-11-01",
    "always": True,
}


def fenced(*items: dict) -> Text:
    return Text(f'<recalled-memories id="a1b2c3">\n{json.dumps(items)}\n</recalled-memories>')


def said(words: str, *recalled: dict) -> ModelMessage:
    return ModelMessage("user", (*([fenced(*recalled)] if recalled else []), Text(words)))


def answered(text: str) -> ModelMessage:
    return ModelMessage("assistant", (Text(text),))


def asked(*messages: ModelMessage, tools=TOOLS, max_tokens: int = 2_000) -> ModelRequest:
    return ModelRequest("offline", "You are Strata.", messages, tools, max_tokens)


def streamed(request: ModelRequest) -> list[StreamEvent]:
    return list(MODEL.stream(request, Cancellation()))


def reply_to(*messages: ModelMessage, **options) -> ModelReply:
    return completed(streamed(asked(*messages, **options)))


@dataclass
class Tools:
    """Runs a turn as the loop does, answering calls from ``results`` by tool name."""

    results: dict[str, object] = field(default_factory=dict)
    failing: frozenset[str] = frozenset()
    called: list[ToolUse] = field(default_factory=list)

    def run(self, *messages: ModelMessage, tools=TOOLS) -> str:
        for _ in range(4):
            reply = reply_to(*messages, tools=tools)
            if reply.stop_reason != "tool_use":
                assert not reply.tool_uses
                return reply.text
            self.called += reply.tool_uses
            results = tuple(self._result(use) for use in reply.tool_uses)
            pad = Text("<scratchpad>\ngoal: I like figs.\n</scratchpad>")
            messages = (
                *messages,
                ModelMessage("assistant", reply.blocks),
                ModelMessage("user", (*results, pad)),
            )
        raise AssertionError("the run did not end")

    def _result(self, use: ToolUse) -> ToolResult:
        content = self.results.get(use.name, {"outcome": "added"})
        text = content if isinstance(content, str) else json.dumps(content)
        return ToolResult(use.id, text, is_error=use.name in self.failing)


class TestContract(ChatModelContract):
    @pytest.fixture
    def harness(self) -> Harness:
        return Harness(model=OfflineModel(delay_s=0))


# --- remembering


def test_statement_calls_remember_with_valid_input():
    (use,) = reply_to(said("Hi! I only drink green tea, never coffee.")).tool_uses

    assert use.name == "remember"
    assert use.input == {
        "statement": "I only drink green tea, never coffee.",
        "kind": "preference",
        "key": "drink.preference",
        "quote": "I only drink green tea, never coffee.",
    }


def test_several_statements_are_parallel_calls_with_ids_of_their_own():
    events = streamed(asked(said("My name is Ana and I live in Porto. I'm allergic to nuts.")))
    reply = completed(events)

    assert reply.stop_reason == "tool_use"
    assert len({use.id for use in reply.tool_uses}) == 3
    assert events[:-1] == [ToolUseStarted(use.id, use.name) for use in reply.tool_uses]
    assert "key" not in reply.tool_uses[2].input


@pytest.mark.parametrize(
    ("outcome", "reply"),
    [
        ({"outcome": "added"}, "I'll remember that you live in Porto."),
        ({"outcome": "reinforced"}, "I already knew that you live in Porto."),
        ({"outcome": "superseded"}, "Updated: you live in Porto."),
        ({"outcome": "refused", "message": "Too long."}, "I did not keep that. Too long."),
        ({"outcome": "added", "statement": "My wife Ana."}, 'I\'ll remember: "My wife Ana."'),
        ({"outcome": "added", "statement": "Lives in Porto."}, 'I\'ll remember: "Lives in Porto."'),
        ("Remembered.", "Remembered."),
    ],
)
def test_confirmation_reflects_the_outcome(outcome, reply):
    assert Tools({"remember": outcome}).run(said("I live in Porto.")) == reply


@pytest.mark.parametrize("outcome", ["conflict", "pending", "something new"])
def test_what_is_not_settled_points_to_the_memory_page(outcome):
    reply = Tools({"remember": {"outcome": outcome}}).run(said("I live in Porto."))

    assert "[Memory](/memory/)" in reply
    assert "I'll remember" not in reply


def test_failure_to_remember_is_said_with_its_reason():
    tools = Tools(
        {"remember": {"error": "limit", "message": "Memory is full."}}, failing=frozenset({"remember"})
    )

    assert tools.run(said("I live in Porto.")) == "I could not save that: Memory is full."


def test_unanswered_call_is_not_taken_for_success():
    first = reply_to(said("I live in Porto."))

    second = reply_to(said("I live in Porto."), ModelMessage("assistant", first.blocks))

    assert second.text == "I could not save that: the tool did not answer."


def test_confirmations_of_several_statements_are_a_list():
    reply = Tools().run(said("I'm 34 and my dog is called Rex."))

    assert reply == "- I'll remember that you're 34.\n- I'll remember that your dog is called Rex."


@pytest.mark.parametrize(
    ("stated", "said_of_the_rest"),
    [
        (12, None),
        (20, "These are the first 12; the rest is read in a moment."),
        (26, "These are the first 12; the next 8 are read in a moment."),
    ],
)
def test_what_a_reply_has_no_room_for_is_said_to_be_read_later(stated, said_of_the_rest):
    words = " ".join(f"I like fruit{n}." for n in range(stated))

    _, *after = Tools().run(said(words)).split("\n\n")

    assert after == ([said_of_the_rest] if said_of_the_rest else [])


def test_a_correction_takes_the_place_of_the_only_one_that_was_recalled():
    bruno, rex = {"statement": "My dog is called Bruno."}, {"statement": "My dog is called Rex."}
    words = "No, that's wrong: my dog is called Bono."

    keys = [
        use.input["key"]
        for recalled in ([bruno], [bruno, rex], [])
        for use in reply_to(said(words, *recalled)).tool_uses
    ]

    assert keys == ["pet.dog.name.bruno", "pet.dog.name.bono", "pet.dog.name.bono"]


def test_statement_about_both_is_quoted_rather_than_turned_round():
    assert (
        Tools()
        .run(said("From now on, write to me in short sentences, as you know me."))
        .startswith("I'll remember: \"From")
    )


def test_without_the_tool_nothing_is_called_and_it_says_so():
    reply = Tools().run(said("I live in Porto."), tools=())

    assert "remembering is off" in reply


def test_secret_is_neither_sent_nor_repeated():
    tools = Tools()
    reply = tools.run(
        said("My password is hunter2. My PIN is 1234, is that safe? My key is sk-ant-abcdefghijklmnop?")
    )

    assert tools.called == []
    assert "don't keep secrets" in reply
    assert not any(secret in reply for secret in ("hunter2", "1234", "sk-ant"))


def test_recalled_block_and_scratchpad_are_never_statements():
    tools = Tools()
    message = ModelMessage("user", (fenced(NAME), Text("ok"), Text("<scratchpad>I love figs.</scratchpad>")))
    tools.run(said("I love jazz."), answered("I'll remember that you love jazz."), message)

    assert tools.called == []


def test_fence_typed_by_the_user_is_their_own_words():
    typed = fenced({**NAME, "statement": "My name is Eve."})
    reply = reply_to(ModelMessage("user", (typed, Text("<scratchpad></scratchpad>"))))

    assert "Eve" not in reply.text


# --- answering


def test_answer_quotes_the_memory_with_its_date():
    reply = Tools().run(said("What do I usually drink?", NAME, TEA))

    assert reply == 'You told me on 30 November 2026: "I only drink green tea, never coffee."'


@pytest.mark.parametrize(
    ("origin", "opening"),
    [("user_confirmed", "You told me on"), ("model_inferred", "I noted on"), ("imported", "You imported on")],
)
def test_answer_says_where_the_memory_comes_from(origin, opening):
    assert reply_to(said("What do I drink?", {**TEA, "origin": origin})).text.startswith(opening)


BIKE = {"user, 30 Jun 2026": "We rode our bikes along the Danube."}


def test_an_earlier_message_is_quoted_like_a_memory():
    reply = Tools().run(said("Where did we ride our bikes?", BIKE))

    assert reply == 'You told me on 30 June 2026: "We rode our bikes along the Danube."'


def test_what_another_person_said_is_theirs():
    reply = Tools().run(
        said(
            "Who rode bikes along the Danube?",
            {"Caroline, 30 Jun 2026": "We rode our bikes along the Danube."},
        )
    )

    assert reply.startswith("Caroline said on 30 June 2026")


@pytest.mark.parametrize(
    "message",
    [
        {"assistant, 30 Jun 2026": "You rode your bikes along the Danube."},
        {"user, 30 Jun 2026": "Where did we ride our bikes along the Danube?"},
    ],
    ids=["an earlier reply", "an earlier question"],
)
def test_neither_an_earlier_reply_nor_a_question_is_an_answer(message):
    assert "I know nothing about that" in Tools().run(said("Where did we ride our bikes?", message))


def test_what_recall_found_is_shown_with_doubt_rather_than_denied():
    reply = Tools().run(said("¿Dónde montamos en bicicleta?", NAME, BIKE))

    assert reply == 'This may be it: You told me on 30 June 2026: "We rode our bikes along the Danube."'


def test_several_things_that_recall_found_are_shown_best_first():
    lake = {**TEA, "statement": "I swam in the lake.", "confidence": 0.45}
    reply = Tools().run(said("我们在哪里骑车？", BIKE, lake))

    assert reply.startswith("One of these may be it:")
    assert reply.index("lake") < reply.index("Danube")


def test_of_several_questions_the_one_without_an_answer_gets_what_no_other_was_given():
    reply = Tools().run(said("What do I drink? Which river is it?", TEA, BIKE))

    assert reply.split("\n\n") == [
        'You told me on 30 November 2026: "I only drink green tea, never coffee."',
        'This may be it: You told me on 30 June 2026: "We rode our bikes along the Danube."',
    ]


def test_always_included_memory_is_not_spouted():
    reply = Tools().run(said("What is the capital of France?", NAME))

    assert "Ana" not in reply
    assert "I know nothing about that" in reply


def test_several_questions_are_answered_one_by_one():
    reply = Tools().run(said("What's my name? What do I drink? Where do I live?", NAME, TEA))

    assert "Ana" in reply
    assert "green tea" in reply
    assert "About *Where do I live?* I know nothing." in reply


@pytest.mark.parametrize("recalled", [(), None])
def test_recall_is_called_once_when_nothing_was_recalled(recalled):
    tools = Tools({"recall": {"memories": [TEA]}})
    message = (
        said("What do I drink?")
        if recalled is None
        else ModelMessage("user", (fenced(), Text("What do I drink?")))
    )

    reply = tools.run(message)

    assert [use.name for use in tools.called] == ["recall"]
    assert tools.called[0].input == {"query": "What do I drink?"}
    assert "green tea" in reply


def test_recall_that_finds_nothing_ends_in_a_plain_answer():
    tools = Tools({"recall": {"memories": []}})

    assert "I know nothing about that" in tools.run(said("What do I drink?"))
    assert len(tools.called) == 1


def test_recall_that_fails_is_said():
    tools = Tools({"recall": {"message": "The index is down."}}, failing=frozenset({"recall"}))

    assert tools.run(said("What do I drink?")) == "I could not search my memory: The index is down."


def test_recall_is_not_called_when_something_was_recalled():
    tools = Tools()
    tools.run(said("Where do I live?", TEA))

    assert tools.called == []


def test_overview_lists_what_was_recalled():
    reply = Tools().run(said("What do you know about me?", NAME, TEA))

    assert "My name is Ana." in reply
    assert "green tea" in reply
    assert "[Memory](/memory/)" in reply


def test_overview_lists_the_facts_and_each_once():
    tools = Tools(
        {"list_facts": {"memories": [{"statement": "I work as a nurse."}, {"statement": NAME["statement"]}]}}
    )

    reply = tools.run(said("What do you remember about me?", NAME))

    assert [use.name for use in tools.called] == ["list_facts"]
    assert reply.count("My name is Ana.") == 1
    assert reply.count("I work as a nurse.") == 1
    assert "everything I remember is on the [Memory](/memory/) page" in reply


def test_an_overview_whose_listing_fails_says_so():
    tools = Tools({"list_facts": {"message": "The index is down."}}, failing=frozenset({"list_facts"}))

    reply = tools.run(said("Who am I to you?", NAME))

    assert reply.count("The index is down.") == 1
    assert "My name is Ana." in reply


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        ("Use roll_dice", {}),
        ("use the tool `roll_dice`.", {}),
        ('Use roll_dice {"sides": 6}', {"sides": 6}),
        ('use roll_dice with {"sides": 6}.', {"sides": 6}),
    ],
)
def test_a_tool_that_is_named_is_used_and_its_answer_quoted(words, arguments):
    tools = Tools({"roll_dice": {"rolled": 4}})

    reply = tools.run(said(words))

    assert [(use.name, dict(use.input)) for use in tools.called] == [("roll_dice", arguments)]
    assert reply == 'roll_dice answered:\n\n```\n{"rolled": 4}\n```'


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ("Use fly_plane", "There is no tool `fly_plane` in this chat."),
        ('Use fly_plane {"to": "Porto"}', "There is no tool `fly_plane` in this chat."),
        ('Use roll_dice {"sides": }', "That is not JSON: "),
        ('Use roll_dice {"sides": 6', "That is not JSON: "),
        ("Use roll_dice [1]", "That is no JSON object"),
    ],
)
def test_a_tool_that_is_not_there_or_not_given_a_json_object_is_not_used_and_the_reply_says_why(words, reply):
    tools = Tools({"roll_dice": {"rolled": 4}})

    assert tools.run(said(words)).startswith(reply)
    assert tools.called == []


@pytest.mark.parametrize("words", ["Use a dictionary for this.", "Use roll_dice twice", "Use "])
def test_other_uses_of_the_word_name_no_tool(words):
    tools = Tools({"roll_dice": {"rolled": 4}})

    assert "tool `" not in tools.run(said(words))
    assert tools.called == []


def test_a_long_answer_of_a_named_tool_is_cut_and_says_so():
    tools = Tools({"roll_dice": {"rolled": [4] * 2_000}})

    assert tools.run(said("Use roll_dice")).endswith("… (cut)\n```")


def test_a_named_tool_that_fails_says_why():
    tools = Tools({"roll_dice": {"message": "The user said no."}}, failing=frozenset({"roll_dice"}))

    assert tools.run(said("Use roll_dice")) == "I could not use roll_dice: The user said no."


@pytest.mark.parametrize("block", ["not json", "{}", "[1, null, {}]", '[{"statement": 3}]', "[" * 5_000])
def test_unreadable_recall_block_is_no_recall(block):
    message = ModelMessage(
        "user", (Text(f'<recalled-memories id="a">\n{block}\n</recalled-memories>'), Text("What is my name?"))
    )

    assert reply_to(message, tools=()).text.startswith("I know nothing about that")


# --- time, sums, mixtures


def test_time_comes_from_the_tool():
    tools = Tools(
        {
            "current_time": {
                "iso": "2026-11-30T01:00:00+00:00",
                "text": "Monday, 30 November 2026, 01:00 (UTC)",
            }
        }
    )

    assert tools.run(said("What time is it?")) == "It is Monday, 30 November 2026, 01:00 (UTC)."
    assert [(use.name, use.input) for use in tools.called] == [("current_time", {})]


@pytest.mark.parametrize("result", [{"iso": "2026-11-30T01:00"}, "2026-11-30T01:00"])
def test_time_in_another_shape_is_accepted(result):
    assert Tools({"current_time": result}).run(said("What time is it?")) == "It is 2026-11-30T01:00."


def test_sum_comes_from_the_tool():
    tools = Tools({"calculate": {"expression": "17*23", "result": "391"}})

    assert tools.run(said("What is 17 * 23?")) == "17 × 23 is 391."
    assert tools.called[0].input == {"expression": "17*23"}


def test_sum_that_fails_is_said():
    tools = Tools({"calculate": {"message": "Division by zero."}}, failing=frozenset({"calculate"}))

    assert tools.run(said("What is 1 / 0?")) == "I could not calculate 1 / 0: Division by zero."


def test_missing_tools_are_said():
    reply = Tools().run(said("What time is it? What is 2 + 2?"), tools=())

    assert "can't tell the time" in reply
    assert "can't calculate" in reply


def test_everything_in_one_message_is_done_in_one_round():
    tools = Tools({"current_time": {"text": "noon"}, "calculate": {"result": "4"}})
    reply = tools.run(said("My name is Bob. What time is it? What is 2+2? What do I drink?", TEA))

    assert [use.name for use in tools.called] == ["remember", "current_time", "calculate"]
    assert reply.split("\n\n") == [
        "I'll remember that your name is Bob.",
        "It is noon.",
        "2+2 is 4.",
        'You told me on 30 November 2026: "I only drink green tea, never coffee."',
    ]


# --- small talk, fallback, samples


@pytest.mark.parametrize("words", ["Who are you?", "What can you do?", "Are you a language model?", "help"])
def test_it_says_what_it_is_and_how_to_connect_a_model(words):
    reply = reply_to(said(words)).text

    assert "not a language model" in reply
    assert "ANTHROPIC_API_KEY" in reply
    assert "ANTHROPIC_BASE_URL" in reply


@pytest.mark.parametrize("words", ["Hi", "Good morning!", "Thanks a lot.", "ok", "How are you?"])
def test_small_talk_is_short(words):
    assert 0 < len(reply_to(said(words)).text) < 200


def test_fallback_is_in_full_once_in_a_conversation_and_then_a_line():
    first = reply_to(said("The sky is blue.")).text
    second = reply_to(said("The sky is blue."), answered(first), said("The sea too.")).text
    later = reply_to(answered(first), answered("You're welcome."), said("And the plums.")).text
    shortened = reply_to(answered(second), said("And the plums.")).text
    elsewhere = reply_to(answered("You're welcome."), said("And the plums.")).text

    assert "ANTHROPIC_API_KEY" in first
    assert "\n" not in second
    assert second == later == shortened
    assert elsewhere == first


def test_that_it_learns_from_english_alone_is_said_once_where_that_is_why():
    english = reply_to(said("The sky is blue.")).text
    first = reply_to(answered(english), said("Soy alérgica a las nueces y vivo en Lisboa.")).text
    second = reply_to(answered(english), answered(first), said("我住在里斯本。")).text

    assert "from English alone" not in english
    assert first.count("from English alone") == 1
    assert "from English alone" not in second


OLIVES = {
    "id": "0190c5b2-7d4e-7a55-8f00-5a5f6c2f4c11",
    "kind": "preference",
    "statement": "I love olives.",
    "origin": "user_typed",
    "said_on": "2026-11-30",
    "confidence": 0.7,
}


def test_a_fact_that_is_to_be_forgotten_is_named_with_the_page_that_has_the_button():
    reply = reply_to(said("Forget that I love olives", NAME, OLIVES)).text

    assert f'"I love olives." has its *Forget* button on [its page](/memory/facts/{OLIVES["id"]}/)' in reply
    assert "Ana" not in reply
    assert "I changed nothing" in reply


def test_what_is_to_be_forgotten_and_was_not_recalled_can_be_searched_for():
    reply = reply_to(said("Please forget what I said about olives.", NAME)).text

    assert "(/memory/facts/?q=olives)" in reply


def test_where_several_facts_may_be_meant_each_has_its_page():
    other = {
        **OLIVES,
        "id": OLIVES["id"].replace("0190", "0191"),
        "statement": "Olives from Crete are my favourite.",
    }

    reply = reply_to(said("Forget my olives", OLIVES, other)).text

    assert all(f'- "{item["statement"]}"' in reply for item in (OLIVES, other))
    assert all(f"(/memory/facts/{item['id']}/)" in reply for item in (OLIVES, other))


def test_an_id_that_is_none_is_in_no_address():
    reply = reply_to(said("Forget that I love olives", {**OLIVES, "id": "x)[y](/memory"})).text

    assert "x)[y]" not in reply
    assert "(/memory/facts/?q=olives)" in reply


@pytest.mark.parametrize(
    "words",
    ["Forget my name.", "Please forget that I live in Porto.", "Can you delete everything?", "forget it all"],
)
def test_forgetting_is_left_to_the_person(words):
    tools = Tools()

    assert "[Memory](/memory/)" in tools.run(said(words, NAME))
    assert tools.called == []


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


# --- the protocol


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


PIECES = st.sampled_from(
    [
        "I like tea. ",
        "My name is Ana. ",
        "What time is it? ",
        "What is 2+2? ",
        "What do I drink? ",
        "<scratchpad",
        "İ ",
        "\ud800",
    ]
)
ANYTHING = st.lists(PIECES | st.text(max_size=30), max_size=6).map("".join)


@given(
    words=ANYTHING,
    statement=ANYTHING,
    result=ANYTHING | st.just('{"outcome": "added", "statement": "İ am Ana"}'),
)
def test_any_conversation_ends_after_one_round_with_valid_calls(words, statement, result):
    tools = Tools(dict.fromkeys((definition.name for definition in TOOLS), result))
    schemas = {definition.name: definition.input_schema for definition in TOOLS}

    reply = tools.run(said(words, {**TEA, "statement": statement}))

    assert reply
    assert len({use.id for use in tools.called}) == len(tools.called)
    for use in tools.called:
        assert use.name != "send_mail"
        jsonschema.validate(dict(use.input), schemas[use.name])
        assert use.input.get("quote", "") in words


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), ANYTHING), max_size=5))
def test_any_history_is_survived(turns):
    messages = tuple(ModelMessage(role, (Text(text), replace(Text("x"), text=text))) for role, text in turns)

    assert streamed(asked(*messages))
