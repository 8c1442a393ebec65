"""Faults of the model's provider: it asks to wait, refuses, breaks off, falls silent, or cannot be reached."""

import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from memoryapp.bench.failing_model import Answer, Gate, body_of
from memoryapp.bench.fault_readers import heartbeats
from memoryapp.bench.fault_stack import MODEL_TIMEOUT_S, PATIENCE_S, Asked, Ended, Stack
from memoryapp.bench.report import Row
from memoryapp.bench.worker_faults import OPENING_EVENTS, RUNNING_TOTAL, SENTENCE, STEPS, p95

RETRY_AFTER_S = 2
CALLS_GOAL = 4  # the first and three tries more
RECOVERY_GOAL_S = 5.0
OUTAGE_S = 1.5  # from the first message on; its tries last 2.6 s at least
NOTICED_GOAL_S = MODEL_TIMEOUT_S + 1.5
CUT_EVERY_BYTES = 40
NEIGHBOUR_GOAL_S = 1.0


def asked_to_wait(stack: Stack, size: int, _chance: random.Random) -> list[Row]:
    """429 with ``retry-after``, in a worker with one thread: if waiting held it, nobody else would be answered."""
    stack.staff(1)
    waits_s, neighbours_s, failed = [], [], 0
    for _ in range(size):
        stack.injected += 1
        limited = Answer(status=429, kind="rate_limit_error", retry_after=str(RETRY_AFTER_S))
        waiting = stack.ask(limited, Answer())
        stack.require(partial(_is_waiting, stack, waiting), "the turn waits")
        neighbour = stack.ask()
        [answered] = stack.await_ends([neighbour])
        [ended] = stack.await_ends([waiting])
        first, *more = (call.at for call in stack.model.calls_of(waiting.question))
        waits_s.append(min((at - first for at in more), default=0.0))
        neighbours_s.append(answered.took_s)
        failed += (answered.status, ended.status) != ("completed", "completed")
    return [
        Row(
            "429 with retry-after: wait / what was asked",
            min(waits_s) / RETRY_AFTER_S,
            "",
            1,
            is_at_least=True,
        ),
        Row("429 with retry-after: not completed", failed, "", 0),
        Row(
            "429 with retry-after: another's answer from the one thread meanwhile",
            max(neighbours_s),
            "s",
            NEIGHBOUR_GOAL_S,
        ),
    ]


def out_of_money(stack: Stack, size: int, _chance: random.Random) -> list[Row]:
    """429 without ``retry-after``, 400 about the credit: no retry helps, a person must act."""
    stack.staff(8, 8)
    refusals = (
        Answer(status=429, kind="rate_limit_error"),
        Answer(status=400, kind="invalid_request_error", message="Your credit balance is too low"),
    )
    asked = [stack.ask(refusal) for refusal in refusals * size]
    stack.injected += len(asked)
    ended = stack.await_ends(asked)
    return [
        Row("429 without retry-after, spend limit: calls per turn", _most_calls(stack, asked), "", 1),
        Row(
            "429 without retry-after, spend limit: not told plainly",
            sum(end.code != "model_spend_limit" for end in ended),
            "",
            0,
        ),
    ]


def overloaded(stack: Stack, size: int, _chance: random.Random) -> list[Row]:
    """529 to everything for a while, with many people."""
    stack.staff(8, 8)
    asked: list[Asked] = []
    recoveries_s = []
    for _ in range(size):
        stack.model.is_overloaded = True
        crowd, over_at = _ask_until_over(stack, 20, stack.model.recover)
        stack.await_ends(crowd)
        recoveries_s.append(time.monotonic() - over_at)
        asked += crowd
    stack.injected += len(asked)
    stack.recoveries_s += recoveries_s
    name = "529 for a while, many people"
    return [
        Row(f"{name}: calls per turn", _most_calls(stack, asked), "", CALLS_GOAL),
        Row(f"{name}: not completed", _not_completed(stack.await_ends(asked)), "", 0),
        Row(f"{name}: from its end to the last answer", max(recoveries_s), "s", RECOVERY_GOAL_S),
    ]


def failing(stack: Stack, size: int, _chance: random.Random) -> list[Row]:
    """500 for good; silence from the start, and a refused connection, for a while."""
    stack.staff(8, 8)
    for_good = [stack.ask(Answer(status=500)) for _ in range(4 * size)]
    gate = Gate()
    silent = [stack.ask(Answer(gate=gate), Answer()) for _ in range(4 * size)]
    stack.injected += len(for_good) + len(silent)
    told = stack.await_ends(for_good)
    late = stack.await_ends(silent)
    gate.open()
    refused, recovered_s = _refused(stack, size)
    return [
        Row("500 for good: calls per turn", _most_calls(stack, for_good), "", CALLS_GOAL),
        Row(
            "500 for good: not told plainly", sum(end.code != "model_provider_failed" for end in told), "", 0
        ),
        Row("silent from the start: not completed by the next try", _not_completed(late), "", 0),
        Row(
            "silent from the start: answered after", max(end.took_s for end in late), "s", NOTICED_GOAL_S + 1
        ),
        Row("connections refused for a while: not completed", _not_completed(refused), "", 0),
        Row(
            "connections refused for a while: from its end to the last answer",
            recovered_s,
            "s",
            RECOVERY_GOAL_S,
        ),
    ]


def _refused(stack: Stack, size: int) -> tuple[list[Ended], float]:
    stack.model.hang_up()
    asked, over_at = _ask_until_over(stack, 4 * size, stack.model.listen)
    stack.injected += len(asked)
    ended = stack.await_ends(asked)
    recovered_s = time.monotonic() - over_at
    stack.recoveries_s.append(recovered_s)
    return ended, recovered_s


