import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryapp.portability.importers.statements import statements


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One\nline\n\nTwo", ["One line", "Two"]),
        ("# Head\nText\n- a\n* b\n1. c\n", ["Text", "a", "b", "c"]),
        ("**Work**\n\nBakes **bread** daily", ["Bakes **bread** daily"]),
        ("---\n\n \n", []),
        ("- first\n  goes on\n- second", ["first goes on", "second"]),
    ],
)
def test_bullets_and_paragraphs_are_statements_and_headings_are_not(text, expected):
    assert list(statements(text, most_chars=100)) == expected


def test_by_line_each_line_is_one():
    assert list(statements("One\nTwo", most_chars=100, by_line=True)) == ["One", "Two"]


def test_a_long_paragraph_is_cut_after_sentences():
    assert list(statements("One two. Three four. Five.", most_chars=20)) == ["One two. Three four.", "Five."]


@given(st.text(alphabet="ab.\n -#*`1", max_size=200))
def test_a_statement_is_never_empty_nor_too_long(text):
    assert all(0 < len(one) <= 10 for one in statements(text, most_chars=10))
