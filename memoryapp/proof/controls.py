"""A word planted in every store, to see that its scanner finds what is there, and taken out, to see that it says so."""

import contextlib
import gzip
import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import zstandard
from redis import Redis

from memoryapp.proof import encodings
from memoryapp.proof.stores import LOGS

# Enough of it that a compression does more than to copy it.
_PAGE = " ".join(f"On day {day} the tide came in at {day % 12} and the boats lay still." for day in range(60))
_TABLE = "proof_control"
_CREATE = f"CREATE TABLE {_TABLE} (text text, data jsonb, bytes bytea, list text[], lexemes tsvector)"
_INSERT = f"INSERT INTO {_TABLE} VALUES (%s, %s, %s, %s, to_tsvector('english', %s))"  # noqa: S608 - a constant
_KEYS = ("proof:control", "proof:control:stream", "proof:control:hash", "celery:proof-control")


def samples(word: str) -> Iterator[tuple[str, bytes]]:
    """The word in a sentence, in each encoding that a scanner knows, by its name."""
    sentence = f"The harbour master calls it {word} again."
    yield encodings.UTF_8, sentence.encode()
    yield "UTF-16", sentence.encode("utf-16-le")
    yield "UTF-16", sentence.encode("utf-16-be")
    for pattern in encodings.patterns(word):
        yield pattern.encoding, b"see " + pattern.data + b"."
    page = f"{_PAGE} {sentence} {_PAGE}"
    yield "UTF-8 in gzip", gzip.compress(page.encode())
    yield "UTF-8 in zstd", zstandard.compress(page.encode())
    yield "UTF-8 in zip", _zipped(page)


def _zipped(text: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("note.txt", text)
    return buffer.getvalue()


@dataclass(frozen=True, slots=True)
class Where:
    data_dir: Path
    database_url: str
    redis_url: str


def plant(word: str, where: Where) -> None:
    """In every store of an installation that is up."""
    with psycopg.connect(where.database_url, autocommit=True) as connection:
        connection.execute(_CREATE)
        for _, sample in samples(word):
            text = f"{word} {word}"
            connection.execute(_INSERT, [text, json.dumps({"said": text}), sample, [text], text])
        connection.execute(f"ANALYZE {_TABLE}")
    everything = b"\n".join(sample for _, sample in samples(word))
    with Redis.from_url(where.redis_url) as redis:
        redis.set(_KEYS[0], everything)
        redis.xadd(_KEYS[1], {"delta": word})
        redis.hset(_KEYS[2], word, word)
        redis.rpush(_KEYS[3], everything)
    for path in _files(where.data_dir):
        path.write_bytes(everything)


def clear(where: Where) -> None:
    """Out of all of them, as the programs take things out. What they leave behind is for a purge."""
    with psycopg.connect(where.database_url, autocommit=True) as connection:
        connection.execute(f"DROP TABLE IF EXISTS {_TABLE}")
    with Redis.from_url(where.redis_url) as redis:
        redis.delete(*_KEYS)
    for path in _files(where.data_dir):
        with contextlib.suppress(FileNotFoundError):
            path.unlink()


def _files(data_dir: Path) -> tuple[Path, ...]:
    return (data_dir / LOGS / "proof-control.log", data_dir / "proof-control")
