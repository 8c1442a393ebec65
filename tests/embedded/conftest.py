"""A data directory for servers that a test starts itself."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers import throw_away_directory


@pytest.fixture
def data_dir() -> Iterator[Path]:
    with throw_away_directory() as directory:
        yield directory
