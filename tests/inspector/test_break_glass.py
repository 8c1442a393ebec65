"""An admin in another person's memory: only with a reason, for a while, and their person is told."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memoryapp.activity.models import Entry, Opening, Verb
from memoryapp.inspector import break_glass
from memoryapp.tuning.models import DayUsage
from tests.inspector.reading import words_of
from tests.longterm.saying import live, remember
from tests.world import CONTENT, everything_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nudges")]
PEOPLE = "/policies/people/"
SECRET = "The API key is sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAAAAAA1"


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
        monkeypatch.setattr("memoryapp.inspector.administration.people_views.PAGE", 2)

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

    @pytest.mark.parametrize(
        "reason",
        ["", "  ", "ok", "x" * 301, "\u200b\u200b\u200b", "\u202eevil", "\u2800\u3164\u2800", SECRET],
    )
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

        carols.post(reverse("inspector:fact_delete", args=[memory.id]), {"person": alice.id})

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

    @pytest.mark.parametrize("page", ["chat:home", "accounts:settings", "policies:kinds", "policies:people"])
    def test_every_page_says_that_it_is_open_and_closes_it(self, carols, alice, page):
        before = words_of(carols.get(reverse(page)))
        open_memory(carols, alice)

        response = carols.get(reverse(page))

        assert "alice’s memory is open to you as an admin" in words_of(response)
        assert 'id="close-opened"' in response.content.decode()
        assert "is open to you" not in before

    def test_the_list_of_people_closes_it_too(self, carols, alice, bob):
        open_memory(carols, alice)

        response = carols.get(PEOPLE)

        assert "open until" in words_of(response)
        assert f'id="close-{alice.id}"' in response.content.decode()
        assert f'id="close-{bob.id}"' not in response.content.decode()

    def test_the_budget_on_the_overview_is_the_persons_and_in_the_settings_the_admins(
        self, carols, carol, alice
    ):
        remember(alice, "I like figs")
        today = timezone.now().date()
        for person, tokens in ((alice, 111), (carol, 222)):
            for day in range(-1, 2):  # whatever the zone, and should midnight pass
                DayUsage.objects.create(user=person, day=today + timedelta(days=day), output_tokens=tokens)
        open_memory(carols, alice)

        assert "111 tokens used today" in words_of(carols.get(reverse("inspector:overview")))
        assert "222 tokens used today" in words_of(carols.get(reverse("accounts:settings")))

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

        assert carols.post(url, {"reason": "Ticket 7"}).status_code == 404

    def test_looking_does_not_count_as_the_persons_visit(self, carols, alice):
        open_memory(carols, alice)

        carols.get(reverse("inspector:overview"))

        alice.refresh_from_db()
        assert alice.memory_visited_at is None

    def test_closed_it_stays_closed_when_a_slow_request_writes_its_session_back(self, carols, alice):
        memory = remember(alice, "I like figs").memory
        open_memory(carols, alice)
        slow = dict(carols.session.items())

        carols.post(reverse("policies:people_close"))
        session = carols.session
        session.update(slow)
        session.save()

        assert carols.get(reverse("inspector:fact", args=[memory.id])).status_code == 404

    def test_ended_with_the_admins_rights_it_does_not_open_again_with_them(self, carols, carol, alice):
        memory = remember(alice, "I like figs").memory
        open_memory(carols, alice)
        for is_staff in (False, True):
            carol.is_staff = is_staff
            carol.save()
            response = carols.get(reverse("inspector:fact", args=[memory.id]))

        assert response.status_code == 404

    def test_opening_another_closes_the_one_before(self, carols, carol, alice, bob):
        open_memory(carols, alice)
        open_memory(carols, bob)

        held = Opening.objects.filter(admin=carol, closed_at=None)

        assert [opening.user for opening in held] == [bob]

    def test_an_opening_is_of_no_use_to_another_admin(self, carols, bob, alice):
        memory = remember(alice, "I like figs").memory
        open_memory(carols, alice)
        bob.is_staff = True
        bob.save()
        bobs = signed_in(bob)
        session = bobs.session
        session["opened_memory"] = carols.session["opened_memory"]
        session.save()

        assert bobs.get(reverse("inspector:fact", args=[memory.id])).status_code == 404

    def test_it_ends_with_its_persons_account(self, carols, carol, alice):
        open_memory(carols, alice)
        alice.delete()

        for url in (reverse("inspector:overview"), reverse("inspector:facts"), reverse("inspector:activity")):
            assert carols.get(url).status_code == 200
        carols.post(reverse("inspector:fact_add"), {"kind": "preference", "statement": "I like figs"})

        assert live(carol) == ["I like figs"]

    def test_what_can_be_undone_in_it_is_not_offered_in_ones_own(self, carols, alice):
        memory = remember(alice, "I like figs").memory
        open_memory(carols, alice)
        carols.post(reverse("inspector:fact_delete", args=[memory.id]), {"person": alice.id})

        carols.post(reverse("policies:people_close"))

        assert "Forgotten." not in words_of(carols.get(reverse("inspector:facts")))


class TestForms:
    ADD = {"kind": "preference", "statement": "I like figs"}

    def add(self, browser, **values):
        return browser.post(reverse("inspector:fact_add"), self.ADD | values)

    def test_every_form_of_an_opened_memory_says_whose_it_is(self, carols, alice):
        everything_of(alice)
        field = f'<input type="hidden" name="person" value="{alice.id}">'
        before = carols.get(reverse("inspector:facts")).content.decode()

        open_memory(carols, alice)
        page = carols.get(reverse("inspector:facts")).content.decode()

        assert field not in before
        assert page.count(field) == page.count("csrfmiddlewaretoken") > 0

    def test_a_form_of_the_opened_memory_acts_on_it(self, carols, alice, carol):
        open_memory(carols, alice)

        self.add(carols, person=str(alice.id))

        assert (live(alice), live(carol)) == (["I like figs"], [])

    def test_a_form_from_before_it_was_opened_does_nothing(self, carols, alice, carol):
        open_memory(carols, alice)

        response = self.add(carols)

        assert response.status_code == 409
        assert "You have alice’s memory open, and this page showed your own." in words_of(response)
        assert (live(alice), live(carol)) == ([], [])

    def test_a_form_from_before_it_was_closed_does_nothing(self, carols, alice, carol):
        open_memory(carols, alice)
        carols.post(reverse("policies:people_close"))

        response = self.add(carols, person=str(alice.id))

        assert response.status_code == 409
        assert "This page showed alice’s memory, which is closed now." in words_of(response)
        assert (live(alice), live(carol)) == ([], [])

    def test_a_form_of_another_opened_memory_does_nothing(self, carols, alice, bob):
        open_memory(carols, bob)

        response = self.add(carols, person=str(alice.id))

        assert response.status_code == 409
        assert "You have bob’s memory open, and this page showed alice’s." in words_of(response)
        assert (live(alice), live(bob)) == ([], [])

    def test_nobody_learns_from_it_who_has_an_id(self, alice, bob):
        response = self.add(signed_in(bob), person=str(alice.id))

        assert response.status_code == 409
        assert "alice" not in words_of(response)
        assert live(bob) == []
