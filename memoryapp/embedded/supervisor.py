"""Runs the application's programs side by side: their output on one terminal and in a log of each, restarted when they
end."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from memoryapp.embedded import processes
from memoryapp.embedded.logs import Log

# A second more than the web server gives open streams. What a worker still does then, the next start takes up.
_GRACE_S = 6.0
_FIRST_DELAY_S = 0.5
_MAX_DELAY_S = 30.0
_STEADY_AFTER_S = 60.0  # having run for this long, the next end is a new story
_READ_BYTES = 65_536
_COLOURS = (36, 35, 33, 32, 34)  # cyan, magenta, yellow, green, blue: readable on dark and on light


@dataclass(frozen=True, slots=True)
class Program:
    """``unsaid_at_stop``: lines with this are not passed on once we stop it: they would alarm for nothing."""

    name: str
    command: tuple[str, ...]
    unsaid_at_stop: str = ""


@dataclass(slots=True)
class _Child:
    program: Program
    colour: int
    process: subprocess.Popen[bytes]
    started_at_s: float
    pending: bytes = b""
    delay_s: float = _FIRST_DELAY_S
    restart_at_s: float | None = None


@dataclass(slots=True)
class Supervisor:
    """One thread: whoever waits for something calls ``step`` meanwhile. All times are monotonic.

    ``logs``: the directory in which each program has one.
    """

    environment: Mapping[str, str]
    directory: Path
    terminal: TextIO
    logs: Path
    is_coloured: bool
    _is_mute: bool = False
    _is_stopping: bool = False
    _children: list[_Child] = field(default_factory=list)
    _selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)

    def start(self, program: Program) -> None:
        colour = _COLOURS[len(self._children) % len(_COLOURS)]
        child = _Child(program, colour, self._spawn(program), time.monotonic())
        self._children.append(child)
        self._listen(child)

    def step(self, *, timeout_s: float) -> None:
        """Wait for output at most ``timeout_s`` and pass it on, then see to who has ended."""
        for key, _ in self._selector.select(timeout_s):
            self._relay(key.data)
        now = time.monotonic()
        for child in self._children:
            self._look_after(child, now)

    def wait_until(self, is_ready: Callable[[], bool], *, timeout_s: float) -> bool:
        """False when the time is up, or once a program ends: one that cannot start will not by waiting."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            self.step(timeout_s=0.05)
            if any(child.restart_at_s is not None for child in self._children):
                return False
            if is_ready():
                return True
        return False

    def stop(self) -> None:
        """SIGTERM to all, SIGKILL to who is still there after the grace; returns when all are gone."""
        self._is_stopping = True
        for child in self._children:
            if child.process.poll() is None:
                child.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + _GRACE_S
        while any(child.process.poll() is None for child in self._children) and time.monotonic() < deadline:
            for key, _ in self._selector.select(0.05):
                self._relay(key.data)
        for child in self._children:
            processes.stop(child.process, timeout_s=0)
            self._finish_output(child)
        self._children.clear()

    def _spawn(self, program: Program) -> subprocess.Popen[bytes]:
        return processes.spawn(
            program.command,
            # Not SIGTERM: when we were killed nobody is left to insist, and a busy worker takes its time.
            dies_by=signal.SIGKILL,
            output=subprocess.PIPE,
            environment=self.environment,
            directory=self.directory,
        )

    def _listen(self, child: _Child) -> None:
        assert child.process.stdout is not None
        self._selector.register(child.process.stdout, selectors.EVENT_READ, child)

    def _look_after(self, child: _Child, now: float) -> None:
        if child.restart_at_s is None and child.process.poll() is not None:
            self._finish_output(child)
            if now - child.started_at_s >= _STEADY_AFTER_S:
                child.delay_s = _FIRST_DELAY_S
            child.restart_at_s = now + child.delay_s
            self._say(child, f"ended ({_cause(child.process.returncode)}); restarting in {child.delay_s:g} s")
            child.delay_s = min(child.delay_s * 2, _MAX_DELAY_S)
        elif child.restart_at_s is not None and now >= child.restart_at_s:
            child.process = self._spawn(child.program)
            child.started_at_s, child.restart_at_s = now, None
            self._listen(child)

    def _relay(self, child: _Child) -> bool:
        """Pass on what the child wrote; False at the end of its output."""
        assert child.process.stdout is not None
        read = os.read(child.process.stdout.fileno(), _READ_BYTES)
        *lines, child.pending = (child.pending + read).split(b"\n")
        if child.pending and (not read or len(child.pending) > _READ_BYTES):
            lines, child.pending = [*lines, child.pending], b""
        for line in lines:
            text = line.decode(errors="replace")
            if not (self._is_stopping and (unsaid := child.program.unsaid_at_stop) and unsaid in text):
                self._say(child, text)
        if not read:
            self._selector.unregister(child.process.stdout)
            child.process.stdout.close()
        return bool(read)

    def _finish_output(self, child: _Child) -> None:
        """Read what is left of an ended child, but do not wait for others who hold its pipe."""
        stdout = child.process.stdout
        assert stdout is not None
        if stdout.closed:
            return
        os.set_blocking(stdout.fileno(), False)
        try:
            while self._relay(child):
                pass
        except BlockingIOError:
            self._selector.unregister(stdout)
            stdout.close()

    def _say(self, child: _Child, line: str) -> None:
        Log(self.logs, child.program.name).write(line)
        prefix = f"{child.program.name:<13} │"
        if self.is_coloured:
            prefix = f"\033[{child.colour}m{prefix}\033[0m"
        self._write(f"{prefix} {line}\n")

    def _write(self, text: str) -> None:
        """Raises BrokenPipeError once; stopping must then work without a terminal."""
        if self._is_mute:
            return
        try:
            self.terminal.write(text)
            self.terminal.flush()
        except BrokenPipeError:
            self._is_mute = True
            raise


def _cause(returncode: int) -> str:
    if returncode >= 0:
        return f"exit code {returncode}"
    return f"killed by {signal.Signals(-returncode).name}"
