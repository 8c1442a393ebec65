"""What a proof found, for people and for programs."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

_PLACES_SHOWN: Final = 12


@dataclass(frozen=True, slots=True)
class Row:
    """One store at one level.

    ``control_found``: what was told or planted was found in it before, so that finding nothing means something.
    ``is_emptied``: what was planted is no longer found once it was taken out. ``places``: where the hits are.
    """

    level: str
    name: str
    bytes_: int
    hits: int
    seconds: float
    control_found: bool = True
    is_emptied: bool = True
    paths: int = 0
    places: Sequence[str] = field(default=())

    @property
    def is_proven(self) -> bool:
        return self.control_found and self.is_emptied and self.hits == 0

    @property
    def verdict(self) -> str:
        if self.hits:
            return "FOUND"
        if not self.control_found:
            return "NOT COMPUTABLE: the control was not found"
        if not self.is_emptied:
            return "NOT COMPUTABLE: an emptied store does not read as such"
        return "removed"


@dataclass(frozen=True, slots=True)
class Report:
    rows: Sequence[Row]
    seconds: float

    @property
    def is_proven(self) -> bool:
        return bool(self.rows) and all(row.is_proven for row in self.rows)


def table(report: Report) -> str:
    width = max(len(row.name) for row in report.rows)
    lines = [f"{'level':<5}  {'store':<{width}}  {'bytes':>13}  control  {'hits':>5}  seconds"]
    for row in report.rows:
        found = "yes" if row.control_found and row.is_emptied else "NO"
        paths = f"  {row.paths:,} paths" if row.paths else ""
        mark = "✓" if row.is_proven else "✗"
        lines.append(
            f"{row.level:<5}  {row.name:<{width}}  {row.bytes_:>13,}  {found:<7}  {row.hits:>5}  {row.seconds:7.1f}"
            f"  {mark} {row.verdict}{paths}"
        )
        lines += [f"{'':<7}{place}" for place in row.places[:_PLACES_SHOWN]]
        if len(row.places) > _PLACES_SHOWN:
            lines.append(f"{'':<7}… and {len(row.places) - _PLACES_SHOWN} more places")
    said = "Forgotten means forgotten." if report.is_proven else "This is no proof."
    return "\n".join([*lines, f"{said} It took {report.seconds:.0f} s."])


def as_json(report: Report) -> str:
    """One line: ``{"stores": [{"name", "bytes", "control_found", "hits", …}], "proven", "seconds"}``."""
    stores = [_store(row) for row in report.rows]
    return json.dumps({"stores": stores, "proven": report.is_proven, "seconds": round(report.seconds, 1)})


def _store(row: Row) -> dict[str, Any]:
    return {
        "name": row.name,
        "level": row.level,
        "bytes": row.bytes_,
        "control_found": row.control_found and row.is_emptied,
        "hits": row.hits,
        "seconds": round(row.seconds, 2),
        "paths": row.paths,
        "places": list(row.places),
    }
