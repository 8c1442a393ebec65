"""The short form of a tool's result."""

import json

import pytest

from memoryapp.context.short_results import brief


def test_a_long_list_keeps_its_head_and_says_how_many_are_missing():
    items = [{"id": number, "text": "a word " * 20} for number in range(40)]

    short = json.loads(brief(json.dumps(items)))

    assert short == [*items[:3], {"omitted": 37}]


def test_an_object_keeps_its_keys_and_the_beginning_of_its_long_strings():
    page = {"title": "A page", "body": "word " * 1_000, "links": list(range(500)), "at": {"deep": "x" * 900}}

    short = json.loads(brief(json.dumps(page)))

    assert short == {
        "title": "A page",
        "body": ("word " * 40) + "…",
        "links": [0, 1, 2, {"omitted": 497}],
        "at": {"deep": "x" * 200 + "…"},
    }


@pytest.mark.parametrize("is_error", [True, False])
def test_an_error_keeps_its_code_and_message_whole(is_error):
    error = {"error": "too_many_rows", "message": "Ask for less. " * 60, "rows": ["a row " * 20] * 80}

    short = json.loads(brief(json.dumps(error), is_error=is_error))

    assert (short["error"], short["message"]) == (error["error"], error["message"])
    assert short["rows"][-1] == {"omitted": 77}


def test_plain_text_keeps_head_and_tail():
    text = "The beginning. " + "word " * 2_000 + "The end."

    short = brief(text)

    assert short.startswith("The beginning. word")
    assert short.endswith("word The end.")
    assert "characters omitted …]" in short
    assert len(short) <= 800


def test_half_a_surrogate_pair_in_a_result_can_still_be_sent():
    short = brief('["' + "\\ud800" * 400 + '"]')

    assert json.loads(short) == ["\ud800" * 200 + "…"]
    short.encode()


@pytest.mark.parametrize("is_error", [True, False])
def test_an_error_in_plain_text_keeps_more_than_other_text(is_error):
    text = "word " * 300

    assert (brief(text, is_error=is_error) == text) is is_error


def test_a_small_result_is_not_worth_shortening():
    assert brief("[1, 2, 3, 4, 5, 6, 7, 8]") == "[1, 2, 3, 4, 5, 6, 7, 8]"
