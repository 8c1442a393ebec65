"""Kinds over REST: read by everyone, changed by staff."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memoryapp.longterm.models import Kind, KindChange, Memory
from tests.api.requests import assert_problem, send

FOR_STAFF = [
    ("POST", "/kinds", {"slug": "pet", "label": "Pets", "rationale": "They are family."}),
    ("PATCH", "/kinds/event", {"ttl_days": 30}),
    ("DELETE", "/kinds/decision", None),
    ("POST", "/kinds/event/preview", {"ttl_days": 30}),
]


@pytest.fixture
def staff_api(api, alice):
    alice.is_staff = True
    alice.save()
    return api


def test_kinds_come_with_their_lifetime_and_its_reason(api):
    items = send(api, "GET", "/kinds").json()["items"]

    by_slug = {item["slug"]: item for item in items}
    assert by_slug["preference"]["ttl_days"] == 365
    assert by_slug["identity"]["ttl_days"] is None
    assert all(item["rationale"] for item in items)


@pytest.mark.parametrize(("method", "path", "body"), FOR_STAFF, ids=str)
def test_only_staff_may_change_or_preview_them(api, method, path, body):
    before = list(Kind.objects.order_by("id").values())

    assert_problem(send(api, method, path, body), 403, "forbidden")

    assert list(Kind.objects.order_by("id").values()) == before


def test_a_new_lifetime_acts_at_once(staff_api):
    send(staff_api, "POST", "/memories", {"statement": "The exam is over", "kind": "event"})
    Memory.objects.update(affirmed_at="2020-01-01T00:00:00Z")

    changed = send(staff_api, "PATCH", "/kinds/event", {"ttl_days": None, "rationale": "For the diary."})

    assert (changed.json()["ttl_days"], changed.json()["rationale"]) == (None, "For the diary.")
    items = send(staff_api, "GET", "/memories").json()["items"]
    assert [item["statement"] for item in items] == ["The exam is over"]


def test_what_is_left_out_of_a_change_stays(staff_api):
    before = {kind["slug"]: kind for kind in send(staff_api, "GET", "/kinds").json()["items"]}

    changed = send(staff_api, "PATCH", "/kinds/event", {"is_always_used": True}).json()

    assert changed == {**before["event"], "is_always_used": True}


@pytest.mark.parametrize("ttl_days", [0, -1, 36_501, "soon", 1.5])
def test_a_lifetime_out_of_bounds_is_refused(staff_api, ttl_days):
    assert_problem(send(staff_api, "PATCH", "/kinds/event", {"ttl_days": ttl_days}), 422)
    assert_problem(send(staff_api, "POST", "/kinds/event/preview", {"ttl_days": ttl_days}), 422)


def test_a_preview_says_what_would_go_and_changes_nothing(staff_api):
    send(staff_api, "POST", "/memories", {"statement": "The exam is over", "kind": "event"})

    preview = send(staff_api, "POST", "/kinds/event/preview", {"ttl_days": 1}).json()

    counted = [(item["days"], item["rows"], item["users"]) for item in preview["items"]]
    assert (preview["ttl_days"], preview["present_ttl_days"]) == (1, 180)
    assert counted == [(0, 0, 0), (7, 1, 1), (30, 1, 1)]
    assert Kind.objects.get(slug="event").ttl_days == 180


def test_a_kind_is_added_used_and_deleted_only_when_unused(staff_api):
    body = {"slug": "pet", "label": "Pets", "rationale": "They are family."}

    assert send(staff_api, "POST", "/kinds", body).status_code == 201
    assert_problem(send(staff_api, "POST", "/kinds", body), 422)
    cat = send(staff_api, "POST", "/memories", {"statement": "The cat is Miso", "kind": "pet"}).json()
    assert assert_problem(send(staff_api, "DELETE", "/kinds/pet"), 409, "kind_in_use")["memories"] == 1
    send(staff_api, "DELETE", f"/memories/{cat['id']}")
    assert send(staff_api, "DELETE", "/kinds/pet").status_code == 204
    assert_problem(send(staff_api, "DELETE", "/kinds/pet"), 404)


def test_a_change_can_wait_for_its_day(staff_api):
    later = (timezone.now() + timedelta(days=3)).replace(microsecond=0)

    changed = send(
        staff_api,
        "PATCH",
        "/kinds/event",
        {"ttl_days": 30, "rationale": "A month.", "applies_at": later.isoformat()},
    )

    assert changed.json()["ttl_days"] == 180
    change = KindChange.objects.get()
    assert (change.applies_at, change.after) == (later, {"ttl_days": 30, "rationale": "A month."})
    assert change.changed_by.username == "alice"
    assert_problem(send(staff_api, "PATCH", "/kinds/event", {"ttl_days": 9}), 409, "kind_change_to_come")


@pytest.mark.parametrize(
    "applies_at", ["2001-01-01T00:00:00Z", "2999-01-01T00:00:00Z", "2027-01-01T00:00:00"]
)
def test_a_day_that_has_passed_is_too_far_or_has_no_offset_is_refused(staff_api, applies_at):
    body = {"ttl_days": 30, "applies_at": applies_at}

    assert_problem(send(staff_api, "PATCH", "/kinds/event", body), 422)

    assert Kind.objects.get(slug="event").ttl_days == 180
