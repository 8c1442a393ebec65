"""Fixtures for the whole suite; the servers behind it are started by ``tests/servers.py``."""

import gc
from collections.abc import Generator
from math import inf

import pytest
from django.db import connection
from pytest_django.plugin import DjangoDbBlocker

from memoryapp.tuning import queries as tuning
from tests.chromium import chromium
from tests.emptying import keep_what_migrations_wrote
from tests.personas import alice, bob, carol

__all__ = ["alice", "bob", "carol", "chromium"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all-faults",
        action="store_true",
        help="kill at every point and race more often, as `make faults` does",
    )


def pytest_collection_finish() -> None:
    """Ten thousand tests live until the end: the search for garbage need not go through them each time."""
    gc.freeze()


@pytest.fixture(scope="session")
def has_all_faults(request: pytest.FixtureRequest) -> bool:
    """Whether every case is wanted where the suite makes do with one of each kind."""
    return bool(request.config.getoption("--all-faults"))


@pytest.fixture(autouse=True)
def _nothing_is_set_at_run_time() -> Generator[None, None, None]:
    """What one test set is not the next one's, and no test counts the query that asks for it."""
    tuning.remember({}, fresh_s=inf)
    yield
    tuning.forget_known()


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    with django_db_blocker.unblock():
        keep_what_migrations_wrote()
        connection.close()
