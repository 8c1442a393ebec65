"""How memories are worded for people; shared by the chat and the inspector."""

from datetime import datetime

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


def fades_text(fades_at: datetime | None, *, now: datetime) -> str:
    """ "Kept until you forget it", "Fades in 12 days", "Fades today", "Faded"."""
    if fades_at is None or fades_at.year > LAST_YEAR:
        return "Kept until you forget it"
    if fades_at <= now:
        return "Faded"
    days = (timezone.localtime(fades_at).date() - timezone.localtime(now).date()).days
    if days <= 1:
        return "Fades tonight" if days == 1 else "Fades today"
    return (
        f"Fades in {days} days"
        if days < 60
        else f"Fades on {date_format(timezone.localtime(fades_at), 'j F Y')}"
    )
