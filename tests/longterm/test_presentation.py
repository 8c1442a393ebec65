"""How memories are worded for people."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from memoryapp.longterm.presentation import detail_text, expires_text, left_text

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Niue", "UTC"])
@pytest.mark.parametrize(
    ("fades_at", "text"),
    [
        (None, "kept until you forget it"),
        (datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC), "kept until you forget it"),
        (NOW - timedelta(seconds=1), "expired"),
    ],
)
def test_a_lifetime_is_said_in_every_zone(zone, fades_at, text):
    with timezone.override(zone):
        assert expires_text(fades_at, now=NOW) == text


@pytest.mark.parametrize(
    ("fades_at", "text"),
    [
        (datetime(2026, 11, 30, 20, tzinfo=UTC), "expires today"),
        (datetime(2026, 12, 1, 0, tzinfo=UTC), "expires tonight"),
        (datetime(2026, 12, 1, 15, tzinfo=UTC), "expires 1 December 2026"),
        (datetime(2026, 12, 2, 0, tzinfo=UTC), "expires 1 December 2026"),
        (datetime(2027, 5, 3, 0, tzinfo=UTC), "expires 2 May 2027"),
    ],
)
def test_the_end_is_the_last_day_and_near_it_a_part_of_the_day(fades_at, text):
    with timezone.override("UTC"):
        assert expires_text(fades_at, now=NOW) == text


@pytest.mark.parametrize(
    ("fades_at", "text"),
    [
        (datetime(2026, 12, 3, 0, tzinfo=UTC), "2 days left"),
        (datetime(2026, 12, 2, 0, tzinfo=UTC), "36 hours left"),
        (datetime(2026, 11, 30, 13, 30, tzinfo=UTC), "1 hour left"),
        (datetime(2026, 11, 30, 12, 30, tzinfo=UTC), "less than an hour left"),
    ],
)
def test_what_is_left_is_counted_to_the_last_day(fades_at, text):
    with timezone.override("UTC"):
        assert left_text(fades_at, now=NOW) == text


@pytest.mark.parametrize(
    ("detail", "text"),
    [
        ("", ""),
        ("starts again", "starts again"),
        ("event", "Events and plans"),
        ("never remember event", "never remember Events and plans"),
        ("remember event again", "remember Events and plans again"),
        ("of the kind event", "of the kind Events and plans"),
        ("of the kind gone", "of the kind gone"),
    ],
)
def test_what_the_log_says_names_a_kind_by_its_label(detail, text):
    assert detail_text(detail, {"event": "Events and plans"}) == text


@pytest.mark.parametrize(
    ("detail", "text"),
    [
        ("as its kind", "as its kind"),
        ("of the kind the", "of the kind Articles"),
        ("of the kind event", "of the kind Events and plans"),
        ("never remember remember", "never remember Reminders"),
        ("remember remember again", "remember Reminders again"),
        ("as", "Comparisons"),
    ],
)
def test_a_kind_whose_slug_is_a_word_of_the_sentence_is_told_from_it(detail, text):
    labels = {"as": "Comparisons", "the": "Articles", "remember": "Reminders", "event": "Events and plans"}

    assert detail_text(detail, labels) == text
