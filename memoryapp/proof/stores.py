"""Every place of an installation where something that was told to it may lie, and how each is looked through."""

import os
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, LiteralString, Protocol

import psycopg
from psycopg import sql
from redis import Redis

from memoryapp.embedded import binaries
from memoryapp.proof.scanning import BLOCK_BYTES, Found, Scanner, files_under

QUEUE_PREFIX: Final = b"celery:"
LOGS: Final = "logs"
# Programs as they were published; nobody writes there.
PROGRAMS: Final = "bin"
CLUSTER, WAL, REDIS = "pg18", "pg_wal", "valkey"


@dataclass(slots=True)
class Scanned:
    """What a store holds. ``places``: stem → table and column, key or file, with the encoding; never the text."""

    bytes_: int = 0
    places: dict[str, Counter[str]] = field(default_factory=dict)

    def hits(self, stem: str) -> int:
        return self.places.get(stem, Counter()).total()

    def take(self, where: str, found: Found) -> None:
        self.bytes_ += found.bytes_
        for stem, encodings in found.hits.items():
            for encoding, count in encodings.items():
                self.places.setdefault(stem, Counter())[f"{where} ({encoding})"] += count


class Store(Protocol):
    """``is_told``: what people say is expected in it, so that a scan that finds none of it proves nothing.

    ``holds_vectors``: vectors are expected in it, too.
    """

    @property
    def name(self) -> str: ...
    @property
    def is_told(self) -> bool: ...
    @property
    def holds_vectors(self) -> bool: ...

    def scan(self, scanner: Scanner) -> Scanned: ...


_TABLES: LiteralString = """
SELECT n.nspname, c.relname, array_agg(a.attname ORDER BY a.attnum)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relkind IN ('r', 'm') AND a.attnum > 0 AND NOT a.attisdropped
  AND n.nspname NOT LIKE 'pg\\_toast%' AND n.nspname NOT LIKE 'pg\\_temp%'
GROUP BY 1, 2 ORDER BY 1, 2
"""
# Statements as their clients sent them, the values of parameters among them.
_STATEMENTS: Final = ("pg_catalog", "pg_stat_activity", ["query"])
STATISTICS: Final = "pg_statistic"


@dataclass(frozen=True, slots=True)
class Tables:
    """Every column of every table of every schema, by the catalogue: a new one is looked through without a word here.

    In the binary form of ``COPY``: texts, JSON and lexemes as they are, bytes and floats raw. ``only``: these tables;
    ``but``: not these.
    """

    database_url: str
    name: str = "database: all columns"
    is_told: bool = True
    holds_vectors: bool = True
    only: tuple[str, ...] = ()
    but: tuple[str, ...] = (STATISTICS,)

    def scan(self, scanner: Scanner) -> Scanned:
        scanned = Scanned()
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            for schema, table, columns in self._tables(connection):
                found = _copied(connection, scanner, schema, table, columns)
                scanned.bytes_ += found.bytes_
                for column in columns if found.hits else ():
                    in_it = _copied(connection, scanner, schema, table, [column])
                    scanned.take(f"{table}.{column}", Found(0, in_it.hits))
        return scanned

    def _tables(self, connection: "psycopg.Connection[Any]") -> Iterator[tuple[str, str, list[str]]]:
        for schema, table, columns in [*connection.execute(_TABLES).fetchall(), _STATEMENTS]:
            if (not self.only or table in self.only) and table not in self.but:
                yield schema, table, columns


def _copied(
    connection: "psycopg.Connection[Any]", scanner: Scanner, schema: str, table: str, columns: list[str]
) -> Found:
    try:
        return scanner.scan(_copy(connection, schema, table, columns, form="binary"))
    except psycopg.errors.UndefinedFunction:  # a type without a binary form, as access rights are
        return scanner.scan(_copy(connection, schema, table, columns, form="text"))


def _copy(
    connection: "psycopg.Connection[Any]", schema: str, table: str, columns: list[str], *, form: LiteralString
) -> Iterator[bytes]:
    query = sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT (FORMAT {})").format(
        sql.SQL(", ").join(map(sql.Identifier, columns)), sql.Identifier(schema, table), sql.SQL(form)
    )
    with connection.cursor().copy(query) as copy:
        yield from _in_blocks(bytes(row) for row in copy)


@dataclass(frozen=True, slots=True)
class Dump:
    """What a backup made now would hold."""

    database_url: str
    numbers: Sequence[bytes] = ()  # of vectors, as it prints them
    name: str = "pg_dump"
    is_told: bool = True
    holds_vectors: bool = True

    def scan(self, scanner: Scanner) -> Scanned:
        scanned = Scanned()
        with subprocess.Popen(  # noqa: S603 - a program that we ship
            [binaries.postgres_programs() / "pg_dump", "--no-sync", "--dbname", self.database_url],
            stdout=subprocess.PIPE,
        ) as dump:
            assert dump.stdout is not None
            output = dump.stdout
            printed = Scanner(*scanner.stems, numbers=self.numbers)
            scanned.take(self.name, printed.scan(iter(lambda: output.read(BLOCK_BYTES), b"")))
        if dump.returncode != 0:
            raise ScanFailedError(f"pg_dump ended with {dump.returncode}.")
        return scanned


class ScanFailedError(Exception):
    """A store could not be looked through."""


def _nothing() -> None: ...


