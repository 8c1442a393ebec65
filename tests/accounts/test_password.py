"""Setting and changing a password, and what becomes of the other sessions."""

from django.contrib.auth import authenticate
from django.core import mail
from django.test import Client
from django.urls import reverse

from memoryapp.accounts import operations

NEW = "a-long-passphrase-1"
CHANGE = reverse("account_change_password")
SET = reverse("account_set_password")
CHANGE_FORM = {"oldpassword": "alice-password", "password1": NEW, "password2": NEW}


def test_the_first_account_sets_its_password_after_the_link(client, db):
    admin = operations.ensure_first_account()
    client.get(operations.create_sign_in_link(admin))

    settings_page = client.get(reverse("accounts:settings")).content.decode()
    response = client.post(SET, {"password1": NEW, "password2": NEW})

    assert SET in settings_page
    assert response["Location"] == reverse("accounts:settings")
    assert "Password successfully set." in client.get(response["Location"]).content.decode()
    assert authenticate(username="admin", password=NEW) == admin


def test_changing_needs_the_old_password(client, alice):
    client.force_login(alice)

    response = client.post(CHANGE, {**CHANGE_FORM, "oldpassword": "wrong"})

    assert response.status_code == 200
    assert authenticate(username="alice", password="alice-password") == alice


def test_changing_the_password_keeps_this_session_and_ends_the_others(client, alice):
    elsewhere = Client()
    elsewhere.force_login(alice)
    client.force_login(alice)

    client.post(CHANGE, CHANGE_FORM)

    assert client.get("/").status_code == 200
    assert elsewhere.get("/").status_code == 302


def test_a_person_with_a_password_is_sent_to_changing_it(client, alice):
    client.force_login(alice)

    assert client.get(SET)["Location"] == CHANGE


def test_a_person_without_a_password_is_sent_to_setting_one(client, db):
    client.force_login(operations.ensure_first_account())

    assert client.get(CHANGE)["Location"] == SET


def test_asking_for_a_reset_does_not_tell_whether_the_address_is_known(client, alice):
    alice.email = "alice@strata.example"
    alice.save()
    url = reverse("account_reset_password")

    known = client.post(url, {"email": "alice@strata.example"})
    unknown = client.post(url, {"email": "nobody@strata.example"})

    assert (known.status_code, known["Location"]) == (unknown.status_code, unknown["Location"])


def test_a_reset_link_sets_a_new_password(client, alice):
    alice.email = "alice@strata.example"
    alice.save()
    client.post(reverse("account_reset_password"), {"email": alice.email})
    link = next(word for word in mail.outbox[0].body.split() if "/password/reset/key/" in word)

    form_page = client.get(link)
    client.post(form_page["Location"], {"password1": NEW, "password2": NEW})

    assert authenticate(username="alice", password=NEW) == alice


def test_without_a_mail_server_asking_for_a_reset_does_not_fail(client, alice, settings):
    alice.email = "alice@strata.example"
    alice.save()
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"

    response = client.post(reverse("account_reset_password"), {"email": alice.email})

    assert response.status_code == 302


def test_a_reset_link_never_points_at_a_forged_host(client, alice, settings):
    alice.email = "alice@strata.example"
    alice.save()
    settings.ALLOWED_HOSTS = ["strata.example"]

    response = client.post(
        reverse("account_reset_password"), {"email": alice.email}, headers={"Host": "evil.example"}
    )

    assert response.status_code == 400
    assert mail.outbox == []


def test_many_addresses_per_account_have_no_page(client, alice):
    client.force_login(alice)

    assert client.get("/accounts/email/")["Location"] == reverse("accounts:settings")
