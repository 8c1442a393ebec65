"""What a proof says: a store whose control is missing proves nothing, and the exit status says so."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from memoryapp.bench.installation import BenchFailedError
from memoryapp.proof import proving, report
from memoryapp.proof.proving import Level
from memoryapp.proof.report import Report, Row

GONE = Row("G3", "pg_dump", 1_234_567, 0, 0.5)
FOUND = Row("G4", "write-ahead log", 100, 2, 1.5, places=["0001 (UTF-8): 2"])
BLIND = Row("G3", "Redis keys", 100, 0, 0.1, control_found=False)
STUCK = Row("G3", "logs", 100, 0, 0.1, is_emptied=False)


@pytest.mark.parametrize(("row", "is_proven"), [(GONE, True), (FOUND, False), (BLIND, False), (STUCK, False)])
def test_only_a_store_with_its_control_and_without_hits_is_proven(row, is_proven):
    assert row.is_proven is is_proven
    assert Report([GONE, row], 1).is_proven is is_proven


def test_nothing_looked_at_proves_nothing():
    assert not Report([], 1).is_proven


def test_people_get_a_table_with_the_places():
    lines = report.table(Report([GONE, FOUND, BLIND], 61)).splitlines()

    assert lines == [
        "level  store                    bytes  control   hits  seconds",
        "G3     pg_dump              1,234,567  yes          0      0.5  ✓ removed",
        "G4     write-ahead log            100  yes          2      1.5  ✗ FOUND",
        "       0001 (UTF-8): 2",
        "G3     Redis keys                 100  NO           0      0.1  ✗ NOT COMPUTABLE: the control was not found",
        "This is no proof. It took 61 s.",
    ]


def test_programs_get_one_line():
    line = report.as_json(Report([GONE, STUCK], 2))

    told = json.loads(line)
    assert "\n" not in line
    assert told["proven"] is False
    assert [
        (store["name"], store["bytes"], store["control_found"], store["hits"]) for store in told["stores"]
    ] == [
        ("pg_dump", 1_234_567, True, 0),
        ("logs", 100, False, 0),
    ]


@pytest.fixture
def proved(monkeypatch):
    """What the command was asked for; a proof of these rows."""
    asked = []

    def install(*rows):
        def prove(_say, *, levels):
            asked.append(levels)
            return Report(list(rows), 1)

        monkeypatch.setattr(proving, "prove", prove)
        return asked

    return install


def test_a_proof_ends_well(proved):
    proved(GONE)
    output = StringIO()

    call_command("prove_forgetting", "--json", stdout=output)

    assert json.loads(output.getvalue().splitlines()[-1])["stores"][0]["name"] == "pg_dump"


@pytest.mark.parametrize("row", [FOUND, BLIND, STUCK])
def test_a_hit_or_a_missing_control_ends_with_status_1(proved, row):
    proved(GONE, row)

    with pytest.raises(SystemExit) as end:
        call_command("prove_forgetting", stdout=StringIO())

    assert end.value.code == 1


def test_levels_are_gone_through_in_their_order_whatever_the_order_they_are_named_in(proved):
    asked = proved(GONE)

    call_command("prove_forgetting", "--levels", "G3, g0,G2,G3", stdout=StringIO())

    assert asked == [[Level.UNREADABLE, Level.DERIVED, Level.STORED]]


def test_all_levels_unless_some_are_named(proved):
    asked = proved(GONE)

    call_command("prove_forgetting", stdout=StringIO())

    assert [str(level) for level in asked[0]] == ["G0", "G2", "G3", "G4", "G5"]


def test_an_unknown_level_is_told_which_there_are():
    with pytest.raises(CommandError, match=r"The levels are G0, G2, G3, G4, G5\."):
        call_command("prove_forgetting", "--levels", "G1")


def test_an_installation_that_does_not_work_is_an_error(monkeypatch):
    def fail(*_args, **_options):
        raise BenchFailedError("'up' ended")

    monkeypatch.setattr(proving, "prove", fail)

    with pytest.raises(CommandError, match="'up' ended"):
        call_command("prove_forgetting")
