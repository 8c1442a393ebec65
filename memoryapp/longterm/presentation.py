"""How memories are worded for people; shared by the chat and the inspector."""

from datetime import datetime, time, timedelta

from django.utils import timezone
from django.utils.formats import date_format

from memoryapp.longterm.models import Memory
from memoryapp.policies.trust import Origin

ORIGIN_LABELS = {
    Origin.USER_TYPED: "You said",
    Origin.USER_CONFIRMED: "You confirmed",
    Origin.MODEL_INFERRED: "The model concluded",
    Origin.TOOL: "A tool found",
    Origin.IMPORTED: "Imported",
    Origin.UNTRUSTED: "From a page or document",
}
LAST_YEAR = 9_000  # beyond it a local date need not exist, and nobody waits for it

STATUS_LABELS = {
    Memory.Status.ACTIVE: "Remembered",
    Memory.Status.PENDING: "Waiting for your word",
    Memory.Status.CONFLICT: "Does not fit",
    Memory.Status.SUPERSEDED: "Replaced",
}
# What is answered when it is done.
FORGOTTEN = "Forgotten, with the records of the runs that held it."
BROUGHT_BACK = "It is in use again."


def expires_text(fades_at: datetime | None, *, now: datetime) -> str:
    """ "kept until you forget it", "expires 1 December 2026", "expires tonight", "expired"."""
    if fades_at is None or fades_at.year > LAST_YEAR:
        return "kept until you forget it"
    if fades_at <= now:
        return "expired"
    end, day = timezone.localtime(fades_at), timezone.localtime(now).date()
    if end.date() == day:
        return "expires today"
    if end.time() == time(0) and end.date() == day + timedelta(days=1):
        return "expires tonight"
    return f"expires {date_format(end, 'j F Y')}"
