"""``manage.py up``: the whole application with one command, databases included.

This process only starts, watches and stops the others. Django was set up in it before the databases were
known, so it never uses them: ``prepare`` and the programs are children that find them in their environment.
"""

import errno
import os
import signal
import socket
import subprocess
import sys
import time
import webbrowser
from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from memoryapp.conf import Conf, get_conf, unknown_variables
from memoryapp.embedded import external, logs, processes
from memoryapp.embedded.errors import EmbeddedError
from memoryapp.embedded.servers import Servers, default_data_directory
from memoryapp.embedded.supervisor import Program, Supervisor

_HOST = "127.0.0.1"
_WEB_TIMEOUT_S = 60.0
_WATCH_S = 1.0  # how often the bundled servers are looked after
_MEMORY_THREADS = 2  # extraction and embedding compute: more would slow the replies


class Command(BaseCommand):
    help = "Start everything: PostgreSQL, Redis, the web server and the workers. Ctrl-C stops it all."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=_port, default=8000, help=f"on {_HOST} (default: %(default)s)")
        parser.add_argument(
            "--data-dir",
            type=_directory,
            default=default_data_directory(),
            help="where the databases and the key are kept (default: %(default)s)",
        )
        parser.add_argument("--no-browser", action="store_true", help="do not open a browser")

    def handle(self, *_args: Any, port: int, data_dir: Path, no_browser: bool, **_options: Any) -> None:
        _stop_on_signals()
        try:
            with ExitStack() as cleanup:
                self._serve(cleanup, port=port, data_dir=data_dir, opens_browser=not no_browser)
        except EmbeddedError as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            self.stdout.write("Stopped.")
        except BrokenPipeError:  # nobody reads our output any more: there is no one left to serve
            sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - or Python complains when it flushes at exit

    def _serve(self, cleanup: ExitStack, *, port: int, data_dir: Path, opens_browser: bool) -> None:
        conf = get_conf()
        for warning in unknown_variables(os.environ):
            self.stderr.write(f"Warning: {warning}")
        servers = Servers(data_dir, with_postgres=not conf.database_url, with_valkey=not conf.redis_url)
        servers.data.require_free()  # first: of two starts here, "already running" says more than "port in use"
        _require_free_port(port)
        cleanup.callback(servers.stop)
        self._start_servers(servers, conf)
        local_url = f"http://{_HOST}:{port}"
        servers.announce(local_url)
        environment = _environment(servers, conf)
        supervisor = Supervisor(
            environment=environment,
            directory=settings.BASE_DIR,
            terminal=sys.stdout,
            logs=servers.data.logs,
            is_coloured=sys.stdout.isatty() and "NO_COLOR" not in os.environ,
        )
        cleanup.callback(supervisor.stop)

        # The web server imports while the database is prepared; it needs no table before the first request.
        supervisor.start(_web(port))
        with self._progress("Database prepared"):
            sign_in_path = _prepare(environment)
        for worker in _workers(conf, servers.data.path):
            supervisor.start(worker)
        with self._progress("Web server answers"):
            if not supervisor.wait_until(lambda: _is_healthy(port), timeout_s=_WEB_TIMEOUT_S):
                raise EmbeddedError("The application did not start; its own messages are above.")
        self._invite((conf.base_url.rstrip("/") or local_url) + sign_in_path, opens_browser=opens_browser)

        while True:
            supervisor.step(timeout_s=_WATCH_S)
            logs.end_large(servers.data.logs)
            for name in servers.revive():
                self.stdout.write(f"{name} had ended and was started again.")

    def _start_servers(self, servers: Servers, conf: Conf) -> None:
        for server in servers.claim():
            with self._progress(f"{server.title} started"):
                server.start()
        if conf.database_url:
            with self._progress("PostgreSQL reached"):
                external.require_postgres(conf.database_url)
        if conf.redis_url:
            with self._progress("Redis reached"):
                external.require_redis(conf.redis_url)

    @contextmanager
    def _progress(self, step: str) -> Iterator[None]:
        began_at_s = time.monotonic()
        yield
        self.stdout.write(f"  ✓ {step:<20} {time.monotonic() - began_at_s:5.1f} s")
        self.stdout.flush()

    def _invite(self, link: str, *, opens_browser: bool) -> None:
        self.stdout.write(
            f"\nStrata is ready. Sign in with this one-time link:\n\n  {link}\n\nCtrl-C stops it.\n"
        )
        self.stdout.flush()
        has_display = bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
        if opens_browser and has_display and sys.stdout.isatty() and os.geteuid() != 0:
            webbrowser.open(link)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 65536):
        raise ArgumentTypeError("a port is a number from 1 to 65535")
    return int(text)


