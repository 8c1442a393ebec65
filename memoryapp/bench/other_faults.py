"""Faults of tools and of readers."""

import random
import socket
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from memoryapp.bench.failing_model import Answer, Gate
from memoryapp.bench.fault_readers import gaps_s, slow_readers
from memoryapp.bench.fault_stack import PATIENCE_S, Stack, resident_mb
from memoryapp.bench.fault_tools import SLOW_TIMEOUT_S
from memoryapp.bench.report import Row
from memoryapp.bench.worker_faults import OPENING_EVENTS, STEPS, p95
from memoryapp.tooling.base import MAX_OUTPUT_CHARS

SLOW_READERS = 100
LONG_REPLY = ("some words of a very long reply " * 6,) * 1500  # 300 kB
READS_EVERY_S = 1.0
GROWTH_GOAL_MB = 100  # a megabyte for each
GAP_GOAL_S = 0.25
PAUSE_S = 0.05
NOTICED_GOAL_S = SLOW_TIMEOUT_S + 1.5
TOOLS = (
    ("broken", "{}"),
    ("defect", "{}"),
    ("slow", "{}"),
    ("huge", "{}"),
    ("calculate", '{"expression": 5}'),
    ("calculate", "[]"),
    ("no_such_tool", "{}"),
)


def tools(stack: Stack, size: int, _chance: random.Random) -> list[Row]:
    """An error, a defect, a time-out, 10 MB, arguments of the wrong kind, a tool that there is not; damaged JSON."""
    stack.staff(8, 8)
    asked = {call: [stack.ask(Answer(call=call), Answer()) for _ in range(size)] for call in TOOLS[:-2]}
    asked[TOOLS[-1]] = [stack.ask(Answer(call=TOOLS[-1]), Answer()) for _ in range(size)]
    damaged = [stack.ask(Answer(call=("calculate", '{"expression": "1 +'))) for _ in range(size)]
    every = [each for group in asked.values() for each in group]
    stack.injected += len(every) + len(damaged)
    ended = stack.await_ends(every)
    slow = stack.await_ends(asked[("slow", "{}")])
    told = stack.await_ends(damaged)
    results = [
        result
        for each in every
        for call in stack.model.calls_of(each.question)[1:]
        for result in call.results
    ]
    return [
        Row("tool fails, 7 ways: turns not finished", sum(end.status != "completed" for end in ended), "", 0),
        Row("tool fails, 7 ways: results that the model did not read", len(every) - len(results), "", 0),
        Row(
            "tool fails, 7 ways: longest result in a prompt",
            max(map(len, results)),
            "chars",
            MAX_OUTPUT_CHARS,
        ),
        Row(
            "tool fails, 7 ways: time-out noticed after", max(end.took_s for end in slow), "s", NOTICED_GOAL_S
        ),
        Row("tool fails, 7 ways: damaged calls not told", sum(end.status != "failed" for end in told), "", 0),
        Row(
            "tool fails, 7 ways: damaged calls run",
            stack.rows(STEPS, [each.turn_id for each in damaged])[0][0],
            "",
            0,
        ),
    ]


def slow_readers_of_a_long_reply(stack: Stack, size: int, _chance: random.Random) -> list[Row]:
    """Readers of a byte a second, of a reply that is long; others read theirs meanwhile."""
    stack.staff(8, 8)
    number = SLOW_READERS * size
    gate = Gate()
    long = stack.ask(Answer(LONG_REPLY, gate=gate, hold_at=OPENING_EVENTS + len(LONG_REPLY)))
    stack.require(lambda: gate.wait_until_reached(within_s=PATIENCE_S), "the reply was written")
    assert stack.web
    alone = _gap_p95(stack)
    before_mb = resident_mb(stack.web.pid)
    stack.injected += number
    with slow_readers(stack.client, long.turn_id, number=number) as readers, _reading(readers):
        among = _gap_p95(stack)
        grown_mb = resident_mb(stack.web.pid) - before_mb
    gate.open()
    stack.await_ends([long])
    return [
        Row(f"{number} slow readers: growth of the web server", grown_mb, "MB", GROWTH_GOAL_MB * size),
        Row(f"{number} slow readers: another's gap between words, p95", among, "s", GAP_GOAL_S),
        Row(f"{number} slow readers: the same without them", alone, "s"),
    ]


def _gap_p95(stack: Stack) -> float:
    asked = stack.ask(Answer(words=("word ",) * 60, pause_s=PAUSE_S))
    with ThreadPoolExecutor(1) as reader:
        return p95(reader.submit(gaps_s, stack.client, asked.turn_id).result(timeout=PATIENCE_S))


@contextmanager
def _reading(readers: Sequence[socket.socket]) -> Iterator[None]:
    has_ended = threading.Event()

    def read() -> None:
        while not has_ended.wait(READS_EVERY_S):
            for each in readers:
                each.recv(1)

    thread = threading.Thread(target=read, name="slow-readers", daemon=True)
    thread.start()
    try:
        yield
    finally:
        has_ended.set()
        thread.join()
