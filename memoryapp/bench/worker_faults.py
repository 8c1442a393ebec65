"""Faults of workers and of the web server: killed, stalled, woken too often, poisoned, told to stop or to leave.

Workers run their turns in threads: there is no pool of processes whose children could be killed apart from them.
"""

import random
import signal
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import LiteralString

from memoryapp.bench.failing_model import Answer, Gate
from memoryapp.bench.fault_readers import follow
from memoryapp.bench.fault_stack import (
    DRAIN_S,
    LEASE_S,
    PATIENCE_S,
    REAP_INTERVAL_S,
    WEB_PATIENCE_S,
    Asked,
    Ended,
    Program,
    Stack,
)
from memoryapp.bench.fault_tools import CRASH_STATUS
from memoryapp.bench.report import Row

RECOVERY_GOAL_S = LEASE_S + REAP_INTERVAL_S + 5
STOP_GOAL_S = 1.0
# A neighbour may be in the hands of each of the workers that a poison turn ends.
NEIGHBOUR_GOAL_S = 3 * (LEASE_S + REAP_INTERVAL_S) + 5
LEAVING_GOAL_S = DRAIN_S + 3
WEB_LEAVING_GOAL_S = WEB_PATIENCE_S + 2
SENTENCE = ("One ", "two ", "three ", "four ", "five ", "six.")
OPENING_EVENTS = 2  # before the first words
AT_ONCE = 4  # turns per injection
STOPS = 12  # at once; fewer than the threads of the workers
SETTLED_S = 2.0  # a worker that was woken has looked after its lease by then
RUNNING_TOTAL = ("calculate", '{"expression": "6 * 7"}')
TERMINAL = ("completed", "failed", "interrupted", "cancelled")

# All that a worker writes about these turns, a row each.
WRITTEN: LiteralString = """
SELECT t::text FROM transcript_turn t WHERE id = ANY(%(turns)s::uuid[])
UNION ALL SELECT m::text FROM transcript_message m WHERE turn_id = ANY(%(turns)s::uuid[])
UNION ALL SELECT r::text FROM scratchpad_run r WHERE turn_id = ANY(%(turns)s::uuid[])
UNION ALL SELECT s::text FROM scratchpad_step s JOIN scratchpad_run r ON r.id = s.run_id
    WHERE r.turn_id = ANY(%(turns)s::uuid[])
UNION ALL SELECT c::text FROM scratchpad_checkpoint c JOIN scratchpad_run r ON r.id = c.run_id
    WHERE r.turn_id = ANY(%(turns)s::uuid[])
"""
STEPS: LiteralString = """
SELECT count(*) FROM scratchpad_step s JOIN scratchpad_run r ON r.id = s.run_id WHERE r.turn_id = ANY(%s::uuid[])
"""
TRANSITIONS_OF: LiteralString = """
SELECT count(*) FROM bench_transition WHERE turn_id = ANY(%s::uuid[]) AND was = %s AND became = %s
"""


def killed(stack: Stack, size: int, chance: random.Random) -> list[Row]:
    """SIGKILL at a random event of the replies in hand; the other worker takes over what was lost."""
    asked: list[Asked] = []
    recoveries_s: list[float] = []
    taken_over = 0
    for _ in range(3 * size):
        stack.staff(8, 8)
        held, gate = _held_replies(stack, chance)
        killed_at = time.monotonic()
        stack.kill(chance.choice(stack.workers))
        gate.open()
        ended = stack.await_ends(held)
        lost_worker = sum(each.attempts > 1 for each in ended)
        if lost_worker:
            recoveries_s.append(time.monotonic() - killed_at)
        taken_over += lost_worker
        asked += held
    ended = stack.await_ends(asked, within_s=0)
    stack.recoveries_s += recoveries_s
    return [
        Row("worker killed mid-stream: replies it had in hand", taken_over, ""),
        Row(
            "worker killed mid-stream: turns lost", sum(each.status not in TERMINAL for each in ended), "", 0
        ),
        Row("worker killed mid-stream: answered twice", _answered_twice(stack, asked), "", 0),
        Row("worker killed mid-stream: recovery p95", p95(recoveries_s), "s", RECOVERY_GOAL_S),
    ]


def redelivered(stack: Stack, size: int, _chance: random.Random) -> list[Row]:
    """The task of a running turn comes again and again, to many threads of two workers."""
    stack.staff(8, 8)
    gate = Gate()
    asked = stack.ask(Answer(call=RUNNING_TOTAL, gate=gate, hold_at=OPENING_EVENTS + 1), Answer())
    _require_held(stack, gate)
    times = 20 * size
    stack.injected += times
    stack.nudge(asked, times=times)
    gate.open()
    [ended] = stack.await_ends([asked])
    return [
        Row("task redelivered while running: executions started", 1 + times, ""),
        Row("task redelivered while running: committed", ended.attempts, "", 1),
        Row("task redelivered while running: tools run", stack.rows(STEPS, [asked.turn_id])[0][0], "", 1),
        Row(
            "task redelivered while running: model calls more than two",
            len(stack.model.calls_of(asked.question)) - 2,
            "",
            0,
        ),
        Row("task redelivered while running: not completed", ended.status != "completed", "", 0),
    ]


