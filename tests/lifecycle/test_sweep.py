"""The sweep: each of its jobs does its part, whatever happens to the others."""

import pytest

from memoryapp.lifecycle import tasks


@pytest.mark.django_db
@pytest.mark.parametrize("broken", ["_delete_faded", "_drop_run_records"])
def test_a_job_that_fails_does_not_stop_the_next(monkeypatch, caplog, broken):
    done = []

    def fail():
        raise ValueError("one row")

    fail.__name__ = broken
    monkeypatch.setattr(tasks, broken, fail)
    monkeypatch.setattr(tasks, "_embed_backlog", lambda: done.append("embedding"))

    tasks.sweep()

    assert done == ["embedding"]
    assert broken.strip("_") in caplog.text
