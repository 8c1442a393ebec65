"""What was just done and can be taken back: said once, on the next page, with the button that does it.

``offer`` keeps it in the session until a page of the inspector shows it (``templates/inspector/_undo.html``). What it
undoes is a row of a tier: a lost notice loses nothing but the shortcut.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import ngettext

from memoryapp.inspector.amounts import count_text
from memoryapp.longterm import lifetimes
from memoryapp.longterm.models import Forgetting

_SESSION_KEY: Final = "undo_offers"
KEPT: Final = 3  # of actions of which no page has told yet, the newest

NO_FIELDS: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class Offer:
    """``text`` is whole sentences of the program, never what somebody said. ``until``: an ISO moment, or empty.
    ``see_url``: of what it tells of, to look at."""

    text: str
    url: str = ""
    label: str = ""  # "Undo", where it says nothing
    until: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    finish_url: str = ""
    see_url: str = ""

    @property
    def until_at(self) -> datetime | None:
        return parse_datetime(self.until) if self.until else None

    @property
    def is_open(self) -> bool:
        """Whether it can still be taken back."""
        return bool(self.url) and (self.until_at is None or self.until_at > timezone.now())


def offer(
    request: HttpRequest,
    *,
    text: str,
    url: str,
    until: datetime | None,
    fields: Mapping[str, str] = NO_FIELDS,
    label: str = "",
) -> None:
    """The next page says ``text``, with a button that posts ``fields`` to ``url``, until ``until`` (None: no end).

    ``url`` empty: it cannot be undone, and only the text is shown. ``label``: on the button, instead of "Undo". The
    post also gets ``next``, the page on which the notice stood, to go back to.
    """
    put(request, Offer(text, url, label, until.isoformat() if until else "", dict(fields)))


def put(request: HttpRequest, made: Offer) -> None:
    """The next page tells of it."""
    waiting: list[dict[str, Any]] = request.session.get(_SESSION_KEY, [])
    request.session[_SESSION_KEY] = [*waiting, asdict(made)][-KEPT:]


def of_forgetting(forgetting: Forgetting, *, text: str) -> Offer:
    """Of a forgetting that its person can still undo, or finish now; with what does not come back then."""
    if forgetting.finished_at is not None:
        return Offer(text)
    return Offer(
        f"{text} {_gone_for_good(forgetting.records_count)}".strip(),
        url=reverse("inspector:forgetting_undo", args=[forgetting.id]),
        until=forgetting.undo_until.isoformat(),
        finish_url=reverse("inspector:forgetting_finish", args=[forgetting.id]),
    )


def _gone_for_good(records: int) -> str:
    if not records:
        return ""
    said = ngettext(
        "{n} run record that held it is gone for good, whatever you undo.",
        "{n} run records that held it are gone for good, whatever you undo.",
        records,
    )
    return said.format(n=count_text(records))


def tell(request: HttpRequest, text: str) -> None:
    """The next page says what was done, where it also says what can be undone."""
    offer(request, text=text, url="", until=None)


def offer_forgetting(request: HttpRequest, forgetting: Forgetting, *, text: str) -> None:
    """As ``of_forgetting``."""
    put(request, of_forgetting(forgetting, text=text))


def offer_lifetimes(request: HttpRequest, user_id: UUID, undo_id: UUID, *, text: str) -> None:
    """Of a change of lifetimes that was given this id; what changed nothing is only told."""
    until = lifetimes.undo_until(user_id, undo_id)
    if until is None:
        tell(request, text)
        return
    url = reverse("inspector:lifetimes_undo")
    offer(request, text=text, url=url, until=until, fields={"change": str(undo_id)})


def taken(request: HttpRequest) -> list[Offer]:
    """What waits to be told, oldest first; it is told once."""
    if _SESSION_KEY not in request.session:
        return []
    return [Offer(**values) for values in request.session.pop(_SESSION_KEY)]
