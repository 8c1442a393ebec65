"""The directory that holds an installation's state, and the lock that gives it one owner at a time.

``pg18/`` and ``valkey/`` belong to the servers, ``run/`` holds their sockets, ``logs/`` their messages and those
of our programs (never content), ``bin/`` copies of theirs where needed, ``secret_key`` Django's key, ``erasures.jsonl``
what was forgotten (ids and digests), ``backups/`` what ``manage.py backup`` makes, ``up.json`` who serves it now.
"""

import fcntl
import json
import os
import secrets
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from memoryapp.embedded.errors import AlreadyRunningError, EmbeddedError

# sun_path holds 108 bytes with the final NUL; the longest name in it is ".s.PGSQL.5432".
_MAX_RUN_PATH = 107 - len("/.s.PGSQL.5432")


@dataclass(frozen=True, slots=True)
class Running:
    """Who serves a data directory, and where: other processes find the servers by it."""

    pid: int
    url: str = ""
    database_url: str = ""
    redis_url: str = ""


# Any of these says that a directory is an installation, also one whose making was broken off.
_OURS = ("up.json", "secret_key", "pg18", "pg18.new", "valkey", "logs")


class DataDirectory:
    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.run = self.path / "run"
        self._lock: IO[str] | None = None

    def require_free(self) -> None:
        """Raise AlreadyRunningError when another process owns the directory; makes and changes nothing."""
        if self.running():
            self._refuse()

    def claim(self) -> None:
        """Become the owner; raises AlreadyRunningError when another process is."""
        if self._is_strangers():
            raise EmbeddedError(
                f"{self.path} holds other files. Name an empty directory, or one that Strata made, with --data-dir."
            )
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = os.fdopen(os.open(self._up_json, os.O_RDWR | os.O_CREAT, 0o600), "r+")
        except OSError as error:
            raise EmbeddedError(
                f"Cannot write to the data directory {self.path} ({error.strerror}). "
                "Choose another with --data-dir."
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            self._refuse()
        self._lock = lock
        self.record(Running(pid=os.getpid()))
        # Servers drop to another user, who must pass through; what is private in here has modes of its own.
        self.path.chmod(0o711)
        self.run = self._run_directory()

    def record(self, running: Running) -> None:
        """Write down who we are, for those who come later."""
        assert self._lock is not None, "claim first"
        self._lock.seek(0)
        self._lock.truncate()
        json.dump(asdict(running), self._lock)
        self._lock.flush()

    def release(self) -> None:
        """Give the directory up; harmless when it was never claimed."""
        if self._lock is None:
            return
        if self.run.parent != self.path:
            shutil.rmtree(self.run, ignore_errors=True)
        self._lock.seek(0)
        self._lock.truncate()
        self._lock.close()
        self._lock = None

    def running(self) -> Running | None:
        """Who serves this directory now, if anyone: a killed owner's note does not count."""
        try:
            with self._up_json.open() as note:
                if not note.read(1):  # given up; asking for the lock could disturb who is just claiming
                    return None
                fcntl.flock(note, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return self._read()
        except OSError:
            return None
        return None

    def private(self, name: str) -> Path:
        """A subdirectory that only its owner may enter."""
        directory = self.path / name
        directory.mkdir(mode=0o700, exist_ok=True)
        return directory

    def secret_key(self) -> str:
        """The installation's key, made at the first call."""
        path = self.path / "secret_key"
        if not path.exists():
            with tempfile.NamedTemporaryFile(
                "w", dir=self.path, delete=False
            ) as unfinished:  # 0600 by contract
                unfinished.write(secrets.token_urlsafe(50))
            Path(unfinished.name).rename(path)
        return path.read_text()

    @property
    def logs(self) -> Path:
        return self.private("logs")

    @property
    def erasures(self) -> Path:
        return self.path / "erasures.jsonl"

    @property
    def backups(self) -> Path:
        return self.path / "backups"

    @property
    def _up_json(self) -> Path:
        return self.path / "up.json"

    def _run_directory(self) -> Path:
        """Empty: nobody works here, so whatever is left of sockets and their locks is stale."""
        run = self.path / "run"
        shutil.rmtree(run, ignore_errors=True)
        if len(os.fsencode(run)) > _MAX_RUN_PATH:
            return Path(tempfile.mkdtemp(prefix="strata-run-", dir="/tmp"))
        run.mkdir(mode=0o700)
        return run

    def _read(self) -> Running:
        try:
            return Running(**json.loads(self._up_json.read_text()))
        except (ValueError, TypeError):  # the owner is just writing it
            return Running(pid=0)

    def _is_strangers(self) -> bool:
        """Whether there is something here that we did not put there."""
        return (
            self.path.is_dir()
            and any(self.path.iterdir())
            and not any((self.path / ours).exists() for ours in _OURS)
        )

    def _refuse(self) -> None:
        other = self._read()
        where = f", URL {other.url}" if other.url else ""
        raise AlreadyRunningError(
            f"Strata is already running on {self.path}: pid {other.pid}{where}. "
            "Stop it first, or choose another directory with --data-dir.",
            pid=other.pid,
            url=other.url,
        )
