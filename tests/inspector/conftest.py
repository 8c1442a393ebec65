"""Fixtures for the pages of the inspector."""

import pytest
from django.test import Client

from tests.inspector.summarising import conversation, first, second
from tests.personas import browser, signed_in
from tests.turns import configure, model, nudges

__all__ = ["browser", "configure", "conversation", "first", "model", "nudges", "second"]


@pytest.fixture
def staff(carol) -> Client:
    """Carol's browser."""
    return signed_in(carol)
