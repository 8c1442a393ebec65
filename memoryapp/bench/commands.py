"""Commands of the application in processes of their own, because Django reads where its database is before any runs."""

import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

from django.conf import settings

from memoryapp.bench.installation import BenchFailedError
from memoryapp.embedded import processes

STOP_TIMEOUT_S = 10.0


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
