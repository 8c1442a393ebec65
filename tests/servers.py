"""The pytest plugin that gives a test run a PostgreSQL and a Redis of its own, and a hermetic environment.

It is loaded with ``-p`` because Django reads its settings before any conftest. Each process (pytest-xdist's
workers too) has its own pair in a short-lived directory; no server is left behind, even after a kill.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path

import pytest

from memoryapp.embedded.data_directory import DataDirectory
from memoryapp.embedded.servers import Servers

_OUR_VARIABLES = (
    "ANTHROPIC_",
    "VOYAGE_",
    "STRATA_",
    "PG",
    "DATABASE_URL",
    "REDIS_URL",
    "SECRET_KEY",
    "DJANGO_SETTINGS_MODULE",
)
_PREFIX = "strata-test-"
_STALE_AFTER_S = 3600
_PROJECT = Path(__file__).resolve().parent.parent
_until_the_end = ExitStack()


def hermetic_environment() -> dict[str, str]:
    """This process's environment without anything that would configure the application."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_OUR_VARIABLES)}


@contextmanager
def throw_away_directory() -> Iterator[Path]:
    """A directory with a short path that the servers' user may enter, unlike pytest's own."""
    directory = Path(tempfile.mkdtemp(prefix=_PREFIX))
    directory.chmod(0o711)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def throw_away_servers() -> Iterator[Servers]:
    """A fresh PostgreSQL and Redis, as fast as they go."""
    with throw_away_directory() as directory, Servers(directory, is_durable=False) as servers:
        yield servers


@contextmanager
def migrated_directory() -> Iterator[Path]:
    """A data directory as ``up`` leaves it before the first account: it starts in half the time of a fresh one."""
    with throw_away_directory() as directory:
        copy(migrated(), directory)
        yield directory


def copy(data_dir: Path, empty_dir: Path) -> None:
    """With its owners, unlike shutil."""
    subprocess.run(["cp", "--archive", f"{data_dir}/.", empty_dir], check=True)


@cache
def migrated() -> Path:
    """For copies: nobody starts this one."""
    directory = _until_the_end.enter_context(throw_away_directory())
    with Servers(directory, is_durable=False) as servers:
        environment = hermetic_environment() | {
            "DATABASE_URL": servers.database_url,
            "REDIS_URL": servers.redis_url,
        }
        command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
        subprocess.run(command, check=True, cwd=_PROJECT, env=environment)
    return directory


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, None, None]:
    """Before pytest-django's hook of this name, which reads the settings."""
    environment = hermetic_environment()
    os.environ.clear()
    os.environ.update(environment)
    if not early_config.known_args_namespace.help and not early_config.known_args_namespace.collectonly:
        _remove_stale_directories()
        early_config.add_cleanup(_until_the_end.close)
        servers = _until_the_end.enter_context(throw_away_servers())
        os.environ["DATABASE_URL"] = servers.database_url
        os.environ["REDIS_URL"] = servers.redis_url
    yield


def _remove_stale_directories() -> None:
    """What a killed run could not remove; its servers ended with it."""
    for directory in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(FileNotFoundError):  # another run removed its own meanwhile
            is_old = time.time() - directory.stat().st_mtime > _STALE_AFTER_S
            if is_old and DataDirectory(directory).running() is None:
                shutil.rmtree(directory, ignore_errors=True)
