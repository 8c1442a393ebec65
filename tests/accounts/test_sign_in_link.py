"""The one-time link: how the first account comes in, and everyone who lost the password."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import StringIO
from threading import Barrier

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from memoryapp.accounts import operations
from memoryapp.accounts.models import SignInLink


def test_a_link_signs_its_person_in(client, alice):
    path = operations.create_sign_in_link(alice)

    response = client.get(path)

    assert response["Location"] == "/"
    assert client.session["_auth_user_id"] == str(alice.id)


def test_a_link_works_once(client, alice):
    path = operations.create_sign_in_link(alice)
    client.get(path)
    client.logout()

    again = client.get(path)

    assert again.status_code == 404
    assert "no longer works" in again.content.decode()
    assert "_auth_user_id" not in client.session


def test_an_expired_link_says_so_and_how_to_get_a_new_one(client, alice):
    path = operations.create_sign_in_link(alice)
    SignInLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    response = client.get(path)

    assert response.status_code == 404
    assert "manage.py sign_in_link" in response.content.decode()


def test_a_link_ends_at_its_moment(alice):
    path = operations.create_sign_in_link(alice)
    ends_at = SignInLink.objects.get().expires_at

    with pytest.raises(operations.LinkInvalidError):
        operations.redeem_sign_in_link(path.rsplit("/", 1)[1], now=ends_at)


@pytest.mark.parametrize("token", ["x", "%00", "é", "a" * 2_000])
def test_a_made_up_link_is_refused(client, db, token):
    response = client.get(f"/sign-in/{token}")

    assert response.status_code == 404


def test_a_new_link_ends_the_one_before(client, alice):
    first = operations.create_sign_in_link(alice)
    operations.create_sign_in_link(alice)

    assert client.get(first).status_code == 404


def test_the_link_of_a_closed_account_is_refused(client, alice):
    path = operations.create_sign_in_link(alice)
    alice.is_active = False
    alice.save()

    assert client.get(path).status_code == 404


@pytest.mark.parametrize("method", ["head", "options", "post"])
def test_only_opening_a_link_uses_it_up(client, alice, method):
    path = operations.create_sign_in_link(alice)

    getattr(client, method)(path)

    assert SignInLink.objects.get().used_at is None


def test_the_token_of_a_link_is_not_stored(alice):
    token = operations.create_sign_in_link(alice).rsplit("/", 1)[1]

    stored = SignInLink.objects.values_list()[0]

    assert token not in repr(stored)


def test_the_answer_to_a_link_is_kept_in_no_cache(client, alice):
    response = client.get(operations.create_sign_in_link(alice))

    assert "no-store" in response["Cache-Control"]


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_of_two_who_open_a_link_at_once_one_is_signed_in(alice):
    token = operations.create_sign_in_link(alice).rsplit("/", 1)[1]
    both_are_ready = Barrier(2)

    def redeem(_):
        both_are_ready.wait(timeout=10)
        try:
            return operations.redeem_sign_in_link(token, now=timezone.now())
        except operations.LinkInvalidError:
            return None
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        signed_in = list(pool.map(redeem, range(2)))

    assert sorted(signed_in, key=bool) == [None, alice]


def test_the_command_prints_a_link_for_the_named_person_on_its_last_line(client, alice, tmp_path):
    printed = StringIO()

    call_command("sign_in_link", "alice", data_dir=str(tmp_path), stdout=printed)

    client.get(printed.getvalue().splitlines()[-1])
    assert client.session["_auth_user_id"] == str(alice.id)


def test_the_command_refuses_an_unknown_person(db):
    with pytest.raises(CommandError, match="no active account 'nobody'"):
        call_command("sign_in_link", "nobody")
