"""Statements that say the same in other words, that only look alike, and that replace each other, without a model.

Our own sentences, in ``data/statements.json``, each pair said by a person of its own through ``longterm.remember``.
"""

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Final, cast

from memoryapp.accounts.models import User
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.models import Memory
from memoryapp.longterm.operations import Candidate, Remembered
from memoryapp.policies.reconciliation import Outcome
from memoryapp.policies.trust import Origin

DATA: Final = Path(__file__).parent / "data"
KIND: Final = "preference"

Rows = list[dict[str, str]]


@lru_cache(maxsize=1)
def load() -> dict[str, Rows]:
    return cast("dict[str, Rows]", json.loads((DATA / "statements.json").read_text(encoding="utf-8")))


def measure(*, now: datetime) -> dict[str, int]:
    """``stored_twice``: of ``duplicates``. ``merged``: of ``distinct``. ``replaced``: of ``updates``."""
    data = load()
    twice = [
        _second(f"twice-{number}", (row["one"], row["other"]), now=now)
        for number, row in enumerate(data["duplicates"])
    ]
    alike = [
        _second(f"alike-{number}", (row["one"], row["other"]), now=now)
        for number, row in enumerate(data["distinct"])
    ]
    newer = [
        _second(f"newer-{number}", (row["former"], row["new"]), now=now, key=row["key"])
        for number, row in enumerate(data["updates"])
    ]
    return {
        "duplicates": len(twice),
        "stored_twice": len(twice) - twice.count(Outcome.REINFORCED),
        "distinct": len(alike),
        "merged": len(alike) - alike.count(Outcome.ADDED),
        "updates": len(newer),
        "replaced": newer.count(Outcome.SUPERSEDED),
    }


def _second(name: str, statements: Iterable[str], *, now: datetime, key: str = "") -> Outcome:
    """What becomes of the second of two statements of one person, said an hour apart."""
    user = User.objects.create_user(name)
    moments = (now - timedelta(hours=2), now - timedelta(hours=1))
    outcomes = [
        remember(user, statement, said_at=said_at, key=key).outcome
        for statement, said_at in zip(statements, moments, strict=True)
    ]
    return outcomes[-1]


def remember(
    user: User, statement: str, *, said_at: datetime, key: str = "", origin: Origin = Origin.USER_TYPED
) -> Remembered:
    """As the chat's own tool keeps it."""
    return longterm.remember(
        user.id,
        Candidate(
            kind=KIND,
            statement=statement,
            key=key,
            origin=origin,
            channel=Memory.Channel.CHAT,
            said_at=said_at,
        ),
    )
