"""Child processes that never outlive this one, whatever ends it."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from memoryapp.embedded.accounts import Account

_PR_SET_PDEATHSIG = 1
_POLL_S = 0.01


def spawn(
    command: Sequence[str | Path],
    *,
    dies_by: signal.Signals,
    output: int | IO[bytes],
    environment: Mapping[str, str],
    account: Account | None = None,
    directory: Path | None = None,
) -> subprocess.Popen[bytes]:
    """Start a child in a session of its own: Ctrl-C reaches only this process, which then stops it in order.

    When this process ends, even by SIGKILL, the kernel sends ``dies_by`` to the child. That is tied to the
    *thread* that forked, so only the main thread may call this.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError(
            "children are tied to the thread that starts them: start them from the main thread"
        )
    return subprocess.Popen(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        env=dict(environment),
        cwd=directory or "/",
        start_new_session=True,
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
        umask=0o077,
        preexec_fn=_die_with_parent(dies_by),  # noqa: PLW1509 - no other thread runs Python here; it only calls prctl
    )


def _die_with_parent(dies_by: signal.Signals) -> Callable[[], None] | None:
    """What the child calls between fork and exec; after the change of user, which would clear the setting."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def die_with_parent() -> None:
        prctl(_PR_SET_PDEATHSIG, int(dies_by), 0, 0, 0)
        if os.getppid() != parent:  # it died before the call above: the signal will never come
            os._exit(1)

    return die_with_parent


def stop(process: subprocess.Popen[bytes], *signals: signal.Signals, timeout_s: float) -> None:
    """Send each signal in turn until the child has gone, waiting ``timeout_s`` after each; then SIGKILL."""
    for each in signals:
        if process.poll() is not None:
            return
        process.send_signal(each)
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            continue
    if process.poll() is None:
        process.kill()
        process.wait()


def wait_until(is_ready: Callable[[], bool], *, process: subprocess.Popen[bytes], timeout_s: float) -> bool:
    """True once ``is_ready``; False when the process ended or the time was up before."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline and process.poll() is None:
        if is_ready():
            return True
        time.sleep(_POLL_S)
    return False


def end_orphans(directory: Path, *, timeout_s: float = 5.0) -> None:
    """End what an earlier, killed owner left working in this directory: SIGTERM first, then SIGKILL.

    Both servers make their data directory their working directory, and so do Postgres' backends, which are in
    sessions of their own and can outlive the postmaster while they compute.
    """
    for each in (signal.SIGTERM, signal.SIGKILL):
        for pid in working_in(directory):
            _send(pid, each)
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if not working_in(directory):
                return
            time.sleep(_POLL_S)


def working_in(directory: Path) -> list[int]:
    """Pids whose working directory this is; zombies have none. Empty where there is no /proc."""
    wanted = os.path.realpath(directory)
    pids = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(entry / "cwd") == wanted:  # noqa: PTH115 - called thousands of times
                pids.append(int(entry.name))
        except OSError:  # gone meanwhile, or another user's
            continue
    return pids


def _send(pid: int, each: signal.Signals) -> None:
    try:
        os.kill(pid, each)
    except ProcessLookupError:
        return
