"""``bench load``: what the whole stack costs in time and memory, with a model that answers at once."""

import statistics
import time
from collections.abc import Callable
from http.client import HTTPResponse

import psycopg

from memoryapp.bench import footprint
from memoryapp.bench.installation import Client, Installation, running, throw_away_directory
from memoryapp.bench.report import Row
from memoryapp.bench.stub import StubModel

WARM_UP_TURNS = 5
TURNS = 60
STREAMS = 40
HELD_FOR_S = 3.0  # a connection that is there at every look in this time is held, not just used
LOOK_EVERY_S = 0.25

START_GOAL_S = 10
MEMORY_GOAL_MB = 700
DISPATCH_GOAL_MS = 40


def run(say: Callable[[str], None]) -> list[Row]:
    with throw_away_directory() as directory, StubModel().serving() as model:
        say("Starting a new installation …")
        with running(directory, model_url=model.url) as installation:
            rows = [Row("first start, packages installed", installation.start_s, "s", START_GOAL_S)]
            say("Waiting for it to be idle …")
            rows += _memory("fresh", installation, goal_mb=MEMORY_GOAL_MB)
            client = installation.client()
            say(f"{TURNS} turns, one after the other …")
            rows += _dispatch(client, model)
            _use_every_embedder(client)
            say("Waiting for it to be idle …")
            rows += _memory("used", installation, goal_mb=None)
            say(f"{STREAMS} streams at once …")
            rows += _streams(client, model, installation)
        say("Starting it again …")
        with running(directory, model_url=model.url) as installation:
            rows.append(Row("later start", installation.start_s, "s", START_GOAL_S))
    return rows


def _dispatch(client: Client, model: StubModel) -> list[Row]:
    """From the request that posts a message to the model's being asked, each in a conversation of its own."""
    times_ms = [_one_turn(client, model) for _ in range(WARM_UP_TURNS + TURNS)][WARM_UP_TURNS:]
    percentiles = statistics.quantiles(times_ms, n=20)
    return [
        Row("POST to the model's request, p50", percentiles[9], "ms", DISPATCH_GOAL_MS),
        Row("POST to the model's request, p95", percentiles[18], "ms"),
    ]


def _one_turn(client: Client, model: StubModel) -> float:
    conversation = client.post("/conversations", {})["id"]
    posted_at = time.monotonic()
    turn = client.post(f"/conversations/{conversation}/turns", {"text": "Is the river far from here?"})
    asked_at = model.arrivals.get(timeout=30)
    client.read(f"/turns/{turn['id']}/events")  # until it has ended
    return (asked_at - posted_at) * 1000


def _use_every_embedder(client: Client) -> None:
    """The turns loaded the model in their worker; a search does in the web server, a new memory in the other."""
    client.post("/memories", {"statement": "I live near the river.", "kind": "identity"})
    client.post("/memories/search", {"query": "Where do I live?"})


def _memory(state: str, installation: Installation, *, goal_mb: float | None) -> list[Row]:
    found = footprint.settled(installation.pid)
    return [
        Row(f"idle memory, {state}", sum(found.values()), "MB", goal_mb),
        *(Row(f"  {name}", mb, "MB") for name, mb in sorted(found.items(), key=lambda item: -item[1])),
    ]


def _streams(client: Client, model: StubModel, installation: Installation) -> list[Row]:
    model.may_finish.clear()
    streams = [_open_stream(client) for _ in range(STREAMS)]
    held = _held_connections(installation.database_url())
    model.may_finish.set()
    broken = sum("event: end" not in stream.read().decode() for stream in streams)
    return [
        Row(f"database connections held by {STREAMS} open streams", held, "", 0),
        Row("of them broken", broken, "", 0),
    ]


def _open_stream(client: Client) -> HTTPResponse:
    conversation = client.post("/conversations", {})["id"]
    turn = client.post(f"/conversations/{conversation}/turns", {"text": "Tell me a long story."})
    return client.open(f"/turns/{turn['id']}/events")


def _held_connections(database_url: str) -> int:
    """Connections of anyone that last as long as we look; workers come and go meanwhile, and may."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        held = _connected(connection)
        until = time.monotonic() + HELD_FOR_S
        while time.monotonic() < until:
            time.sleep(LOOK_EVERY_S)
            held &= _connected(connection)
    return len(held)


def _connected(connection: "psycopg.Connection[tuple[int]]") -> set[int]:
    rows = connection.execute(
        "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    )
    return {pid for (pid,) in rows}
