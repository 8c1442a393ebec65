"""``manage.py bench``: figures with goals, for people and for programs, and nothing left afterwards."""

import json
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager

import psutil
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from memoryapp.accounts.models import User
from memoryapp.bench import (
    commands,
    fault_stack,
    faults,
    forgetting,
    inspector,
    load,
    needles,
    recall,
    report,
    runs,
    transcript,
)
from memoryapp.bench.installation import BenchFailedError
from memoryapp.bench.report import Row
from memoryapp.bench.scripted import ScriptedModel
from tests.servers import copy, hermetic_environment, migrated, throw_away_directory


@pytest.fixture
def place(monkeypatch):
    """Where this test's bench keeps its things: others may be at theirs."""
    with throw_away_directory() as directory:
        monkeypatch.setattr(tempfile, "tempdir", str(directory))
        yield directory


@pytest.fixture(scope="module")
def migrated_dir():
    return migrated()


@pytest.fixture
def migrated_place(migrated_dir, monkeypatch, place):
    """Where it need not migrate its database first."""
    empty_directory = commands.throw_away_directory

    @contextmanager
    def migrated_directory():
        with empty_directory() as directory:
            copy(migrated_dir, directory)
            yield directory

    for module in (commands, fault_stack, load, runs):
        monkeypatch.setattr(module, "throw_away_directory", migrated_directory)
    return place


def test_a_goal_is_the_most_a_figure_may_be():
    assert Row("start", 10, "s", 10).is_met is True
    assert Row("start", 10.1, "s", 10).is_met is False
    assert Row("memory", 900, "MB").is_met is None


def test_a_goal_may_be_the_least_a_figure_has_to_be():
    assert Row("share", 0.85, "", 0.85, is_at_least=True).is_met is True
    assert Row("share", 0.8, "", 0.85, is_at_least=True).is_met is False


def test_programs_get_one_line_of_json():
    rows = [Row("start", 1.234, "s", 10), Row("memory", 900, "MB")]

    assert json.loads(report.as_json(rows)) == {
        "rows": [
            {"name": "start", "value": 1.23, "unit": "s", "goal": 10, "met": True},
            {"name": "memory", "value": 900, "unit": "MB", "goal": None, "met": None},
        ]
    }
    assert "\n" not in report.as_json(rows)


def test_people_get_a_table_that_says_what_was_missed():
    table = report.table([Row("start", 12, "s", 10), Row("memory", 900, "MB")])

    assert table.splitlines() == ["start        12.0 s   ✗ goal: at most 10", "memory      900.0 MB"]


def test_an_unknown_bench_is_told_which_there_are():
    with pytest.raises(
        CommandError,
        match=r"no bench 'recal'\. There are: faults, forgetting, inspector, load, recall, runs, transcript\.",
    ):
        call_command("bench", "recal")


@pytest.mark.stack
def test_load_measures_a_real_installation_and_leaves_nothing_behind(monkeypatch, migrated_place):
    monkeypatch.setattr(load, "WARM_UP_TURNS", 1)
    monkeypatch.setattr(load, "TURNS", 2)
    monkeypatch.setattr(load, "STREAMS", 3)

    rows = {row.name: row for row in load.run(lambda _: None)}

    assert rows["first start, packages installed"].value > 0
    assert rows["later start"].value > 0
    assert rows["POST to the model's request, p50"].value > 0
    assert rows["idle memory, used"].value > rows["idle memory, fresh"].value > 100
    assert {name.strip() for name in rows if name.startswith("  ")} == {
        "supervisor",
        "web",
        "worker-turns",
        "worker-memory",
        "beat",
        "postgres",
        "valkey",
    }
    assert rows["database connections held by 3 open streams"].value == 0
    assert rows["of them broken"].value == 0
    assert not any("manage.py" in " ".join(child.cmdline()) for child in psutil.Process().children())
    assert list(migrated_place.iterdir()) == []


def test_without_its_data_set_the_transcript_bench_says_at_once_what_to_install(monkeypatch):
    monkeypatch.setattr(needles, "find_spec", lambda _: None)

    with pytest.raises(CommandError, match="make install-dev"):
        call_command("bench", "transcript")


def test_the_scripted_model_refuses_what_does_not_fit_its_window_and_counts_it():
    model = ScriptedModel(summarises="cheap", windows={"small": 100})

    assert model.excess({"model": "small", "max_tokens": 40}, input_tokens=60) == ""
    assert "60 + 41 > 100" in model.excess({"model": "small", "max_tokens": 41}, input_tokens=60)
    assert model.refused == 1


@pytest.mark.stack
def test_transcript_measures_growing_conversations_and_leaves_nothing_behind(monkeypatch, migrated_place):
    sizes = {"short": 25, "long": 60, "scripted": 70, "small_talk": 50, "needles": 5, "repeats": 2}
    monkeypatch.setattr(transcript, "SIZES", sizes)

    rows = {row.name.strip(): row for row in transcript.run(lambda _: None)}

    assert rows["statements, 60 turns"].is_met
    assert rows["statements from claim to the model, 60 turns"].is_met
    assert rows["largest prompt / what a prompt may hold"].is_met
    assert rows["compactions in 70 turns"].value >= 1
    assert rows["of them without the model"].is_met
    assert rows["prompt identical to the one before, median"].value > 0.5
    assert rows["model: in the prompt or found by search"].is_met
    assert rows["extractive: in the prompt or found by search"].is_met
    assert rows["extractive summaries in 50 turns of small talk"].value >= 2
    assert rows["requests larger than a model's window"].is_met
    assert list(migrated_place.iterdir()) == []


