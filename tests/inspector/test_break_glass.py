"""An admin in another person's memory: only with a reason, for a while, and their person is told."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memoryapp.activity.models import Entry, Verb
from memoryapp.inspector import break_glass
from tests.inspector.reading import words_of
from tests.longterm.saying import live, remember
from tests.world import CONTENT, everything_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nudges")]
PEOPLE = "/policies/people/"


def signed_in(user) -> Client:
    browser = Client()
    browser.force_login(user)
    return browser


@pytest.fixture
def carols(carol) -> Client:
    return signed_in(carol)


def open_memory(browser, person, reason="Ticket 7"):
    return browser.post(reverse("policies:people_open", args=[person.id]), {"reason": reason})


class TestPeople:
    def test_people_are_counted_without_content(self, carols, alice, bob):
        everything_of(alice)

        response = carols.get(PEOPLE)
        found = {person.username: person for person in response.context["people"]}

        assert found["alice"].memories == 1
        assert found["alice"].conversations == 1
        assert found["alice"].runs == 1
        assert found["alice"].stored_bytes > 100
        assert (found["bob"].memories, found["bob"].stored_bytes) == (0, 0)
        assert CONTENT not in response.content.decode()
        assert CONTENT not in carols.get(reverse("policies:person", args=[alice.id])).content.decode()

    def test_many_people_take_no_more_queries_than_few(self, carols, alice, django_user_model):
        from django.db import connection
        from django.test.utils import CaptureQueriesContext

        def queries() -> int:
            with CaptureQueriesContext(connection) as captured:
                carols.get(PEOPLE)
            return len(captured)

        few = queries()
        for number in range(30):
            django_user_model.objects.create(username=f"person {number}")

        assert queries() == few

    def test_people_are_searched_and_paged(self, carols, alice, bob, monkeypatch):
        monkeypatch.setattr("memoryapp.inspector.people_views.PAGE", 2)

        first = carols.get(PEOPLE).context
        second = carols.get(PEOPLE + first["next_url"]).context

        names = [person.username for page in (first, second) for person in page["people"]]
        assert names == ["alice", "bob", "carol"]
        assert [p.username for p in carols.get(PEOPLE, {"q": "LIC"}).context["people"]] == ["alice"]
        assert "Nobody of that name" in words_of(carols.get(PEOPLE, {"q": "zoe"}))

    @pytest.mark.parametrize("name", ["people", "person", "people_open"])
    def test_only_admins_get_there(self, client, alice, bob, name):
        args = [] if name == "people" else [alice.id]
        url = reverse(f"policies:{name}", args=args)
        ask = "post" if name == "people_open" else "get"

        assert getattr(signed_in(bob), ask)(url, {"reason": "curious"}).status_code == 403
        assert getattr(client, ask)(url).status_code == 302
        assert not Entry.objects.filter(verb=Verb.OPENED).exists()


class TestOpened:
    def test_an_admin_sees_nothing_of_anybody_without_opening_it(self, carols, alice):
        memory = remember(alice, "I like figs").memory

        assert carols.get(reverse("inspector:fact", args=[memory.id])).status_code == 404
        assert "I like figs" not in words_of(carols.get(reverse("inspector:facts")))

    def test_opened_the_memory_pages_are_about_the_person_and_say_so(self, carols, alice):
        memory = remember(alice, "I like figs").memory

        open_memory(carols, alice)

        for url in (reverse("inspector:facts"), reverse("inspector:fact", args=[memory.id])):
            shown = words_of(carols.get(url))
            assert "I like figs" in shown
            assert "You are looking at alice’s memory as an admin" in shown
            assert "Ticket 7" in shown

    def test_the_person_reads_by_whom_and_why(self, carols, alice):
        open_memory(carols, alice, "  Ticket\n7 ")

        shown = words_of(signed_in(alice).get(reverse("inspector:activity")))

        assert "An admin (carol) Opened with a reason Ticket 7" in shown

    @pytest.mark.parametrize("reason", ["", "  ", "x" * 301])
    def test_without_a_reason_it_stays_shut(self, carols, alice, reason):
        memory = remember(alice, "I like figs").memory

        response = open_memory(carols, alice, reason)

        assert response.status_code == 422
        assert "Say why" in words_of(response)
        assert carols.get(reverse("inspector:fact", args=[memory.id])).status_code == 404
        assert not Entry.objects.filter(verb=Verb.OPENED).exists()

    def test_what_the_admin_does_is_noted_as_theirs(self, carols, alice):
        memory = remember(alice, "I like figs").memory
        open_memory(carols, alice)

        carols.post(reverse("inspector:fact_delete", args=[memory.id]))

        assert live(alice) == []
        entry = Entry.objects.get(user=alice, verb=Verb.FORGOT)
        assert (entry.actor, entry.actor_name) == ("admin", "carol")

    def test_it_ends_by_itself(self, carols, alice, monkeypatch):
        memory = remember(alice, "I like figs").memory
        open_memory(carols, alice)
        later = timezone.now() + break_glass.OPEN_FOR + timedelta(seconds=1)
        monkeypatch.setattr(break_glass.timezone, "now", lambda: later)

        assert carols.get(reverse("inspector:fact", args=[memory.id])).status_code == 404

    def test_it_can_be_closed(self, carols, alice):
        memory = remember(alice, "I like figs").memory
        open_memory(carols, alice)

        carols.post(reverse("policies:people_close"))

        assert carols.get(reverse("inspector:fact", args=[memory.id])).status_code == 404

    def test_it_ends_when_the_admin_is_none_any_more(self, carols, carol, alice):
        memory = remember(alice, "I like figs").memory
        open_memory(carols, alice)
        carol.is_staff = False
        carol.save()

        assert carols.get(reverse("inspector:fact", args=[memory.id])).status_code == 404

    def test_chats_the_api_and_the_settings_stay_the_admins_own(self, carols, alice):
        world = everything_of(alice)
        open_memory(carols, alice)

        assert carols.get(reverse("chat:conversation", args=[world.conversation_id])).status_code == 404
        assert carols.get(f"/api/v1/memories/{world.memory_id}").status_code == 404
        assert carols.get("/api/v1/activity").json()["items"] == []
        assert "looking at alice" not in words_of(carols.get("/settings/"))

    def test_it_is_open_to_that_session_alone(self, carols, carol, alice):
        memory = remember(alice, "I like figs").memory
        open_memory(carols, alice)

        assert signed_in(carol).get(reverse("inspector:fact", args=[memory.id])).status_code == 404

    def test_an_admins_own_memory_needs_no_reason(self, carols, carol):
        response = open_memory(carols, carol)

        assert response["Location"] == reverse("inspector:overview")
        assert not Entry.objects.filter(verb=Verb.OPENED).exists()

    def test_who_does_not_exist_is_not_found(self, carols):
        url = reverse("policies:people_open", args=["00000000-0000-7000-8000-000000000000"])

        assert carols.post(url, {"reason": "x"}).status_code == 404

    def test_looking_does_not_count_as_the_persons_visit(self, carols, alice):
        open_memory(carols, alice)

        carols.get(reverse("inspector:overview"))

        alice.refresh_from_db()
        assert alice.memory_visited_at is None
