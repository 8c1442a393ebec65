"""Reasons: what can be read, in one line, and no secret."""

import pytest

from memoryapp.policies.reasons import ReasonMissingError, cleaned


@pytest.mark.parametrize(
    ("reason", "kept"),
    [
        ("  Ticket\n7 ", "Ticket 7"),
        ("Tick\u200bet 7", "Ticket 7"),
        ("Grund: Prüfung", "Grund: Prüfung"),
        ("調査中", "調査中"),
    ],
)
def test_what_can_be_read_is_kept_in_one_line(reason, kept):
    assert cleaned(reason, max_chars=20) == kept


@pytest.mark.parametrize(
    "reason",
    [
        "",
        "ok",
        " o k ",
        "\u200b\u200b\u200b",
        "\u2800\u3164\u115f",
        "\U000e0061\U000e0062\U000e0063",
        "x" * 21,
    ],
)
def test_what_says_nothing_or_too_much_is_refused(reason):
    with pytest.raises(ReasonMissingError, match="Say why, in 3 to 20 characters"):
        cleaned(reason, max_chars=20)


@pytest.mark.parametrize("reason", ["\u202eevil", "ticket \u20667\u2069"])
def test_what_reads_otherwise_than_it_is_written_is_refused(reason):
    with pytest.raises(ReasonMissingError, match="change how it reads"):
        cleaned(reason, max_chars=300)


def test_a_secret_is_no_reason():
    with pytest.raises(ReasonMissingError, match="a password"):
        cleaned("My password is hunter2!", max_chars=300)
