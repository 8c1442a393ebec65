"""Reads of what is set at run time, and of what was used of a day's budget."""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db import connection
from django.db.models import QuerySet
from pydantic import ValidationError

from memoryapp.conf import Conf, get_conf
from memoryapp.tuning.knobs import PAIR, TUNABLE, Value
from memoryapp.tuning.models import DayUsage, Setting, SettingChange

logger = logging.getLogger(__name__)

# How long a process goes on with what it read. A recall asks for a dozen knobs, a turn for some forty: each asking
# anew would be 10 ms of queries in a turn, and no admin sees the difference between at once and two seconds.
FRESH_S = 2.0


@dataclass(frozen=True, slots=True)
class _Known:
    configured: Conf  # what it was made from: tests change it
    values: Mapping[str, Value]
    conf: Conf
    until: float


_known: _Known | None = None


def conf() -> Conf:
    """The configuration with what admins set on top, as it was two seconds ago at most.

    What the environment sets explicitly stands above both. A process that made a change sees it at once.
    """
    known, configured = _known, get_conf()
    if known is None or time.monotonic() >= known.until:
        return remember(_stored())
    return known.conf if known.configured is configured else remember(known.values)


def remember(values: Mapping[str, Value], *, fresh_s: float | None = None) -> Conf:
    """Go on with these values for ``fresh_s`` seconds, as if they had just been read."""
    global _known  # noqa: PLW0603  # one for the process: replaced whole, so that threads need no lock
    configured = get_conf()
    known = _Known(
        configured,
        values,
        _on_top(configured, values),
        time.monotonic() + (FRESH_S if fresh_s is None else fresh_s),
    )
    _known = known
    return known.conf


def forget_known() -> None:
    """Read anew at the next call."""
    global _known  # noqa: PLW0603
    _known = None


def fixed() -> frozenset[str]:
    """The knobs that the environment, or a file of it, sets: nobody turns them here."""
    return frozenset(get_conf().model_fields_set & TUNABLE.keys())


def settings() -> dict[str, Setting]:
    """What is set, by name."""
    return {row.name: row for row in Setting.objects.select_related("changed_by").order_by("name")}


def changes() -> QuerySet[SettingChange]:
    """Newest first by ``("-changed_at", "-id")``; the caller pages."""
    return SettingChange.objects.select_related("changed_by", "undone_by")


def usage_of(user_id: UUID, *, now: datetime, time_zone: ZoneInfo) -> DayUsage:
    """Of the person's day in which ``now`` lies; an unsaved row of zeros when nothing was used."""
    day = now.astimezone(time_zone).date()
    return DayUsage.objects.filter(user_id=user_id, day=day).first() or DayUsage(user_id=user_id, day=day)


def _stored() -> dict[str, Value]:
    """Leaves no connection open that was not: a worker has let go of its own before it waits for the model."""
    is_open = connection.connection is not None
    try:
        return dict(Setting.objects.filter(name__in=TUNABLE).values_list("name", "value"))
    finally:
        if not is_open:
            connection.close()


def _on_top(configured: Conf, values: Mapping[str, Value]) -> Conf:
    """What no longer holds beside the rest, such as after the environment was changed, is as configured."""
    free = {name: value for name, value in values.items() if name not in configured.model_fields_set}
    if not free:
        return configured
    try:
        return configured.with_values(free)
    except ValidationError as error:
        wrong = free.keys() & {str(problem["loc"][0]) for problem in error.errors()} or free.keys() & PAIR
        logger.warning("Settings that do not hold are left out: %s", ", ".join(sorted(wrong)))
        kept = {name: value for name, value in free.items() if name not in wrong}
        return _on_top(configured, kept) if wrong else configured
