"""Commands of the application in processes of their own, because Django reads where its database is before any runs."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from django.conf import settings

from memoryapp.bench.installation import BenchFailedError, own_environment, throw_away_directory
from memoryapp.embedded import processes
from memoryapp.embedded.servers import Servers

STOP_TIMEOUT_S = 10.0


@contextmanager
def own_servers(*, is_durable: bool = False) -> Iterator[dict[str, str]]:
    """The environment of commands that find an empty database on servers of their own, of which nothing is left."""
    with throw_away_directory() as directory, Servers(directory, is_durable=is_durable) as servers:
        environment = own_environment(directory) | {
            "DATABASE_URL": servers.database_url,
            "REDIS_URL": servers.redis_url,
        }
        manage(["migrate", "--verbosity", "0"], environment)
        yield environment


def manage(
    arguments: Sequence[str], environment: Mapping[str, str], *, say: Callable[[str], None] = print
) -> str:
    """The last line of what a command prints; what it says on the way goes on to ``say``."""
    process = processes.spawn(
        [sys.executable, settings.BASE_DIR / "manage.py", *arguments],
        dies_by=signal.SIGTERM,
        output=subprocess.PIPE,
        environment=environment,
        directory=settings.BASE_DIR,
    )
    assert process.stdout is not None
    lines = []
    try:
        for line in process.stdout:
            lines.append(line.decode().rstrip("\n"))
            if lines[-1].startswith("· "):
                say(lines[-1].removeprefix("· "))
        process.wait()
    finally:
        processes.stop(process, signal.SIGTERM, timeout_s=STOP_TIMEOUT_S)
    if process.returncode != 0:
        raise BenchFailedError("\n".join(lines[-30:]))
    return lines[-1] if lines else ""
