"""The processes of an installation, each to be hurt by itself: databases, a web server, any number of workers."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from itertools import count
from pathlib import Path
from typing import IO, Any, LiteralString
from uuid import uuid4

import psycopg
from celery import Celery
from django.conf import settings
from redis import Redis

from memoryapp.bench import invariants
from memoryapp.bench.failing_model import Answer, FailingModel, wording
from memoryapp.bench.installation import (
    BenchFailedError,
    Client,
    free_port,
    own_environment,
    throw_away_directory,
)
from memoryapp.celery import broker_url
from memoryapp.embedded import processes
from memoryapp.embedded.servers import Servers
from memoryapp.nudges import RUN_TURN

LEASE_S = 2.0
REAP_INTERVAL_S = 0.5
MODEL_TIMEOUT_S = 4.0
DRAIN_S = 3.0
WEB_PATIENCE_S = 2  # with open streams, when it is told to leave
# Short, so that the bench is: with the default lease a turn is taken over later, and otherwise alike.
SETTINGS = {
    "STRATA_TURN_LEASE_S": f"{LEASE_S:g}",
    "STRATA_REAP_INTERVAL_S": f"{REAP_INTERVAL_S:g}",
    "STRATA_MODEL_TIMEOUT_S": f"{MODEL_TIMEOUT_S:g}",
    "STRATA_DRAIN_SECONDS": f"{DRAIN_S:g}",
    "STRATA_MODEL_MAX_RETRY_WAIT_S": "2",
    "STRATA_STREAM_HEARTBEAT_S": "1",
    "STRATA_MODEL_TITLES": "false",
    "STRATA_MODEL_EXTRACTION": "false",
}
PATIENCE_S = 60.0
LOOK_EVERY_S = 0.02
# As ``manage.py up`` starts them.
_WEB = (
    "-m uvicorn memoryapp.asgi:application --host 127.0.0.1 --loop uvloop --http httptools "
    f"--timeout-graceful-shutdown {WEB_PATIENCE_S} --no-access-log --log-level warning"
)
_WORKER = (
    "-m celery --quiet --app memoryapp.celery worker --loglevel WARNING --pool threads --queues turns "
    "--without-gossip --without-mingle --without-heartbeat"
)
_TOOLS = "memoryapp.bench.fault_tools:tools"
_LOG_LINES = 30


@dataclass(slots=True)
class Program:
    """``threads``: of a worker; 0 of the web server."""

    process: "subprocess.Popen[bytes]"
    threads: int

    @property
    def pid(self) -> int:
        return self.process.pid

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)


@dataclass(slots=True)
class Stack:
    """Only the main thread may use it: its children are tied to that."""

    model: FailingModel
    environment: dict[str, str]
    log: IO[bytes]
    port: int
    web: Program | None = None
    workers: list[Program] = field(default_factory=list)
    crashes: list[int] = field(default_factory=list)  # exit statuses of workers that nobody told to end
    injected: int = 0
    recoveries_s: list[float] = field(default_factory=list)
    client: Client = field(init=False)
    database: "psycopg.Connection[Any]" = field(init=False)
    _leaving: list[Program] = field(default_factory=list)

    @property
    def database_url(self) -> str:
        return self.environment["DATABASE_URL"]

    @property
    def redis_url(self) -> str:
        return self.environment["REDIS_URL"]

    # Processes

    def start_web(self) -> None:
        self.web = Program(self._spawn(f"{_WEB} --port {self.port}"), threads=0)

    def replace_web(self) -> Program:
        """Tell the web server to leave and start the next one; returns the one that leaves."""
        assert self.web
        old = self.web
        self._leaving.append(old)
        old.send(signal.SIGTERM)
        self.start_web()
        return old

    def start_worker(self, *, threads: int = 8) -> None:
        own = f"--concurrency {threads} --hostname turns-{next(_names)}@bench"
        self.workers.append(Program(self._spawn(f"{_WORKER} {own}"), threads))

    def staff(self, *threads: int) -> None:
        """Have just these workers, ready for work; those that are not wanted are told to leave."""
        wanted = list(threads)
        for worker in list(self.workers):
            if worker.threads in wanted:
                wanted.remove(worker.threads)
            else:
                self.dismiss(worker, signal.SIGTERM)
        for number in wanted:
            self.start_worker(threads=number)
        self.require(lambda: not self._leaving and self.listening() >= len(self.workers), "workers are ready")

    def dismiss(self, worker: Program, number: signal.Signals) -> None:
        """Send it away; the bench does not start another in its place."""
        self.workers.remove(worker)
        self._leaving.append(worker)
        worker.send(number)

    def kill(self, worker: Program) -> None:
        """As the kernel does when memory is short, and start another in its place."""
        self.injected += 1
        self.dismiss(worker, signal.SIGKILL)
        self.start_worker(threads=worker.threads)

    def listening(self) -> int:
        """Workers that wait for a task."""
        with Redis.from_url(self.redis_url) as redis:
            return sum(client["cmd"] == "brpop" for client in redis.client_list())

    def look_after(self) -> None:
        """Start again what ended by itself, as the supervisor of an installation does."""
        self._leaving = [program for program in self._leaving if program.process.poll() is None]
        for worker in list(self.workers):
            status = worker.process.poll()
            if status is not None:
                self.crashes.append(status)
                self.workers.remove(worker)
                self.start_worker(threads=worker.threads)

    def wait(self, is_reached: Callable[[], bool], *, within_s: float = PATIENCE_S) -> bool:
        until = time.monotonic() + within_s
        while time.monotonic() < until:
            if is_reached():
                return True
            self.look_after()
            time.sleep(LOOK_EVERY_S)
        return False

    def require(self, is_reached: Callable[[], bool], what: str, *, within_s: float = PATIENCE_S) -> None:
        if not self.wait(is_reached, within_s=within_s):
            raise BenchFailedError(f"It did not happen that {what}.\n{self._last_words()}")

    def has_left(self, program: Program) -> bool:
        return program.process.poll() is not None

    # Turns

    def ask(self, *answers: Answer) -> "Asked":
        """Put a question that the model answers so, in a conversation of its own without memory."""
        question = self.model.question(*answers)
        conversation = self.client.post("/conversations", {"use_memory": False, "save_memory": False})["id"]
        posted_at = time.monotonic()
        turn = self.client.post(f"/conversations/{conversation}/turns", {"text": wording(question)})
        return Asked(turn["id"], question, posted_at)

    def stop_turn(self, asked: "Asked") -> None:
        self.client.post(f"/turns/{asked.turn_id}/stop", {})

    def have_ended(self, asked: Sequence["Asked"]) -> bool:
        live = self.rows(LIVE_OF, [each.turn_id for each in asked])
        return bool(live[0][0] == 0)

    def await_ends(self, asked: Sequence["Asked"], *, within_s: float = PATIENCE_S) -> list["Ended"]:
        """Those that did not end have their present status."""
        self.wait(lambda: self.have_ended(asked), within_s=within_s)
        rows = self.rows(ENDS, [each.turn_id for each in asked])
        found = {row[0]: Ended(*row[1:]) for row in rows}
        return [found[each.turn_id] for each in asked]

    def rows(self, query: LiteralString, *values: object) -> list[tuple[Any, ...]]:
        return self.database.execute(query, values).fetchall()

    def nudge(self, asked: "Asked", *, times: int) -> None:
        """Deliver the turn's task again and again, and wait until workers took all of them."""
        with Celery(broker=broker_url(self.redis_url), set_as_current=False) as app:
            app.conf.broker_transport_options = {"global_keyprefix": "celery:"}
            for _ in range(times):
                app.send_task(RUN_TURN, args=[asked.turn_id], queue="turns", ignore_result=True)
        with Redis.from_url(self.redis_url) as redis:
            self.require(lambda: redis.llen("celery:turns") == 0, "all tasks were taken")

    def check(self, *, within_s: float = 10.0) -> invariants.Violations:
        """After everything has come to rest."""
        self.wait(lambda: invariants.check(self.database_url, self.redis_url).all == 0, within_s=within_s)
        return invariants.check(self.database_url, self.redis_url)

    def is_answering(self) -> bool:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=1)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()

    def end(self) -> None:
        programs = [*self.workers, *self._leaving, *([self.web] if self.web else [])]
        for program in programs:
            program.send(signal.SIGCONT)
            program.send(signal.SIGKILL)
            program.process.wait()

    def manage(self, *arguments: str) -> str:
        """The last line that a management command prints."""
        done = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, settings.BASE_DIR / "manage.py", *arguments],
            check=False,
            cwd=settings.BASE_DIR,
            env=self.environment,
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise BenchFailedError(done.stderr)
        return done.stdout.splitlines()[-1]

    def _spawn(self, arguments: str) -> "subprocess.Popen[bytes]":
        return processes.spawn(
            [sys.executable, *arguments.split()],
            dies_by=signal.SIGKILL,
            output=self.log,
            environment=self.environment,
            directory=settings.BASE_DIR,
        )

    def _last_words(self) -> str:
        lines = Path(self.log.name).read_text(errors="replace").splitlines()
        return "\n".join(lines[-_LOG_LINES:])


