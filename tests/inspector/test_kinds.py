"""The table of the kinds, for everyone; adding and deleting one, for staff."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memoryapp.longterm.models import Kind, KindChange, Memory
from tests.inspector.reading import words_of
from tests.inspector.ruling import KINDS, aged, applied, page_of, rule
from tests.longterm.saying import remember


def test_everyone_reads_how_long_each_kind_is_kept_and_why(client, alice):
    client.force_login(alice)
    preference = Kind.objects.get(slug="preference")

    page = words_of(client.get(KINDS))

    assert f"{preference.label} preference {preference.rationale} {preference.ttl_days} days" in page
    assert "for ever" in page
    assert "Change" not in page


def test_a_person_sees_how_many_of_a_kind_are_theirs_and_staff_those_of_all(client, alice, bob, carol):
    aged(alice, "I like figs", days=1)
    Memory.objects.filter(id=aged(bob, "I like dates", days=2).id).update(is_kept=True)

    held = {}
    for person in (alice, bob, carol):
        client.force_login(person)
        rows = client.get(KINDS).context["rows"]
        held[person.username] = next(row.held for row in rows if row.kind.slug == "preference")

    assert [(each.rows, each.kept) for each in held.values()] == [(1, 0), (1, 1), (2, 1)]


def test_kept_for_ever_is_told_where_it_is_the_exception(staff, bob):
    Memory.objects.filter(id=aged(bob, "I like dates", days=2).id).update(is_kept=True)

    exception = words_of(staff.get(KINDS)), words_of(staff.get(page_of("preference")))
    Kind.objects.filter(slug="preference").update(ttl_days=None)
    rule_itself = words_of(staff.get(KINDS)), words_of(staff.get(page_of("preference")))

    assert "1 1 for ever 1 person" in exception[0]
    assert "1 held now by 1 person, 1 of them for ever" in exception[1]
    assert "1 1 for ever" not in rule_itself[0]
    assert "1 held now by 1 person" in rule_itself[1]
    assert "of them for ever" not in rule_itself[1]


def test_the_page_of_a_kind_says_what_keeps_it_from_being_deleted(staff, bob):
    for words in ("I like figs", "I like dates"):
        aged(bob, words, days=2)

    said = words_of(staff.get(page_of("preference")))

    assert "A kind can be deleted once no memory belongs to it. 2 do." in said


def test_the_table_asks_as_much_for_many_rows_as_for_few(client, alice, carol):
    client.force_login(carol)
    counts = []
    for added in (3, 30):
        for number in range(added):
            remember(alice, f"It was {added} {number}")
        with CaptureQueriesContext(connection) as queries:
            client.get(KINDS)
        counts.append(len(queries))

    assert counts[0] == counts[1]


def test_the_former_addresses_lead_to_the_policies(client, alice):
    client.force_login(alice)

    assert client.get("/memory/kinds/")["Location"] == KINDS
    assert client.get("/memory/kinds/event/")["Location"] == page_of("event")


@pytest.mark.parametrize("person", ["alice", "bob"])
def test_who_is_not_staff_changes_no_kind(client, request, carol, person):
    client.force_login(carol)
    applied(client, ttl_days=30, rationale="Tastes change.")
    change = KindChange.objects.get()
    client.force_login(request.getfixturevalue(person))
    before = list(Kind.objects.order_by("id").values())

    answers = [
        client.get(page_of("preference")),
        client.post(page_of("preference"), rule(ttl_days=1, rationale="x")),
        client.get(reverse("policies:kind_history")),
        client.get(reverse("policies:kind_add")),
        client.post(reverse("policies:kind_add"), {"label": "Pets", "rationale": "x"}),
        client.post(reverse("policies:kind_delete", args=["event"])),
        client.post(reverse("policies:change_undo", args=[change.id])),
    ]

    assert {answer.status_code for answer in answers} == {403}
    assert list(Kind.objects.order_by("id").values()) == before


def test_a_kind_is_added_used_and_deleted_while_nothing_is_of_it(staff, alice):
    values = {"label": "House pets", "ttl_days": "", "min_confidence": "0", "rationale": "They are family."}

    staff.post(reverse("policies:kind_add"), values)
    memory = remember(alice, "My cat is Miso", kind="house_pets").memory
    refused = staff.post(reverse("policies:kind_delete", args=["house_pets"]), follow=True)
    memory.delete()
    staff.post(reverse("policies:kind_delete", args=["house_pets"]))

    assert "1 memory belongs to this kind." in words_of(refused)
    assert not Kind.objects.filter(slug="house_pets").exists()


def test_a_kind_that_is_there_is_not_added_again(staff):
    response = staff.post(
        reverse("policies:kind_add"), {"label": "Other", "slug": "event", "rationale": "Why not."}
    )

    assert response.status_code == 422
    assert Kind.objects.filter(slug="event").count() == 1


def test_a_name_that_is_taken_is_said_beside_its_field(staff):
    response = staff.post(reverse("policies:kind_add"), {"label": "Event", "rationale": "Why not."})

    assert "There is a kind of this name already." in words_of(response)
    assert response.context["form"].errors.keys() == {"slug"}


def test_a_name_made_of_a_long_label_fits(staff):
    label = "Things that " + "very " * 7 + "often come"

    staff.post(reverse("policies:kind_add"), {"label": label, "min_confidence": "0", "rationale": "They do."})

    assert len(Kind.objects.get(label=label).slug) == 50


def test_an_unknown_kind_is_not_found(staff):
    assert staff.get(page_of("nothing")).status_code == 404
