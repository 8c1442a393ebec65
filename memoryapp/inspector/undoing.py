"""What was just done and can be taken back: said once, on the next page, with the button that does it.

``offer`` keeps it in the session until a page shows it (``templates/inspector/_undo.html``). What it undoes is a row of
a tier: a lost notice loses nothing, for what can still be undone is listed (``open_offers``). The session holds no
words of memories: a notice has the ids of those it is about, and ``told`` reads what they say when it is shown.
"""

from collections.abc import Collection, Mapping, Sequence
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
from memoryapp.longterm import forgettings, lifetimes, undoable
from memoryapp.longterm.models import Forgetting, LifetimeChange, Memory
from memoryapp.longterm.undoable import Mark, Named
from memoryapp.receipts.models import Receipt, Scope
from memoryapp.receipts.queries import of_acts

_SESSION_KEY: Final = "undo_offers"
KEPT: Final = 3  # of actions of which no page has told yet, the newest
LISTED: Final = 50  # of forgettings and of changes of lifetimes that can be undone, the newest of each

NO_FIELDS: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class Offer:
    """``text`` is whole sentences of the program, never what somebody said. ``until``: an ISO moment, or empty.
    ``see_url``: of what it tells of, to look at. ``ids``: of memories that it is about, one more than are named.
    ``more``: what else became of it, for who wants to know. ``is_nothing``: nothing was changed, and why is said."""

    text: str
    url: str = ""
    label: str = ""  # "Undo", where it says nothing
    until: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    finish_url: str = ""
    see_url: str = ""
    ids: Sequence[str] = ()
    more: str = ""
    is_nothing: bool = False
    receipt_url: str = ""

    @property
    def until_at(self) -> datetime | None:
        return parse_datetime(self.until) if self.until else None

    @property
    def is_open(self) -> bool:
        """Whether it can still be taken back."""
        return bool(self.url) and (self.until_at is None or self.until_at > timezone.now())


@dataclass(frozen=True, slots=True)
class Told:
    """``words``: of what the offer is about, as far as they can be read, or its ``marks``; ``has_more``: and of others.
    ``made_at``: of one that is listed."""

    offer: Offer
    words: Sequence[Named]
    marks: Sequence[Mark]
    has_more: bool
    made_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Forgotten:
    """How many facts can still be brought back, and until when all of them can."""

    count: int
    until: datetime


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


def of_forgetting(forgetting: Forgetting, *, text: str, more: str = "") -> Offer:
    """Of a forgetting that its person can still undo, or finish now; with what does not come back then."""
    if forgetting.finished_at is not None:
        return Offer(text, more=more)
    more = f"{more} {_gone_for_good(forgetting.records_count)}".strip()
    ids, receipts = undoable.ids_of([forgetting]), of_acts(forgetting.user_id, [forgetting.id])
    return _of_open(forgetting, ids[forgetting.id], receipt=receipts.get(forgetting.id), text=text, more=more)


def _of_open(
    forgetting: Forgetting, ids: Collection[UUID], *, receipt: Receipt | None, text: str, more: str = ""
) -> Offer:
    """Facts that went with more than themselves come back, or are gone for good, with all of it."""
    is_part = receipt is not None and receipt.scope not in {Scope.MEMORY, Scope.EXPERIENCE}
    act, about = ("receipt", receipt.id) if receipt and is_part else ("forgetting", forgetting.id)
    return Offer(
        f"{text} · {receipt.get_scope_display()}" if receipt and is_part else text,
        url=reverse(f"inspector:{act}_undo", args=[about]),
        until=forgetting.undo_until.isoformat(),
        finish_url=reverse(f"inspector:{act}_finish", args=[about]),
        ids=_kept(ids),
        more=more,
        receipt_url=reverse("inspector:receipt", args=[receipt.id]) if receipt else "",
    )


def _gone_for_good(records: int) -> str:
    if not records:
        return ""
    said = ngettext(
        "{n} run record (the steps behind a reply) that held this is gone for good, whatever you undo.",
        "{n} run records (the steps behind replies) that held this are gone for good, whatever you undo.",
        records,
    )
    return said.format(n=count_text(records))


def tell(request: HttpRequest, text: str, *, ids: Collection[UUID] = ()) -> None:
    """The next page says what was done, where it also says what can be undone."""
    put(request, Offer(text, ids=_kept(ids)))


def offer_forgetting(request: HttpRequest, forgetting: Forgetting, *, text: str, more: str = "") -> None:
    """As ``of_forgetting``."""
    put(request, of_forgetting(forgetting, text=text, more=more))


def offer_lifetimes(request: HttpRequest, user_id: UUID, undo_id: UUID, *, text: str, changed: int) -> None:
    """Of a change of lifetimes that was given this id; what changed nothing is only told."""
    made = lifetimes.find_change(user_id, undo_id)
    put(request, _of_change(made, text=text) if made else Offer(text, is_nothing=not changed))


