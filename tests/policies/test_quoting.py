"""What is left of a message when facts have been taken from it."""

import pytest

from memoryapp.policies.quoting import is_covered, without

TEXT = "I live in Porto. The spare key is under the blue pot behind the garage."


def test_parts_are_cut_out_with_a_sign():
    assert without(TEXT, ["I live in Porto"]) == "… The spare key is under the blue pot behind the garage."
    assert without(TEXT, []) == TEXT
    assert without("I live in Porto", ["I live in Porto", "Porto"]) == "…"


@pytest.mark.parametrize(
    ("statements", "covered"),
    [
        ([], False),
        (["I live in Porto"], False),
        (["I live in Porto", "The spare key is under the blue pot behind the garage"], True),
        (["The key is in the blue pot by the garage"], False),
    ],
)
def test_facts_cover_a_message_when_they_say_most_of_its_words(statements, covered):
    assert is_covered(TEXT, statements) == covered


def test_nothing_is_covered_by_anything():
    assert is_covered("…", [])
