"""Memory of a process tree, counted so that the parts add up: PSS shares what several processes map (Linux only)."""

import time
from collections import defaultdict
from pathlib import Path

_PROC = Path("/proc")
_NAMES = {
    "uvicorn": "web",
    "turns": "worker-turns",
    "memory": "worker-memory",
    "beat": "beat",
    "postgres": "postgres",
    "valkey-server": "valkey",
}
_SETTLED_SHARE = 0.01
_SETTLE_TIMEOUT_S = 30.0


def settled(root: int) -> dict[str, float]:
    """MB by program, below and with ``root``, once three looks a second apart agree."""
    deadline = time.monotonic() + _SETTLE_TIMEOUT_S
    totals: list[float] = []
    while True:
        found = by_program(root)
        totals = [*totals[-2:], sum(found.values())]
        is_settled = len(totals) == 3 and max(totals) - min(totals) <= _SETTLED_SHARE * max(totals)
        if is_settled or time.monotonic() > deadline:
            return found
        time.sleep(1)


def pid_of(program: str, root: int) -> int:
    """Of a program below ``root``."""
    return next(child for child in _children()[root] if _name(child) == program)


def by_program(root: int) -> dict[str, float]:
    children = _children()
    found = {"supervisor": _pss_mb(root)}
    for child in children[root]:
        name = _name(child)
        found[name] = found.get(name, 0.0) + _tree_mb(child, children)
    return found


def _tree_mb(pid: int, children: dict[int, list[int]]) -> float:
    return _pss_mb(pid) + sum(_tree_mb(child, children) for child in children[pid])


def _children() -> dict[int, list[int]]:
    """Parent pid → pids."""
    found: dict[int, list[int]] = defaultdict(list)
    for entry in _PROC.glob("[0-9]*"):
        try:
            # "pid (name) state ppid …"; the name may hold anything, parentheses too.
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:  # gone meanwhile
            continue
        found[parent].append(int(entry.name))
    return found


def _name(pid: int) -> str:
    """By the program and its arguments; Valkey replaces its arguments by a title, so the kernel's name counts too."""
    process = _PROC / str(pid)
    words = [Path(word).name for word in (process / "cmdline").read_text().split("\0")]
    words.append((process / "comm").read_text().strip())
    return next((name for word, name in _NAMES.items() if word in words), "other")


def _pss_mb(pid: int) -> float:
    try:
        lines = (_PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):  # gone meanwhile
        return 0.0
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
