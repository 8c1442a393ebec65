"""What one person may use of the models in a day of theirs: replies stop when it is spent, the background does without.

Asked before a reply is queued and again before it begins, not while it is written: a reply that began is finished. So
a day may end above its budget, by one reply, or by as many as were asked for at the same instant.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.translation import gettext

from memoryapp.accounts import queries as accounts
from memoryapp.errors import MemoryAppError
from memoryapp.policies.dates import midnight
from memoryapp.tuning import queries as tuning


class DailyBudgetSpentError(MemoryAppError):
    """``details``: which budget, when there is a new one (ISO), and in how many seconds."""

    code = "daily_budget_spent"
    http_status = 429


@dataclass(frozen=True, slots=True)
class DailyBudget:
    """``tokens`` in and out; a limit of 0 is none. ``resets_at``: the person's next midnight, in their zone."""

    tokens: int
    tokens_limit: int
    usd: float
    usd_limit: float
    resets_at: datetime

    @property
    def is_limited(self) -> bool:
        return bool(self.tokens_limit or self.usd_limit)

    @property
    def spent(self) -> Literal["tokens", "usd", ""]:
        """The budget that has nothing left; "" when all have."""
        if self.tokens_limit and self.tokens >= self.tokens_limit:
            return "tokens"
        return "usd" if self.usd_limit and self.usd >= self.usd_limit else ""


def budget_of(user_id: UUID, *, now: datetime) -> DailyBudget:
    zone = accounts.time_zone_of(user_id)
    conf, used = tuning.conf(), tuning.usage_of(user_id, now=now, time_zone=zone)
    return DailyBudget(
        tokens=used.input_tokens + used.output_tokens,
        tokens_limit=conf.daily_tokens,
        usd=float(used.usd),
        usd_limit=conf.daily_usd,
        resets_at=midnight(used.day + timedelta(days=1), time_zone=zone.key).astimezone(zone),
    )


def require_left(user_id: UUID, *, now: datetime) -> None:
    """Raises ``DailyBudgetSpentError`` when the day's budget is spent."""
    if not _is_any_set():
        return
    budget = budget_of(user_id, now=now)
    if budget.spent:
        at = budget.resets_at
        raise DailyBudgetSpentError(
            _said(budget),
            budget=budget.spent,
            resets_at=at.isoformat(),
            retry_after_s=max(math.ceil((at - now).total_seconds()), 1),
        )


def _said(budget: DailyBudget) -> str:
    if budget.spent == "tokens":
        limit = number_format(budget.tokens_limit, force_grouping=True)
        message = gettext(
            "Today’s budget of {limit} tokens is spent. There is a new one at midnight, on {day} at {time} ({zone})."
        )
    else:
        limit = number_format(budget.usd_limit, 2, force_grouping=True)
        message = gettext(
            "Today’s budget of ${limit} is spent. There is a new one at midnight, on {day} at {time} ({zone})."
        )
    at = budget.resets_at
    return message.format(
        limit=limit, day=date_format(at, gettext("j F")), time=date_format(at, "H:i"), zone=at.tzinfo
    )


def is_spent(user_id: UUID) -> bool:
    """Whether a background job has to do without the model."""
    return _is_any_set() and bool(budget_of(user_id, now=timezone.now()).spent)


def _is_any_set() -> bool:
    """Most installations set none, and are not asked what was used."""
    conf = tuning.conf()
    return bool(conf.daily_tokens or conf.daily_usd)
