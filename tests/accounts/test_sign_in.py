"""Signing in with a password, and being stopped when guessing one."""

import pytest
from django.core.cache import cache
from django.urls import reverse

LOGIN = reverse("account_login")
WRONG = {"login": "alice", "password": "wrong"}


def sign_in(client, login, password="alice-password", **headers):
    return client.post(LOGIN, {"login": login, "password": password}, **headers)


def is_signed_in(client):
    return "_auth_user_id" in client.session


def test_a_user_name_and_the_password_sign_in(client, alice):
    response = sign_in(client, "alice")

    assert response.status_code == 302
    assert response["Location"] == "/"
    assert is_signed_in(client)


def test_an_e_mail_address_in_any_case_and_the_password_sign_in(client, alice):
    alice.email = "alice@strata.example"
    alice.save()

    sign_in(client, "Alice@Strata.Example")

    assert is_signed_in(client)


def test_signing_in_goes_on_to_the_page_that_asked_for_it(client, alice):
    asked = client.get("/memory/")

    response = client.post(
        asked["Location"], {"login": "alice", "password": "alice-password", "next": "/memory/"}
    )

    assert response["Location"] == "/memory/"


def test_signing_in_never_leads_to_another_site(client, alice):
    response = client.post(
        LOGIN, {"login": "alice", "password": "alice-password", "next": "https://evil.example/"}
    )

    assert response["Location"] == "/"


def test_a_new_session_begins_at_sign_in(client, alice):
    client.get(LOGIN)
    session = client.session
    session["planted"] = True
    session.save()
    before = session.session_key

    sign_in(client, "alice")

    assert client.session.session_key != before


def test_a_wrong_password_and_an_unknown_account_are_answered_alike(client, alice):
    known = sign_in(client, "alice", "wrong")
    unknown = sign_in(client, "nobody", "wrong")

    assert known.context["form"].errors == unknown.context["form"].errors
    assert not is_signed_in(client)


def test_a_closed_account_cannot_sign_in(client, alice):
    alice.is_active = False
    alice.save()

    sign_in(client, "alice")

    assert not is_signed_in(client)


def test_closing_an_account_ends_its_sessions(client, alice):
    client.force_login(alice)
    alice.is_active = False
    alice.save()

    response = client.get("/")

    assert response.status_code == 302
    assert response["Location"].startswith(LOGIN)


def test_the_sixth_wrong_password_for_an_account_is_refused_with_429(client, alice):
    for _ in range(5):
        assert client.post(LOGIN, WRONG).status_code == 200

    refused = client.post(LOGIN, WRONG)

    assert refused.status_code == 429
    assert int(refused["Retry-After"]) > 0
    assert "too many tries" in refused.content.decode()


def test_the_right_password_does_not_help_once_an_account_is_throttled(client, alice):
    for _ in range(5):
        client.post(LOGIN, WRONG)

    refused = sign_in(client, "alice")

    assert refused.status_code == 429
    assert not is_signed_in(client)


def test_one_address_is_throttled_across_accounts(client, alice):
    for number in range(10):
        sign_in(client, f"guess-{number}", "wrong")

    refused = sign_in(client, "alice")

    assert refused.status_code == 429


def test_a_forged_forwarding_header_does_not_escape_the_throttle(client, alice):
    for number in range(10):
        sign_in(client, f"guess-{number}", "wrong", HTTP_X_FORWARDED_FOR=f"203.0.113.{number}")

    refused = sign_in(client, "alice", HTTP_X_FORWARDED_FOR="203.0.113.99")

    assert refused.status_code == 429


def test_tries_are_counted_in_redis_where_every_web_process_sees_them(client, alice):
    client.post(LOGIN, WRONG)

    counted = cache._cache.get_client().keys("strata:*allauth:rl:*login_failed*")

    assert counted


def test_a_throttled_htmx_request_gets_the_fragment(client, alice):
    for _ in range(5):
        client.post(LOGIN, WRONG)

    refused = client.post(LOGIN, WRONG, headers={"HX-Request": "true"})

    assert refused.status_code == 429
    assert "<html" not in refused.content.decode()


def test_signing_out_ends_the_session(client, alice):
    client.force_login(alice)

    response = client.post(reverse("account_logout"))

    assert response["Location"] == LOGIN
    assert not is_signed_in(client)


def test_a_link_cannot_sign_anyone_out(client, alice):
    client.force_login(alice)

    client.get(reverse("account_logout"))

    assert is_signed_in(client)


def test_without_redis_sign_in_says_503_and_not_500(client, alice, settings):
    client.raise_request_exception = False
    settings.CACHES = {"default": {**settings.CACHES["default"], "LOCATION": "redis://127.0.0.1:1/0"}}

    response = sign_in(client, "alice")

    assert response.status_code == 503
    assert response["Retry-After"]
    assert "Traceback" not in response.content.decode()


@pytest.mark.parametrize("login", ["alice\x00", "a" * 10_000, "ünïcode@💥", "' OR 1=1 --"])
def test_odd_names_are_simply_wrong(client, alice, login):
    response = sign_in(client, login)

    assert response.status_code == 200
    assert not is_signed_in(client)


def test_the_form_says_that_it_takes_a_name_or_an_address(client, db):
    assert "User name or e-mail" in client.get(reverse("account_login")).content.decode()
