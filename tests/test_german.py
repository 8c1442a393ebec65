"""What German needs and English does not: cases around numbers, abbreviated months, times that become relative."""

from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.dateformat import format as date_in

from memoryapp.accounts import operations
from memoryapp.inspector.templatetags.moments import moment
from memoryapp.longterm.models import KindChange
from tests.inspector.reading import words_of
from tests.inspector.ruling import applied, page_of, shown
from tests.longterm.saying import remember
from tests.personas import signed_in

DATES = ("j M", "j M Y", "j M Y, H:i", "j M Y, H:i:s", "j M, H:i")


@pytest.fixture
def german_staff(carol):
    operations.change_preferences(carol, language="de")
    carol.refresh_from_db()
    return signed_in(carol)


def test_short_months_have_their_full_stop():
    at = datetime(2026, 11, 3, 9, 5, 7, tzinfo=UTC)

    with translation.override("de"):
        said = [date_in(at, translation.gettext(each)) for each in DATES]

    assert said == [
        "3. Nov.",
        "3. Nov. 2026",
        "3. Nov. 2026, 09:05",
        "3. Nov. 2026, 09:05:07",
        "3. Nov., 09:05",
    ]


def test_a_moment_in_a_sentence_has_no_space_after_it():
    assert moment(timezone.now()).endswith("</time>")
    assert moment(timezone.now()).startswith("<time")


def test_numbers_of_days_stand_in_no_case_in_the_history_of_rules(german_staff):
    day = timezone.localdate() + timedelta(days=9)
    applied(german_staff, ttl_days=30, rationale="Vorlieben wechseln.")
    german_staff.post(reverse("policies:change_undo", args=[KindChange.objects.get().id]))
    applied(german_staff, "event", ttl_days=90, rationale="Pläne vergehen.", applies_on=day.isoformat())
    to_come = words_of(german_staff.get(reverse("policies:kind_history")))
    german_staff.post(reverse("policies:change_undo", args=[KindChange.objects.get(kind__slug="event").id]))

    withdrawn = words_of(german_staff.get(reverse("policies:kind_history")))

    assert "Lebensdauer 180 Tage, künftig 90 Tage" in to_come
    assert "Lebensdauer geplant war 90 Tage, weiterhin 180 Tage" in withdrawn
    assert "Lebensdauer war 30 Tage, rückgängig gemacht: wieder 365 Tage" in withdrawn
    assert ", 00:00, von carol" in withdrawn


def test_what_the_kinds_began_with_is_translated_in_the_preview_but_not_in_the_form(german_staff):
    said = words_of(shown(german_staff, label="Tee", rationale="Weil es so ist.", ttl_days=30))
    form = german_staff.get(page_of("preference")).content.decode()

    assert "Bezeichnung Vorlieben und Abneigungen → künftig Tee" in said
    assert "Likes and dislikes" not in said
    assert 'value="Likes and dislikes"' in form


def test_a_time_after_a_word_stands_behind_a_colon(alice):
    operations.change_preferences(alice, language="de")
    alice.refresh_from_db()
    remember(alice, "I like figs", kind="preference")

    said = words_of(signed_in(alice).get(reverse("inspector:facts")))

    assert "Gelernt: " in said


def test_a_default_is_told_from_its_reason(german_staff):
    said = words_of(german_staff.get(reverse("policies:tiers")))

    assert "Standard: keine Grenze. " in said
