"""The bundled servers: they start anywhere, keep the data, recover from kills and never share a directory."""

import json
import os
import pwd
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psycopg
import pytest
import redis

from memoryapp.embedded import processes
from memoryapp.embedded.accounts import Account
from memoryapp.embedded.data_directory import DataDirectory
from memoryapp.embedded.errors import AlreadyRunningError, EmbeddedError
from memoryapp.embedded.servers import Servers
from tests.processes import has_ended

PROJECT = Path(__file__).resolve().parent.parent.parent
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can change users")
needs_other_user = pytest.mark.skipif(os.geteuid() == 0, reason="root may enter every directory")


def throw_away(data_dir: Path) -> Servers:
    return Servers(data_dir, is_durable=False)


def connect(servers: Servers) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(servers.database_url, autocommit=True)


def postmaster_pid(data_dir: Path) -> int:
    return int((data_dir / "pg18" / "postmaster.pid").read_text().splitlines()[0])


def test_a_new_directory_gets_a_database_with_vectors_and_so_do_databases_made_later(empty_dir):
    with throw_away(empty_dir) as servers, connect(servers) as connection:
        connection.execute("CREATE DATABASE another")

        for name in ("app", "another"):
            url = servers.database_url.replace("/app?", f"/{name}?")
            with psycopg.connect(url) as database:
                assert database.execute("SELECT '[3,4]'::vector <-> '[0,0]'").fetchone() == (5.0,)


def test_data_survives_a_restart(data_dir):
    with Servers(data_dir) as servers, connect(servers) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
        redis.from_url(servers.redis_url).set("kept", "42")

    with Servers(data_dir) as servers, connect(servers) as connection:
        assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)
        assert redis.from_url(servers.redis_url).get("kept") == b"42"


def test_nothing_runs_after_stop_and_stopping_twice_is_harmless(data_dir):
    servers = throw_away(data_dir)
    servers.start()

    servers.stop()
    servers.stop()

    assert processes.working_in(data_dir / "pg18") == []
    assert processes.working_in(data_dir / "valkey") == []
    assert DataDirectory(data_dir).running() is None


def test_servers_that_were_killed_are_started_again_with_their_data(data_dir):
    with Servers(data_dir) as servers:
        with connect(servers) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
        os.kill(postmaster_pid(data_dir), signal.SIGKILL)
        (valkey,) = processes.working_in(data_dir / "valkey")
        os.kill(valkey, signal.SIGKILL)
        assert has_ended(postmaster_pid(data_dir), within_s=5)
        assert has_ended(valkey, within_s=5)

        assert servers.revive() == ["PostgreSQL", "Valkey"]

        with connect(servers) as connection:
            assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)
        assert redis.from_url(servers.redis_url).ping()
        assert servers.revive() == []


def test_a_backend_that_outlives_its_killed_postmaster_does_not_block_the_next_start(data_dir):
    with throw_away(data_dir) as servers:
        endless = connect(servers)
        endless.pgconn.send_query(b"DO $$ BEGIN LOOP END LOOP; END $$")
        os.kill(postmaster_pid(data_dir), signal.SIGKILL)
        assert has_ended(postmaster_pid(data_dir), within_s=5)
        assert endless.info.backend_pid in processes.working_in(data_dir / "pg18")

        servers.revive()

        with connect(servers) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        assert has_ended(endless.info.backend_pid, within_s=5)


def test_a_second_start_on_the_same_directory_says_who_runs_and_where(data_dir):
    with throw_away(data_dir) as servers:
        servers.announce("http://127.0.0.1:8000")

        with pytest.raises(AlreadyRunningError) as refused:
            throw_away(data_dir).start()

        assert f"already running on {data_dir}: pid {os.getpid()}, URL http://127.0.0.1:8000" in str(
            refused.value
        )
        assert refused.value.details == {"pid": os.getpid(), "url": "http://127.0.0.1:8000"}
        with connect(servers) as connection:  # and the first one is left in peace
            assert connection.execute("SELECT 1").fetchone() == (1,)


def test_others_find_the_running_servers_by_their_directory(data_dir):
    with throw_away(data_dir) as servers:
        running = DataDirectory(data_dir).running()

        assert running is not None
        assert running.pid == os.getpid()
        assert running.database_url == servers.database_url
        assert running.redis_url == servers.redis_url


def test_a_half_made_cluster_is_made_anew(empty_dir):
    unfinished = empty_dir / "pg18.new"
    unfinished.mkdir()
    (unfinished / "PG_VERSION").write_text("18\n")

    with throw_away(empty_dir) as servers, connect(servers) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert not unfinished.exists()


def test_a_pid_file_that_names_a_stranger_is_not_believed(data_dir):
    owner = (data_dir / "pg18").stat().st_uid
    stranger = subprocess.Popen(["sleep", "600"], user=owner)
    try:
        with throw_away(data_dir):
            lines = (data_dir / "pg18" / "postmaster.pid").read_text().splitlines()
        lines[0] = str(stranger.pid)
        (data_dir / "pg18" / "postmaster.pid").write_text("\n".join(lines) + "\n")
        os.chown(data_dir / "pg18" / "postmaster.pid", owner, -1)

        with throw_away(data_dir) as servers, connect(servers) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_path_too_long_for_a_socket_is_fine(empty_dir):
    deep = empty_dir / ("long" * 30)

    with throw_away(deep) as servers, connect(servers) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
        assert redis.from_url(servers.redis_url).ping()
        run = Path(re.search(r"host=(.+)", servers.database_url).group(1))
        assert run.stat().st_mode & 0o077 == 0

    assert not run.exists()


