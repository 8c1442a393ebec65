"""Each store is looked through: what was planted is found in it, what was taken out is not, and no text is told."""

import os
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import psycopg
import pytest
from redis import Redis

from memoryapp.proof import controls, stores
from memoryapp.proof.canaries import Canaries
from memoryapp.proof.controls import Where
from memoryapp.proof.encodings import patterns
from memoryapp.proof.fragments import Fragments
from memoryapp.proof.scanning import Scanner
from memoryapp.proof.stores import Dump, Files, Keys, ScanFailedError, Tables

CANARIES = Canaries(11)
STEM, WORD = CANARIES.control_stem, CANARIES.control.word
SCANNER = Scanner(STEM)


@pytest.fixture
def where(tmp_path):
    """The run's own servers, and a data directory of nobody."""
    (tmp_path / "logs").mkdir()
    found = Where(tmp_path, os.environ["DATABASE_URL"], os.environ["REDIS_URL"])
    controls.clear(found)
    yield found
    controls.clear(found)


@pytest.fixture
def cluster(where):
    """The files of the run's own PostgreSQL."""
    host = parse_qs(urlsplit(where.database_url).query)["host"][0]
    return Path(unquote(host)).parent / "pg18"


def logical(where):
    return {store.name: store for store in stores.logical(where.database_url, where.redis_url)}


@pytest.mark.parametrize("name", ["database: all columns", "pg_dump", "Redis keys", "Celery queues"])
def test_what_is_planted_is_found_and_what_is_taken_out_is_not(where, name):
    store = logical(where)[name]
    before = store.scan(SCANNER)

    controls.plant(WORD, where)
    planted = store.scan(SCANNER)
    controls.clear(where)
    cleared = store.scan(SCANNER)

    assert before.hits(STEM) == 0
    assert planted.hits(STEM) > 0
    assert planted.bytes_ > 0
    assert cleared.hits(STEM) == 0


def test_every_encoding_is_found_in_a_column(where):
    controls.plant(WORD, where)

    places = logical(where)["database: all columns"].scan(SCANNER).places[STEM]

    wanted = {encoding for encoding, _ in controls.samples(WORD)}
    assert {place.rpartition(" (")[2].rstrip(")") for place in places} == wanted


def test_every_sort_of_column_is_read(where):
    controls.plant(WORD, where)

    places = logical(where)["database: all columns"].scan(SCANNER).places[STEM]

    columns = {place.partition(" ")[0] for place in places}
    assert columns == {f"proof_control.{name}" for name in ("text", "data", "bytes", "list", "lexemes")}


def test_what_stands_in_a_store_is_told_by_its_place_alone(where):
    controls.plant(WORD, where)

    for store in logical(where).values():
        assert STEM not in str(store.scan(SCANNER).places[STEM])


