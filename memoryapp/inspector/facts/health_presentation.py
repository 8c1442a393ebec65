"""What the page about health shows: each check with its sentence, its count, its first facts and what to do."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext, ngettext

from memoryapp.inspector.amounts import count_text
from memoryapp.inspector.facts.similar import SimilarFacts
from memoryapp.longterm.models import Kind, Memory
from memoryapp.policies.health import NOISE_REPLIES, NOISE_SHARE, STALE_DAYS, UNUSED_DAYS

FIRST = 3  # facts of each check on the page


@dataclass(frozen=True, slots=True)
class FactRow:
    """``note``: why it is here."""

    id: UUID
    statement: str
    url: str
    kind_label: str
    at: datetime
    version: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """``well``: what is said when it finds nothing. ``remedies``: of "extend" and "forget", what each row offers.

    ``all_url``: the list of all that it found, where there is one; ``act_url`` with ``act``: one button for all.
    """

    slug: str
    icon: str
    title: str
    well: str
    means: str
    count: int
    rows: Sequence[FactRow] = ()
    remedies: frozenset[str] = frozenset()
    all_url: str = ""
    all_label: str = ""
    act_url: str = ""
    act: str = ""


@dataclass(frozen=True, slots=True)
class PairRow:
    """Two facts that may say the same, the newer first."""

    newer: FactRow
    older: FactRow
    percent: int

    @property
    def both(self) -> Sequence[tuple[FactRow, FactRow]]:
        """Each with the other."""
        return [(self.newer, self.older), (self.older, self.newer)]


def fact_row(memory: Memory, *, note: str = "") -> FactRow:
    return FactRow(
        id=memory.id,
        statement=memory.statement,
        url=reverse("inspector:fact", args=[memory.id]),
        kind_label=gettext(memory.kind.label),
        at=memory.affirmed_at,
        version=memory.version,
        note=note,
    )


def pair_row(pair: SimilarFacts) -> PairRow:
    return PairRow(fact_row(pair.newer), fact_row(pair.older), round(pair.similarity * 100))


def waiting(count: int) -> Check:
    return Check(
        "waiting",
        "hourglass",
        gettext("Waiting for your word"),
        gettext("Nothing waits for your word"),
        gettext(
            "What others wrote, and what does not fit with what you said. Nothing uses it until you decide."
        ),
        count,
        all_url=reverse("inspector:pending"),
        all_label=gettext("Decide"),
    )


def stale(count: int, rows: Iterable[Memory]) -> Check:
    return Check(
        "stale",
        "history",
        gettext("Perhaps no longer true"),
        gettext("Nothing is stale"),
        gettext(
            "Said or confirmed longer ago than the half-life of its kind, or than {days} days, and never used in a "
            "reply."
        ).format(days=STALE_DAYS),
        count,
        [fact_row(memory) for memory in rows],
        frozenset({"extend", "forget"}),
        all_url=f"{reverse('inspector:facts')}?usage=never&sort=oldest",
        all_label=gettext("Never used, oldest first"),
    )


def unused(count: int, rows: Iterable[Memory]) -> Check:
    return Check(
        "unused",
        "minus",
        gettext("Not used for a long time"),
        gettext("Everything older has been of use"),
        gettext(
            "No reply of the last {days} days was given it. That costs nothing; it may also be of no use."
        ).format(days=UNUSED_DAYS),
        count,
        [fact_row(memory) for memory in rows],
        frozenset({"forget"}),
        all_url=f"{reverse('inspector:facts')}?usage=never&sort=oldest",
        all_label=gettext("Never used, oldest first"),
    )


def noise(found: Sequence[tuple[Memory, float]]) -> Check:
    return Check(
        "noise",
        "refresh-cw",
        gettext("In nearly every reply"),
        gettext("Nothing is in nearly every reply"),
        gettext(
            "Given to more than {share} of the last {replies} replies, whatever they were about. It is probably "
            "worded so generally that it fits any question."
        ).format(share=f"{NOISE_SHARE:.0%}", replies=NOISE_REPLIES),
        len(found),
        [fact_row(memory, note=_share_text(share)) for memory, share in found[:FIRST]],
        frozenset({"forget"}),
        all_url=f"{reverse('inspector:facts')}?sort=used",
        all_label=gettext("Most used first"),
    )


def flagged(count: int, rows: Iterable[Memory]) -> Check:
    return Check(
        "flagged",
        "circle-alert",
        gettext("Looks like an instruction"),
        gettext("Nothing looks like an instruction"),
        gettext(
            "In use, but shaped like an order to the assistant and not like a fact about you. Read it before you keep "
            "it."
        ),
        count,
        [fact_row(memory) for memory in rows],
        frozenset({"forget"}),
    )


def unembedded(count: int, *, other_model: int, rows: Iterable[Memory]) -> Check:
    """Of the first there is none of any model, of the second one of another."""
    means = gettext("So far only their own words find them: the search by meaning does not know them yet.")
    if other_model:
        others = ngettext(
            "{n} of them was prepared by another embedding model than the one in use.",
            "{n} of them were prepared by another embedding model than the one in use.",
            other_model,
        )
        means = f"{means} {others.format(n=count_text(other_model))}"
    return Check(
        "embedding",
        "search",
        gettext("Not found by meaning yet"),
        gettext("All are found by meaning"),
        means,
        count,
        [fact_row(memory) for memory in rows],
        act_url=reverse("inspector:health_embed"),
        act=gettext("Prepare them now"),
    )


def room(used: int, limit: int, *, is_nearly_full: bool, largest: tuple[Kind, int] | None) -> Check:
    taken = {"used": count_text(used), "limit": count_text(limit)}
    return Check(
        "room",
        "archive",
        gettext("Nearly full"),
        gettext("There is room: {used} of {limit} places are taken").format(**taken),
        gettext(
            "{used} of {limit} places are taken. When all are, nothing new is remembered. The largest kind: {largest}."
        ).format(**taken, largest=_largest_text(largest)),
        used if is_nearly_full else 0,
        all_url=f"{reverse('inspector:facts')}?group=kind",
        all_label=gettext("Facts by kind"),
    )


def _share_text(share: float) -> str:
    return gettext("in {share} of replies").format(share=f"{share:.0%}")


def _largest_text(largest: tuple[Kind, int] | None) -> str:
    if largest is None:
        return gettext("none")
    kind, count = largest
    text = ngettext("{kind}, {n} fact", "{kind}, {n} facts", count)
    return text.format(kind=gettext(kind.label), n=count_text(count))
