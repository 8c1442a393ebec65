"""What a bench found, for people and for programs."""

import json
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. ``goal``: the most it may be, or with ``is_at_least`` the least; None where it is only reported."""

    name: str
    value: float
    unit: str
    goal: float | None = None
    is_at_least: bool = False

    @property
    def is_met(self) -> bool | None:
        if self.goal is None:
            return None
        return self.value >= self.goal if self.is_at_least else self.value <= self.goal


def table(rows: Sequence[Row]) -> str:
    width = max(len(row.name) for row in rows)
    return "\n".join(
        f"{row.name:<{width}}  {_figure(row.value)} {row.unit:<3} {_verdict(row)}".rstrip() for row in rows
    )


def as_json(rows: Sequence[Row]) -> str:
    """One line: ``{"rows": [{"name", "value", "unit", "goal", "met"}]}``."""
    return json.dumps(
        {
            "rows": [
                {
                    "name": row.name,
                    "value": round(row.value, 2),
                    "unit": row.unit,
                    "goal": row.goal,
                    "met": row.is_met,
                }
                for row in rows
            ]
        }
    )


def _figure(value: float) -> str:
    """Shares and ratios need their second decimal, milliseconds and counts do not."""
    return f"{value:9.2f}" if abs(value) < 10 else f"{value:9.1f}"


def _verdict(row: Row) -> str:
    if row.goal is None:
        return ""
    bound = "at least" if row.is_at_least else "at most"
    return f"{'✓' if row.is_met else '✗'} goal: {bound} {row.goal:g}"
