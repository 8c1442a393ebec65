"""The language of the pages: the browser's, or the one that a person chose."""

import pytest
from django.urls import reverse

from memoryapp.accounts import operations

PREFERENCES = reverse("accounts:preferences")
SETTINGS = reverse("accounts:settings")


def test_pages_speak_the_language_of_the_browser(client, alice):
    client.force_login(alice)

    response = client.get(SETTINGS, headers={"Accept-Language": "de-AT, en;q=0.5"})

    assert '<html lang="de"' in response.content.decode()
    assert response["Content-Language"] == "de"
    assert "Accept-Language" in response["Vary"]


def test_a_language_that_is_not_there_falls_back_to_english(client, alice):
    client.force_login(alice)

    response = client.get(SETTINGS, headers={"Accept-Language": "fi"})

    assert '<html lang="en"' in response.content.decode()


def test_a_choice_stands_above_the_browser_on_every_page(client, alice):
    client.force_login(alice)

    client.post(PREFERENCES, {"time_zone": "UTC", "theme": "dark", "language": "de"})

    response = client.get(reverse("inspector:overview"), headers={"Accept-Language": "en"})
    assert '<html lang="de"' in response.content.decode()
    assert response["Content-Language"] == "de"


def test_the_choice_of_one_person_is_not_spoken_to_the_next(client, alice, bob):
    operations.change_preferences(alice, language="de")
    client.force_login(alice)
    client.get(SETTINGS)

    client.force_login(bob)

    assert '<html lang="en"' in client.get(SETTINGS).content.decode()


def test_a_choice_can_be_given_back_to_the_browser(client, alice):
    operations.change_preferences(alice, language="de")
    client.force_login(alice)

    client.post(PREFERENCES, {"time_zone": "UTC", "theme": "dark", "language": ""})

    assert '<html lang="en"' in client.get(SETTINGS).content.decode()


@pytest.mark.parametrize(
    ("before", "chosen", "browser_and_said"),
    [
        ("", "de", ("en", "Gespeichert.")),
        ("de", "en", ("de", "Saved.")),
        ("de", "", ("en", "Saved.")),
        ("en", "", ("de", "Gespeichert.")),
        ("de", None, ("en", "Gespeichert.")),
    ],
)
def test_that_it_is_saved_is_said_in_the_language_chosen(client, alice, before, chosen, browser_and_said):
    browser, said = browser_and_said
    operations.change_preferences(alice, language=before)
    client.force_login(alice)
    sent = {"time_zone": "UTC", "theme": "dark"} | ({} if chosen is None else {"language": chosen})

    response = client.post(PREFERENCES, sent, headers={"Accept-Language": browser}, follow=True)

    assert [str(each) for each in response.context["messages"]] == [said]


@pytest.mark.parametrize("wrong", ["tlh", "de\x00", "../de", "x" * 300])
def test_a_language_that_does_not_exist_is_refused_with_a_reason(client, alice, wrong):
    client.force_login(alice)

    response = client.post(PREFERENCES, {"time_zone": "UTC", "theme": "dark", "language": wrong})

    alice.refresh_from_db()
    assert response.status_code == 422
    assert "Choose a language" in response.context["form_error"]
    assert alice.language == ""


def test_the_theme_button_leaves_the_language_alone(client, alice):
    operations.change_preferences(alice, language="de")
    client.force_login(alice)

    client.post(reverse("accounts:appearance"), {"theme": "dark"})

    alice.refresh_from_db()
    assert (alice.theme, alice.language) == ("dark", "de")
