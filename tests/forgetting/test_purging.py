"""The purge, against the real servers of the run: what was deleted is in none of their files."""

import os
import re
import threading
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone

from memoryapp.embedded.logs import Log
from memoryapp.forgetting import purging, stages
from memoryapp.forgetting.models import Purge
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.models import Memory
from memoryapp.receipts.models import Receipt
from memoryapp.redis_client import redis_client
from tests.forgetting.bytes_on_disk import files_holding
from tests.longterm.saying import message, remember, remember_from
from tests.turns import COMMITTED, configure

__all__ = ["configure"]

CANARY = "zqxmvelkorunpatiswe"
NEIGHBOUR = "zqyhubertosalgonrit"


@COMMITTED
def test_what_was_deleted_is_in_no_file_of_the_database_and_its_neighbour_is(alice, bob):
    memory = remember_from(
        alice, message(alice, f"My locker code is {CANARY}."), f"The code is {CANARY}"
    ).memory
    remember(bob, f"The word of {NEIGHBOUR} is bob's")
    longterm.forget(alice.id, memory.id, now=timezone.now())
    alice.conversations.all().delete()
    before = files_holding(CANARY, directory="pg18")

    purging.purge()

    assert any("base/" in path for path in before), "positive control: the row's bytes outlive it"
    assert any("pg_wal/" in path for path in before), "positive control: so does the log"
    assert files_holding(CANARY, directory="pg18") == []
    assert files_holding(NEIGHBOUR, directory="pg18") != []


@COMMITTED
def test_words_that_were_corrected_are_in_no_file_either(alice):
    memory = remember(alice, f"I live in {CANARY}").memory
    longterm.edit(alice.id, memory.id, version=1, now=timezone.now(), statement="I live in Oslo")
    memory.versions.filter(version=1).delete()

    purging.purge()

    assert files_holding(CANARY, directory="pg18") == []


@COMMITTED
def test_what_was_deleted_from_redis_is_in_none_of_its_files(alice):
    client = redis_client()
    client.config_set("appendonly", "yes")
    try:
        client.set("talk", CANARY)
        client.delete("talk")
        before = files_holding(CANARY, directory="valkey")

        purging.purge()

        assert before != []
        assert files_holding(CANARY, directory="valkey") == []
    finally:
        client.config_set("appendonly", "no")


@COMMITTED
def test_logs_begin_anew_and_what_was_ended_before_the_promised_hours_is_deleted(alice, configure, tmp_path):
    configure(STRATA_LOGS_DIR=str(tmp_path), STRATA_PURGE_HOURS="24")
    Log(tmp_path, "web").write("of today")
    for name, hours in (("web.log.1", 2), ("web.log.2", 25)):
        (tmp_path / name).write_text(name)
        os.utime(tmp_path / name, times=((timezone.now() - timedelta(hours=hours)).timestamp(),) * 2)

    done = purging.purge()

    held = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert held.keys() == {"web.log", "web.log.1", "web.log.2"}
    assert held["web.log"] == ""
    assert held["web.log.1"].endswith("of today\n")
    assert held["web.log.2"] == "web.log.1"
    assert done.steps[-1]["detail"] == "1 old files deleted"


@COMMITTED
def test_where_logs_are_kept_elsewhere_a_purge_says_so(alice):
    done = purging.purge()

    assert (done.steps[-1]["name"], done.steps[-1]["detail"]) == ("logs", "kept elsewhere")


@COMMITTED
def test_the_planner_keeps_no_sample_of_what_people_write(alice):
    for number in range(40):
        remember(alice, f"I keep {CANARY} number {number}")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        cursor.execute("SELECT count(*) FROM pg_stats WHERE pg_stats::text LIKE %s", [f"%{CANARY}%"])

        assert cursor.fetchone()[0] == 0


