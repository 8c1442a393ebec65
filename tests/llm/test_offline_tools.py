"""The tools that the offline responder uses for what it is asked: time, sums, and whatever is named."""

import pytest

from tests.llm.offline_calls import TEA, Tools, said


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
