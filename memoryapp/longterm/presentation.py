"""How memories are worded for people; shared by the chat and the inspector."""

from collections.abc import Mapping
from datetime import datetime, time, timedelta

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext, gettext_lazy

from memoryapp.longterm.models import Memory
from memoryapp.policies.trust import Origin

ORIGIN_LABELS = {
    Origin.USER_TYPED: gettext_lazy("You said"),
    Origin.USER_CONFIRMED: gettext_lazy("You confirmed"),
    Origin.MODEL_INFERRED: gettext_lazy("The model concluded"),
    Origin.TOOL: gettext_lazy("A tool found"),
    Origin.IMPORTED: gettext_lazy("Imported"),
    Origin.UNTRUSTED: gettext_lazy("From a page or document"),
}
LAST_YEAR = 9_000  # beyond it a local date need not exist, and nobody waits for it

STATUS_LABELS = {
    Memory.Status.ACTIVE: gettext_lazy("Remembered"),
    Memory.Status.PENDING: gettext_lazy("Waiting for your word"),
    Memory.Status.CONFLICT: gettext_lazy("Does not fit"),
    Memory.Status.SUPERSEDED: gettext_lazy("Replaced"),
}
BROUGHT_BACK = gettext_lazy("It is in use again.")  # what is answered when it is done


def expires_text(fades_at: datetime | None, *, now: datetime) -> str:
    """ "kept until you forget it", "expires 1 December 2026", "expires tonight", "expired"."""
    if fades_at is None or fades_at.year > LAST_YEAR:
        return gettext("kept until you forget it")
    if fades_at <= now:
        return gettext("expired")
    end, day = timezone.localtime(fades_at), timezone.localtime(now).date()
    if end.date() == day:
        return gettext("expires today")
    if end.time() == time(0) and end.date() == day + timedelta(days=1):
        return gettext("expires tonight")
    return gettext("expires {day}").format(day=date_format(end, gettext("j F Y")))


def detail_text(detail: str, labels: Mapping[str, str]) -> str:
    """What the activity log says of something done here, for a reader; ``labels``: of the kinds, by slug.

    It is written in English, as it stands in the catalogue, with the slug in the place of "{kind}".
    """
    words = detail.split(" ")
    slug = next((word for word in words if word in labels), "")
    if not slug:
        return gettext(detail) if detail else ""
    template = " ".join("{kind}" if word == slug else word for word in words)
    return gettext(template).format(kind=labels[slug])