def _directory(text: str) -> Path:
    if not text.strip():
        raise ArgumentTypeError("name a directory of its own, not an empty one")
    return Path(text)


def _environment(servers: Servers, conf: Conf) -> dict[str, str]:
    """What the children get. Secrets travel here and never on a command line, which every user can read."""
    return {
        **os.environ,
        "DATABASE_URL": servers.database_url or conf.database_url,
        "REDIS_URL": servers.redis_url or conf.redis_url,
        "SECRET_KEY": conf.secret_key.get_secret_value() or servers.data.secret_key(),
        "STRATA_ERASURES_FILE": conf.erasures_file or str(servers.data.erasures),
        "STRATA_LOGS_DIR": conf.logs_dir or str(servers.data.logs),
        "PYTHONUNBUFFERED": "1",
    }


def _web(port: int) -> Program:
    server = (
        sys.executable,
        "-m",
        "uvicorn",
        "memoryapp.asgi:application",
        "--host",
        _HOST,
        "--port",
        str(port),
    )
    engine = ("--loop", "uvloop", "--http", "httptools", "--timeout-graceful-shutdown", "5")
    quiet = ("--no-server-header", "--no-access-log", "--log-level", "warning")
    # Open pages listen for as long as they are open; uvicorn calls it an error to end that.
    return Program(
        "web",
        (*server, *engine, *quiet),
        unsaid_at_stop="running task(s), timeout graceful shutdown exceeded",
    )


def _workers(conf: Conf, data_dir: Path) -> tuple[Program, ...]:
    return (
        _worker("turns", threads=conf.turn_threads),
        _worker("memory", threads=_MEMORY_THREADS),
        Program("beat", (*_celery("beat"), "--schedule", str(data_dir / "beat-schedule"), "--pidfile", "")),
    )


def _worker(queue: str, *, threads: int) -> Program:
    pool = (
        "--pool",
        "threads",
        "--concurrency",
        str(threads),
        "--queues",
        queue,
        "--hostname",
        f"{queue}@%h",
    )
    # Workers need not know each other, and asking for neighbours costs a second at the start.
    alone = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    return Program(f"worker-{queue}", (*_celery("worker"), *pool, *alone))


def _celery(command: str) -> tuple[str, ...]:
    # Its nine lines against root say what whoever runs this as root, in a container say, has decided already.
    quiet_python = (sys.executable, "-W", "ignore:You're running the worker with superuser")
    app = ("-m", "celery", "--quiet", "--app", "memoryapp.celery")
    return (*quiet_python, *app, command, "--loglevel", "WARNING")


def _prepare(environment: Mapping[str, str]) -> str:
    """Run ``manage.py prepare``; the path of the sign-in link."""
    process = processes.spawn(
        [sys.executable, settings.BASE_DIR / "manage.py", "prepare"],
        dies_by=signal.SIGKILL,
        output=subprocess.PIPE,
        environment=environment,
        directory=settings.BASE_DIR,
    )
    try:
        output = process.communicate()[0].decode(errors="replace").strip()
    finally:
        process.kill()
    if process.returncode != 0:
        raise EmbeddedError(f"The database could not be prepared.\n{output}")
    return output.splitlines()[-1]


def _is_healthy(port: int) -> bool:
    """Whether the web server answers at all; what else it needs is for /readyz to tell."""
    connection = HTTPConnection(_HOST, port, timeout=1)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status < 500
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _require_free_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise CommandError(f"Cannot listen on port {port}: {error.strerror}.") from error
            raise CommandError(f"Port {port} is in use. Choose another one with --port.") from error


def _stop_on_signals() -> None:
    """The first of SIGINT, SIGTERM and SIGHUP ends ``handle``; further ones do not disturb the stopping."""
    ending = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup wants to outlive the terminal
        ending.append(signal.SIGHUP)

    def stop(_number: int, _frame: FrameType | None) -> None:
        for each in ending:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    for each in ending:
        signal.signal(each, stop)
