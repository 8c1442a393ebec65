"""How memories are worded for people."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from memoryapp.longterm.presentation import fades_text

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Niue", "UTC"])
@pytest.mark.parametrize(
    ("fades_at", "text"),
    [
        (None, "Kept until you forget it"),
        (datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC), "Kept until you forget it"),
        (NOW - timedelta(seconds=1), "Faded"),
        (NOW + timedelta(days=12), "Fades in 12 days"),
    ],
)
def test_a_lifetime_is_said_in_every_zone(zone, fades_at, text):
    with timezone.override(zone):
        assert fades_text(fades_at, now=NOW) == text