def test_every_column_that_holds_words_or_what_finds_them_is_without_samples(db):
    sampled = {
        # Planned by: one fact per key, one answer per question. A purge samples them anew.
        *(("longterm_memory", name) for name in ("key", "slot", "digest")),
        # Numbers and ids.
        *(("longterm_kindchange", name) for name in ("before", "after", "preview", "moved")),
        ("longterm_lifetimechange", "before"),
        ("longterm_experience", "tools"),
        ("scratchpad_run", "limits"),
    }
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT relname, attname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
            WHERE relkind = 'r' AND attnum > 0 AND NOT attisdropped AND attstattarget IS DISTINCT FROM 0
            AND relname ~ '^(longterm|scratchpad|transcript)_'
            AND format_type(atttypid, NULL) IN ('text', 'jsonb', 'bytea', 'tsvector', 'vector', 'halfvec')
            """
        )

        assert set(cursor.fetchall()) - sampled == set()


@COMMITTED
def test_a_table_that_nobody_wrote_to_since_is_not_locked_again(alice):
    purging.purge()
    remember(alice, "I like tea")

    second = purging.purge()

    rewritten = next(step["detail"] for step in second.steps if step["name"] == "tables")
    assert int(rewritten.split()[0]) < len(purging.tables()) / 2
    assert re.fullmatch(r"\d+ of \d+ tables, each in \d+\.\d\d seconds or less", rewritten)


@COMMITTED
def test_a_table_in_use_is_waited_for_a_moment_at_a_time_and_named(alice, monkeypatch):
    monkeypatch.setattr(purging, "LOCK_TIMEOUT_MS", 50)
    monkeypatch.setattr(purging, "LOCK_TRIES", 2)
    monkeypatch.setattr(purging, "PAUSE_S", 0)
    monkeypatch.setattr(purging, "HORIZON_TIMEOUT_S", 5)
    remember(alice, "I like tea")
    held, done = threading.Event(), threading.Event()
    reader = threading.Thread(target=_hold, args=("longterm_memory", held, done))
    reader.start()
    held.wait(10)

    try:
        with pytest.raises(purging.PurgeFailedError, match="In use each time: longterm_memory"):
            purging.purge()
    finally:
        done.set()
        reader.join()

    failed = Purge.objects.get()
    assert failed.finished_at is not None
    assert "longterm_memory" in failed.error


@COMMITTED
def test_an_open_transaction_that_can_see_what_was_deleted_is_waited_for(alice, monkeypatch):
    monkeypatch.setattr(purging, "HORIZON_TIMEOUT_S", 0.3)
    held, done = threading.Event(), threading.Event()
    reader = threading.Thread(target=_look_on, args=(held, done))
    reader.start()
    held.wait(10)
    remember(alice, "I like tea")

    try:
        with pytest.raises(purging.PurgeFailedError, match="still open"):
            purging.purge()
    finally:
        done.set()
        reader.join()


@COMMITTED
def test_one_purge_at_a_time():
    held, done = threading.Event(), threading.Event()
    other = threading.Thread(target=_purge_slowly, args=(held, done))
    other.start()
    held.wait(10)

    try:
        with pytest.raises(purging.PurgeRunningError):
            purging.purge()
        assert purging.state().is_running
    finally:
        done.set()
        other.join()
    assert not purging.state().is_running


@COMMITTED
def test_a_server_that_keeps_old_segments_is_no_clean_purge(monkeypatch):
    monkeypatch.setattr(purging, "OLD_SEGMENTS", "SELECT 3")

    with pytest.raises(purging.PurgeFailedError, match="keeps 3 old log segments"):
        purging.purge()

    assert purging.state().last_good is None


@COMMITTED
def test_nothing_is_due_while_nothing_was_deleted(alice):
    purging.purge()
    later = timezone.now() + timedelta(days=3)

    assert not purging.is_due(later)
    Memory.everything.filter(id=remember(alice, "I like tea").memory.id).delete()
    assert purging.is_due(later)


@COMMITTED
@pytest.mark.parametrize(
    ("hours", "after", "is_due"), [("24", 22, False), ("24", 23, True), ("0", 1000, False)]
)
def test_it_is_due_so_that_bytes_are_gone_within_the_hours_that_are_promised(
    alice, configure, hours, after, is_due
):
    configure(STRATA_PURGE_HOURS=hours)
    purging.purge()
    Memory.everything.filter(id=remember(alice, "I like tea").memory.id).delete()

    assert purging.is_due(Purge.objects.get().started_at + timedelta(hours=after)) is is_due


@COMMITTED
def test_a_server_that_is_not_set_up_for_it_does_not_have_its_tables_locked_each_hour(alice):
    now = timezone.now()
    steps = [{"name": "tables", "seconds": 1.0}, {"name": "log", "seconds": 0.1, "failed": True}]
    Purge.objects.create(started_at=now, finished_at=now, error="wal_recycle", steps=steps)
    Memory.everything.filter(id=remember(alice, "I like tea").memory.id).delete()

    assert not purging.is_due(now + timedelta(hours=2))
    assert purging.is_due(now + timedelta(hours=23))


@COMMITTED
def test_the_command_says_what_each_step_took_and_follows_the_receipts(alice):
    memory = remember(alice, "I like tea").memory
    longterm.forget(alice.id, memory.id, now=timezone.now())
    redis_client().flushdb()  # no worker is there for the jobs about it
    stages.advance(timezone.now())
    said = StringIO()

    call_command("purge", stdout=said)

    assert "✓ tables" in said.getvalue()
    assert Receipt.objects.get().purged_at is not None


@COMMITTED
def test_a_purge_that_got_no_lock_is_repeated_after_an_hour(alice):
    now = timezone.now()
    steps = [{"name": "tables", "seconds": 1.0, "failed": True}]
    Purge.objects.create(started_at=now, finished_at=now, error="In use.", steps=steps)
    Memory.everything.filter(id=remember(alice, "I like tea").memory.id).delete()

    assert not purging.is_due(now + timedelta(minutes=50))
    assert purging.is_due(now + timedelta(minutes=70))


def _hold(table: str, held: threading.Event, done: threading.Event) -> None:
    """A reader that holds the table's lock, and sees nothing that was deleted before."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {table} IN ACCESS SHARE MODE")
            held.set()
            done.wait(20)
    finally:
        connection.close()


def _look_on(held: threading.Event, done: threading.Event) -> None:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            cursor.execute("SELECT count(*) FROM longterm_memory")
            held.set()
            done.wait(20)
    finally:
        connection.close()


def _purge_slowly(held: threading.Event, done: threading.Event) -> None:
    def wait(name: str) -> None:
        held.set()
        done.wait(20)

    try:
        purging.purge(on_step=wait)
    finally:
        connection.close()
