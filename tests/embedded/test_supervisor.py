"""The supervisor: one terminal for all programs, which come back when they crash and go when told."""

import io
import os
import re
import sys
import time
from pathlib import Path

import pytest

from memoryapp.embedded import supervisor as supervisor_module
from memoryapp.embedded.supervisor import Program, Supervisor
from tests.processes import has_ended


def python(name: str, code: str) -> Program:
    return Program(name, (sys.executable, "-u", "-c", code))


@pytest.fixture
def terminal() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def supervisor(terminal, tmp_path):
    made = Supervisor(
        environment={"PATH": os.environ["PATH"], "GREETING": "hello"},
        directory=tmp_path,
        terminal=terminal,
        logs=tmp_path,
        is_coloured=False,
    )
    yield made
    made.stop()


def run_until(
    supervisor: Supervisor, terminal: io.StringIO, pattern: str, *, within_s: float = 20
) -> re.Match[str]:
    deadline = time.monotonic() + within_s
    while not (found := re.search(pattern, terminal.getvalue())):
        assert time.monotonic() < deadline, f"never said {pattern}:\n{terminal.getvalue()}"
        supervisor.step(timeout_s=0.1)
    return found


def test_every_line_says_which_program_wrote_it(supervisor, terminal):
    supervisor.start(
        python("web", "import os; print(os.environ['GREETING'], flush=True); __import__('signal').pause()")
    )
    supervisor.start(
        python("beat", "import sys; print('to stderr', file=sys.stderr); print('no newline', end='')")
    )

    run_until(supervisor, terminal, r"web +│ hello\n")
    run_until(supervisor, terminal, r"beat +│ to stderr\n")
    run_until(supervisor, terminal, r"beat +│ no newline\n")
    assert "\033" not in terminal.getvalue()


def test_what_a_program_wrote_is_in_a_log_of_its_own_with_its_time(supervisor, terminal, tmp_path):
    supervisor.start(python("web", "print('hello')"))
    run_until(supervisor, terminal, r"web +│ hello\n")

    written = (tmp_path / "web.log").read_text()

    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ hello\n", written)


def test_a_log_that_cannot_be_written_hinders_nobody(supervisor, terminal, tmp_path):
    (tmp_path / "web.log").mkdir()
    supervisor.start(python("web", "print('hello')"))

    run_until(supervisor, terminal, r"web +│ hello\n")


def test_names_are_coloured_when_wanted(supervisor, terminal):
    supervisor.is_coloured = True
    supervisor.start(python("web", "print('hello')"))

    run_until(supervisor, terminal, r"\x1b\[36mweb +│\x1b\[0m hello\n")


def test_a_program_that_ends_is_started_again_ever_later(supervisor, terminal):
    supervisor.start(python("web", "print('here'); raise SystemExit(3)"))

    run_until(supervisor, terminal, r"(?s)(ended.*){3}")

    ends = re.findall(r"web +│ ended \((.*)\); restarting in (.*) s", terminal.getvalue())
    assert ends == [("exit code 3", "0.5"), ("exit code 3", "1"), ("exit code 3", "2")]
    assert terminal.getvalue().count("here") == 3


def test_a_program_that_was_killed_is_said_to_be(supervisor, terminal):
    supervisor.start(python("web", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"))

    run_until(supervisor, terminal, r"web +│ ended \(killed by SIGKILL\)")


def test_waiting_ends_at_once_when_a_program_cannot_start(supervisor, terminal):
    supervisor.start(python("web", "raise SystemExit('cannot import')"))

    assert supervisor.wait_until(lambda: False, timeout_s=60) is False
    assert "cannot import" in terminal.getvalue()


def test_waiting_passes_output_on_and_ends_when_ready(supervisor, terminal):
    supervisor.start(python("web", "print('listening'); __import__('signal').pause()"))

    assert supervisor.wait_until(lambda: "listening" in terminal.getvalue(), timeout_s=60) is True


def test_stopping_lets_programs_finish_and_shows_their_last_words(supervisor, terminal):
    supervisor.start(python("web", STOPPABLE.format(reaction="print('bye'); sys.exit()")))
    pid = int(run_until(supervisor, terminal, r"pid (\d+)")[1])

    supervisor.stop()

    assert has_ended(pid, within_s=0)
    assert re.search(r"web +│ bye\n", terminal.getvalue())


def test_who_does_not_stop_in_time_is_killed(supervisor, terminal, monkeypatch):
    monkeypatch.setattr(supervisor_module, "_GRACE_S", 0.1)
    supervisor.start(python("web", STOPPABLE.format(reaction="print('not now')")))
    pid = int(run_until(supervisor, terminal, r"pid (\d+)")[1])

    supervisor.stop()

    assert has_ended(pid, within_s=0)


def test_stopping_does_not_wait_for_strangers_who_hold_the_output(supervisor, terminal):
    code = """
import signal, subprocess
print("pid", subprocess.Popen(["sleep", "600"], start_new_session=True).pid)
signal.pause()
"""
    supervisor.start(python("web", code))
    stranger = int(run_until(supervisor, terminal, r"pid (\d+)")[1])

    try:
        supervisor.stop()
    finally:
        os.kill(stranger, 9)


class ClosedTerminal(io.StringIO):
    def write(self, _text: str) -> int:
        raise BrokenPipeError


def test_a_terminal_that_went_away_is_told_once_and_does_not_hinder_stopping(tmp_path: Path):
    supervisor = Supervisor(
        environment={}, directory=tmp_path, terminal=ClosedTerminal(), logs=tmp_path, is_coloured=False
    )
    supervisor.start(python("web", "print('hello')"))

    with pytest.raises(BrokenPipeError):
        supervisor.wait_until(lambda: False, timeout_s=20)

    supervisor.stop()


STOPPABLE = """
import os, signal, sys
def react(*_):
    {reaction}
signal.signal(signal.SIGTERM, react)
print("pid", os.getpid())
while True:
    signal.pause()
"""


def test_what_would_alarm_for_nothing_is_not_said_at_the_stop(supervisor, terminal):
    code = """
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: (print("ERROR: open pages"), print("real trouble"), sys.exit()))
print("ERROR: open pages", flush=True)
print("ready", flush=True)
signal.pause()
"""
    supervisor.start(Program("web", (sys.executable, "-u", "-c", code), unsaid_at_stop="open pages"))
    run_until(supervisor, terminal, "ready")

    supervisor.stop()

    assert terminal.getvalue().count("open pages") == 1
    assert "real trouble" in terminal.getvalue()