def _ask_until_over(stack: Stack, count: int, recover: Callable[[], None]) -> tuple[list[Asked], float]:
    """``count`` messages in an outage that ends by the clock, however long asking takes; and when it ended."""
    over_at = time.monotonic() + OUTAGE_S
    end = threading.Timer(OUTAGE_S, recover)
    end.start()
    asked = [stack.ask() for _ in range(count)]
    end.join()
    return asked, over_at


def error_after_200(stack: Stack, size: int, _chance: random.Random) -> list[Row]:
    """An error event in the middle of the text, after each of its words."""
    stack.staff(8, 8)
    places = [*range(1, len(SENTENCE) + 1)] * size
    asked = [stack.ask(Answer(SENTENCE, error_at=OPENING_EVENTS + words)) for words in places]
    stack.injected += len(asked)
    ended = stack.await_ends(asked)
    kept = [
        end.reply.strip() == "".join(SENTENCE[:words]).strip()
        for end, words in zip(ended, places, strict=True)
    ]
    return [
        Row("error event after 200: silent truncations", sum(e.status == "completed" for e in ended), "", 0),
        Row(
            "error event after 200: not told, or without a retry",
            sum(e.status != "failed" or not e.message for e in ended),
            "",
            0,
        ),
        Row("error event after 200: partial texts not kept whole", kept.count(False), "", 0),
    ]


def cut(stack: Stack, size: int, _chance: random.Random) -> list[Row]:
    """The socket closed after so many bytes of a stream that ends in a tool call."""
    stack.staff(8, 8)
    whole = Answer(words=SENTENCE, call=RUNNING_TOTAL)
    places = range(1, len(body_of(whole)), max(1, CUT_EVERY_BYTES // size))
    asked = [stack.ask(Answer(words=SENTENCE, call=RUNNING_TOTAL, cut_at=place)) for place in places]
    stack.injected += len(asked)
    ended = stack.await_ends(asked)
    return [
        Row("socket cut after N bytes: cuts", len(places), ""),
        Row(
            "socket cut after N bytes: wrong completions",
            sum(end.status == "completed" for end in ended),
            "",
            0,
        ),
        Row(
            "socket cut after N bytes: tools run from an incomplete call",
            stack.rows(STEPS, _ids(asked))[0][0],
            "",
            0,
        ),
        Row(
            "socket cut after N bytes: not told",
            sum(end.status != "failed" or not end.message for end in ended),
            "",
            0,
        ),
        Row("socket cut after N bytes: calls per turn", _most_calls(stack, asked), "", CALLS_GOAL),
    ]


def stalled(stack: Stack, size: int, _chance: random.Random) -> list[Row]:
    """No bytes any more in the middle of the text."""
    stack.staff(8, 8)
    gate = Gate()
    asked = [stack.ask(Answer(SENTENCE, gate=gate, hold_at=OPENING_EVENTS + 2)) for _ in range(3 * size)]
    stack.injected += len(asked)
    with ThreadPoolExecutor(1) as readers:
        beats = readers.submit(heartbeats, stack.client, asked[0].turn_id)
        ended = stack.await_ends(asked)
        gate.open()
        heard = beats.result(timeout=PATIENCE_S)
    kept = sum(end.status == "failed" and end.reply.strip() == "".join(SENTENCE[:2]).strip() for end in ended)
    return [
        Row("model stalls: noticed after, p95", p95([end.took_s for end in ended]), "s", NOTICED_GOAL_S),
        Row("model stalls: partial text not kept, or not told", len(ended) - kept, "", 0),
        Row("model stalls: signs of life to the reader meanwhile", heard, "", 2, is_at_least=True),
    ]


def cut_short(stack: Stack, size: int, _chance: random.Random) -> list[Row]:
    """A prompt that is too long, once and for good; a reply at its length limit; a refusal."""
    stack.staff(8, 8)
    too_long = Answer(
        status=400, kind="invalid_request_error", message="prompt is too long: 9 tokens > 8 maximum"
    )
    cases = {
        "for good": ([too_long], "failed", 2),
        "once": ([too_long, Answer()], "completed", 2),
        "max_tokens": ([Answer(stop_reason="max_tokens")], "completed", 1),
        "refusal": ([Answer(words=(), stop_reason="refusal")], "completed", 1),
    }
    asked = {name: [stack.ask(*answers) for _ in range(size)] for name, (answers, _, _) in cases.items()}
    stack.injected += len(cases) * size
    loops, unsaid = 0, 0
    for name, (_, status, calls) in cases.items():
        ended = stack.await_ends(asked[name])
        loops += max(0, _most_calls(stack, asked[name]) - calls)
        unsaid += sum(end.status != status or not (end.reply or end.message) for end in ended)
        if name in ("max_tokens", "refusal"):
            unsaid += sum(not end.reply.endswith("*") for end in ended)  # the remark at its end
    return [
        Row("too long, max_tokens, refusal: calls more than needed", loops, "", 0),
        Row("too long, max_tokens, refusal: not told", unsaid, "", 0),
    ]


def _is_waiting(stack: Stack, asked: Asked) -> bool:
    return bool(stack.await_ends([asked], within_s=0)[0].status == "waiting")


def _most_calls(stack: Stack, asked: Sequence[Asked]) -> int:
    return max(len(stack.model.calls_of(each.question)) for each in asked)


def _not_completed(ended: Sequence[Ended]) -> int:
    return sum(end.status != "completed" for end in ended)


def _ids(asked: Sequence[Asked]) -> list[str]:
    return [each.turn_id for each in asked]
