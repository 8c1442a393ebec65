"""The switches above every chat: using memory, saving to it, and kinds that are never remembered."""

import pytest
from django.test import Client
from django.urls import reverse

from memoryapp.activity.models import Entry, Verb
from memoryapp.longterm import refusals
from tests.inspector.reading import words_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nudges")]
SWITCHES = "/memory/switches"


def switched() -> list[str]:
    entries = Entry.objects.filter(verb=Verb.SWITCHED).order_by("recorded_at", "id")
    return list(entries.values_list("detail", flat=True))


def test_both_are_on_at_first_and_the_settings_show_it(browser):
    shown = words_of(browser.get("/settings/"))

    assert "Pause using memory" in shown
    assert "Pause saving" in shown


@pytest.mark.parametrize(("name", "field"), [("use", "use_memory"), ("save", "save_memory")])
def test_each_is_paused_and_resumed_and_that_is_noted(browser, alice, name, field):
    off = browser.post(SWITCHES, {name: "off", "next": "/settings/"})
    alice.refresh_from_db()
    was_off = getattr(alice, field)
    browser.post(SWITCHES, {name: "on"})
    alice.refresh_from_db()

    assert off["Location"] == "/settings/"
    assert (was_off, getattr(alice, field)) == (False, True)
    what = {"use": "use memory", "save": "save to memory"}[name]
    assert switched() == [f"{what}: off", f"{what}: on"]


def test_what_was_switched_is_told_below_the_tabs_of_a_page_that_has_some(browser):
    page = browser.post(SWITCHES, {"use": "off", "next": "/memory/facts/"}, follow=True).content.decode()

    assert page.index('class="tabs"') < page.index("notice--success")


def test_switching_to_what_it_is_already_is_not_noted(browser):
    browser.post(SWITCHES, {"use": "on"})

    assert switched() == []


@pytest.mark.parametrize("form", [{}, {"use": "maybe"}])
def test_a_form_that_says_nothing_is_refused(browser, form):
    assert browser.post(SWITCHES, form).status_code == 422


def test_a_page_about_somebody_else_switches_nothing(browser, alice, bob):
    response = browser.post(SWITCHES, {"use": "off", "person": str(bob.id)})

    alice.refresh_from_db()
    bob.refresh_from_db()
    assert response.status_code in {409, 412}
    assert (alice.use_memory, bob.use_memory) == (True, True)


def test_a_stranger_switches_nothing(client, db):
    assert client.post(SWITCHES, {"use": "off"}).status_code == 302


def test_it_leads_back_to_our_own_pages_only(browser):
    response = browser.post(SWITCHES, {"use": "off", "next": "https://evil.example/"})

    assert response["Location"] == reverse("inspector:overview")


def test_a_chat_says_that_memory_is_paused_and_where_to_resume_it(browser, alice):
    from tests.turns import start

    chat = reverse("chat:conversation", args=[start(alice).id])
    before = words_of(browser.get(chat))
    browser.post(SWITCHES, {"use": "off", "save": "off"})
    after = browser.get(chat)

    assert "Memory paused" not in before
    assert "Memory paused" in words_of(after)
    assert "Saving paused" in words_of(after)
    assert "/settings/#memory" in after.content.decode()


def test_a_kind_is_refused_and_allowed_again(browser, alice, bob):
    url = reverse("inspector:refuse_kind", args=["event"])

    browser.post(url, {"refused": "yes"})
    refused = refusals.refused(alice.id)
    shown = words_of(browser.get("/settings/"))
    browser.post(url, {"refused": "no"})

    assert refused == {"event"}
    assert "Never remembered" in shown
    assert refusals.refused(alice.id) == set()
    assert refusals.refused(bob.id) == set()


@pytest.mark.parametrize(("slug", "answer", "status"), [("event", "", 422), ("nonsense", "yes", 422)])
def test_a_refusal_that_says_nothing_is_refused(browser, slug, answer, status):
    response = browser.post(reverse("inspector:refuse_kind", args=[slug]), {"refused": answer})

    assert response.status_code == status


def test_in_an_opened_memory_the_settings_stay_the_admins(alice, carol):
    carols = Client()
    carols.force_login(carol)
    carols.post(reverse("policies:people_open", args=[alice.id]), {"reason": "Ticket 7"})

    carols.post(SWITCHES, {"use": "off", "person": str(carol.id)})
    carols.post(SWITCHES, {"save": "off", "person": str(alice.id)})

    alice.refresh_from_db()
    carol.refresh_from_db()
    assert (carol.use_memory, carol.save_memory) == (False, True)
    assert (alice.use_memory, alice.save_memory) == (True, False)


@pytest.mark.parametrize(
    "back", ["abc", "inspector:facts", "?a=1", "//evil.example", "https://evil.example/"]
)
def test_it_leads_back_to_nothing_but_a_path_of_ours(browser, alice, back):
    response = browser.post(SWITCHES, {"save": "off", "next": back})

    alice.refresh_from_db()
    assert (response.status_code, response["Location"]) == (302, reverse("inspector:overview"))
    assert not alice.save_memory
