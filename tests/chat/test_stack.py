"""Turns through the real web server, workers and databases, with processes killed at chosen moments.

One installation serves all tests. Its leases are short, so that nothing here waits for long; with the default ones a
turn is taken over within 16 s instead of 4.
"""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from chat.rendering import render_markdown
from memoryapp.embedded.data_directory import DataDirectory
from tests import sse
from tests.modelserver import ModelServer, reply
from tests.processes import has_ended
from tests.servers import hermetic_environment, migrated_directory
from tests.stack import PROJECT, Up, running

pytestmark = pytest.mark.stack

RECOVERED_WITHIN_S = 30
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Application:
    up: Up
    model: ModelServer
    database_url: str
    token: str
    cookie: str

    def call(self, method: str, path: str, body: object = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.up.port, timeout=RECOVERED_WITHIN_S)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        headers |= {"Idempotency-Key": f"key-{next(_numbers)}"}
        try:
            connection.request(method, f"/api/v1{path}", json.dumps(body), headers)
            answer = connection.getresponse()
            assert answer.status < 300, answer.read()
            return json.loads(answer.read())
        finally:
            connection.close()

    def post(self, text: str) -> str:
        """The id of a new turn in a conversation of its own."""
        conversation = self.call("POST", "/conversations", {})
        return self.call("POST", f"/conversations/{conversation['id']}/turns", {"text": text})["id"]

    def turn(self, turn_id: str) -> dict[str, Any]:
        return self.call("GET", f"/turns/{turn_id}")

    @contextmanager
    def events(self, turn_id: str, *, after: str = "") -> Iterator[Iterator[sse.Message]]:
        """What a program reads of the turn, as it comes."""
        headers = {"Authorization": f"Bearer {self.token}"} | ({"Last-Event-ID": after} if after else {})
        with self._stream(f"/api/v1/turns/{turn_id}/events", headers) as received:
            yield received

    @contextmanager
    def frames(self, turn_id: str) -> Iterator[Iterator[sse.Message]]:
        """What a page reads of the turn."""
        with self._stream(f"/t/{turn_id}/stream", {"Cookie": self.cookie}) as received:
            yield received

    @contextmanager
    def _stream(self, path: str, headers: dict[str, str]) -> Iterator[Iterator[sse.Message]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.up.port, timeout=RECOVERED_WITHIN_S)
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            assert (answer.status, answer.getheader("Content-Type")) == (200, "text/event-stream")
            yield sse.messages(line.decode().rstrip("\n") for line in answer)
        finally:
            connection.close()

    def held_connections(self) -> int:
        """Database connections that any process of the application has kept for longer than half a second."""
        with psycopg.connect(self.database_url) as connection:
            return connection.execute(HELD_CONNECTIONS).fetchone()[0]

    def wait_until_nothing_is_held(self) -> None:
        deadline = time.monotonic() + RECOVERED_WITHIN_S
        while self.held_connections() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert self.held_connections() == 0


HELD_CONNECTIONS = """
SELECT count(*) FROM pg_stat_activity
WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
  AND (backend_start < clock_timestamp() - interval '0.5 s' OR state LIKE 'idle in transaction%')
"""


@pytest.fixture(scope="module")
def app() -> Iterator[Application]:
    with ExitStack() as cleanup:
        directory = cleanup.enter_context(migrated_directory())
        model = cleanup.enter_context(ModelServer())
        up = cleanup.enter_context(
            running(
                directory,
                ANTHROPIC_BASE_URL=model.url,
                ANTHROPIC_API_KEY="key",
                STRATA_TURN_LEASE_S="3",
                STRATA_REAP_INTERVAL_S="1",
                STRATA_TURN_THREADS="24",
            )
        )
        sign_in_path = up.wait_until_ready()
        yield Application(
            up=up,
            model=model,
            database_url=DataDirectory(directory).running().database_url,
            token=api_token(directory),
            cookie=session_cookie(up.url + sign_in_path),
        )


@pytest.fixture(autouse=True)
def _clean_model(app: Application) -> Iterator[None]:
    app.model.reset()
    yield
    assert [call.body for call in app.model.calls if call.status == 400] == []


def api_token(directory: Path) -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", "create_token", "admin", "--data-dir", str(directory)],
        check=True,
        cwd=PROJECT,
        env=hermetic_environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout.splitlines()[-1]


def session_cookie(link: str) -> str:
    jar = CookieJar()
    urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar)).open(link).close()
    return "; ".join(f"{cookie.name}={cookie.value}" for cookie in jar)


def until_text(received: Iterator[sse.Message], wanted: str) -> list[sse.Message]:
    """The messages up to the one with which the text is at least ``wanted``."""
    seen: list[sse.Message] = []
    for message in received:
        seen.append(message)
        if wanted in sse.text_of(seen):
            return seen
    pytest.fail(f"the stream ended before {wanted!r}")


def kill(pid: int, number: signal.Signals = signal.SIGKILL) -> None:
    os.kill(pid, number)
    assert has_ended(pid, within_s=RECOVERED_WITHIN_S)