def test_the_measuring_part_of_the_recall_bench_empties_no_database_in_use(alice):
    with pytest.raises(BenchFailedError, match="in use"):
        call_command("find_among_many")

    assert User.objects.get() == alice


@pytest.mark.stack
def test_recall_measures_one_person_among_many_and_leaves_nothing_behind(monkeypatch, migrated_place):
    sizes = {"rows": 1_000, "people": 4, "own": 150, "pool": 250, "repeats": 3}
    monkeypatch.setattr(recall, "SIZES", sizes)

    rows = {row.name.strip(): row for row in recall.run(lambda _: None)}

    assert rows["facts"].value + rows["messages"].value == pytest.approx(1_000, abs=20)
    assert rows["own rows among the 10 nearest, fewest"].is_met
    assert rows["recall over 150 facts and 150 messages, p50"].value > 0
    assert rows["ratio"].value > 0
    assert rows["longterm_memory, with its indexes"].value > 1
    assert list(migrated_place.iterdir()) == []


@pytest.mark.stack
def test_runs_measures_steps_and_resuming_and_leaves_nothing_behind(monkeypatch, migrated_place):
    monkeypatch.setattr(runs, "SIZES", {"timed": [4], "weighed": [4, 8, 24], "repeats": 2})
    monkeypatch.setattr(runs, "KILLS", 1)
    monkeypatch.setattr(runs, "AT_ONCE", 4)
    monkeypatch.setattr(runs, "STEPS", 3)

    rows = {row.name.strip(): row for row in runs.run(lambda _: None)}

    assert (
        0 < rows["overhead per step, runs of 4, p50"].value <= rows["overhead per step, runs of 4, p95"].value
    )
    assert rows["statements per step"].value > 0
    assert rows["run of 24 / run of 4"].value < 2
    assert (
        rows["if each step kept the whole state, run of 24"].value
        > 2 * rows["if each step kept the whole state, run of 4"].value
    )
    assert rows["ratio"].value > 1
    assert 0 < rows["kill -9 of the worker to the next request, p50"].value < runs.GOES_ON_WITHIN_S
    assert not any("manage.py" in " ".join(child.cmdline()) for child in psutil.Process().children())
    assert list(migrated_place.iterdir()) == []


def test_only_a_bench_of_repetitions_has_a_size():
    with pytest.raises(CommandError, match="The bench 'load' has no size 3"):
        call_command("bench", "load", size=3)


@pytest.mark.stack
def test_faults_adds_up_what_held_and_leaves_nothing_behind(monkeypatch, migrated_place):
    quick = ("too long, max_tokens, refusal", "redelivery")
    monkeypatch.setattr(faults, "FAULTS", [fault for fault in faults.FAULTS if fault.name in quick])

    rows = {row.name: row for row in faults.run(lambda _: None, size=2)}

    assert rows["task redelivered while running: executions started"].value == 41
    assert rows["task redelivered while running: committed"].is_met
    assert rows["all of it: injected faults"].value == 48
    assert [row.name for row in rows.values() if row.is_met is False] == []
    assert not any("celery" in " ".join(child.cmdline()) for child in psutil.Process().children())
    assert list(migrated_place.iterdir()) == []


@pytest.mark.stack
def test_a_bench_that_is_told_to_end_leaves_nothing_behind():
    with throw_away_directory() as directory:
        bench = subprocess.Popen(
            [sys.executable, settings.BASE_DIR / "manage.py", "bench", "transcript"],
            env={**hermetic_environment(), "TMPDIR": str(directory)},
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert bench.stderr.readline().startswith("Assembling")  # everything is started
            children = psutil.Process(bench.pid).children(recursive=True)

            bench.terminate()

            assert bench.wait(timeout=30) == 128 + signal.SIGTERM
            assert list(directory.glob("strata-bench-*")) == []
            assert psutil.wait_procs(children, timeout=10)[1] == []
        finally:
            bench.kill()


def test_inspector_measures_every_page_and_leaves_nothing_behind(monkeypatch, migrated_place):
    sizes = {"facts": 60, "pool": 30, "repeats": 2, "forgotten": 20}
    monkeypatch.setattr(inspector, "SIZES", sizes)

    rows = {row.name.strip(): row for row in inspector.run(lambda _: None)}

    assert rows["inspector:facts, p95"].value > 0
    assert rows["inspector:facts, HTML"].is_met
    assert rows["policies:kinds, p95"].goal == 150
    assert rows["forgetting 20 facts"].goal == 2_000
    assert list(migrated_place.iterdir()) == []


@pytest.mark.stack
def test_forgetting_measures_one_fact_one_source_and_everything_and_leaves_nothing_behind(
    monkeypatch, migrated_place
):
    monkeypatch.setattr(forgetting, "SIZES", {"facts": 60, "pool": 30, "repeats": 5})

    rows = {row.name.strip(): row for row in forgetting.run(lambda _: None)}

    assert rows["forgetting one fact of 60, p95"].goal == 100
    assert rows["forgetting 55 facts of one source"].goal == 5
    assert rows["undoing that"].is_met
    assert rows["forgetting it for good, after that"].is_met
    assert rows["forgetting everything of 60 facts"].is_met
    assert rows["facts left"].is_met
    assert list(migrated_place.iterdir()) == []
