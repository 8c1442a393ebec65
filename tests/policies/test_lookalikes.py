"""Words that look alike are found, and nothing but them is cut."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryapp.policies.lookalikes import Sought, latin, shapes

MARK = "#"
UNSEEN = "\u00ad\u200b\u200d\u2060\ufeff\ufe0f\U000e0041"
FORMS = ("NFC", "NFD", "NFKC", "NFKD")

letters = st.sampled_from("aeßéñåκσςיםशक가각ｶﾞガñ") | st.characters(codec="utf-8", exclude_characters="\x00")
words = st.text(letters, min_size=1, max_size=8).filter(lambda text: any(map(str.isalnum, text)))
anything = st.text(letters | st.sampled_from(UNSEEN + " \n" + MARK), max_size=20)


@st.composite
def written_otherwise(draw, text: str) -> str:
    """The same words in another form, another case, with what nobody sees in between."""
    text = unicodedata.normalize(draw(st.sampled_from(FORMS)), text)
    if draw(st.booleans()):
        text = text.swapcase() if text.swapcase().casefold() == text.casefold() else text
    return "".join(char + draw(st.sampled_from(["", *UNSEEN])) for char in text)


@pytest.mark.parametrize(
    ("sought", "text", "left"),
    [
        ("café", "The Cafe\u0301 is shut", "The # is shut"),
        ("cafe\u0301", "The CAFÉ is shut", "The # is shut"),
        ("zanzibar", "in Zan\u00adzi\u200bbar, soon", "in #, soon"),
        ("zanzibar", "in ｚａｎｚｉｂａｒ, soon", "in #, soon"),
        ("zan\u200bzi bar", "zanzi\u00a0bar\nzanzi  \n bar", "#\n#"),
        ("Maße", "alle MASSE hier", "alle # hier"),
        ("office", "the o\ufb03ce", "the #"),  # in a ligature
        ("가각", unicodedata.normalize("NFD", "나가각"), unicodedata.normalize("NFD", "나") + "#"),
        ("ガス", "ｶﾞｽ料金", "#料金"),
        ("of", "o\ufb00ice", "#ice"),  # of what is one character, all goes
        ("4711", "４７１１ and ④⑦①①", "# and #"),
    ],
)
def test_what_looks_alike_is_cut_and_the_rest_stays(sought, text, left):
    assert Sought(sought).replaced(text, MARK) == left


@pytest.mark.parametrize(
    ("sought", "text"),
    [("cafe", "café"), ("cafe", "cafe\u0301"), ("가", unicodedata.normalize("NFD", "각")), ("ab", "a b")],
)
def test_another_letter_is_another_word(sought, text):
    assert not Sought(sought).is_in(text)
    assert Sought(sought).replaced(text, MARK) == text


@pytest.mark.parametrize("words", ["", " \n", "\u200b\u00ad", "\ufeff \u2060"])
def test_words_that_nobody_sees_are_none(words):
    assert not Sought(words)
    assert not Sought(words).is_in("anything")
    assert Sought(words).replaced("any\u200bthing", MARK) == "any\u200bthing"


@given(st.data(), anything, words, anything)
def test_however_they_are_written_they_are_found_and_gone(data, before, sought, after):
    text = f"{before} {data.draw(written_otherwise(sought))} {after}"
    words_ = Sought(sought)

    left = words_.replaced(text, "\x00")

    assert words_.is_in(text)
    assert not words_.is_in(left)


@given(st.data(), words, anything)
def test_what_is_cut_is_what_stood_there_and_all_else_is_as_it_was(data, sought, around):
    text = f"{around} {data.draw(written_otherwise(sought))} {around}"
    words_ = Sought(sought)

    cut = words_.found_in(text)
    kept = words_.replaced(text, "\x00").split("\x00")

    assert "".join(part + gone for part, gone in zip(kept, [*cut, ""], strict=True)) == text
    assert all(map(words_.is_in, cut))


@given(words, anything)
def test_found_and_cut_are_one(sought, text):
    words_ = Sought(sought)

    assert words_.is_in(text) == bool(words_.found_in(text))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("alice", "Alice"),
        ("alice", "ａｌｉｃｅ"),
        ("alice", "al\u00adice"),
        ("alice", "\u0430li\u0441e"),  # in Cyrillic
        ("BETA", "\u0392\u0395\u03a4\u0391"),  # in Greek
        ("zoë", "zo\u0451"),
        ("нина", "НИНА"),
    ],
)
def test_names_that_cannot_be_told_apart_share_a_shape(one, other):
    assert shapes(one) & shapes(other)


@pytest.mark.parametrize(
    ("one", "other"), [("alice", "alicia"), ("zoë", "zoe"), ("anna", "анна"), ("m", "rn")]
)
def test_names_that_differ_to_the_eye_share_none(one, other):
    assert not shapes(one) & shapes(other)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I l\u043eve \u0441offee", "I love coffee"),  # in Cyrillic
        ("I l\u03bf\u03bde coffee", "I love coffee"),  # in Greek
        ("I l\u0585ve c\u0585\u0584\u0584ee", "I love coffee"),  # in Armenian
        ("I love c\u1d0fffee, \u0261r\u0251nd", "I love coffee, grand"),  # in phonetic Latin
        ("Caf\u0435\u0301", "Caf\u00e9"),
        ("10\u2075 caf\u00e9s \u91d1", "10\u2075 caf\u00e9s \u91d1"),
    ],
)
def test_letters_become_the_latin_ones_that_they_look_like_and_all_else_stays(text, found):
    assert latin(text) == found


@given(st.text(st.characters(codec="ascii")))
def test_what_is_ascii_stays(text):
    assert latin(text) == text


@given(st.text(st.characters(codec="utf-8")))
def test_it_does_nothing_twice(text):
    assert latin(latin(text)) == latin(text)
