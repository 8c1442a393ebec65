"""An admin in another person's memory: only with a reason, for a while, and their person is told."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from memoryapp.activity.models import Entry, Opening, Verb
from memoryapp.inspector import break_glass
from memoryapp.tuning.models import DayUsage
from tests.inspector.reading import words_of
from tests.longterm.saying import live, remember
from tests.personas import signed_in
from tests.world import everything_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nudges")]
PEOPLE = "/policies/people/"
SECRET = "The API key is sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAAAAAA1"


def open_memory(browser, person, reason="Ticket 7"):
    return browser.post(reverse("policies:people_open", args=[person.id]), {"reason": reason})


class TestOpened:
    def test_an_admin_sees_nothing_of_anybody_without_opening_it(self, staff, alice):
        memory = remember(alice, "I like figs").memory

        assert staff.get(reverse("inspector:fact", args=[memory.id])).status_code == 404
        assert "I like figs" not in words_of(staff.get(reverse("inspector:facts")))

    def test_opened_the_memory_pages_are_about_the_person_and_say_so(self, staff, alice):
        memory = remember(alice, "I like figs").memory

        open_memory(staff, alice)

        for url in (reverse("inspector:facts"), reverse("inspector:fact", args=[memory.id])):
            shown = words_of(staff.get(url))
            assert "I like figs" in shown
            assert "You are looking at alice’s memory as an admin" in shown
            assert "Ticket 7" in shown

    def test_the_person_reads_by_whom_and_why(self, staff, alice):
        open_memory(staff, alice, "  Ticket\n7 ")

        shown = words_of(signed_in(alice).get(reverse("inspector:activity")))

        assert "An admin (carol) Opened with a reason Ticket 7" in shown

    @pytest.mark.parametrize(
        "reason",
        ["", "  ", "ok", "x" * 301, "\u200b\u200b\u200b", "\u202eevil", "\u2800\u3164\u2800", SECRET],
    )
    def test_without_a_reason_it_stays_shut(self, staff, alice, reason):
        memory = remember(alice, "I like figs").memory

        response = open_memory(staff, alice, reason)

        assert response.status_code == 422
        assert "Say why" in words_of(response)
        assert staff.get(reverse("inspector:fact", args=[memory.id])).status_code == 404
        assert not Entry.objects.filter(verb=Verb.OPENED).exists()

    def test_what_the_admin_does_is_noted_as_theirs(self, staff, alice):
        memory = remember(alice, "I like figs").memory
        open_memory(staff, alice)

        staff.post(reverse("inspector:fact_delete", args=[memory.id]), {"person": alice.id})

        assert live(alice) == []
        entry = Entry.objects.get(user=alice, verb=Verb.FORGOT)
        assert (entry.actor, entry.actor_name) == ("admin", "carol")

    def test_it_ends_by_itself(self, staff, alice, monkeypatch):
        memory = remember(alice, "I like figs").memory
        open_memory(staff, alice)
        later = timezone.now() + break_glass.OPEN_FOR + timedelta(seconds=1)
        monkeypatch.setattr(break_glass.timezone, "now", lambda: later)

        assert staff.get(reverse("inspector:fact", args=[memory.id])).status_code == 404

    def test_it_can_be_closed(self, staff, alice):
        memory = remember(alice, "I like figs").memory
        open_memory(staff, alice)

        staff.post(reverse("policies:people_close"))

        assert staff.get(reverse("inspector:fact", args=[memory.id])).status_code == 404

    def test_it_ends_when_the_admin_is_none_any_more(self, staff, carol, alice):
        memory = remember(alice, "I like figs").memory
        open_memory(staff, alice)
        carol.is_staff = False
        carol.save()

        assert staff.get(reverse("inspector:fact", args=[memory.id])).status_code == 404

    def test_chats_the_api_and_the_settings_stay_the_admins_own(self, staff, alice):
        world = everything_of(alice)
        open_memory(staff, alice)

        assert staff.get(reverse("chat:conversation", args=[world.conversation_id])).status_code == 404
        assert staff.get(f"/api/v1/memories/{world.memory_id}").status_code == 404
        assert staff.get("/api/v1/activity").json()["items"] == []
        assert "looking at alice" not in words_of(staff.get("/settings/"))

    @pytest.mark.parametrize("page", ["chat:home", "accounts:settings", "policies:kinds", "policies:people"])
    def test_every_page_says_that_it_is_open_and_closes_it(self, staff, alice, page):
        before = words_of(staff.get(reverse(page)))
        open_memory(staff, alice)

        response = staff.get(reverse(page))

        assert "alice’s memory is open to you as an admin" in words_of(response)
        assert 'id="close-opened"' in response.content.decode()
        assert "is open to you" not in before

    def test_the_list_of_people_closes_it_too(self, staff, alice, bob):
        open_memory(staff, alice)

        response = staff.get(PEOPLE)

        assert "open until" in words_of(response)
        assert f'id="close-{alice.id}"' in response.content.decode()
        assert f'id="close-{bob.id}"' not in response.content.decode()

    def test_the_budget_on_the_overview_is_the_persons_and_in_the_settings_the_admins(
        self, staff, carol, alice
    ):
        remember(alice, "I like figs")
        today = timezone.now().date()
        for person, tokens in ((alice, 111), (carol, 222)):
            for day in range(-1, 2):  # whatever the zone, and should midnight pass
                DayUsage.objects.create(user=person, day=today + timedelta(days=day), output_tokens=tokens)
        open_memory(staff, alice)

        assert "111 tokens used today" in words_of(staff.get(reverse("inspector:overview")))
        assert "222 tokens used today" in words_of(staff.get(reverse("accounts:settings")))

    def test_it_is_open_to_that_session_alone(self, staff, carol, alice):
        memory = remember(alice, "I like figs").memory
        open_memory(staff, alice)

        assert signed_in(carol).get(reverse("inspector:fact", args=[memory.id])).status_code == 404

    def test_an_admins_own_memory_needs_no_reason(self, staff, carol):
        response = open_memory(staff, carol)

        assert response["Location"] == reverse("inspector:overview")
        assert not Entry.objects.filter(verb=Verb.OPENED).exists()

    def test_who_does_not_exist_is_not_found(self, staff):
        url = reverse("policies:people_open", args=["00000000-0000-7000-8000-000000000000"])

        assert staff.post(url, {"reason": "Ticket 7"}).status_code == 404

    def test_looking_does_not_count_as_the_persons_visit(self, staff, alice):
        open_memory(staff, alice)

        staff.get(reverse("inspector:overview"))

        alice.refresh_from_db()
        assert alice.memory_visited_at is None

    def test_the_overview_says_whose_it_is_and_offers_none_of_their_switches(self, staff, alice):
        remember(alice, "I like figs")
        own = words_of(signed_in(alice).get(reverse("inspector:overview")))
        open_memory(staff, alice)

        shown = words_of(staff.get(reverse("inspector:overview")))

        assert "all of it is theirs." in shown
        assert "yours to correct" not in shown
        assert "Pause using memory" not in shown
        assert "An admin opened your memory" not in shown
        assert "yours to correct" in own
        assert "Pause using memory" in own

    def test_the_persons_overview_says_for_a_month_by_whom_and_why_it_was_opened(self, staff, alice, bob):
        open_memory(staff, alice)
        overview = reverse("inspector:overview")
        shown = words_of(signed_in(alice).get(overview))
        Entry.objects.filter(verb=Verb.OPENED).update(recorded_at=timezone.now() - timedelta(days=31))

        later = words_of(signed_in(alice).get(overview))

        assert "An admin opened your memory" in shown
        assert "carol: Ticket 7 See what they did" in shown
        assert "An admin opened your memory" not in later
        assert "An admin opened your memory" not in words_of(signed_in(bob).get(overview))

    def test_closed_it_stays_closed_when_a_slow_request_writes_its_session_back(self, staff, alice):
        memory = remember(alice, "I like figs").memory
        open_memory(staff, alice)
        slow = dict(staff.session.items())

        staff.post(reverse("policies:people_close"))
        session = staff.session
        session.update(slow)
        session.save()

        assert staff.get(reverse("inspector:fact", args=[memory.id])).status_code == 404

    def test_ended_with_the_admins_rights_it_does_not_open_again_with_them(self, staff, carol, alice):
        memory = remember(alice, "I like figs").memory
        open_memory(staff, alice)
        for is_staff in (False, True):
            carol.is_staff = is_staff
            carol.save()
            response = staff.get(reverse("inspector:fact", args=[memory.id]))

        assert response.status_code == 404

    def test_opening_another_closes_the_one_before(self, staff, carol, alice, bob):
        open_memory(staff, alice)
        open_memory(staff, bob)

        held = Opening.objects.filter(admin=carol, closed_at=None)

        assert [opening.user for opening in held] == [bob]

    def test_an_opening_is_of_no_use_to_another_admin(self, staff, bob, alice):
        memory = remember(alice, "I like figs").memory
        open_memory(staff, alice)
        bob.is_staff = True
        bob.save()
        bobs = signed_in(bob)
        session = bobs.session
        session["opened_memory"] = staff.session["opened_memory"]
        session.save()

        assert bobs.get(reverse("inspector:fact", args=[memory.id])).status_code == 404

    def test_it_ends_with_its_persons_account(self, staff, carol, alice):
        open_memory(staff, alice)
        alice.delete()

        for url in (reverse("inspector:overview"), reverse("inspector:facts"), reverse("inspector:activity")):
            assert staff.get(url).status_code == 200
        staff.post(reverse("inspector:fact_add"), {"kind": "preference", "statement": "I like figs"})

        assert live(carol) == ["I like figs"]

    def test_what_can_be_undone_in_it_is_not_offered_in_ones_own(self, staff, alice):
        memory = remember(alice, "I like figs").memory
        open_memory(staff, alice)
        staff.post(reverse("inspector:fact_delete", args=[memory.id]), {"person": alice.id})

        staff.post(reverse("policies:people_close"))

        assert "Forgotten." not in words_of(staff.get(reverse("inspector:facts")))


class TestForms:
    ADD = {"kind": "preference", "statement": "I like figs"}

    def add(self, browser, **values):
        return browser.post(reverse("inspector:fact_add"), self.ADD | values)

    def test_every_form_of_an_opened_memory_says_whose_it_is(self, staff, alice):
        everything_of(alice)
        field = f'<input type="hidden" name="person" value="{alice.id}">'
        before = staff.get(reverse("inspector:facts")).content.decode()

        open_memory(staff, alice)
        page = staff.get(reverse("inspector:facts")).content.decode()

        assert field not in before
        assert page.count(field) == page.count("csrfmiddlewaretoken") > 0

    def test_a_form_of_the_opened_memory_acts_on_it(self, staff, alice, carol):
        open_memory(staff, alice)

        self.add(staff, person=str(alice.id))

        assert (live(alice), live(carol)) == (["I like figs"], [])

    def test_a_form_from_before_it_was_opened_does_nothing(self, staff, alice, carol):
        open_memory(staff, alice)

        response = self.add(staff)

        assert response.status_code == 409
        assert "You have alice’s memory open, and this page showed your own." in words_of(response)
        assert (live(alice), live(carol)) == ([], [])

    def test_a_form_from_before_it_was_closed_does_nothing(self, staff, alice, carol):
        open_memory(staff, alice)
        staff.post(reverse("policies:people_close"))

        response = self.add(staff, person=str(alice.id))

        assert response.status_code == 409
        assert "This page showed alice’s memory, which is closed now." in words_of(response)
        assert (live(alice), live(carol)) == ([], [])

    def test_a_form_of_another_opened_memory_does_nothing(self, staff, alice, bob):
        open_memory(staff, bob)

        response = self.add(staff, person=str(alice.id))

        assert response.status_code == 409
        assert "You have bob’s memory open, and this page showed alice’s." in words_of(response)
        assert (live(alice), live(bob)) == ([], [])

    def test_nobody_learns_from_it_who_has_an_id(self, alice, bob):
        response = self.add(signed_in(bob), person=str(alice.id))

        assert response.status_code == 409
        assert "alice" not in words_of(response)
        assert live(bob) == []
