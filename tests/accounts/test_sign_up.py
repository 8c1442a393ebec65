"""Who may make an account: nobody, unless the operator opens sign-up."""

import pytest
from django.urls import reverse

from memoryapp.accounts import operations
from memoryapp.accounts.models import User

SIGN_UP = reverse("account_signup")
FORM = {"username": "dave", "password1": "a-long-passphrase-1", "password2": "a-long-passphrase-1"}


def test_sign_up_is_closed_when_there_is_an_account(client, alice):
    page = client.get(SIGN_UP)
    posted = client.post(SIGN_UP, FORM)

    assert "Sign-up is closed" in page.content.decode()
    assert "Sign-up is closed" in posted.content.decode()
    assert list(User.objects.values_list("username", flat=True)) == ["alice"]


def test_a_stranger_cannot_take_an_installation_that_has_no_account_yet(client, db):
    client.post(SIGN_UP, FORM)

    assert not User.objects.exists()


def test_the_operator_can_open_sign_up(client, alice, open_sign_up):
    response = client.post(SIGN_UP, FORM)

    assert response.status_code == 302
    assert client.session["_auth_user_id"] == str(User.objects.get(username="dave").id)


def test_who_signs_up_is_no_administrator_even_as_the_first(client, db, open_sign_up):
    client.post(SIGN_UP, FORM)

    dave = User.objects.get(username="dave")
    assert not dave.is_staff
    assert not dave.is_superuser


def test_the_sign_in_page_offers_sign_up_only_while_it_is_open(client, alice, open_sign_up):
    assert SIGN_UP in client.get(reverse("account_login")).content.decode()


def test_the_sign_in_page_does_not_offer_a_closed_sign_up(client, alice):
    assert SIGN_UP not in client.get(reverse("account_login")).content.decode()


@pytest.mark.parametrize("password", ["short", "password123", "12345678901", "dave-dave"])
def test_a_weak_password_is_refused(client, db, open_sign_up, password):
    form = {**FORM, "username": "dave-dave", "password1": password, "password2": password}

    response = client.post(SIGN_UP, form)

    assert response.status_code == 200
    assert not User.objects.exists()


def test_the_first_account_is_admin_and_has_no_password(db):
    admin = operations.ensure_first_account()

    assert admin.username == "admin"
    assert admin.is_superuser
    assert admin.is_staff
    assert not admin.has_usable_password()


def test_the_first_account_is_made_once(db):
    first = operations.ensure_first_account()

    assert operations.ensure_first_account() == first
    assert User.objects.count() == 1


def test_an_ordinary_account_does_not_stop_the_first_administrator(alice):
    admin = operations.ensure_first_account()

    assert admin.username == "admin"
    assert admin != alice
