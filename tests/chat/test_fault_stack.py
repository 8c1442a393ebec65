"""Each fault of ``manage.py bench faults``, injected into real processes as seldom as it goes.

One set of servers serves all; a worker that a fault ended is started again.
"""

import random
from collections.abc import Iterator

import pytest

from memoryapp.bench import faults, model_faults, other_faults, report
from memoryapp.bench.fault_stack import Stack, standing
from memoryapp.bench.faults import FAULTS, Fault

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with standing() as stack:
        yield stack


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_nothing_is_lost_doubled_or_stuck(
    fault: Fault, stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_faults, "CUT_EVERY_BYTES", 120)
    monkeypatch.setattr(other_faults, "SLOW_READERS", 40)

    rows = fault.inject(stack, 1, random.Random(faults.SEED))

    missed = [row for row in rows if row.is_met is False]
    assert not missed, report.table(rows)
    assert stack.check().all == 0