def stalled(stack: Stack, size: int, chance: random.Random) -> list[Row]:
    """SIGSTOP past the lease, while the whole rest of the reply comes in; then SIGCONT."""
    stale_writes, stale_attempts, left = 0, 0, 0
    for _ in range(2 * size):
        stack.staff(8, 8)
        held, gate = _held_replies(stack, chance)
        stack.injected += 1
        sleeper = chance.choice(stack.workers)
        sleeper.send(signal.SIGSTOP)
        gate.open()
        ended = stack.await_ends(held, within_s=2 * RECOVERY_GOAL_S)
        left += sum(each.status not in TERMINAL for each in ended)
        taken_over = [one for one, end in zip(held, ended, strict=True) if end.attempts > 1]
        stale_attempts += len(taken_over)
        stack.wait(lambda: False, within_s=0.5)  # runs are closed a moment after their turns
        before = _written(stack, taken_over)
        sleeper.send(signal.SIGCONT)
        stack.wait(lambda: False, within_s=SETTLED_S)
        stale_writes += len(before ^ _written(stack, taken_over))
    return [
        Row("worker stalled past its lease, then awake: stale attempts", stale_attempts, ""),
        Row("worker stalled past its lease, then awake: turns left to it", left, "", 0),
        Row("worker stalled past its lease, then awake: stale writes accepted", stale_writes, "", 0),
    ]


def stopped(stack: Stack, size: int, chance: random.Random) -> list[Row]:
    """Stop at a random moment around the end of a reply, and while the model is silent."""
    stack.staff(8, 8)
    ends = [end for _ in range(size) for end in _stopped_around_the_end(stack, chance)]
    stops = [end for _ in range(size) for end in _stopped_in_silence(stack, chance)]
    undecided = sum(end.status not in ("completed", "cancelled") for end in ends)
    return [
        Row("Stop around the end of a reply: stopped", sum(end.status == "cancelled" for end in ends), ""),
        Row("Stop around the end of a reply: completed", sum(end.status == "completed" for end in ends), ""),
        Row(
            "Stop around the end of a reply: neither, or impossible changes of status",
            undecided + stack.check().impossible,
            "",
            0,
        ),
        Row(
            "Stop while the model is silent: not stopped", sum(e.status != "cancelled" for e in stops), "", 0
        ),
        Row(
            "Stop while the model is silent: until it is stopped, p95",
            p95([end.stop_took_s for end in stops]),
            "s",
            STOP_GOAL_S,
        ),
    ]


def _stopped_around_the_end(stack: Stack, chance: random.Random) -> list[Ended]:
    asked = [stack.ask(Answer(words=SENTENCE, pause_s=0.1)) for _ in range(STOPS)]
    stack.injected += STOPS

    def stop_some_time(one: Asked) -> None:
        time.sleep(chance.uniform(0.0, 1.0))
        stack.stop_turn(one)

    with ThreadPoolExecutor(STOPS) as people:
        list(people.map(stop_some_time, asked))
    return stack.await_ends(asked)


def _stopped_in_silence(stack: Stack, chance: random.Random) -> list[Ended]:
    gate = Gate()
    asked = [stack.ask(Answer(gate=gate, hold_at=chance.choice((0, 3)))) for _ in range(STOPS)]
    stack.injected += STOPS
    _require_held(stack, gate, STOPS)
    for one in asked:
        stack.stop_turn(one)
    ended = stack.await_ends(asked)
    gate.open()
    return ended


def poisoned(stack: Stack, size: int, _chance: random.Random) -> list[Row]:
    """A tool that ends its worker each time it is called, among turns of others."""
    crashes, ends, taken_along, delays_s = [], list[Ended](), 0, []
    for _ in range(size):
        stack.staff(8, 8)
        before = len(stack.crashes)
        poison = [stack.ask(Answer(call=("crash", "{}")))]
        neighbours = [stack.ask()]
        while not stack.have_ended(poison):
            stack.wait(partial(stack.have_ended, poison), within_s=1.0)
            neighbours.append(stack.ask())
        others = stack.await_ends(neighbours)
        crashes.append(stack.crashes[before:].count(CRASH_STATUS))
        ends += [*stack.await_ends(poison), *others]
        delays_s += [end.took_s for end in others]
        # What was being read when the worker ended: it is kept, and offered again.
        taken_along += sum(end.status == "interrupted" for end in others)
    stack.injected += sum(crashes)
    return [
        Row("poison turn: workers it ends", max(crashes), "", 3),
        Row(
            "poison turn: it or a neighbour not ended visibly", sum(not _is_told(end) for end in ends), "", 0
        ),
        Row("poison turn: neighbours interrupted with it", taken_along, ""),
        Row("poison turn: a neighbour's end, worst", max(delays_s), "s", NEIGHBOUR_GOAL_S),
    ]


