"""Programs that call the API, each with a token of its person."""

import pytest
from django.test import Client
from django.utils import timezone

from memoryapp.accounts import operations
from tests.turns import configure, nudges
from tests.world import everything_of

__all__ = ["configure", "nudges"]


def program_of(user) -> Client:
    _, secret = operations.create_token(user, name="tests", now=timezone.now())
    return Client(headers={"Authorization": f"Bearer {secret}"})


@pytest.fixture
def api(alice):
    """Alice's program."""
    return program_of(alice)


@pytest.fixture
def bobs_api(bob):
    return program_of(bob)


@pytest.fixture
def conversation(api):
    return api.post("/api/v1/conversations", {}, content_type="application/json").json()


@pytest.fixture
def world(alice):
    return everything_of(alice)
