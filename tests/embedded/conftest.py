"""Data directories for servers that a test starts itself."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryapp.embedded.servers import Servers
from tests.servers import copy, throw_away_directory


@pytest.fixture
def empty_dir() -> Iterator[Path]:
    with throw_away_directory() as directory:
        yield directory


@pytest.fixture(scope="session")
def made_dir() -> Iterator[Path]:
    """One that servers were started in once; making a cluster takes longer than most tests."""
    with throw_away_directory() as directory:
        with Servers(directory, is_durable=False):
            pass
        yield directory


@pytest.fixture
def data_dir(made_dir: Path, empty_dir: Path) -> Path:
    """A copy of it, for a test to do with as it likes."""
    copy(made_dir, empty_dir)
    return empty_dir
