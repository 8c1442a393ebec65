"""API tokens: made, shown once, kept as a hash, ended."""

import json
from datetime import timedelta
from io import StringIO
from uuid import uuid4

import pytest
from django.core import serializers
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from memoryapp.accounts import operations, queries
from memoryapp.accounts.models import ApiToken
from memoryapp.errors import NotFoundError

KINDS = "/api/v1/kinds"
CREATE = reverse("accounts:token_create")


@pytest.fixture
def token(alice):
    return operations.create_token(alice, name="laptop", now=timezone.now())


def call(client, secret):
    return client.get(KINDS, headers={"Authorization": f"Bearer {secret}"})


def test_a_token_opens_the_api(client, token):
    assert call(client, token[1]).status_code == 200


def test_the_settings_page_shows_a_new_token_once(client, alice):
    client.force_login(alice)

    made = client.post(CREATE, {"name": "laptop"})
    secret = made.context["new_token"]
    later = client.get(reverse("accounts:settings"))

    assert made.status_code == 201
    assert secret in made.content.decode()
    assert "no-store" in made["Cache-Control"]
    assert secret not in later.content.decode()
    assert secret[:12] in later.content.decode()


def test_reloading_the_page_of_a_new_token_makes_no_second_one(client, alice):
    client.force_login(alice)
    form = {"name": "laptop", "form_key": client.get(reverse("accounts:settings")).context["form_key"]}
    client.post(CREATE, form)

    again = client.post(CREATE, form, follow=True)

    assert ApiToken.objects.count() == 1
    assert "This token was made already." in again.content.decode()


def test_revoking_a_token_is_asked_twice(client, alice, token):
    client.force_login(alice)

    html = client.get(reverse("accounts:settings")).content.decode()

    asked, form = html.index("Revoke…"), html.index(reverse("accounts:token_revoke", args=[token[0].id]))
    assert html.rindex("<details", 0, asked) < asked < form < html.index("</details>", form)


def test_the_secret_of_a_token_is_not_stored(token):
    _, secret = token

    dump = serializers.serialize("json", ApiToken.objects.all())

    assert secret not in dump
    assert secret.removeprefix(operations.TOKEN_PREFIX) not in dump
    assert queries.digest(secret) in dump


@pytest.mark.parametrize("name", ["", "   ", "x" * 81, "lap\x00top", "lap\ntop"])
def test_a_token_needs_a_name_that_can_be_shown(client, alice, name):
    client.force_login(alice)

    response = client.post(CREATE, {"name": name})

    assert response.status_code == 422
    assert not ApiToken.objects.exists()


def test_an_expired_token_is_refused_and_says_when_it_expired(client, token):
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(days=1))

    response = call(client, token[1])

    problem = json.loads(response.content)
    assert response.status_code == 401
    assert response["Content-Type"] == "application/problem+json"
    assert response["WWW-Authenticate"] == "Bearer"
    assert problem["code"] == "unauthenticated"
    assert f"expired on {timezone.now() - timedelta(days=1):%Y-%m-%d}" in problem["detail"]


def test_a_token_lives_for_the_configured_time(token):
    lifetime = token[0].expires_at - token[0].created_at

    assert timedelta(days=364) < lifetime <= timedelta(days=365)


def test_a_revoked_token_is_refused_and_says_so(client, alice, token):
    client.force_login(alice)
    client.post(reverse("accounts:token_revoke", args=[token[0].id]))
    client.logout()

    response = call(client, token[1])

    assert response.status_code == 401
    assert "revoked" in response.json()["detail"]


def test_a_revoked_token_is_off_the_list(client, alice, token):
    client.force_login(alice)

    client.post(reverse("accounts:token_revoke", args=[token[0].id]))

    assert token[0].prefix not in client.get(reverse("accounts:settings")).content.decode()


def test_a_token_is_revoked_once(alice, token):
    operations.revoke_token(alice, token[0].id, now=timezone.now())

    with pytest.raises(NotFoundError):
        operations.revoke_token(alice, token[0].id, now=timezone.now())


def test_bob_cannot_revoke_a_token_of_alice(client, bob, token):
    client.force_login(bob)

    response = client.post(reverse("accounts:token_revoke", args=[token[0].id]))

    token[0].refresh_from_db()
    assert response.status_code == 404
    assert token[0].revoked_at is None


def test_bob_does_not_see_the_tokens_of_alice(client, bob, token):
    client.force_login(bob)

    assert token[0].prefix not in client.get(reverse("accounts:settings")).content.decode()


def test_revoking_what_never_was_is_404(client, alice):
    client.force_login(alice)

    assert client.post(reverse("accounts:token_revoke", args=[uuid4()])).status_code == 404


def test_the_token_of_a_closed_account_is_refused(client, alice, token):
    alice.is_active = False
    alice.save()

    assert call(client, token[1]).status_code == 401


@pytest.mark.parametrize("secret", ["", "x", "strata_" + "x" * 43, "é", "x" * 5_000])
def test_an_unknown_token_is_refused(client, db, secret):
    response = call(client, secret)

    assert response.status_code == 401
    assert response.json()["detail"]


def test_a_bad_token_is_refused_even_beside_a_good_session(client, alice):
    client.force_login(alice)

    assert call(client, "strata_wrong").status_code == 401


def test_using_a_token_is_noted(client, token):
    call(client, token[1])

    token[0].refresh_from_db()
    assert token[0].last_used_at is not None


def test_use_is_noted_at_most_once_a_minute(token):
    used_at = timezone.now()
    operations.note_token_use(token[0], now=used_at)
    token[0].refresh_from_db()

    operations.note_token_use(token[0], now=used_at + timedelta(seconds=59))

    token[0].refresh_from_db()
    assert token[0].last_used_at == used_at


def test_the_command_prints_the_token_alone_on_its_last_line(client, alice):
    printed, notes = StringIO(), StringIO()

    call_command("create_token", "alice", stdout=printed, stderr=notes)

    secret = printed.getvalue().splitlines()[-1]
    assert call(client, secret).status_code == 200
    assert secret not in notes.getvalue()


def test_the_command_knows_people_by_e_mail_address_too(alice):
    alice.email = "alice@strata.example"
    alice.save()

    call_command("create_token", "ALICE@strata.example", stdout=StringIO(), stderr=StringIO())

    assert ApiToken.objects.get().user == alice


@pytest.mark.parametrize("nobody", ["nobody", ""])
def test_the_command_refuses_an_unknown_person(alice, nobody):
    with pytest.raises(CommandError, match="There is no"):
        call_command("create_token", nobody)
