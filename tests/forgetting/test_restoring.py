"""``manage.py backup`` and ``restore`` on an installation of its own, servers and all."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from memoryapp.embedded.servers import Servers
from memoryapp.forgetting import backups
from tests.servers import hermetic_environment, migrated_directory

pytestmark = pytest.mark.stack

PROJECT = Path(__file__).parents[2]
CANARY = "zqxmvelkorunpatiswe"
NEIGHBOUR = "zqyhubertosalgonrit"
UNDONE = "zqzabolmerintusgape"

TALK = """
import json
from django.utils import timezone
from memoryapp.accounts.models import User
from memoryapp.longterm.models import Memory, Tombstone
from memoryapp.longterm import forgettings, operations as longterm
from memoryapp.longterm.operations import Candidate
from memoryapp.policies.trust import Origin
from memoryapp.longterm.reconciling import ForgottenError

def remember(name, statement, **more):
    user = User.objects.get_or_create(username=name)[0]
    said = Candidate(kind="event", statement=statement, origin=Origin.USER_TYPED, channel="api", said_at=timezone.now())
    return longterm.remember(user.id, said).memory

def forget(statement):
    memory = Memory.objects.get(statement=statement)
    return forgettings.forget(memory.user_id, [memory.id], now=timezone.now())
"""


@pytest.fixture
def directory() -> Iterator[Path]:
    with migrated_directory() as found:
        yield found


def manage(*arguments: str, directory: Path, is_refused: bool = False) -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        check=False,
        cwd=PROJECT,
        env=hermetic_environment(),
        capture_output=True,
        text=True,
    )
    assert (done.returncode != 0) is is_refused, done.stdout + done.stderr
    return done.stdout + done.stderr


def talk(script: str, url: str) -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", TALK + script],
        check=False,
        cwd=PROJECT,
        env=hermetic_environment()
        | {"DATABASE_URL": url, "SECRET_KEY": "x" * 50, "REDIS_URL": "redis://127.0.0.1:1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def columns_holding(text: str, url: str) -> list[str]:
    """By catalogue: every column of every table, as text."""
    with psycopg.connect(url) as database:
        columns = database.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
        ).fetchall()
        return [
            f"{table}.{column}"
            for table, column in columns
            if database.execute(
                f'SELECT EXISTS (SELECT FROM "{table}" WHERE "{column}"::text ILIKE %s)', [f"%{text}%"]
            ).fetchone()[0]
        ]


def test_a_restore_brings_everything_back_but_what_was_forgotten_since(directory):
    dump = directory / "backups" / "before.dump"
    with Servers(directory, is_durable=False) as servers:
        url = servers.database_url
        talk(f'remember("alice", "My boat is called {CANARY}")', url)
        talk(f'remember("bob", "My dog is called {NEIGHBOUR}"); remember("alice", "I row to {UNDONE}")', url)
        manage("backup", str(dump), "--data-dir", str(directory), directory=directory)
        talk(
            f'forget("My boat is called {CANARY}"); act = forget("I row to {UNDONE}")\n'
            "forgettings.undo(act.user_id, act.id, now=timezone.now())",
            url,
        )
        refused = manage(
            "restore", str(dump), "--data-dir", str(directory), directory=directory, is_refused=True
        )
        assert columns_holding("--replace", url) == []

        said = manage("restore", str(dump), "--replace", "--data-dir", str(directory), directory=directory)

        assert "Add --replace" in refused
        assert "1 forgotten again, 0 were in the backup already, 1 had been undone." in said
        assert columns_holding(CANARY, url) == []
        assert "longterm_memory.statement" in columns_holding(NEIGHBOUR, url)
        assert "longterm_memory.statement" in columns_holding(UNDONE, url)
        assert talk("print(Tombstone.objects.exists())", url) == "True"
        with psycopg.connect(url) as database:
            names = {row[0] for row in database.execute("SELECT datname FROM pg_database").fetchall()}
        assert not {name for name in names if name.startswith("app_")}


def test_both_work_while_strata_is_down_and_the_journal_outlives_the_database(directory):
    with Servers(directory, is_durable=False) as servers:
        talk(f'remember("alice", "My boat is called {CANARY}")', servers.database_url)
    manage("backup", "--data-dir", str(directory), directory=directory)
    (dump,) = (directory / "backups").glob("strata-*.dump")
    with Servers(directory, is_durable=False) as servers:
        talk(f'forget("My boat is called {CANARY}")', servers.database_url)
        manage("erasures", "--data-dir", str(directory), directory=directory)
        # The database is lost, with its receipts.
        with psycopg.connect(servers.database_url, autocommit=True) as database:
            database.execute("DROP SCHEMA public CASCADE")
            database.execute("CREATE SCHEMA public")

    said = manage("restore", str(dump), "--data-dir", str(directory), directory=directory)

    assert "1 forgotten again" in said
    assert dump.stat().st_mode & 0o777 == 0o600
    with Servers(directory, is_durable=False) as servers:
        assert columns_holding(CANARY, servers.database_url) == []


def test_when_the_replay_fails_the_database_is_as_it_was(directory):
    with Servers(directory, is_durable=False) as servers:
        url = servers.database_url
        talk(f'remember("alice", "My dog is called {NEIGHBOUR}")', url)
        manage("backup", str(directory / "b.dump"), "--data-dir", str(directory), directory=directory)
        journal = directory / "broken.jsonl"
        journal.write_text("no journal\n")

        said = manage(
            *("restore", str(directory / "b.dump"), "--replace", "--erasures", str(journal)),
            *("--data-dir", str(directory)),
            directory=directory,
            is_refused=True,
        )

        assert "not JSON" in said
        assert "longterm_memory.statement" in columns_holding(NEIGHBOUR, url)


def test_nobody_finds_a_database_until_the_replay_has_ended(directory, monkeypatch):
    with Servers(directory, is_durable=False) as servers:
        url, dump = servers.database_url, directory / "b.dump"
        backups.back_up(url, dump)
        found: dict[str, str] = {}
        monkeypatch.setattr(
            backups,
            "_manage",
            lambda arguments, _url, _environment: found.update({arguments[0]: _connects(url)}) or "",
        )

        backups.restore(
            url, dump, erasures=directory / "e.jsonl", environment={}, replaces=True, say=lambda _: None
        )

        assert found == {"erasures": "does not exist", "migrate": "does not exist"}
        assert _connects(url) == "ok"


def test_a_restore_that_was_killed_is_cleared_up_by_the_next(directory):
    with Servers(directory, is_durable=False) as servers:
        url, dump = servers.database_url, directory / "b.dump"
        backups.back_up(url, dump)
        with psycopg.connect(url.replace("/app", "/postgres"), autocommit=True) as server:
            server.execute("ALTER DATABASE app RENAME TO app_replaced")
            server.execute("CREATE DATABASE app_restoring")

        manage("restore", str(dump), "--replace", "--data-dir", str(directory), directory=directory)

        assert _connects(url) == "ok"


def test_old_backups_are_removed_by_the_time_in_their_names(tmp_path):
    for name in (
        "strata-20260101T000000Z.dump",
        "strata-20261101T000000Z.dump",
        "mine-20260101T000000Z.dump",
    ):
        (tmp_path / name).touch()

    dropped = backups.drop_old(tmp_path, older_than=datetime(2026, 10, 1, tzinfo=UTC))

    assert [path.name for path in dropped] == ["strata-20260101T000000Z.dump"]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_password_is_on_no_command_line():
    url = "postgresql://strata:s%40cret@db.example:6543/strata?sslmode=require"

    assert backups._environment(url) == {
        "PGHOST": "db.example",
        "PGPORT": "6543",
        "PGUSER": "strata",
        "PGPASSWORD": "s@cret",
        "PGDATABASE": "strata",
        "PGSSLMODE": "require",
        "TZ": "UTC",
    }


def test_programs_older_than_the_server_are_refused_with_what_to_do(monkeypatch):
    monkeypatch.setattr(backups.shutil, "which", lambda _: None)

    with pytest.raises(
        backups.BackupError, match=r"needs pg_dump 99 or later .* Install postgresql-client-99"
    ):
        backups._program("pg_dump", at_least=99)


def test_a_file_that_is_no_backup_is_refused(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("hello")
    program = backups.binaries.postgres_programs() / "pg_restore"

    with pytest.raises(backups.BackupError, match="cannot be read as a backup"):
        backups._listed(program, file)


def _connects(url: str) -> str:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError as error:
        return "does not exist" if "does not exist" in str(error) else str(error)
    return "ok"
