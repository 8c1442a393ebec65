"""Logs are of a size and a number, whoever is writing to them meanwhile."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memoryapp.embedded import logs
from memoryapp.embedded.data_directory import DataDirectory
from memoryapp.embedded.logs import Log
from memoryapp.embedded.servers import Servers

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(logs, "MAX_BYTES", 100)


def held(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in directory.iterdir()}


@pytest.mark.usefixtures("small")
def test_a_log_that_has_grown_is_ended_and_a_small_one_goes_on(tmp_path):
    Log(tmp_path, "web").write("x" * 100)
    Log(tmp_path, "beat").write("started")

    logs.end_large(tmp_path)
    Log(tmp_path, "web").write("afterwards")

    found = held(tmp_path)
    assert found.keys() == {"web.log", "web.log.1", "beat.log"}
    assert found["web.log"].endswith("Z afterwards\n")
    assert "x" * 100 in found["web.log.1"]


@pytest.mark.usefixtures("small")
def test_of_what_was_ended_the_newest_few_are_kept(tmp_path):
    for number in range(9):
        Log(tmp_path, "web").write(f"{number}" + "." * 100)
        logs.end_large(tmp_path)

    found = held(tmp_path)
    assert sorted(found) == ["web.log", "web.log.1", "web.log.2", "web.log.3"]
    assert [found[f"web.log.{n}"].split()[1][0] for n in (1, 2, 3)] == ["8", "7", "6"]
    assert found["web.log"] == ""


def test_what_was_ended_before_a_moment_is_deleted_and_what_is_written_to_is_not(tmp_path):
    for name, hours in (("web.log", 50), ("web.log.1", 3), ("web.log.2", 30), ("secret_key", 50)):
        path = tmp_path / name
        path.write_text(name)
        os.utime(path, times=((NOW - timedelta(hours=hours)).timestamp(),) * 2)

    dropped = logs.drop_ended(tmp_path, before=NOW - timedelta(hours=24))

    assert dropped == 1
    assert held(tmp_path).keys() == {"web.log", "web.log.1", "secret_key"}


def test_a_server_goes_on_writing_at_the_beginning_of_its_log(data_dir):
    directory = DataDirectory(data_dir).logs
    with Servers(data_dir, with_valkey=False, is_durable=False):
        before = (directory / "postgres.log").read_text()
        logs.end_all(directory)

    after = (directory / "postgres.log").read_bytes()
    assert "ready to accept connections" in before
    assert (directory / "postgres.log.1").read_text() == before
    assert b"ready to accept" not in after
    assert b"shut down" in after
    assert b"\0" not in after