def test_only_one_of_the_two_when_the_other_is_elsewhere(empty_dir):
    with Servers(empty_dir, with_postgres=False, is_durable=False) as servers:
        assert servers.database_url == ""
        assert redis.from_url(servers.redis_url).ping()
    assert not (empty_dir / "pg18").exists()


def test_logs_never_hold_content(data_dir):
    secret = "my-secret-words"
    with throw_away(data_dir) as servers:
        connection = connect(servers)
        connection.execute("CREATE TABLE notes (text text UNIQUE, n int)")
        connection.execute("INSERT INTO notes (text) VALUES (%s)", [secret])
        for statement in (
            "INSERT INTO notes (text) VALUES (%s)",
            "INSERT INTO notes (n) VALUES (%s::text::int)",
        ):
            with pytest.raises(psycopg.Error):
                connection.execute(statement, [secret])
        # The crash itself is logged, with "Failed process was running: …".
        with pytest.raises(psycopg.OperationalError):
            connection.execute(f"COPY (SELECT '{secret}') TO PROGRAM 'kill -SEGV $PPID'")

    written = "".join(log.read_text() for log in (data_dir / "logs").iterdir())
    assert "terminated by signal" in written
    assert secret not in written


def test_the_key_is_private_and_stays_the_same(empty_dir):
    directory = DataDirectory(empty_dir)

    key = directory.secret_key()

    assert len(key) >= 50
    assert DataDirectory(empty_dir).secret_key() == key
    assert (empty_dir / "secret_key").stat().st_mode & 0o777 == 0o600


def test_everything_inside_is_closed_to_other_users(data_dir):
    with throw_away(data_dir):
        modes = {entry.name: entry.stat().st_mode & 0o077 for entry in data_dir.iterdir()}

    assert {"pg18", "valkey", "run", "logs", "up.json"} <= modes.keys()
    assert set(modes.values()) == {0}


@needs_root
def test_as_root_a_directory_inside_a_closed_one_is_refused_with_a_way_out(empty_dir):
    empty_dir.chmod(0o700)

    with pytest.raises(
        EmbeddedError, match=f"inside {empty_dir}, which 'strata'.*Choose another with --data-dir"
    ):
        throw_away(empty_dir / "inner").start()
    assert not (empty_dir / "inner").exists()


@needs_other_user
def test_a_directory_that_cannot_be_written_is_refused_with_a_way_out(empty_dir):
    empty_dir.chmod(0o500)

    with pytest.raises(EmbeddedError, match=r"Cannot write.*Choose another with --data-dir"):
        throw_away(empty_dir / "inner").start()


@needs_root
def test_an_ordinary_user_can_run_them_too(empty_dir):
    """And a later start by root keeps that user's files theirs."""
    nobody = pwd.getpwnam("nobody")
    account = Account("nobody", nobody.pw_uid, nobody.pw_gid)
    for needed in (Path(sys.executable), Path(sys.prefix), PROJECT):
        if closed := account.closed_parent(needed):
            pytest.skip(f"other users may not enter {closed}, where {needed} is")
    account.own(empty_dir)

    subprocess.run(
        [sys.executable, "-c", START_AND_PRINT_PIDS.replace("signal.pause()", ""), empty_dir],
        check=True,
        cwd=PROJECT,
        user=nobody.pw_uid,
        group=nobody.pw_gid,
        extra_groups=[],
    )

    assert (empty_dir / "pg18").stat().st_uid == nobody.pw_uid
    with throw_away(empty_dir):
        assert (empty_dir / "pg18").stat().st_uid == nobody.pw_uid


START_AND_PRINT_PIDS = """
import json, signal, sys
from pathlib import Path
from memoryapp.embedded import processes
from memoryapp.embedded.accounts import Account
from memoryapp.embedded.servers import Servers

data_dir = Path(sys.argv[1])
with Servers(data_dir, is_durable=False):
    pids = [pid for name in ("pg18", "valkey") for pid in processes.working_in(data_dir / name)]
    print(json.dumps(pids), flush=True)
    signal.pause()
"""


def test_killing_the_owner_leaves_no_server(data_dir):
    owner = subprocess.Popen(
        [sys.executable, "-c", START_AND_PRINT_PIDS, data_dir], cwd=PROJECT, stdout=subprocess.PIPE
    )
    pids = json.loads(owner.stdout.readline())
    assert len(pids) > 5

    owner.kill()
    owner.wait()

    assert all(has_ended(pid, within_s=10) for pid in pids)
    with throw_away(data_dir) as servers, connect(servers) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_servers_may_only_be_started_by_the_main_thread(empty_dir):
    """Elsewhere the kernel would end them together with the thread."""
    errors = []

    def start() -> None:
        try:
            throw_away(empty_dir).start()
        except RuntimeError as error:
            errors.append(error)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()

    assert "main thread" in str(errors[0])


def test_a_server_that_cannot_start_says_why_and_gives_the_directory_up(data_dir):
    with throw_away(data_dir):
        pass
    (data_dir / "pg18" / "postgresql.conf").write_text("nonsense = here\n")

    with pytest.raises(EmbeddedError, match=r'(?s)PostgreSQL did not start.*unrecognized .* "nonsense"'):
        throw_away(data_dir).start()

    assert DataDirectory(data_dir).running() is None
