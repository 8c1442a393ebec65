"""Changes of kinds as the policy pages show them: what was foreseen, what came of it, and what undoing them does."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import models
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy, ngettext

from memoryapp.inspector.administration.kind_presentation import (
    Difference,
    counted,
    differences,
    end_day,
    lifetime_effects,
)
from memoryapp.inspector.amounts import count_text
from memoryapp.longterm import kind_changes, kind_effects
from memoryapp.longterm.kind_effects import Fading
from memoryapp.longterm.models import Kind, KindChange


class State(models.TextChoices):
    """How far a change has come."""

    TO_COME = "to_come", gettext_lazy("To come")
    IN_FORCE = "in_force", gettext_lazy("Applied")
    WITHDRAWN = "withdrawn", gettext_lazy("Withdrawn")
    UNDONE = "undone", gettext_lazy("Undone")


@dataclass(frozen=True, slots=True)
class Past:
    """A change in the history."""

    id: UUID
    kind: Kind
    differences: Sequence[Difference]
    why: str
    who: str
    state: State
    decided_at: datetime
    applies_at: datetime
    ended_at: datetime | None
    ended_by: str
    outcome: str
    touches_lifetime: bool
    can_be_undone: bool

    @property
    def is_to_come(self) -> bool:
        return self.state == State.TO_COME

    @property
    def is_in_force(self) -> bool:
        return self.state == State.IN_FORCE

    @property
    def has_acted(self) -> bool:
        return self.state in {State.IN_FORCE, State.UNDONE}


@dataclass(frozen=True, slots=True)
class Undoing:
    """What undoing the newest change of a kind does; ``gone``: rows that it cannot bring back.

    ``brings_back``: whether it shows rows again that the change hid. ``until``: when what it ended is deleted, if it
    ended anything.
    """

    change_id: UUID
    label: str
    brings_back: bool
    gone: int
    until: datetime | None


def past(change: KindChange, *, undoable: Collection[KindChange]) -> Past:
    why = change.after.get("rationale") or change.before.get("rationale") or ""
    turned = {field: value for field, value in change.after.items() if field != "rationale"}
    return Past(
        id=change.id,
        kind=change.kind,
        differences=differences(change.before, turned),
        why=gettext(why),
        who=_name(change.changed_by),
        state=_state(change),
        decided_at=change.created_at,
        applies_at=change.applied_at or change.applies_at,
        ended_at=change.undone_at,
        ended_by=_name(change.undone_by) if change.undone_at else "",
        outcome=_outcome(change) if "ttl_days" in change.after else "",
        touches_lifetime="ttl_days" in change.after,
        can_be_undone=change in undoable,
    )


def _outcome(change: KindChange) -> str:
    """What another lifetime was foreseen to do, and what it did."""
    has_acted = change.applied_at is not None
    said = [
        _foreseen_gone(change),
        _foreseen_back(change),
        _foreseen_moved(change),
        gettext("hidden when it acted: {n}").format(n=count_text(change.hidden_rows))
        if change.hidden_rows
        else "",
        gettext("deleted for good since: {n}").format(n=count_text(change.deleted_rows))
        if change.deleted_rows
        else "",
        gettext("hidden when it was undone: {n}").format(n=count_text(change.undo_hidden_rows))
        if change.undo_hidden_rows
        else "",
        "" if has_acted else gettext("nothing has gone by it"),
    ]
    return capfirst(" · ".join(filter(None, said)) or _nothing_ended(change))


def _nothing_ended(change: KindChange) -> str:
    if change.kind.subject == Kind.Subject.RUN:
        return gettext("nothing was deleted by it")
    if kind_effects.is_shorter(change.before["ttl_days"], change.after["ttl_days"]):
        return gettext("nothing ended earlier")
    return gettext("nothing ended later")


def _foreseen_gone(change: KindChange) -> str:
    rows = ", ".join(_gone_by(row) for row in change.preview if row["rows"])
    return gettext("foreseen to go: {rows}").format(rows=rows) if rows else ""


def _gone_by(row: Mapping[str, int]) -> str:
    said = gettext("{n} in {days} days") if row["days"] else gettext("{n} at once")
    return said.format(n=count_text(row["rows"]), days=count_text(row["days"]))


def _foreseen_back(change: KindChange) -> str:
    rows = sum(row["kept_rows"] for row in change.preview[:1])
    return gettext("foreseen to come back: {rows}").format(rows=counted(rows, change.kind)) if rows else ""


def _foreseen_moved(change: KindChange) -> str:
    rows = change.moved.get("rows", 0)
    if not rows:
        return ""
    if change.moved["ends_at"] is None:
        return gettext("foreseen to be kept for ever: {rows}").format(rows=counted(rows, change.kind))
    if kind_effects.is_shorter(change.before["ttl_days"], change.after["ttl_days"]):
        said = ngettext(
            "foreseen to end earlier: {rows}, on {day}",
            "foreseen to end earlier: {rows}, the first on {day}",
            rows,
        )
    else:
        said = ngettext(
            "foreseen to end later: {rows}, on {day}",
            "foreseen to end later: {rows}, the first on {day}",
            rows,
        )
    day = end_day(datetime.fromisoformat(change.moved["ends_at"]))
    return said.format(rows=counted(rows, change.kind), day=day)


def undoing(change: KindChange) -> Undoing:
    """Of a change that was made and can be undone."""
    kind = change.kind
    back = change.before.get("ttl_days", kind.ttl_days)
    now = next(iter(lifetime_effects(kind, back)), Fading(0, 0, 0, 0))
    is_run = kind.subject == Kind.Subject.RUN
    return Undoing(
        change_id=change.id,
        label=gettext("Undo") if change.deleted_rows else _undo_label(now, kind),
        brings_back=bool(now.kept_rows) and not is_run,
        gone=change.deleted_rows,
        until=kind_changes.undo_until(change) if now.kept_rows else None,
    )


def _undo_label(now: Fading, kind: Kind) -> str:
    is_run = kind.subject == Kind.Subject.RUN
    if now.kept_rows and is_run:
        return gettext("Undo: keep {rows}").format(rows=counted(now.kept_rows, kind))
    if now.kept_rows:
        return gettext("Undo: bring {rows} back").format(rows=counted(now.kept_rows, kind))
    if now.rows and not is_run:
        return gettext("Undo: hide {rows} again").format(rows=counted(now.rows, kind))
    return gettext("Undo")


def _state(change: KindChange) -> State:
    if change.undone_at:
        return State.UNDONE if change.applied_at else State.WITHDRAWN
    return State.IN_FORCE if change.applied_at else State.TO_COME


def _name(person: Any) -> str:
    return person.get_username() if person else gettext("somebody who is gone")
