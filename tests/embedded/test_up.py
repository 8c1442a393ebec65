"""``manage.py up``: one command gives a working application, and leaves nothing behind however it ends."""

import json
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from memoryapp.embedded.data_directory import DataDirectory
from memoryapp.embedded.installation import join_running
from tests.processes import has_ended
from tests.servers import hermetic_environment, throw_away_directory, throw_away_servers

PROJECT = Path(__file__).resolve().parent.parent.parent
STARTED_WITHIN_S = 90  # on a busy machine; an idle one needs five


class Up:
    """A running ``manage.py up``: its lines are read as they come, so that it never waits for us."""

    def __init__(self, data_dir: Path, *, port: int, environment: dict[str, str]) -> None:
        self.port = port
        self.lines: list[str] = []
        self._incoming: queue.Queue[str] = queue.Queue()
        self.process = subprocess.Popen(
            command(data_dir, port=port),
            cwd=PROJECT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_for(self, pattern: str, *, within_s: float = STARTED_WITHIN_S) -> re.Match[str]:
        deadline = time.monotonic() + within_s
        while True:
            try:
                line = self._incoming.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                pytest.fail(f"never said {pattern}:\n" + "".join(self.lines))
            if found := re.search(pattern, line):
                return found

    def wait_until_ready(self) -> str:
        """The path of the sign-in link."""
        return self.wait_for(rf"http://127\.0\.0\.1:{self.port}(/sign-in/\S+)")[1]

    def get(self, path: str) -> int:
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10).status
        except urllib.error.HTTPError as error:
            return error.code

    def descendants(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def child(self, *words: str) -> psutil.Process:
        return next(child for child in self.descendants() if set(words) <= set(child.cmdline()))

    def end_by(self, number: signal.Signals, *, within_s: float) -> int:
        self.process.send_signal(number)
        assert has_ended(self.process.pid, within_s=within_s)
        self._reader.join(timeout=5)
        return self.process.wait()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.append(line)
            self._incoming.put(line)


def command(data_dir: Path, *, port: int) -> list[str]:
    options = ["--port", str(port), "--data-dir", str(data_dir), "--no-browser"]
    return [sys.executable, "manage.py", "up", *options]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def running(data_dir: Path, **environment: str) -> Iterator[Up]:
    up = Up(data_dir, port=free_port(), environment=hermetic_environment() | environment)
    try:
        yield up
    finally:
        up.process.kill()
        up.process.wait()


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


@pytest.mark.stack
def test_every_step_is_shown_with_its_time_and_the_link_works(up):
    steps = re.findall(r"✓ (.+?) +\d+\.\d s", "".join(up.lines))

    assert steps == ["PostgreSQL started", "Valkey started", "Database prepared", "Web server answers"]
    assert up.get("/healthz") == 200
    assert up.get(up.sign_in_path) == 200


@pytest.mark.stack
def test_a_second_start_names_the_first_and_leaves_it_in_peace(up):
    message = refused(up.data_dir)

    assert (
        f"already running on {up.data_dir}: pid {up.process.pid}, URL http://127.0.0.1:{up.port}" in message
    )
    assert up.get("/healthz") == 200


@pytest.mark.stack
def test_a_taken_port_is_said_to_be(up, data_dir):
    message = refused(data_dir, port=up.port)

    assert f"Port {up.port} is in use. Choose another one with --port." in message
    assert list(data_dir.iterdir()) == []


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
    for name in ("DATABASE_URL", "REDIS_URL", "SECRET_KEY"):
        monkeypatch.setenv(name, "")

    join_running(["manage.py", "sign_in_link", f"--data-dir={up.data_dir}"])
    done = subprocess.run(
        [sys.executable, "manage.py", "sign_in_link", "admin"],
        check=True,
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        text=True,
    )

    assert up.get(done.stdout.splitlines()[-1]) == 200


@pytest.mark.stack
def test_ctrl_c_ends_everything_in_time_and_the_data_is_there_at_the_next_start(data_dir):
    with running(data_dir) as up:
        up.wait_until_ready()
        key = (data_dir / "secret_key").read_text()
        pids = [child.pid for child in up.descendants()]

        assert up.end_by(signal.SIGINT, within_s=10) == 0

        assert all(has_ended(pid, within_s=0) for pid in pids)
        assert up.lines[-1] == "Stopped.\n"

    with running(data_dir) as up:
        up.wait_until_ready()
        assert (data_dir / "secret_key").read_text() == key
        assert up.end_by(signal.SIGTERM, within_s=10) == 0


@pytest.mark.stack
def test_kill_9_leaves_nothing_running(data_dir):
    with running(data_dir) as up:
        up.wait_until_ready()
        pids = [child.pid for child in up.descendants()]
        assert len(pids) >= 4 + 1 + 5  # programs, Valkey, PostgreSQL and its backends

        up.process.kill()

        assert all(has_ended(pid, within_s=10) for pid in pids)
    assert DataDirectory(data_dir).running() is None


@pytest.mark.stack
def test_a_postgres_from_elsewhere_is_used_and_not_written_down(data_dir):
    with throw_away_servers() as elsewhere, running(data_dir, DATABASE_URL=elsewhere.database_url) as up:
        path = up.wait_until_ready()

        assert any("✓ PostgreSQL reached" in line for line in up.lines)
        assert up.get(path) == 200
        assert not (data_dir / "pg18").exists()
        assert (data_dir / "valkey").exists()
        assert json.loads((data_dir / "up.json").read_text())["database_url"] == ""
        assert up.end_by(signal.SIGINT, within_s=10) == 0


@pytest.mark.parametrize(
    ("variable", "url", "what"),
    [
        ("DATABASE_URL", "postgresql://me:hunter2@127.0.0.1:1/app", "PostgreSQL at 127.0.0.1:1/app"),
        ("REDIS_URL", "redis://:hunter2@127.0.0.1:1/0", "Redis at 127.0.0.1:1/0"),
    ],
)
def test_a_server_that_does_not_answer_is_named_without_its_password(data_dir, variable, url, what):
    message = refused(data_dir, **{variable: url})

    assert f"Cannot reach {what}, which {variable} names" in message
    assert "hunter2" not in message
    assert DataDirectory(data_dir).running() is None
