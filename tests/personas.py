"""The people of the tests: alice owns, bob must never see alice's rows, carol is staff.

The anonymous visitor is pytest-django's ``client``. A test that commits (``transaction=True``) also asks for
``serialized_rollback=True``, or Django looks after permissions and content types again at its end.
"""

import pytest
from django.test import Client

from memoryapp.accounts.models import User


def person(name: str, **fields: object) -> User:
    """A new account that can sign in with the password ``<name>-password``."""
    return User.objects.create_user(name, password=f"{name}-password", **fields)


def signed_in(user: User) -> Client:
    """A browser of their own."""
    browser = Client()
    browser.force_login(user)
    return browser


@pytest.fixture
def alice(db) -> User:
    return person("alice")


@pytest.fixture
def bob(db) -> User:
    return person("bob")


@pytest.fixture
def carol(db) -> User:
    return person("carol", is_staff=True)


@pytest.fixture
def browser(client: Client, alice: User) -> Client:
    """Alice's; rooms whose tests need it import it into their conftest."""
    client.force_login(alice)
    return client
