"""How one text became another, word by word."""

from hypothesis import given
from hypothesis import strategies as st

from memoryapp.policies.wording import MAX_WORDS, Piece, changes


def joined(pieces: list[Piece], *sorts: str) -> str:
    return "".join(piece.text for piece in pieces if piece.sort in sorts)


def test_a_word_that_changed_is_removed_and_added():
    assert changes("I live in Lisbon.", "I live in Porto.") == [
        Piece("same", "I live in "),
        Piece("removed", "Lisbon"),
        Piece("added", "Porto"),
        Piece("same", "."),
    ]


def test_words_that_changed_together_are_one_change():
    pieces = changes("I live in old Lisbon by the sea", "I live in new Porto by the sea")

    assert [(piece.sort, piece.text) for piece in pieces[1:3]] == [
        ("removed", "old Lisbon"),
        ("added", "new Porto"),
    ]


def test_texts_that_share_little_are_two_texts():
    assert changes("I like figs", "Invoice 1041 was paid in May") == [
        Piece("removed", "I like figs"),
        Piece("added", "Invoice 1041 was paid in May"),
    ]


def test_very_long_texts_are_not_compared():
    old, new = "a " * MAX_WORDS, "a " * MAX_WORDS + "b"

    assert [piece.sort for piece in changes(old, new)] == ["removed", "added"]


@given(st.text(alphabet="ab .,\n", max_size=40), st.text(alphabet="ab .,\n", max_size=40))
def test_the_pieces_make_up_both_texts(old, new):
    pieces = changes(old, new)

    assert joined(pieces, "same", "removed") == old
    assert joined(pieces, "same", "added") == new
