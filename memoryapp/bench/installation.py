"""A real installation for the length of a bench: ``manage.py up`` in a directory that is removed afterwards."""

import json
import os
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

from django.conf import settings

from memoryapp.embedded import processes
from memoryapp.embedded.data_directory import DataDirectory

_START_TIMEOUT_S = 120.0
_STOP_TIMEOUT_S = 20.0
_REQUEST_TIMEOUT_S = 60.0
_OUR_VARIABLES = (
    "ANTHROPIC_",
    "VOYAGE_",
    "STRATA_",
    "PG",
    "DATABASE_URL",
    "REDIS_URL",
    "SECRET_KEY",
    "DJANGO_",
)
_HOST = "127.0.0.1"


class BenchFailedError(Exception):
    """The installation did not do what is being measured; the message holds its output."""


@contextmanager
def throw_away_directory() -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix="strata-bench-"))
    directory.chmod(0o711)  # the servers' user must pass through
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Installation:
    """A running one. ``start_s``: from the command to the sign-in link, which ``sign_in_path`` is of."""

    data_dir: Path
    port: int
    pid: int
    start_s: float
    sign_in_path: str

    def database_url(self) -> str:
        running = DataDirectory(self.data_dir).running()
        if running is None:
            raise BenchFailedError("The installation ended early.")
        return running.database_url

    def client(self) -> "Client":
        return Client(self.port, _manage("create_token", "admin", data_dir=self.data_dir))


@dataclass(frozen=True, slots=True)
class Client:
    """The REST API. Every request has a connection of its own, like a program that asks now and then."""

    port: int
    token: str

    def post(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        with self._answered("POST", path, json.dumps(body)) as response:
            answer: dict[str, Any] = json.loads(response.read())
        return answer

    def read(self, path: str) -> str:
        """The whole body, however long it takes to end."""
        with self._answered("GET", path) as response:
            return response.read().decode()

    def open(self, path: str) -> HTTPResponse:
        """A response whose body is still to come; for the caller to read and close."""
        connection = HTTPConnection(_HOST, self.port, timeout=_REQUEST_TIMEOUT_S)
        connection.request("GET", f"/api/v1{path}", headers=self.headers)
        return connection.getresponse()

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}

    @contextmanager
    def _answered(self, method: str, path: str, body: str | None = None) -> Iterator[HTTPResponse]:
        connection = HTTPConnection(_HOST, self.port, timeout=_REQUEST_TIMEOUT_S)
        try:
            connection.request(method, f"/api/v1{path}", body=body, headers=self.headers)
            response = connection.getresponse()
            if response.status >= 400:
                raise BenchFailedError(f"{method} {path}: {response.status} {response.read().decode()}")
            yield response
        finally:
            connection.close()


@contextmanager
def running(
    data_dir: Path, *, model_url: str, variables: Mapping[str, str] | None = None, output: Path | None = None
) -> Iterator[Installation]:
    """``manage.py up`` until the end of the block, answered by the model server at ``model_url``.

    ``variables``: more of its environment. ``output``: a file for what it and its programs print.
    """
    port = free_port()
    began_at = time.monotonic()
    process = processes.spawn(
        [*_MANAGE, "up", "--port", str(port), "--data-dir", data_dir, "--no-browser"],
        dies_by=signal.SIGINT,
        output=subprocess.PIPE,
        environment=own_environment(data_dir) | {"ANTHROPIC_BASE_URL": model_url} | dict(variables or {}),
        directory=settings.BASE_DIR,
    )
    try:
        sign_in_path = _wait_for_link(process, output=output)
        yield Installation(data_dir, port, process.pid, time.monotonic() - began_at, sign_in_path)
    finally:
        processes.stop(process, signal.SIGINT, timeout_s=_STOP_TIMEOUT_S)


_MANAGE = (sys.executable, settings.BASE_DIR / "manage.py")


def _manage(*arguments: str, data_dir: Path) -> str:
    """The last line that a management command prints."""
    done = subprocess.run(  # noqa: S603 - our own command
        [*_MANAGE, *arguments, "--data-dir", data_dir],
        check=False,
        cwd=settings.BASE_DIR,
        env=own_environment(data_dir),
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise BenchFailedError(done.stderr)
    return done.stdout.splitlines()[-1]


def own_environment(data_dir: Path) -> dict[str, str]:
    """Nothing of this machine's configuration: defaults are what is measured."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(_OUR_VARIABLES)}
    return ours | {"STRATA_SECRETS_DIR": str(data_dir / "no-secrets")}


def _wait_for_link(process: "subprocess.Popen[bytes]", *, output: Path | None) -> str:
    """The link's path, once it is printed; what comes later is read too, so that the pipe never fills."""
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read() -> None:
        assert process.stdout is not None
        with (output or Path(os.devnull)).open("ab", buffering=0) as file:
            for line in process.stdout:
                file.write(line)
                lines.put(line.decode(errors="replace"))
        lines.put("")

    threading.Thread(target=read, name="up-output", daemon=True).start()
    seen = ""
    deadline = time.monotonic() + _START_TIMEOUT_S
    while not (link := re.search(r"/sign-in/\S+", seen)):
        try:
            line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise BenchFailedError(f"'up' did not get ready:\n{seen}") from None
        if not line:
            raise BenchFailedError(f"'up' ended:\n{seen}")
        seen += line
    return link.group()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        port: int = probe.getsockname()[1]
    return port
