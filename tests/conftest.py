"""Fixtures for the whole suite; the servers behind it are started by ``tests/servers.py``."""

from collections.abc import Generator
from math import inf

import pytest
from django.db import connection
from pytest_django.plugin import blocking_manager_key

from memoryapp.tuning import queries as tuning
from tests.chromium import chromium
from tests.personas import alice, bob, carol

__all__ = ["alice", "bob", "carol", "chromium"]


@pytest.fixture(autouse=True)
def _nothing_is_set_at_run_time() -> Generator[None, None, None]:
    """What one test set is not the next one's, and no test counts the query that asks for it."""
    tuning.remember({}, fresh_s=inf)
    yield
    tuning.forget_known()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, None, None]:
    """A test that commits empties the tables at its end. What migrations put there is put back for the next one."""
    yield
    mark = item.get_closest_marker("django_db")
    if nextitem and mark and mark.kwargs.get("transaction"):
        with item.config.stash[blocking_manager_key].unblock():
            connection.creation.deserialize_db_from_string(connection._test_serialized_contents)
            connection.close()
