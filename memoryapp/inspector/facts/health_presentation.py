"""What the page about health shows: each check with its sentence, its count, its first facts and what to do."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.urls import reverse

from memoryapp.longterm.models import Memory
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
class SimilarFacts:
    """Two facts that may say the same."""

    newer: Memory
    older: Memory
    similarity: float


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
        kind_label=memory.kind.label,
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
        "Waiting for your word",
        "Nothing waits for your word",
        "What others wrote, and what does not fit with what you said. Nothing uses it until you decide.",
        count,
        all_url=reverse("inspector:pending"),
        all_label="Decide",
    )


def stale(count: int, rows: Iterable[Memory]) -> Check:
    return Check(
        "stale",
        "history",
        "Perhaps no longer true",
        "Nothing is stale",
        f"Said or confirmed longer ago than the half-life of its kind, or than {STALE_DAYS} days, and never used in a "
        "reply.",
        count,
        [fact_row(memory) for memory in rows],
        frozenset({"extend", "forget"}),
        all_url=f"{reverse('inspector:facts')}?usage=never&sort=oldest",
        all_label="Never used, oldest first",
    )


def unused(count: int, rows: Iterable[Memory]) -> Check:
    return Check(
        "unused",
        "minus",
        "Not used for a long time",
        "Everything older has been of use",
        f"No reply of the last {UNUSED_DAYS} days was given it. That costs nothing; it may also be of no use.",
        count,
        [fact_row(memory) for memory in rows],
        frozenset({"forget"}),
        all_url=f"{reverse('inspector:facts')}?usage=never&sort=oldest",
        all_label="Never used, oldest first",
    )


def noise(found: Sequence[tuple[Memory, float]]) -> Check:
    return Check(
        "noise",
        "refresh-cw",
        "In nearly every reply",
        "Nothing is in nearly every reply",
        f"Given to more than {NOISE_SHARE:.0%} of the last {NOISE_REPLIES} replies, whatever they were about. It is "
        "probably worded so generally that it fits any question.",
        len(found),
        [fact_row(memory, note=f"in {share:.0%} of replies") for memory, share in found[:FIRST]],
        frozenset({"forget"}),
        all_url=f"{reverse('inspector:facts')}?sort=used",
        all_label="Most used first",
    )


def flagged(count: int, rows: Iterable[Memory]) -> Check:
    return Check(
        "flagged",
        "circle-alert",
        "Looks like an instruction",
        "Nothing looks like an instruction",
        "In use, but shaped like an order to the assistant and not like a fact about you. Read it before you keep it.",
        count,
        [fact_row(memory) for memory in rows],
        frozenset({"forget"}),
    )


def unembedded(count: int, *, other_model: int, rows: Iterable[Memory]) -> Check:
    """Of the first there is none of any model, of the second one of another."""
    means = "So far only their own words find them: the search by meaning does not know them yet."
    if other_model:
        means += f" {other_model:,} of them were prepared by another embedding model than the one in use."
    return Check(
        "embedding",
        "search",
        "Not found by meaning yet",
        "All are found by meaning",
        means,
        count,
        [fact_row(memory) for memory in rows],
        act_url=reverse("inspector:health_embed"),
        act="Prepare them now",
    )


def room(used: int, limit: int, *, is_nearly_full: bool, largest: str) -> Check:
    return Check(
        "room",
        "archive",
        "Nearly full",
        f"There is room: {used:,} of {limit:,} rows are taken",
        f"{used:,} of {limit:,} rows are taken. When it is full nothing new is remembered. The largest kind: "
        f"{largest}.",
        used if is_nearly_full else 0,
        all_url=f"{reverse('inspector:facts')}?group=kind",
        all_label="Facts by kind",
    )