def _of_change(made: LifetimeChange, *, text: str) -> Offer:
    return Offer(
        text,
        url=reverse("inspector:lifetimes_undo"),
        until=(made.made_at + lifetimes.UNDO_FOR).isoformat(),
        fields={"change": str(made.id)},
        ids=_kept(ids_of(made)),
    )


def ids_of(made: LifetimeChange) -> list[UUID]:
    """Of the memories whose lifetimes it changed."""
    return [UUID(row["id"]) for row in made.before]


def taken(request: HttpRequest) -> list[Offer]:
    """What waits to be told, oldest first; it is told once."""
    if _SESSION_KEY not in request.session:
        return []
    return [Offer(**values) for values in request.session.pop(_SESSION_KEY)]


def told(
    user_id: UUID | None,
    offers: Sequence[Offer],
    *,
    made: Sequence[datetime] = (),
    page_of: UUID | None = None,
) -> list[Told]:
    """With what they are about, of ``user_id``, in four queries at most; None: without. ``page_of``: the memory whose
    own page says what it is."""
    ids = {UUID(id_) for offer in offers for id_ in offer.ids} - {page_of}
    words = undoable.words(user_id, ids) if user_id and ids else {}
    marks = undoable.marks(user_id, ids - words.keys()) if user_id and ids - words.keys() else {}
    moments: Sequence[datetime | None] = made or [None] * len(offers)
    return [_told(offer, words, marks, made_at) for offer, made_at in zip(offers, moments, strict=True)]


def _told(
    offer: Offer, words: Mapping[UUID, Named], marks: Mapping[UUID, Mark], made_at: datetime | None
) -> Told:
    ids = [UUID(id_) for id_ in offer.ids]
    said = list({words[id_].text: words[id_] for id_ in ids if id_ in words}.values())
    marked = [marks[id_] for id_ in ids if id_ in marks]
    has_more = len(said) + len(marked) > undoable.NAMED
    return Told(offer, said[: undoable.NAMED], marked[: undoable.NAMED], has_more, made_at)


def open_offers(user_id: UUID, *, is_own: bool, now: datetime) -> list[Told]:
    """All that can still be taken back of forgettings and lifetimes, newest first. ``is_own``: its person reads it."""
    acts = list(forgettings.open_forgettings(user_id)[:LISTED])
    ids, receipts = undoable.ids_of(acts), of_acts(user_id, [act.id for act in acts])
    found = [
        (act.created_at, _of_open(act, ids[act.id], receipt=receipts.get(act.id), text=_forgot(act)))
        for act in acts
    ]
    changes = lifetimes.open_changes(user_id, now=now)[:LISTED]
    found += [(made.made_at, _of_change(made, text=_changed(made))) for made in changes]
    found.sort(key=lambda each: each[0], reverse=True)
    return told(user_id if is_own else None, [offer for _, offer in found], made=[at for at, _ in found])


def forgotten_facts(request: HttpRequest, user_id: UUID) -> Forgotten | None:
    """What can still be taken back and no notice on the page tells of."""
    waiting = _waiting(request)
    acts = [
        act
        for act in forgettings.open_forgettings(user_id).filter(memories_count__gt=0)
        if (_undo_url(act), NO_FIELDS) not in waiting
    ]
    if not acts:
        return None
    return Forgotten(sum(act.memories_count for act in acts), min(act.undo_until for act in acts))


def of_memory(request: HttpRequest, memory: Memory, *, now: datetime) -> Offer | None:
    """The newest change of its lifetime, when that can still be taken back and no notice on the page tells of it."""
    changes = lifetimes.open_changes(memory.user_id, now=now, about=memory.id)
    if not changes:
        return None
    made = _of_change(changes[0], text=_changed(changes[0]))
    return None if (made.url, made.fields) in _waiting(request) else made


def _waiting(request: HttpRequest) -> list[tuple[str, Mapping[str, str]]]:
    """What posts to undo that of which the notices on the page tell."""
    return [(offer["url"], offer["fields"]) for offer in request.session.get(_SESSION_KEY, [])]


def _undo_url(act: Forgetting) -> str:
    return reverse("inspector:forgetting_undo", args=[act.id])


def _forgot(act: Forgetting) -> str:
    if act.memories_count:
        count, said = (
            act.memories_count,
            ngettext("Forgot {n} fact", "Forgot {n} facts", act.memories_count),
        )
    else:
        count = act.experiences_count
        said = ngettext("Forgot {n} experience", "Forgot {n} experiences", count)
    return said.format(n=count_text(count))


def _changed(made: LifetimeChange) -> str:
    count = len(made.before)
    if any(row["kind"] != row["left"]["kind"] for row in made.before):
        said = ngettext("Kind changed", "Changed the kind of {n} facts", count)
    else:
        said = ngettext("Lifetime changed", "Changed the lifetime of {n} facts", count)
    return said.format(n=count_text(count))


def _kept(ids: Collection[UUID]) -> list[str]:
    return [str(id_) for id_ in list(ids)[: undoable.NAMED + 1]]
