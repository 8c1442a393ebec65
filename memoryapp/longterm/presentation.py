"""How memories are worded for people; shared by the chat and the inspector."""

from collections.abc import Mapping
from datetime import date, datetime, timedelta

from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.translation import gettext, gettext_lazy, ngettext

from memoryapp.longterm import history
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


def origin_text(origin: str, *, is_from_chat: bool) -> str:
    """Who says so, as a label; what a person wrote themself in a chat that read strangers' text is no page's."""
    if origin == Origin.UNTRUSTED and is_from_chat:
        return gettext("From a chat that has read text you did not write")
    return str(ORIGIN_LABELS[Origin(origin)])


def expires_text(fades_at: datetime | None, *, now: datetime) -> str:
    """ "kept until you forget it", "expires 1 December 2026", "expires tonight", "expired".

    The day is the last on which it holds, on every page.
    """
    if fades_at is None or fades_at.year > LAST_YEAR:
        return gettext("kept until you forget it")
    if fades_at <= now:
        return gettext("expired")
    day = last_day(fades_at)
    if day == timezone.localdate(now):
        ends_in_it = timezone.localdate(fades_at) == day
        return gettext("expires today") if ends_in_it else gettext("expires tonight")
    return gettext("expires {day}").format(day=date_format(day, gettext("j F Y")))


def ends_text(fades_at: datetime) -> str:
    """As a sentence: "It expires at the end of 1 December 2026." """
    day = date_format(last_day(fades_at), gettext("j F Y"))
    return gettext("It expires at the end of {day}.").format(day=day)


def last_moment(fades_at: datetime) -> datetime:
    """Of which the day and the minute are the last: what ends at midnight holds until 23:59 of the day before."""
    return timezone.localtime(fades_at - timedelta(microseconds=1))


def last_day(fades_at: datetime) -> date:
    """The last day on which it holds."""
    return last_moment(fades_at).date()


def left_text(fades_at: datetime, *, now: datetime) -> str:
    """How long it still has: "3 days left", "5 hours left"."""
    away = (last_day(fades_at) - timezone.localdate(now)).days
    if away > 1:
        return gettext("{n} days left").format(n=number_format(away, use_l10n=True, force_grouping=True))
    hours = int((fades_at - now).total_seconds() // 3600)
    if hours < 1:
        return gettext("less than an hour left")
    return ngettext("{n} hour left", "{n} hours left", hours).format(n=hours)


def detail_text(detail: str, labels: Mapping[str, str]) -> str:
    """What the activity log says of something done here, for a reader; ``labels``: of the kinds, by slug.

    It is written in English, as it stands in the catalogue; a kind is named by its slug, with nothing else or in the
    place of "{kind}".
    """
    if detail in labels:
        return labels[detail]
    for template in (history.OF_THE_KIND, history.NEVER_REMEMBER, history.REMEMBER_AGAIN):
        before, after = template.split("{kind}")
        slug = detail.removeprefix(before).removesuffix(after)
        if detail == f"{before}{slug}{after}" and " " not in slug:
            return gettext(template).format(kind=labels.get(slug, slug))
    return gettext(detail) if detail else ""
