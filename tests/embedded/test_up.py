"""``manage.py up``: one command gives a working application, and leaves nothing behind however it ends."""

import json
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from memoryapp.embedded.data_directory import DataDirectory
from memoryapp.embedded.installation import join_running
from tests.processes import has_ended
from tests.servers import hermetic_environment, migrated_directory, throw_away_directory, throw_away_servers
from tests.stack import PROJECT, Up, command, free_port, running


def refused(data_dir: Path, *, port: int | None = None, **environment: str) -> str:
    """What ``up`` says when it does not start."""
    done = subprocess.run(
        command(data_dir, port=port or free_port()),
        check=False,
        cwd=PROJECT,
        env=hermetic_environment() | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def up() -> Iterator[Up]:
    """One running installation for the tests that only look at it."""
    with throw_away_directory() as directory, running(directory) as started:
        started.data_dir = directory
        started.sign_in_path = started.wait_until_ready()
        yield started


@pytest.fixture(scope="module")
def kept_dir() -> Iterator[Path]:
    """One installation for the tests that end it, each in its way; the next finds its data."""
    with migrated_directory() as directory:
        yield directory


@pytest.mark.stack
def test_every_step_is_shown_with_its_time_and_the_link_works(up):
    steps = re.findall(r"✓ (.+?) +\d+\.\d s", "".join(up.lines))

    assert steps == ["PostgreSQL started", "Valkey started", "Database prepared", "Web server answers"]
    assert up.get("/healthz") == 200
    assert up.get(up.sign_in_path) == 200


@pytest.mark.stack
@pytest.mark.parametrize("on_the_same_port", [True, False])
def test_a_second_start_names_the_first_and_leaves_it_in_peace(up, on_the_same_port):
    message = refused(up.data_dir, port=up.port if on_the_same_port else None)

    assert (
        f"already running on {up.data_dir}: pid {up.process.pid}, URL http://127.0.0.1:{up.port}" in message
    )
    assert up.get("/healthz") == 200


@pytest.mark.stack
def test_a_taken_port_is_said_to_be(up, empty_dir):
    new = empty_dir / "new"

    message = refused(new, port=up.port)

    assert f"Port {up.port} is in use. Choose another one with --port." in message
    assert not new.exists()


def test_a_port_that_is_none_is_refused(empty_dir):
    with pytest.raises(CommandError, match="a port is a number from 1 to 65535"):
        call_command("up", "--port", "70000", "--data-dir", str(empty_dir))


def test_a_wrong_setting_is_said_before_anything_is_made(empty_dir):
    message = refused(empty_dir / "new", STRATA_TURN_THREADS="0")

    assert "- STRATA_TURN_THREADS: Input should be greater than or equal to 1 (1 to 256)" in message
    assert not (empty_dir / "new").exists()


def test_a_misspelt_setting_is_named_with_the_one_that_was_meant(empty_dir):
    message = refused(empty_dir, STRATA_TURN_THREAD="secret-4", REDIS_URL="redis://127.0.0.1:1/0")

    assert "There is no setting STRATA_TURN_THREAD; it is ignored." in message
    assert "Did you mean STRATA_TURN_THREADS?" in message
    assert "secret-4" not in message


@pytest.mark.stack
def test_no_secret_is_on_a_command_line(up):
    key = (up.data_dir / "secret_key").read_text()

    assert all(key not in " ".join(child.cmdline()) for child in up.descendants())


@pytest.mark.stack
@pytest.mark.parametrize("words", [("uvicorn",), ("celery", "turns"), ("celery", "beat")])
def test_what_crashes_is_started_again(up, words):
    child = up.child(*words)

    child.kill()

    up.wait_for(r"ended \(killed by SIGKILL\); restarting", within_s=10)


@pytest.mark.stack
def test_a_killed_database_is_started_again(up):
    up.child("-D", str(up.data_dir / "pg18")).kill()

    up.wait_for("PostgreSQL had ended and was started again", within_s=30)


@pytest.mark.stack
def test_another_command_joins_the_running_installation(up, monkeypatch):
    for name in ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "STRATA_LOGS_DIR"):
        monkeypatch.setenv(name, "")

    join_running(["manage.py", "sign_in_link", f"--data-dir={up.data_dir}"])
    done = subprocess.run(
        [sys.executable, "manage.py", "sign_in_link", "admin", "--data-dir", str(up.data_dir)],
        check=True,
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        text=True,
    )

    address = done.stdout.splitlines()[-1]
    assert address.startswith(f"{up.url}/sign-in/")
    assert up.get(address.removeprefix(up.url)) == 200