def test_a_message_is_answered_and_every_reader_gets_the_same(app):
    app.model.script(reply("Good *morning*.\n\nIt rains.", gate="begin"))
    turn_id = app.post("Hello")

    with ThreadPoolExecutor(4) as readers, ExitStack() as streams:
        reading = [
            readers.submit(list, streams.enter_context(open_stream(turn_id)))
            for open_stream in (app.events, app.events, app.frames, app.frames)
        ]
        app.model.wait_until_held("begin")
        app.model.release("begin")
        one, two, first_page, second_page = (stream.result() for stream in reading)
    late = list(read_all(app.events(turn_id)))

    turn = app.turn(turn_id)
    assert (turn["status"], turn["reply"]) == ("completed", "Good *morning*.\n\nIt rains.")
    assert one == two
    assert sse.text_of(one) == sse.text_of(late) == turn["reply"]
    assert one[-1].event == late[-1].event == first_page[-1].event == "end"
    pages = [sse.Page().apply(page).reply(turn_id) for page in (first_page, second_page)]
    assert pages == [render_markdown(turn["reply"])] * 2


def read_all(stream: Any) -> list[sse.Message]:
    with stream as received:
        return list(received)


def test_neither_readers_nor_running_models_hold_a_database_connection(app):
    texts = [f"crowd {number:02}" for number in range(20)]
    app.model.script(
        *(reply(f"You are {text} indeed.", gate="crowd", hold_at=4, contains=text) for text in texts)
    )
    turn_ids = [app.post(text) for text in texts]
    app.model.wait_until_streams(20, timeout_s=RECOVERED_WITHIN_S)

    with ExitStack() as streams, ThreadPoolExecutor(60) as readers:
        opened = [streams.enter_context(app.events(turn_id)) for turn_id in turn_ids]
        opened += [streams.enter_context(app.frames(turn_id)) for turn_id in turn_ids]
        opened += [streams.enter_context(app.events(turn_id)) for turn_id in turn_ids]
        begun = [next(received) for received in opened]
        app.wait_until_nothing_is_held()
        app.model.release("crowd")
        rest = list(readers.map(list, opened))
    app.wait_until_nothing_is_held()

    assert len(begun) == 60
    assert all(received[-1].event == "end" for received in rest)
    for number, turn_id in enumerate(turn_ids):
        said = app.turn(turn_id)["reply"]
        assert said == f"You are crowd {number:02} indeed."
        for index in (number, 40 + number):
            assert sse.text_of([begun[index], *rest[index]]) == said


def test_a_worker_killed_in_mid_reply_leaves_the_part_that_was_shown(app):
    app.model.script(reply("Half a thought, and the other half.", gate="forever", hold_at=5))
    turn_id = app.post("Hello")
    with app.events(turn_id) as received:
        shown = until_text(received, "Half a t")
        app.model.wait_until_held("forever")
        killed_at = time.monotonic()

        kill(app.up.child("celery", "turns").pid)
        shown += received
    took_s = time.monotonic() - killed_at

    turn = app.turn(turn_id)
    assert took_s < RECOVERED_WITHIN_S
    assert shown[-1].json == {"type": "end", "status": "interrupted"}
    assert turn["status"] == "interrupted"
    assert turn["reply"] == sse.text_of(shown)
    assert turn["reply"].startswith("Half a t")
    app.call("POST", f"/turns/{turn_id}/retry")
    assert sse.text_of(read_all(app.events(turn_id))) == "You said: Hello"
    assert app.turn(turn_id)["reply"] == "You said: Hello"
    assert len(app.model.calls) == 2


def test_a_worker_killed_before_anything_was_shown_costs_only_time(app):
    app.model.script(reply("Too late.", gate="forever"), reply("One answer."))
    turn_id = app.post("Hello")
    with app.events(turn_id) as received:
        app.model.wait_until_held("forever")

        kill(app.up.child("celery", "turns").pid)
        heard = list(received)

    turn = app.turn(turn_id)
    assert (turn["status"], turn["reply"]) == ("completed", "One answer.")
    assert sse.text_of(heard) == "One answer."
    assert [message.json["attempt"] for message in heard if message.json["type"] == "start"] == [1, 3]
    assert len(app.model.calls) == 2


def test_a_worker_told_to_stop_finishes_its_reply_first(app):
    app.model.script(reply("A reply in two parts.", gate="deploy", hold_at=4))
    turn_id = app.post("Hello")
    app.model.wait_until_held("deploy")
    worker = app.up.child("celery", "turns").pid

    os.kill(worker, signal.SIGTERM)
    app.model.release("deploy")

    assert sse.text_of(read_all(app.events(turn_id))) == "A reply in two parts."
    assert has_ended(worker, within_s=RECOVERED_WITHIN_S)
    assert app.turn(turn_id)["status"] == "completed"
    assert len(app.model.calls) == 1


def test_a_web_server_killed_in_mid_reply_costs_its_readers_nothing(app):
    app.model.script(reply("Before the crash, and after it.", gate="crash", hold_at=5))
    turn_id = app.post("Hello")
    with app.events(turn_id) as received:
        before = until_text(received, "Before t")
        app.model.wait_until_held("crash")

        kill(app.up.child("uvicorn").pid)
    app.model.release("crash")
    wait_until_up(app)
    after = read_all(app.events(turn_id, after=before[-1].id))

    whole = app.turn(turn_id)["reply"]
    assert whole == "Before the crash, and after it."
    assert sse.text_of([*before, *after]) == whole
    assert len(app.model.calls) == 1


def wait_until_up(app: Application) -> None:
    deadline = time.monotonic() + RECOVERED_WITHIN_S
    while time.monotonic() < deadline:
        try:
            if app.up.get("/healthz") == 200:
                return
        except OSError:
            time.sleep(0.05)
    pytest.fail("the web server did not come back")


def test_nothing_of_it_was_logged_as_an_error_but_the_losses(app):
    said = "".join(app.up.lines)

    assert not re.search("Traceback|ERROR", said), said
    assert len(re.findall("lost its worker in attempt", said)) == 2
