"""What a process must know to be part of an installation: where its servers are, and its key."""

import os
from collections.abc import Sequence
from pathlib import Path

from memoryapp.embedded.data_directory import DataDirectory
from memoryapp.embedded.servers import default_data_directory

_OPTION = "--data-dir"


def join_running(arguments: Sequence[str]) -> None:
    """Let a command act on the installation that ``manage.py up`` serves (``--data-dir``, or the default).

    Fills in the environment, so it must come before Django's settings are read. What is set already wins;
    with nothing running, nothing changes.
    """
    data = DataDirectory(_chosen(arguments) or default_data_directory())
    running = data.running()
    if running is None:
        return
    for name, value in (
        ("DATABASE_URL", running.database_url),
        ("REDIS_URL", running.redis_url),
        ("SECRET_KEY", data.secret_key()),
        ("STRATA_LOGS_DIR", os.fspath(data.logs)),
    ):
        if value and not os.environ.get(name) and not os.environ.get(f"STRATA_{name}"):
            os.environ[name] = value


def address(data_dir: Path) -> str:
    """Where the application of that data directory answers, as ``http://host:port``; empty when it is not up."""
    running = DataDirectory(data_dir).running()
    return running.url if running else ""


def _chosen(arguments: Sequence[str]) -> Path | None:
    for position, argument in enumerate(arguments):
        if argument == _OPTION and position + 1 < len(arguments):
            return Path(arguments[position + 1])
        if argument.startswith(f"{_OPTION}="):
            return Path(argument.removeprefix(f"{_OPTION}="))
    return None