def _is_told(end: Ended) -> bool:
    return end.status == "completed" or (end.status in TERMINAL and bool(end.message))


def deployed(stack: Stack, size: int, _chance: random.Random) -> list[Row]:
    """SIGTERM to a worker, then to the web server, while replies are written and read."""
    stack.staff(8, 8)
    step = Answer(words=SENTENCE, pause_s=0.08, call=RUNNING_TOTAL)
    reply = Answer(words=SENTENCE * 2, pause_s=0.08)
    asked = [stack.ask(step, step, reply) for _ in range(8 * size)]
    with ThreadPoolExecutor(len(asked)) as readers:
        reading = [readers.submit(follow, stack.client, each.turn_id) for each in asked]
        stack.wait(lambda: False, within_s=0.4)
        worker_s = _leaving_s(stack, stack.workers[0])
        ended = stack.await_ends(asked)
        texts = [each.result(timeout=PATIENCE_S) for each in reading]
    handed_over = stack.rows(TRANSITIONS_OF, [each.turn_id for each in asked], "running", "queued")[0][0]
    broken = sum(text.strip() != end.reply.strip() for text, end in zip(texts, ended, strict=True))
    web_broken, web_s = _web_deployed(stack, size)
    return [
        Row("worker told to leave under load: handed over", handed_over, ""),
        Row(
            "worker told to leave under load: not completed",
            sum(end.status != "completed" for end in ended),
            "",
            0,
        ),
        Row("worker told to leave under load: streams broken", broken, "", 0),
        Row("worker told to leave under load: until it has left", worker_s, "s", LEAVING_GOAL_S),
        Row("web server told to leave under load: streams broken", web_broken, "", 0),
        Row("web server told to leave under load: until it has left", web_s, "s", WEB_LEAVING_GOAL_S),
    ]


def _web_deployed(stack: Stack, size: int) -> tuple[int, float]:
    """Replies that outlast the web server's patience: their readers reconnect to the next one."""
    stack.staff(8, 8)
    asked = [stack.ask(Answer(words=SENTENCE * 7, pause_s=0.1)) for _ in range(8 * size)]
    with ThreadPoolExecutor(len(asked)) as readers:
        reading = [readers.submit(follow, stack.client, each.turn_id) for each in asked]
        stack.wait(lambda: False, within_s=0.4)
        began_at = time.monotonic()
        stack.injected += 1
        old = stack.replace_web()
        stack.require(lambda: stack.has_left(old), "the web server left")
        left_s = time.monotonic() - began_at
        texts = [each.result(timeout=PATIENCE_S) for each in reading]
    ended = stack.await_ends(asked)
    broken = [
        end.status != "completed" or text.strip() != end.reply.strip()
        for text, end in zip(texts, ended, strict=True)
    ]
    return sum(broken), left_s


def _leaving_s(stack: Stack, worker: Program) -> float:
    began_at = time.monotonic()
    stack.injected += 1
    stack.dismiss(worker, signal.SIGTERM)
    stack.start_worker(threads=worker.threads)
    stack.require(lambda: stack.has_left(worker), "the worker left")
    return time.monotonic() - began_at


def _held_replies(stack: Stack, chance: random.Random) -> tuple[list[Asked], Gate]:
    """Replies in hand, each held at an event of its own; when they are asked for again, they come at once."""
    gate = Gate()
    places = [chance.randrange(OPENING_EVENTS + len(SENTENCE) + 2) for _ in range(AT_ONCE)]
    asked = [stack.ask(Answer(SENTENCE, gate=gate, hold_at=place), Answer(SENTENCE)) for place in places]
    _require_held(stack, gate, AT_ONCE)
    return asked, gate


def _require_held(stack: Stack, gate: Gate, times: int = 1) -> None:
    stack.require(lambda: gate.wait_until_reached(times, within_s=PATIENCE_S), "the model was asked")


def _answered_twice(stack: Stack, asked: Sequence[Asked]) -> int:
    """How often a turn ended that had ended already."""
    ends = stack.rows(
        "SELECT count(*) - count(DISTINCT turn_id) FROM bench_transition "
        "WHERE turn_id = ANY(%s::uuid[]) AND became = ANY(%s)",
        [each.turn_id for each in asked],
        list(TERMINAL),
    )
    return int(ends[0][0])


def _written(stack: Stack, asked: Sequence[Asked]) -> set[str]:
    turns = {"turns": [each.turn_id for each in asked]}
    return {row for (row,) in stack.database.execute(WRITTEN, turns).fetchall()}


def p95(values: Sequence[float]) -> float:
    if len(values) < 2:
        return max(values, default=0.0)
    return statistics.quantiles(values, n=20, method="inclusive")[18]