@dataclass(frozen=True, slots=True)
class Asked:
    turn_id: str
    question: int
    posted_at: float


@dataclass(frozen=True, slots=True)
class Ended:
    """A turn as it stands. ``took_s``: by the database's clock, from its message to its end; ``stop_took_s``: from the
    wish to stop."""

    status: str
    code: str
    message: str
    reply: str
    attempts: int
    took_s: float
    stop_took_s: float


LIVE_OF: LiteralString = """
SELECT count(*) FROM transcript_turn
WHERE status IN ('queued', 'running', 'waiting') AND id = ANY(%s::uuid[])
"""
ENDS: LiteralString = """
SELECT t.id::text, t.status, t.error_code, t.error_message, coalesce(m.text, ''), t.attempt,
  coalesce(extract(epoch FROM t.finished_at - t.created_at), 0)::float,
  coalesce(extract(epoch FROM t.finished_at - t.stop_requested_at), 0)::float
FROM transcript_turn t LEFT JOIN transcript_message m ON m.turn_id = t.id AND m.role = 'assistant'
WHERE t.id = ANY(%s::uuid[])
"""
_names = count(1)


@contextmanager
def standing() -> Iterator[Stack]:
    """A stack with a web server and no worker yet; nothing of it stays."""
    with ExitStack() as cleanup:
        directory = cleanup.enter_context(throw_away_directory())
        servers = cleanup.enter_context(Servers(directory, is_durable=False))
        model = cleanup.enter_context(FailingModel().serving())
        log = cleanup.enter_context((directory / "log").open("wb"))
        environment = {
            **own_environment(directory),
            **SETTINGS,
            "DATABASE_URL": servers.database_url,
            "REDIS_URL": servers.redis_url,
            "ANTHROPIC_BASE_URL": model.url,
            "SECRET_KEY": uuid4().hex * 2,
            "PYTHONPATH": str(_added_tools(directory)),
        }
        stack = Stack(model, environment, log, free_port())
        cleanup.callback(stack.end)
        stack.start_web()
        stack.manage("prepare")
        stack.database = cleanup.enter_context(psycopg.connect(stack.database_url, autocommit=True))
        stack.database.execute(invariants.TAKE_NOTES)
        stack.client = Client(stack.port, stack.manage("create_token", "admin"))
        stack.require(stack.is_answering, "the web server answers")
        yield stack


def _added_tools(directory: Path) -> Path:
    """A directory for Python's path with a package in it that adds the failing tools."""
    added = directory / "added"
    package = added / "strata_bench_tools-1.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: strata-bench-tools\nVersion: 1\n")
    (package / "entry_points.txt").write_text(f"[strata.tools]\nfailing = {_TOOLS}\n")
    return added


def resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024**2
