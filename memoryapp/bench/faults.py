"""``bench faults``: what is lost, doubled or stuck when processes, the model, tools and readers fail.

Real servers, web server and workers; each fault is injected into what this bench started, and after each of them it is
looked up whether everything that must hold of turns still does (``memoryapp.bench.invariants``).
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

from memoryapp.bench import model_faults, other_faults, worker_faults
from memoryapp.bench.fault_stack import Stack, standing
from memoryapp.bench.invariants import Violations
from memoryapp.bench.report import Row

SEED = 20_261_130
RECOVERY_GOAL_S = worker_faults.RECOVERY_GOAL_S


@dataclass(frozen=True, slots=True)
class Fault:
    """``inject``: on a stack, so many times the smallest number, with chance to be seeded; returns its figures."""

    name: str
    inject: Callable[[Stack, int, random.Random], list[Row]]


# The one that wants a single worker comes first: the others share two.
FAULTS = (
    Fault("429 with retry-after", model_faults.asked_to_wait),
    Fault("429 without retry-after", model_faults.out_of_money),
    Fault("529", model_faults.overloaded),
    Fault("500, silence, refused connections", model_faults.failing),
    Fault("error event after 200", model_faults.error_after_200),
    Fault("socket cut", model_faults.cut),
    Fault("stall", model_faults.stalled),
    Fault("too long, max_tokens, refusal", model_faults.cut_short),
    Fault("tools", other_faults.tools),
    Fault("slow readers", other_faults.slow_readers_of_a_long_reply),
    Fault("Stop", worker_faults.stopped),
    Fault("redelivery", worker_faults.redelivered),
    Fault("worker stalled", worker_faults.stalled),
    Fault("worker killed", worker_faults.killed),
    Fault("poison", worker_faults.poisoned),
    Fault("deploy", worker_faults.deployed),
)


def run(say: Callable[[str], None], *, size: int = 1) -> list[Row]:
    """The figures of each fault, and of all of them together. ``size``: times the smallest number of repetitions."""
    rows: list[Row] = []
    chance = random.Random(SEED)  # noqa: S311 - to be repeated, not to be secret
    with standing() as stack:
        found = stack.check()
        for fault in FAULTS:
            say(f"{fault.name} …")
            rows += fault.inject(stack, size, chance)
            found, before = stack.check(), found
            if found.all > before.all:
                rows.append(Row(f"{fault.name}: invariants violated after it", found.all - before.all, "", 0))
    return [*rows, *_together(stack, found)]


def _together(stack: Stack, found: Violations) -> list[Row]:
    return [
        Row("all of it: injected faults", stack.injected, ""),
        Row("all of it: turns lost", found.lost, "", 0),
        Row("all of it: duplicated", found.duplicated, "", 0),
        Row("all of it: orphaned", found.orphaned, "", 0),
        Row("all of it: impossible changes of status", found.impossible, "", 0),
        Row("all of it: replies unlike what was shown", found.unlike, "", 0),
        Row("all of it: recovery p95", worker_faults.p95(stack.recoveries_s), "s", RECOVERY_GOAL_S),
    ]
