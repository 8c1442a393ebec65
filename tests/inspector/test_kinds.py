"""The page of the kinds: lifetimes and reasons for everyone, changes for staff after a look at what they do."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from memoryapp.longterm.models import Kind, Memory
from tests.inspector.reading import words_of
from tests.longterm.saying import live, remember

KINDS = reverse("inspector:kinds")


def page_of(slug: str) -> str:
    return reverse("inspector:kind", args=[slug])


@pytest.fixture
def staff(client, carol):
    client.force_login(carol)
    return client


def aged(user, statement: str, *, days: int) -> None:
    memory = remember(user, statement, kind="preference").memory
    Memory.objects.filter(id=memory.id).update(affirmed_at=timezone.now() - timedelta(days=days))


def test_everyone_reads_how_long_each_kind_is_kept_and_why(client, alice):
    client.force_login(alice)
    preference = Kind.objects.get(slug="preference")

    shown = words_of(client.get(KINDS))

    assert f"{preference.label} kept {preference.ttl_days} days {preference.rationale}" in shown
    assert "kept for ever" in shown
    assert "Change" not in shown


@pytest.mark.parametrize("method", ["get", "post"])
def test_who_is_not_staff_changes_no_kind(client, alice, method):
    client.force_login(alice)

    response = getattr(client, method)(
        page_of("preference"), {"ttl_days": "1", "apply": "1", "rationale": "x"}
    )

    assert response.status_code == 403
    assert Kind.objects.get(slug="preference").ttl_days == 365


def test_what_another_lifetime_does_is_shown_before_it_is_done(staff, alice, bob):
    aged(alice, "I like figs", days=40)
    aged(bob, "I like dates", days=26)

    response = staff.post(
        page_of("preference"), {"ttl_days": "30", "rationale": "Tastes change.", "preview": "yes"}
    )

    assert [(row.days, row.rows, row.users) for row in response.context["preview"]] == [
        (0, 1, 1),
        (7, 2, 2),
        (30, 2, 2),
    ]
    assert Kind.objects.get(slug="preference").ttl_days == 365
    assert 'value="30"' in response.content.decode()
    assert "Tastes change." in words_of(response)
    assert live(alice) == ["I like figs"]


def test_a_lifetime_that_was_shown_is_set_at_once(staff, alice):
    aged(alice, "I like figs", days=40)

    response = staff.post(
        page_of("preference"), {"ttl_days": "30", "apply": "30", "rationale": "Tastes change."}
    )

    assert response["Location"] == KINDS
    changed = Kind.objects.get(slug="preference")
    assert (changed.ttl_days, changed.rationale) == (30, "Tastes change.")
    assert live(alice) == []


def test_a_lifetime_that_was_changed_after_the_look_is_looked_at_again(staff):
    response = staff.post(
        page_of("preference"), {"ttl_days": "3", "apply": "30", "rationale": "Tastes change."}
    )

    assert response.status_code == 200
    assert response.context["preview"]
    assert Kind.objects.get(slug="preference").ttl_days == 365


def test_nothing_is_for_ever(staff):
    staff.post(page_of("preference"), {"ttl_days": "", "apply": "", "rationale": "They stay."})

    assert Kind.objects.get(slug="preference").ttl_days is None


@pytest.mark.parametrize("days", ["soon", "-1", "0", "1.5", "36501", "99999999", "٣"])
def test_a_lifetime_that_cannot_be_says_why(staff, days):
    response = staff.post(page_of("preference"), {"ttl_days": days, "apply": days, "rationale": "Because."})

    assert response.status_code == 422
    assert "Lifetime in days: 1 to 36,500, or empty for ever." in words_of(response)
    assert "ttl_days" not in words_of(response)
    assert Kind.objects.get(slug="preference").ttl_days == 365


def test_another_lifetime_asks_for_a_reason_of_its_own(staff):
    old = Kind.objects.get(slug="preference").rationale
    values = {"ttl_days": "30", "rationale": old}

    shown = staff.post(page_of("preference"), {**values, "preview": "yes"})
    refused = staff.post(page_of("preference"), {**values, "apply": "30"})

    for response in (shown, refused):
        assert "This is the reason for the lifetime before." in words_of(response)
        reason = re.search(r"<textarea[^>]*>", response.content.decode())
        assert reason
        assert "autofocus" in reason[0]
    assert refused.status_code == 422
    assert Kind.objects.get(slug="preference").ttl_days == 365


def test_a_lifetime_needs_its_reason(staff):
    response = staff.post(page_of("preference"), {"ttl_days": "30", "apply": "30", "rationale": "  "})

    assert response.status_code == 422
    assert Kind.objects.get(slug="preference").ttl_days == 365


def test_records_of_runs_have_a_lifetime_and_no_memories(staff):
    slug = Kind.objects.get(subject=Kind.Subject.RUN).slug

    shown = staff.post(page_of(slug), {"ttl_days": "0", "rationale": "None are kept.", "preview": "yes"})
    staff.post(page_of(slug), {"ttl_days": "0", "apply": "0", "rationale": "None are kept."})

    assert "They hold no memories." in words_of(shown)
    assert Kind.objects.get(slug=slug).ttl_days == 0


def test_an_unknown_kind_is_not_found(staff):
    assert staff.get(page_of("nothing")).status_code == 404
