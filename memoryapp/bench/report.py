"""What a bench found, for people and for programs."""

import json
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. ``goal``: the most it may be; None where it is only reported."""

    name: str
    value: float
    unit: str
    goal: float | None = None

    @property
    def is_met(self) -> bool | None:
        return None if self.goal is None else self.value <= self.goal


def table(rows: Sequence[Row]) -> str:
    width = max(len(row.name) for row in rows)
    return "\n".join(
        f"{row.name:<{width}}  {row.value:9.1f} {row.unit:<3} {_verdict(row)}".rstrip() for row in rows
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


def _verdict(row: Row) -> str:
    if row.goal is None:
        return ""
    return f"{'✓' if row.is_met else '✗'} goal: at most {row.goal:g}"