def test_a_table_in_a_schema_of_its_own_is_read(where):
    with psycopg.connect(where.database_url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA proof_aside")
        connection.execute("CREATE TABLE proof_aside.hidden AS SELECT %s::text AS said", [WORD])
        try:
            found = Tables(where.database_url).scan(SCANNER)
        finally:
            connection.execute("DROP SCHEMA proof_aside CASCADE")

    assert dict(found.places[STEM]) == {"hidden.said (UTF-8)": 1}


def test_what_another_session_asked_the_database_is_read(where):
    with psycopg.connect(where.database_url, autocommit=True) as other:
        other.execute(f"SELECT '{WORD}'")

        found = Tables(where.database_url).scan(SCANNER)

    assert dict(found.places[STEM]) == {"pg_stat_activity.query (UTF-8)": 1}


def test_vectors_are_found_in_columns_and_in_dumps(where):
    vector = [0.25, -0.125, 0.3, 0.7, -0.9, 0.011, 0.33, 0.5, 0.75, -0.001, 0.2, 0.6]
    with psycopg.connect(where.database_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE proof_vectors (half halfvec, whole vector)")
        connection.execute("INSERT INTO proof_vectors VALUES (%s::vector::halfvec, %s)", [str(vector)] * 2)
        try:
            by_bytes = Tables(where.database_url).scan(Scanner(STEM, fragments=Fragments([vector])))
            by_digits = Dump(where.database_url, [b"0.011,0.33,0.5"]).scan(SCANNER)
        finally:
            connection.execute("DROP TABLE proof_vectors")

    assert set(by_bytes.places[STEM]) == {"proof_vectors.half (vector)", "proof_vectors.whole (vector)"}
    assert by_digits.hits(STEM) == 1


def test_what_the_planner_noted_is_found(where):
    statistics = stores.physical(where.data_dir, where.database_url, output=where.data_dir / "none")[0]

    controls.plant(WORD, where)
    planted = statistics.scan(SCANNER).hits(STEM)
    controls.clear(where)

    assert planted > 0
    assert statistics.scan(SCANNER).hits(STEM) == 0


def test_what_was_deleted_is_still_found_in_the_files_of_the_database(where, cluster):
    other = Canaries(12)  # what other tests planted is still there as well
    scanner = Scanner(other.stem)
    with psycopg.connect(where.database_url, autocommit=True) as connection:
        store = Files(
            "files",
            cluster,
            is_told=True,
            without=("pg_wal",),
            settle=lambda: connection.execute("CHECKPOINT"),
        )
        connection.execute("CREATE TABLE proof_files (said text)")
        connection.execute("INSERT INTO proof_files VALUES (%s)", [other.of("files").word])
        connection.execute("DELETE FROM proof_files")
        try:
            in_columns = Tables(where.database_url, but=("pg_stat_activity",)).scan(scanner)
            deleted = store.scan(scanner)
        finally:
            connection.execute("DROP TABLE proof_files")
        dropped = store.scan(scanner)

    found = [scanned.hits(other.stem) for scanned in (in_columns, deleted, dropped)]
    assert found == [0, 1, 0]


def test_every_type_of_redis_is_read_and_queues_are_told_apart(where):
    with Redis.from_url(where.redis_url) as redis:
        redis.zadd("proof:zset", {WORD: 1})
        redis.sadd("proof:set", WORD)
        redis.rpush("proof:list", WORD)
        redis.set(f"proof:{WORD}", "a name says it, too")
        redis.hset("celery:unacked", "tag", WORD)
        try:
            keys, queues = (
                Keys(where.redis_url, queues=is_queue, name="", is_told=True).scan(SCANNER)
                for is_queue in (False, True)
            )
        finally:
            redis.delete("proof:zset", "proof:set", "proof:list", f"proof:{WORD}", "celery:unacked")

    families = {place.partition(" ")[0] for place in keys.places[STEM]}
    assert families >= {"proof:zset", "proof:set", "proof:list"}
    assert len(families) == 4
    assert {place.partition(" ")[0] for place in queues.places[STEM]} == {"celery:unacked"}


def test_files_are_read_but_for_those_of_another_store(tmp_path):
    for name in ("pg18/base/1", "logs/web.log", "journal"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{WORD}\n")
    (tmp_path / "printed").write_text(WORD)

    rest = Files("rest", tmp_path, is_told=False, without=("pg18", "logs", "printed")).scan(SCANNER)
    logs = Files("logs", tmp_path / "logs", is_told=False, more=(tmp_path / "printed",)).scan(SCANNER)

    assert dict(rest.places[STEM]) == {"journal (UTF-8)": 1}
    assert dict(logs.places[STEM]) == {"web.log (UTF-8)": 1, "printed (UTF-8)": 1}


def test_a_dump_that_fails_is_no_empty_dump(where):
    with pytest.raises(ScanFailedError):
        Dump(where.database_url.replace("/app", "/nowhere")).scan(SCANNER)


def test_there_is_a_pattern_for_all_that_is_planted():
    assert {pattern.encoding for pattern in patterns(WORD)} < {
        encoding for encoding, _ in controls.samples(WORD)
    }
