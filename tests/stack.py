"""A running ``manage.py up``, as a person starts it, for tests that use the whole application."""

import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.processes import has_ended
from tests.servers import hermetic_environment

PROJECT = Path(__file__).resolve().parent.parent
STARTED_WITHIN_S = 90  # on a busy machine; an idle one needs five


# Titles, lessons and what is learned are more calls of the model; tests that count calls are about the others.
CHAT_ALONE = {
    "STRATA_MODEL_TITLES": "false",
    "STRATA_MODEL_EXPERIENCES": "false",
    "STRATA_MODEL_EXTRACTION": "false",
}


class Up:
    """A running ``manage.py up``: its lines are read as they come, so that it never waits for us."""

    def __init__(self, data_dir: Path, *, port: int, environment: dict[str, str]) -> None:
        self.port = port
        self.lines: list[str] = []
        self._incoming: queue.Queue[str] = queue.Queue()
        self.process = subprocess.Popen(
            command(data_dir, port=port),
            cwd=PROJECT,
            env={**CHAT_ALONE, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_for(self, pattern: str, *, within_s: float = STARTED_WITHIN_S) -> re.Match[str]:
        deadline = time.monotonic() + within_s
        while True:
            try:
                line = self._incoming.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                pytest.fail(f"never said {pattern}:\n" + "".join(self.lines))
            if found := re.search(pattern, line):
                return found

    def wait_until_ready(self) -> str:
        """The path of the sign-in link."""
        return self.wait_for(rf"http://127\.0\.0\.1:{self.port}(/sign-in/\S+)")[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str) -> int:
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10).status
        except urllib.error.HTTPError as error:
            return error.code

    def descendants(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def child(self, *words: str) -> psutil.Process:
        return next(child for child in self.descendants() if set(words) <= set(child.cmdline()))

    def end_by(self, number: signal.Signals, *, within_s: float) -> int:
        self.process.send_signal(number)
        assert has_ended(self.process.pid, within_s=within_s)
        self._reader.join(timeout=5)
        return self.process.wait()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.append(line)
            self._incoming.put(line)


def command(data_dir: Path, *, port: int) -> list[str]:
    options = ["--port", str(port), "--data-dir", str(data_dir), "--no-browser"]
    return [sys.executable, "manage.py", "up", *options]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def running(data_dir: Path, **environment: str) -> Iterator[Up]:
    up = Up(data_dir, port=free_port(), environment=hermetic_environment() | environment)
    try:
        yield up
    finally:
        up.process.kill()
        up.process.wait()
