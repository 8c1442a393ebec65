"""The proof on a small installation: it finds what was not forgotten, and nothing once it is.

``manage.py prove_forgetting`` makes the whole of it; here are a few doors, and no files.
"""

import tempfile
from contextlib import contextmanager

import psutil
import pytest

from memoryapp.proof import installing, letting_go, proving, reading
from memoryapp.proof.proving import Level
from tests.servers import copy, migrated, throw_away_directory

LEVELS = (Level.UNREADABLE, Level.DERIVED, Level.STORED)
LIGHT = {"STRATA_BUNDLED_MODEL": "use"}
DOORS = ("remember tool", "tool result")
# Among many others.
READ_BY = {
    "alice GET /api/v1/export",
    "alice GET /c/…/",
    "alice POST /api/v1/memories/search",
    "admin GET /memory/facts/",
    "prompts and tools",
}


@pytest.fixture
def place(monkeypatch):
    """Where this test's proof keeps its things, all of which must be gone in the end."""
    ready = migrated()  # with its database made before, so that it need not make it
    empty_directory = installing.throw_away_directory

    @contextmanager
    def migrated_directory():
        with empty_directory() as directory:
            copy(ready, directory)
            yield directory

    with throw_away_directory() as directory:
        monkeypatch.setattr(tempfile, "tempdir", str(directory))
        monkeypatch.setattr(installing, "throw_away_directory", migrated_directory)
        monkeypatch.setattr(reading, "IDS_AT_MOST", 1)
        monkeypatch.setattr(reading, "RECORDS_AT_MOST", 1)
        yield directory


def hits(proof, level):
    return {row.name: row.hits for row in proof.rows if row.level == level}


@pytest.mark.stack
def test_what_stays_is_found_and_what_is_forgotten_is_gone_from_every_answer_and_store(place):
    before = set(psutil.Process().children())
    with installing.standing(3, variables=LIGHT) as standing:
        proof = proving.tell(standing, print, levels=LEVELS, only_doors=DOORS)
        proof.look_before()
        shown = set(proof.before.readings.words)
        letting_go.forget(standing, proof.entered[:-1])
        proof.stored()
        partly = hits(proof, Level.STORED)
        proof.rows.clear()

        proof.forget()
        for level in LEVELS:
            proving.STEPS[level](proof)
            proof.untouched(level)

        rows = {f"{row.level} {row.name}": row for row in proof.rows}

    assert shown >= READ_BY
    assert partly["database: all columns"] > 0
    assert partly["pg_dump"] > 0
    assert {name: row.verdict for name, row in rows.items() if not row.is_proven} == {}
    assert rows["G0 read paths"].paths > 500
    assert {row.name for row in proof.rows} >= {"Redis keys", "Celery queues", "derived rows", "neighbours"}
    assert list(place.iterdir()) == []
    assert set(psutil.Process().children()) <= before
