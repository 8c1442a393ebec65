"""What was done to the rules of the kinds: by whom, why, and what went by it."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memoryapp.longterm import kind_changes
from memoryapp.longterm.models import Kind, KindChange, Memory
from tests.inspector.reading import words_of
from tests.inspector.ruling import aged, applied


def test_the_history_words_what_is_to_come_and_what_was_undone(staff):
    day = timezone.localdate() + timedelta(days=9)
    applied(staff, ttl_days=30, rationale="Tastes change.")
    staff.post(reverse("policies:change_undo", args=[KindChange.objects.get().id]))
    applied(staff, "event", ttl_days=60, rationale="Plans pass.", applies_on=day.isoformat())

    said = words_of(staff.get(reverse("policies:kind_history")))
    of_the_kind = words_of(staff.get(reverse("policies:kind", args=["event"])))

    assert "Lifetime was 30 days, undone: 365 days again" in said
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
    assert "Nothing has gone by it" in words_of(page)
    assert "Nothing ended" not in words_of(page)


@pytest.mark.parametrize(("days", "said"), [(30, "earlier"), (400, "later"), ("", "later")])
def test_a_change_of_a_lifetime_that_touched_nothing_says_so(staff, days, said):
    applied(staff, ttl_days=days, rationale="Tastes change.")

    assert f"Tastes change. Nothing ended {said} Undo" in words_of(
        staff.get(reverse("policies:kind_history"))
    )


@pytest.mark.parametrize(
    ("days", "said"),
    [
        (30, "Foreseen to end earlier: 2 memories, the first on {day} Undo"),
        (400, "Foreseen to end later: 2 memories, the first on {day} Undo"),
        ("", "Foreseen to be kept for ever: 2 memories Undo"),
    ],
)
def test_a_change_that_hid_nothing_says_what_it_moved_and_no_zeros(staff, alice, days, said):
    aged(alice, "I like figs", days=0)
    aged(alice, "I like plums", days=0)
    applied(staff, ttl_days=days, rationale="Tastes change.")

    shown = words_of(staff.get(reverse("policies:kind_history")))

    day = timezone.localdate() + timedelta(days=days or 0)
    assert said.format(day=f"{day:%-d %B %Y}") in shown
    assert "0 at once" not in shown


def test_what_was_foreseen_stands_beside_what_waits_and_what_was_undone(staff, alice):
    aged(alice, "I like figs", days=0)
    day = timezone.localdate() + timedelta(days=9)
    applied(staff, ttl_days=30, rationale="Tastes change.", applies_on=day.isoformat())

    first = timezone.localdate() + timedelta(days=30)
    foreseen = f"Foreseen to go: 1 in 30 days · foreseen to end earlier: 1 memory, on {first:%-d %B %Y}"
    assert f"{foreseen} · nothing has gone by it" in words_of(staff.get(reverse("policies:kind_history")))


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


def test_undoing_what_hides_is_first_shown_and_then_told(staff, alice):
    Kind.objects.filter(slug="preference").update(ttl_days=30)
    aged(alice, "I like figs", days=25)
    applied(staff, ttl_days=90, rationale="A season.")
    Memory.objects.update(affirmed_at=timezone.now() - timedelta(days=60))
    made = KindChange.objects.get()
    history = staff.get(reverse("policies:kind_history"))
    of_kind = reverse("policies:kind", args=["preference"])

    shown = staff.get(of_kind)
    done = words_of(staff.post(reverse("policies:change_undo", args=[made.id]), follow=True))

    assert f'href="{of_kind}#undo-change"' in history.content.decode()
    assert "Undo: see what it does" in words_of(history)
    assert reverse("policies:change_undo", args=[made.id]) not in history.content.decode()
    assert "Undo: hide 1 memory again" in words_of(shown)
    until = timezone.localtime(KindChange.objects.get().undone_at + timedelta(hours=24))
    assert "Undone: the change of Likes and dislikes. 1 memory hidden: until " in done
    assert f"{until:%H:%M} all of it can come back." in done
    assert "hidden when it was undone: 1" in words_of(staff.get(reverse("policies:kind_history")))


def test_an_undo_that_hides_nothing_is_one_press_away(staff):
    applied(staff, half_life_days=9)

    page = staff.get(reverse("policies:kind_history"))

    assert reverse("policies:change_undo", args=[KindChange.objects.get().id]) in page.content.decode()


def test_an_older_change_that_reads_like_the_newest_has_no_undo(staff):
    for days, why in ((30, "Tastes change."), (365, "Not so fast."), (30, "Tastes change.")):
        applied(staff, ttl_days=days, rationale=why)
    newest, _, oldest = KindChange.objects.order_by("-created_at")

    page = staff.get(reverse("policies:kind_history")).content.decode()
    refused = words_of(staff.post(reverse("policies:change_undo", args=[oldest.id]), follow=True))

    assert (f"undo-{newest.id}" in page, f"undo-{oldest.id}" in page) == (True, False)
    assert "A newer change of this kind was made. Undo that one first." in refused


def test_what_a_longer_lifetime_brought_back_is_told(staff, alice):
    Kind.objects.filter(slug="preference").update(ttl_days=30)
    aged(alice, "I like figs", days=31)
    applied(staff, ttl_days=90, rationale="A season.")

    said = words_of(staff.get(reverse("policies:kind_history")))

    assert "Foreseen to come back: 1 memory" in said
