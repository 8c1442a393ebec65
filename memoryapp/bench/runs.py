"""``bench runs``: what a step costs beside the model and the tool, and how soon a run goes on without its worker."""

import json
import os
import signal
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from memoryapp.bench import footprint
from memoryapp.bench.commands import manage, own_servers
from memoryapp.bench.installation import (
    BenchFailedError,
    Client,
    Installation,
    running,
    throw_away_directory,
)
from memoryapp.bench.report import Row
from memoryapp.bench.stub import StubModel

SIZES: dict[str, object] = {}  # where they differ from memoryapp.bench.stepping.Sizes
KILLS = 3
AT_ONCE = 50
STEPS = 10
STEP_S = 0.2  # of the model, for runs at once: what overlaps is its time
GOES_ON_WITHIN_S = 60.0
# Longer runs than anybody is allowed by default.
LONG_RUNS = {"STRATA_RUN_MAX_STEPS": "200"}


def run(say: Callable[[str], None]) -> list[Row]:
    with StubModel().serving() as model:
        return [*_costs(model, say), *_whole(model, say)]


def _costs(model: StubModel, say: Callable[[str], None]) -> list[Row]:
    """In a process of its own on throw-away servers."""
    with own_servers(is_durable=True) as servers:
        environment = servers | LONG_RUNS | {"ANTHROPIC_BASE_URL": model.url}
        measured = manage(["take_steps", "--sizes", json.dumps(SIZES)], environment, say=say)
    return [Row(**row) for row in json.loads(measured)]


def _whole(model: StubModel, say: Callable[[str], None]) -> list[Row]:
    """With the real processes of an installation."""
    with throw_away_directory() as directory:
        say("Starting a new installation …")
        with running(directory, model_url=model.url) as installation:
            client = installation.client()
            _answered(client, _post(client, 2))
            say(f"{AT_ONCE} runs of {STEPS} steps, one after the other and at once …")
            rows = _at_once(client, model)
            say(f"Killing the worker {KILLS} times …")
            return rows + _resuming(client, model, installation)


def _at_once(client: Client, model: StubModel) -> list[Row]:
    model.step_s = STEP_S
    alone_s = _timed(lambda: _answered(client, _post(client, STEPS)))
    began_at = time.monotonic()
    turns = [_post(client, STEPS) for _ in range(AT_ONCE)]
    with ThreadPoolExecutor(AT_ONCE) as readers:
        list(readers.map(lambda turn_id: _answered(client, turn_id), turns))
    together_s = time.monotonic() - began_at
    model.step_s = 0.0
    return [
        Row("steps per second, one run at a time", STEPS / alone_s, ""),
        Row(f"steps per second, {AT_ONCE} runs at once", AT_ONCE * STEPS / together_s, ""),
        Row("  ratio", AT_ONCE * alone_s / together_s, ""),
    ]


def _timed(work: Callable[[], object]) -> float:
    began_at = time.monotonic()
    work()
    return time.monotonic() - began_at


def _resuming(client: Client, model: StubModel, installation: Installation) -> list[Row]:
    """From the kill to the model's being asked again, with leases as they are by default."""
    took_s = [_resumed_after(client, model, installation) for _ in range(KILLS)]
    return [
        Row("kill -9 of the worker to the next request, p50", statistics.median(took_s), "s"),
        Row("  longest", max(took_s), "s"),
    ]


def _resumed_after(client: Client, model: StubModel, installation: Installation) -> float:
    model.may_finish.clear()
    _forget_arrivals(model)
    turn_id = _post(client, STEPS)
    model.arrivals.get(timeout=GOES_ON_WITHIN_S)  # it is held there
    os.kill(footprint.pid_of("worker-turns", installation.pid), signal.SIGKILL)
    killed_at = time.monotonic()
    asked_at = model.arrivals.get(timeout=GOES_ON_WITHIN_S)
    model.may_finish.set()
    _answered(client, turn_id)
    return asked_at - killed_at


def _forget_arrivals(model: StubModel) -> None:
    while not model.arrivals.empty():
        model.arrivals.get()


def _post(client: Client, steps: int) -> str:
    conversation = client.post("/conversations", {})["id"]
    turn = client.post(f"/conversations/{conversation}/turns", {"text": f"Take {steps} steps."})
    return str(turn["id"])


def _answered(client: Client, turn_id: str) -> None:
    client.read(f"/turns/{turn_id}/events")  # until it has ended
    turn = json.loads(client.read(f"/turns/{turn_id}"))
    if turn["status"] != "completed":
        raise BenchFailedError(f"A run ended as {turn['status']}: {turn.get('error')}")
