"""What was done to the rules of the kinds: by whom, why, and what went by it."""

from datetime import timedelta

from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memoryapp.longterm import kind_changes
from memoryapp.longterm.models import KindChange
from tests.inspector.reading import words_of
from tests.inspector.ruling import aged, applied


def test_the_history_words_what_is_to_come_and_what_was_taken_back(staff):
    day = timezone.localdate() + timedelta(days=9)
    applied(staff, ttl_days=30, rationale="Tastes change.")
    staff.post(reverse("policies:change_undo", args=[KindChange.objects.get().id]))
    applied(staff, "event", ttl_days=60, rationale="Plans pass.", applies_on=day.isoformat())

    said = words_of(staff.get(reverse("policies:kind_history")))
    of_the_kind = words_of(staff.get(reverse("policies:kind", args=["event"])))

    assert "Lifetime was 30 days, taken back to 365 days" in said
    assert "Lifetime 180 days, will become 60 days" in said
    assert "there is no form to change it otherwise" in of_the_kind


def test_the_history_says_who_changed_what_why_and_what_went(staff, alice):
    aged(alice, "I like figs", days=40)
    applied(staff, ttl_days=30, rationale="Tastes change.")
    applied(staff, "event", half_life_days=9)

    said = words_of(staff.get(reverse("policies:kind_history")))
    of_one = words_of(staff.get(reverse("policies:kind_history") + "?kind=event"))

    assert "by carol" in said
    assert "Lifetime 365 days → became 30 days Tastes change." in said
    assert "Foreseen to go: 1 at once, 1 in 7 days, 1 in 30 days · hidden when it acted: 1" in said
    assert "Half-life" in of_one
    assert "Tastes change." not in of_one


def test_what_can_still_be_undone_is_undone_from_the_history(staff):
    applied(staff, ttl_days=30, rationale="Tastes change.")
    applied(staff, ttl_days=60, rationale="Not so fast.")
    newest, replaced = KindChange.objects.order_by("-created_at")

    before = staff.get(reverse("policies:kind_history")).content.decode()
    staff.post(reverse("policies:change_undo", args=[newest.id]))
    after = staff.get(reverse("policies:kind_history")).content.decode()

    assert (f"undo-{newest.id}" in before, f"undo-{replaced.id}" in before) == (True, False)
    assert (f"undo-{newest.id}" in after, f"undo-{replaced.id}" in after) == (False, True)


def test_while_a_change_waits_it_alone_can_be_taken_back(staff):
    day = timezone.localdate() + timedelta(days=9)
    applied(staff, half_life_days=9)
    applied(staff, ttl_days=60, rationale="Plans pass.", applies_on=day.isoformat())
    waiting, made = KindChange.objects.order_by("-created_at")

    page = staff.get(reverse("policies:kind_history"))

    assert f"undo-{waiting.id}" in page.content.decode()
    assert f"undo-{made.id}" not in page.content.decode()
    assert "Withdraw" in words_of(page)
    assert "nothing was hidden by it" not in words_of(page)


def test_a_change_of_a_lifetime_that_hid_nothing_says_so(staff):
    applied(staff, ttl_days=30, rationale="Tastes change.")

    said = words_of(staff.get(reverse("policies:kind_history")))

    assert "nothing was hidden by it" in said
    assert "hidden when it acted" not in said


def test_the_history_goes_on_page_by_page_with_as_many_queries_for_many(staff, carol):
    counts = []
    for number in range(1, 33):
        kind_changes.change("event", {"half_life_days": number}, changed_by=carol.id, now=timezone.now())
        if number in {3, 30}:
            with CaptureQueriesContext(connection) as queries:
                staff.get(reverse("policies:kind_history"))
            counts.append(len(queries))

    first = staff.get(reverse("policies:kind_history"))
    second = staff.get(reverse("policies:kind_history") + f"?after={first.context['next_cursor']}")

    assert counts[0] == counts[1]
    assert [len(page.context["changes"]) for page in (first, second)] == [30, 2]
