"""The kinds as an admin edits them: within bounds, and never without what the program needs."""

from datetime import timedelta

import pytest
from django.db import IntegrityError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memoryapp.longterm import experiences, kind_changes, queries
from memoryapp.longterm.experiences import Lesson
from memoryapp.longterm.models import Kind, KindChange
from memoryapp.longterm.seeded_texts import SEEDED_TEXTS
from memoryapp.policies.trust import Origin
from tests.longterm.saying import NOW, remember
from tests.turns import post

KINDS = reverse("admin:longterm_kind_changelist")


@pytest.fixture
def staff(carol):
    carol.is_superuser = True
    carol.save()
    browser = Client()
    browser.force_login(carol)
    return browser


def address(kind: Kind, action: str = "change") -> str:
    return reverse(f"admin:longterm_kind_{action}", args=[kind.id])


def form(kind: Kind, **changes: object) -> dict[str, object]:
    names = ("label", "shape", "ttl_days", "half_life_days", "min_confidence", "rationale", "position")
    return {name: getattr(kind, name) or "" for name in names} | {"min_confidence": "0"} | changes


@pytest.mark.parametrize("field", ["ttl_days", "half_life_days"])
@pytest.mark.parametrize("days", ["0", "36501", "-1"])
def test_days_out_of_bounds_are_refused_beside_their_field(staff, field, days):
    kind = queries.get_kind("ticket")

    response = staff.post(address(kind), form(kind, **{field: days}))

    assert response.status_code == 200
    assert "Ensure this value is" in str(response.context["adminform"].form.errors[field])
    kind.refresh_from_db()
    assert kind.ttl_days == 30


def test_only_records_of_runs_may_have_a_lifetime_of_no_days(staff):
    kind = Kind.objects.get(subject=Kind.Subject.RUN)

    response = staff.post(address(kind), form(kind, ttl_days="0"))

    assert response.status_code == 302
    assert queries.run_record_days() == 0
    with pytest.raises(IntegrityError):
        Kind.objects.filter(subject=Kind.Subject.EXPERIENCE).update(ttl_days=0)


@pytest.mark.parametrize("days", ["1", "36500"])
def test_days_within_bounds_are_kept_and_memories_of_the_kind_still_read(staff, alice, days):
    memory = remember(alice, "The order is 4711", kind="ticket").memory

    response = staff.post(address(memory.kind), form(memory.kind, ttl_days=days))

    assert response.status_code == 302
    assert (queries.get_memory(alice.id, memory.id).fades_at - NOW).days in {int(days), int(days) + 1}


def test_a_change_in_the_admin_is_in_the_history_and_waits_for_none_to_come(staff, carol):
    kind = queries.get_kind("ticket")

    staff.post(address(kind), form(kind, ttl_days="14", position="3"))
    made = KindChange.objects.get()
    kind_changes.change(
        "ticket",
        {"ttl_days": 7},
        changed_by=None,
        now=timezone.now(),
        applies_at=timezone.now() + timedelta(days=1),
    )
    staff.post(address(kind), form(kind, ttl_days="9"))

    kind.refresh_from_db()
    assert (kind.ttl_days, kind.position) == (14, 3)
    assert (made.changed_by, made.before, made.after) == (carol, {"ttl_days": 30}, {"ttl_days": 14})


@pytest.mark.parametrize("field", ["ttl_days", "half_life_days"])
def test_the_database_refuses_them_too(db, field):
    with pytest.raises(IntegrityError):
        Kind.objects.filter(slug="ticket").update(**{field: 0})


def test_what_a_kind_is_known_by_stays_as_it_is(staff):
    kind = queries.get_kind("ticket")

    staff.post(address(kind), form(kind, slug="case", subject="run", label="Cases"))

    kind.refresh_from_db()
    assert (kind.slug, kind.subject, kind.label) == ("ticket", "statement", "Cases")


def test_a_new_kind_is_given_its_slug(staff):
    kind = Kind(label="Pets", shape="free", rationale="They are family.", position=5)

    response = staff.post(reverse("admin:longterm_kind_add"), form(kind, slug="pet", subject="statement"))

    assert response.status_code == 302
    assert queries.get_kind("pet").label == "Pets"


@pytest.mark.parametrize("subject", [Kind.Subject.RUN, Kind.Subject.EXPERIENCE])
def test_the_kinds_that_the_program_needs_are_not_deleted(staff, subject):
    kind = Kind.objects.get(subject=subject)

    alone = staff.post(address(kind, "delete"), {"post": "yes"})
    selected = {"action": "delete_selected", "_selected_action": [kind.id], "post": "yes"}
    among_others = staff.post(KINDS, selected)

    assert (alone.status_code, among_others.status_code) == (403, 403)
    assert Kind.objects.filter(id=kind.id).exists()


def test_a_kind_in_use_is_not_deleted_and_an_unused_one_is(staff, alice):
    used = remember(alice, "The order is 4711", kind="ticket").memory.kind
    unused = queries.get_kind("decision")

    for kind in (used, unused):
        staff.post(address(kind, "delete"), {"post": "yes"})

    assert Kind.objects.filter(id=used.id).exists()
    assert not Kind.objects.filter(id=unused.id).exists()


def test_nothing_is_learned_and_records_stay_without_the_kinds_for_them(alice):
    Kind.objects.exclude(subject=Kind.Subject.STATEMENT).delete()

    learned = experiences.record(
        alice.id,
        Lesson(goal="Help me", tools=(), worked="", avoid="", origin=Origin.MODEL_INFERRED),
        run_id=post(alice, "Hello").id,
        epoch_at_start=alice.memory_epoch,
        now=NOW,
    )

    assert learned is None
    assert queries.run_record_days() is None


def test_the_admin_spells_its_headings(staff):
    shown = staff.get(reverse("admin:index")).content.decode()

    for heading in ("Memories", "Summaries", "API tokens", "Sign-in links"):
        assert f">{heading}<" in shown


def test_what_the_first_kinds_say_can_be_translated(db):
    said = {text for texts in Kind.objects.values_list("label", "rationale") for text in texts}

    assert said == SEEDED_TEXTS
