"""When a conversation is read, and when again after a failure."""

from datetime import UTC, datetime, timedelta

import pytest

from memoryapp.policies.extraction import LAST_RETRY, gives_up_on_the_model, is_due, retry_at

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("first_s", "last_s", "is_live", "due"),
    [
        (20, 20, False, True),
        (19, 19, False, False),
        (60, 5, False, False),
        (60, 60, True, False),
        (180, 0, True, True),
    ],
    ids=["quiet", "not yet", "moved by a newer turn", "a reply is under way", "waited for long"],
)
def test_a_conversation_is_read_once_it_is_quiet_or_has_waited_long(first_s, last_s, is_live, due):
    answer = is_due(
        first_ended_at=NOW - timedelta(seconds=first_s),
        last_ended_at=NOW - timedelta(seconds=last_s),
        is_live=is_live,
        now=NOW,
        quiet_s=20,
    )

    assert answer is due


@pytest.mark.parametrize(
    ("codes", "minutes"),
    [
        ([], None),
        ([""], None),
        (["", "down", "down"], None),
        (["down"], 1),
        (["down", "", "down"], 1),
        (["down"] * 4, 8),
        (["down"] * 16, LAST_RETRY / timedelta(minutes=1)),
        (["down"] * 1_000, LAST_RETRY / timedelta(minutes=1)),
    ],
)
def test_each_failure_in_a_row_doubles_the_wait_up_to_a_bound(codes, minutes):
    at = retry_at([(code, NOW - timedelta(days=place)) for place, code in enumerate(codes)])

    assert at == (None if minutes is None else NOW + timedelta(minutes=minutes))


@pytest.mark.parametrize(
    ("codes", "gives_up"),
    [
        ([], False),
        (["unreadable"] * 3, False),
        (["unreadable"] * 4, True),
        (["unreadable"] * 9, True),
        (["down", *["unreadable"] * 4], False),
        (["", *["unreadable"] * 4], False),
        (["down"] * 9, False),
    ],
)
def test_rules_take_over_from_a_model_whose_answers_can_never_be_read(codes, gives_up):
    assert gives_up_on_the_model([(code, NOW) for code in codes], unreadable="unreadable") is gives_up
