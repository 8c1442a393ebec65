"""Which conversations the rules for how long they are kept have ended, and what other rules would do."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.db.models import Count, DateTimeField, DurationField, ExpressionWrapper, F, Q, Value
from django.db.models.functions import Now

from memoryapp.transcript.models import Conversation
from memoryapp.tuning import queries as tuning

HORIZONS_DAYS: Final = (0, 7, 30)


@dataclass(frozen=True, slots=True)
class Rules:
    """``retention_days``: of ordinary conversations, 0 for ever; ``temporary_hours``: of temporary ones."""

    retention_days: int
    temporary_hours: int

    def over_in(self, days: int) -> Q:
        """The conversations that these rules have ended in ``days`` days, if nothing more is said in them."""
        moment = Now() + timedelta(days=days)
        over = Q(is_temporary=True, updated_at__lte=moment - timedelta(hours=self.temporary_hours))
        if self.retention_days:
            before = moment - timedelta(days=self.retention_days)
            over |= RULED & Q(updated_at__lte=before)
        return over


# What the installation's rule is for: neither pinned nor with a rule of its own.
RULED: Final = Q(is_temporary=False, pinned_at=None, retention_days=None)


@dataclass(frozen=True, slots=True)
class Ending:
    """In ``days`` days: the conversations of ``users`` people that only the other rules have ended, and those that only
    they have not.
    """

    days: int
    conversations: int
    users: int
    kept: int


def rules() -> Rules:
    """Those in force."""
    conf = tuning.conf()
    return Rules(conf.transcript_retention_days, conf.temporary_hours)


def overdue() -> Q:
    """The ordinary conversations whose time is over: by their own rule, else by the installation's."""
    days = ExpressionWrapper(
        F("retention_days") * Value(timedelta(days=1), output_field=DurationField()),
        output_field=DurationField(),
    )
    before = ExpressionWrapper(Now() - days, output_field=DateTimeField())
    over = Q(is_temporary=False, retention_days__gt=0, updated_at__lte=before)
    rule_days = rules().retention_days
    if rule_days:
        over |= RULED & Q(updated_at__lte=Now() - timedelta(days=rule_days))
    return over


def preview(other: Rules) -> list[Ending]:
    """What ``other`` rules would do now, in 7 and in 30 days, in place of those in force."""
    rows, present = Conversation.objects.filter(deleted_at=None), rules()
    found = []
    for days in HORIZONS_DAYS:
        then, now = other.over_in(days), present.over_in(days)
        counted = rows.aggregate(
            conversations=Count("id", filter=then & ~now),
            users=Count("user_id", filter=then & ~now, distinct=True),
            kept=Count("id", filter=now & ~then),
        )
        found.append(Ending(days=days, **counted))
    return found


def exempt_count() -> int:
    """Conversations that the installation's rule leaves alone: pinned ones, and those with a rule of their own."""
    return Conversation.objects.filter(deleted_at=None, is_temporary=False).exclude(RULED).count()