@pytest.mark.stack
def test_the_web_server_does_not_name_its_program(up):
    with urllib.request.urlopen(f"{up.url}/healthz", timeout=10) as response:
        assert "Server" not in response.headers


@pytest.mark.stack
def test_kill_9_leaves_nothing_running(kept_dir):
    with running(kept_dir) as up:
        up.wait_until_ready()
        pids = [child.pid for child in up.descendants()]
        assert len(pids) >= 4 + 1 + 5  # programs, Valkey, PostgreSQL and its backends

        up.process.kill()

        assert all(has_ended(pid, within_s=10) for pid in pids)
    assert DataDirectory(kept_dir).running() is None


@pytest.mark.stack
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_kill_end_everything_in_time_and_keep_the_data(kept_dir, number):
    key = DataDirectory(kept_dir).secret_key()
    with running(kept_dir) as up:
        up.wait_until_ready()
        pids = [child.pid for child in up.descendants()]

        assert up.end_by(number, within_s=10) == 0

        assert all(has_ended(pid, within_s=0) for pid in pids)
        assert up.lines[-1] == "Stopped.\n"
    assert (kept_dir / "secret_key").read_text() == key
    assert (kept_dir / "pg18").exists()


@pytest.mark.stack
def test_a_postgres_from_elsewhere_is_used_and_not_written_down(empty_dir):
    with throw_away_servers() as elsewhere, running(empty_dir, DATABASE_URL=elsewhere.database_url) as up:
        path = up.wait_until_ready()

        assert any("✓ PostgreSQL reached" in line for line in up.lines)
        assert up.get(path) == 200
        assert not (empty_dir / "pg18").exists()
        assert (empty_dir / "valkey").exists()
        assert json.loads((empty_dir / "up.json").read_text())["database_url"] == ""
        assert up.end_by(signal.SIGINT, within_s=10) == 0


@pytest.mark.parametrize(
    ("variable", "url", "what"),
    [
        ("DATABASE_URL", "postgresql://me:hunter2@127.0.0.1:1/app", "PostgreSQL at 127.0.0.1:1/app"),
        ("REDIS_URL", "redis://:hunter2@127.0.0.1:1/0", "Redis at 127.0.0.1:1/0"),
    ],
)
def test_a_server_that_does_not_answer_is_named_without_its_password(empty_dir, variable, url, what):
    message = refused(empty_dir, **{variable: url})

    assert f"Cannot reach {what}, which {variable} names" in message
    assert "hunter2" not in message
    assert DataDirectory(empty_dir).running() is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--data-dir", ""), "not an empty one"),
        (("--port", "abc"), "a port is a number"),
        (("--port", "70000"), "a port is a number"),
        (("--data-dir", str(PROJECT / "docs")), "holds other files"),
    ],
)
def test_an_option_that_cannot_be_meant_is_refused_and_nothing_is_written(options, said):
    before = sorted((PROJECT / "docs").iterdir())

    done = subprocess.run(
        [sys.executable, "manage.py", "up", "--no-browser", *options],
        check=False,
        cwd=PROJECT,
        env=hermetic_environment(),
        capture_output=True,
        text=True,
    )

    assert done.returncode != 0
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted((PROJECT / "docs").iterdir()) == before


@pytest.mark.parametrize("url", ["garbage", "mysql://a/b"])
def test_a_database_of_another_kind_is_refused_by_name(url):
    done = subprocess.run(
        [sys.executable, "manage.py", "create_token", "admin"],
        check=False,
        cwd=PROJECT,
        env=hermetic_environment() | {"DATABASE_URL": url},
        capture_output=True,
        text=True,
    )

    assert done.returncode == 1
    assert "DATABASE_URL" in done.stderr
    assert "Traceback" not in done.stderr