@dataclass(frozen=True, slots=True)
class Files:
    """All files under ``directory`` but those under ``without``, as they lie on the disk once ``settle`` has run."""

    name: str
    directory: Path
    is_told: bool
    without: tuple[str, ...] = ()
    settle: Callable[[], None] = _nothing
    more: tuple[Path, ...] = ()
    holds_vectors: bool = False

    def scan(self, scanner: Scanner) -> Scanned:
        self.settle()
        left_out = tuple(self.directory / name for name in self.without)
        scanned = Scanned()
        for path in files_under(
            self.directory, is_wanted=lambda path: not any(map(path.is_relative_to, left_out))
        ):
            scanned.take(os.fspath(path.relative_to(self.directory)), scanner.scan_file(path))
        for path in self.more:
            scanned.take(path.name, scanner.scan_file(path))
        return scanned


@dataclass(frozen=True, slots=True)
class Keys:
    """What Redis holds in all its databases: names, values read by their type, and as they would be written to a file.

    ``queues``: only those of Celery; else all others.
    """

    redis_url: str
    queues: bool
    name: str
    is_told: bool
    holds_vectors: bool = False

    def scan(self, scanner: Scanner) -> Scanned:
        scanned = Scanned()
        with Redis.from_url(self.redis_url) as first:
            databases = [int(name.removeprefix("db")) for name in _info(first, "keyspace")]
        for database in databases:
            with Redis.from_url(self.redis_url, db=database) as redis:
                for key in redis.scan_iter(count=1_000):
                    if key.startswith(QUEUE_PREFIX) == self.queues:
                        found = scanner.scan(_in_blocks(_everything_of(redis, key)))
                        scanned.take(_family(key), found)
        return scanned


def _info(redis: Any, section: str) -> dict[str, Any]:
    told: dict[str, Any] = redis.info(section)
    return told


def _family(key: bytes) -> str:
    """The name without what is of one row: ``strata:turn:…:events``."""
    parts = key.decode(errors="replace").split(":")
    return ":".join("…" if any(map(str.isdigit, part)) else part for part in parts)


_READS: Final[dict[bytes, tuple[str, ...]]] = {
    b"string": ("GET",),
    b"list": ("LRANGE", "0", "-1"),
    b"hash": ("HGETALL",),
    b"set": ("SMEMBERS",),
    b"zset": ("ZRANGE", "0", "-1"),
    b"stream": ("XRANGE", "-", "+"),
}


def _everything_of(redis: Any, key: bytes) -> Iterator[bytes]:
    yield key
    yield redis.dump(key) or b""
    command, *arguments = _READS[bytes(redis.type(key))]
    yield from _flat(redis.execute_command(command, key, *arguments))


def _flat(value: object) -> Iterator[bytes]:
    """All bytes of a reply, however nested, each apart from the next."""
    match value:
        case bytes():
            yield value + b"\n"
        case dict():
            for name, held in value.items():
                yield from _flat(name)
                yield from _flat(held)
        case list() | tuple() | set() | frozenset():
            for each in value:
                yield from _flat(each)
        case _:
            return


def _in_blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Few large ones of many small ones: a scan has its price for each."""
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= BLOCK_BYTES:
            yield b"".join(held)
            held, size = [], 0
    yield b"".join(held)


# What is made of what was said, and what was found in it.
_DERIVED: Final = (
    "transcript_summary",
    "transcript_pinnedline",
    "transcript_conversation",
    "longterm_experience",
    "context_contextsnapshot",
)


def derived(database_url: str) -> tuple[Store, ...]:
    """What was made of it: gone within a minute."""
    return (Tables(database_url, name="derived rows", holds_vectors=False, only=_DERIVED),)


def logical(database_url: str, redis_url: str, *, numbers: Sequence[bytes] = ()) -> tuple[Store, ...]:
    """What a program can ask the servers for: gone within a quarter of an hour."""
    return (
        Tables(database_url),
        Dump(database_url, numbers),
        Keys(redis_url, queues=False, name="Redis keys", is_told=True),
        Keys(redis_url, queues=True, name="Celery queues", is_told=False),
    )


def physical(data_dir: Path, database_url: str, *, output: Path) -> tuple[Store, ...]:
    """What lies in the files of an installation: gone within a day. ``output``: what its programs wrote on the way."""
    cluster = data_dir / CLUSTER

    def write_out() -> None:
        """What was changed stands in memory until then."""
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute("CHECKPOINT")

    statistics = Tables(
        database_url, "database: statistics", is_told=False, holds_vectors=False, only=(STATISTICS,), but=()
    )
    return (
        statistics,
        Files("database files", cluster, is_told=True, without=(WAL,), settle=write_out, holds_vectors=True),
        Files("write-ahead log", cluster / WAL, is_told=True, holds_vectors=True),
        Files("Redis files", data_dir / REDIS, is_told=True),
        Files("logs", data_dir / LOGS, is_told=False, more=(output,)),
        Files("other files", data_dir, is_told=False, without=(CLUSTER, REDIS, LOGS, PROGRAMS)),
    )


def backup(file: Path) -> Files:
    """A backup that was made before, with its packed rows."""
    return Files("backup from before", file.parent, is_told=True, holds_vectors=False)


def browser(profile: Path) -> Files:
    """A browser's own directory: its cache, history, local and session storage, databases. Close it before."""
    return Files("browser's storage", profile, is_told=True)
