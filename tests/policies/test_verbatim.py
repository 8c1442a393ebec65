"""Words are found in a text however often it was written as JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryapp.policies.verbatim import Needles, Wanted, holds_any

# What is remembered holds no control characters; a backslash has a test of its own.
CHARACTERS = st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\\")
WORDS = st.text(CHARACTERS, min_size=1).filter(str.strip)


@given(words=WORDS, around=st.text(CHARACTERS), times=st.integers(0, 3), is_ascii=st.booleans())
def test_words_are_found_in_json_inside_of_json(words, around, times, is_ascii):
    text = f"{around} {words} {around}"
    for _ in range(times):
        text = json.dumps({"note": text}, ensure_ascii=is_ascii)

    assert Wanted([words]).is_in(text)


@pytest.mark.parametrize(
    "text", [r"It is in C:\new\notes", json.dumps(r"It is in C:\new\notes"), "it is in c:\\NEW\\notes"]
)
def test_a_path_is_found_although_its_backslashes_look_like_escapes(text):
    assert Wanted([r"C:\new\notes"]).is_in(text)
    assert Wanted(["notes"]).is_in(text)


def test_other_words_are_not_found():
    wanted = Wanted(["I like figs", "", " "])

    assert not wanted.is_in("I like plums")
    assert not wanted.is_in("")
    assert wanted.is_in("so I  LIKE\nfigs.")


def test_words_are_found_in_plain_texts_whatever_their_case():
    assert holds_any(["Plan", "I LIKE figs"], ["i like figs"])
    assert not holds_any(["I like", "figs"], ["I like figs"])
    assert not holds_any(["I like figs"], [])


# Short and long ones, many with the same beginning.
NEEDLES = st.lists(st.text("ab ", min_size=1, max_size=30), max_size=20)


@given(needles=NEEDLES, around=st.text("ab ", max_size=40), data=st.data())
def test_needles_are_found_as_they_stand_and_nothing_else_is(needles, around, data):
    hidden = data.draw(st.sampled_from(["", *needles]))
    text = f"{around}{hidden}{around}"

    assert Needles(needles).is_one_in(text) is any(needle in text for needle in needles)


@pytest.mark.parametrize("needle", ["figs", "I like figs and plums", "I like figs"])
def test_a_needle_of_any_length_is_found_at_either_end(needle):
    needles = Needles([needle, "something else that is long"])

    assert needles.is_one_in(needle)
    assert needles.is_one_in(f"So {needle}")
    assert needles.is_one_in(f"{needle}.")
    assert not needles.is_one_in(needle[:-1])
    assert not needles.is_one_in(needle.upper())
