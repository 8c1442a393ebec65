"""Time zone and colours."""

import pytest
from django.urls import reverse

from memoryapp.accounts import queries

PREFERENCES = reverse("accounts:preferences")
APPEARANCE = reverse("accounts:appearance")


def test_time_zone_and_theme_are_kept(client, alice):
    client.force_login(alice)

    response = client.post(PREFERENCES, {"time_zone": "Europe/Berlin", "theme": "dark"})

    alice.refresh_from_db()
    assert response["Location"] == reverse("accounts:settings")
    assert (alice.time_zone, alice.theme) == ("Europe/Berlin", "dark")


@pytest.mark.parametrize(
    "wrong", [{"time_zone": "Mars/Olympus"}, {"time_zone": ""}, {"theme": "pink"}, {"theme": "x\x00"}]
)
def test_what_does_not_exist_is_refused_with_a_reason(client, alice, wrong):
    client.force_login(alice)

    response = client.post(PREFERENCES, {"time_zone": "UTC", "theme": "dark", **wrong})

    alice.refresh_from_db()
    assert response.status_code == 422
    assert "Choose" in response.context["form_error"]
    assert alice.theme == "system"


def test_the_theme_is_on_every_page_of_its_person(client, alice):
    alice.theme = "dark"
    alice.save()
    client.force_login(alice)

    assert 'data-theme="dark"' in client.get("/").content.decode()


def test_single_keys_can_be_turned_off_on_every_page_of_their_person_and_on_again(client, alice):
    client.force_login(alice)
    pages = []
    for sent in ([], ["off"], ["off", "on"]):  # as a form without the box sends it, with it empty, and ticked
        client.post(PREFERENCES, {"time_zone": "UTC", "list_keys": sent})
        pages.append(client.get("/").content.decode())

    assert ['data-keys="off"' in page for page in pages] == [False, True, False]


def test_the_theme_button_keeps_the_choice_for_the_pages_before_sign_in(client, alice):
    client.force_login(alice)
    client.post(APPEARANCE, {"theme": "light"})
    client.post(reverse("account_logout"))

    alice.refresh_from_db()
    assert alice.theme == "light"
    assert 'data-theme="light"' in client.get(reverse("account_login")).content.decode()


def test_a_made_up_theme_cookie_is_ignored(client, db):
    client.cookies["theme"] = '"><script>'

    assert 'data-theme="system"' in client.get(reverse("account_login")).content.decode()


def test_settings_are_for_the_signed_in(client, db):
    response = client.get(reverse("accounts:settings"))

    assert response["Location"].startswith(reverse("account_login"))


@pytest.mark.parametrize("zone", ["localtime", "Factory", "Mars/Olympus", "", "Etc/GMT+3"])
def test_only_zones_that_the_database_knows_too_can_be_chosen(client, alice, zone):
    client.force_login(alice)

    response = client.post(reverse("accounts:preferences"), {"time_zone": zone, "theme": "light"})

    alice.refresh_from_db()
    assert (response.status_code, alice.time_zone) == (422, "UTC")
    assert zone not in queries.time_zones()
