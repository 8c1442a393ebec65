"""The bundled PostgreSQL and Valkey of one data directory, together."""

import os
from pathlib import Path
from types import TracebackType
from typing import Self

from memoryapp.embedded.accounts import Account, service_account
from memoryapp.embedded.data_directory import DataDirectory, Running
from memoryapp.embedded.errors import EmbeddedError
from memoryapp.embedded.postgres import Postgres
from memoryapp.embedded.valkey import Valkey

_PROJECT = Path(__file__).resolve().parent.parent.parent


def default_data_directory() -> Path:
    """Where ``manage.py up`` keeps its state; root's home is closed to the user that the servers run as."""
    return Path("/var/lib/strata") if os.geteuid() == 0 else _PROJECT / ".strata"


class Servers:
    """Starts what is wanted and stops all of it; also a context manager.

    ``claim`` makes this process the directory's owner and must come before anything else; ``start`` does it.
    Not durable means as fast as possible, for tests: a power cut may cost the data.
    """

    def __init__(
        self, data_dir: Path, *, with_postgres: bool = True, with_valkey: bool = True, is_durable: bool = True
    ) -> None:
        self.data = DataDirectory(data_dir)
        self._wanted = (Postgres,) * with_postgres + (Valkey,) * with_valkey
        self._is_durable = is_durable
        self._servers: list[Postgres | Valkey] = []

    def claim(self) -> list[Postgres | Valkey]:
        """Take the directory and return its servers, each still to be started; raises AlreadyRunningError."""
        account = service_account(self.data.path / "pg18") if self._wanted else None
        if account:
            self._require_way(account, self.data.path.parent)  # before anything is made there
        self.data.claim()
        if account:
            self._require_way(account, self.data.path)  # what was just made obeys the umask
            account.own(self.data.run)
        self._servers = [
            wanted(self.data, account=account, is_durable=self._is_durable) for wanted in self._wanted
        ]
        return self._servers

    def start(self) -> None:
        try:
            for server in self.claim():
                server.start()
        except BaseException:
            self.stop()
            raise
        self.announce("")

    def announce(self, url: str) -> None:
        """Tell other processes where the application and these servers are."""
        self.data.record(
            Running(pid=os.getpid(), url=url, database_url=self.database_url, redis_url=self.redis_url)
        )

    def revive(self) -> list[str]:
        """Start again what ended by itself; returns the names."""
        crashed = [server for server in self._servers if server.has_crashed]
        for server in crashed:
            server.start()
        return [server.title for server in crashed]

    def stop(self) -> None:
        for server in reversed(self._servers):
            server.stop()
        self._servers = []
        self.data.release()

    @property
    def database_url(self) -> str:
        """Empty when this does not run PostgreSQL."""
        return next((server.url for server in self._servers if isinstance(server, Postgres)), "")

    @property
    def redis_url(self) -> str:
        """Empty when this does not run Valkey."""
        return next((server.url for server in self._servers if isinstance(server, Valkey)), "")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _require_way(self, account: Account, directory: Path) -> None:
        if closed := account.closed_parent(directory):
            raise EmbeddedError(
                f"The data directory {self.data.path} is inside {closed}, which '{account.name}', who "
                f"runs PostgreSQL when you are root, may not enter. Choose another with --data-dir, "
                f"for example {default_data_directory()}."
            )
