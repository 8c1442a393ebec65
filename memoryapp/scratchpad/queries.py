"""Reads of the scratchpad; every one starts from the user."""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Count, Exists, F, IntegerField, OuterRef, Q, QuerySet, Subquery, TextField
from django.db.models.functions import Cast, Coalesce, Now

from memoryapp.errors import NotFoundError
from memoryapp.policies.verbatim import Wanted
from memoryapp.scratchpad.models import Approval, Checkpoint, Grant, PadEdit, Run, Step

# More are looked for here and not by the database: a pattern of each, for each row, would take minutes.
MANY_TEXTS = 40
PATTERNS_AT_ONCE = 20  # one reading finds any of them, but a pattern without end cannot be compiled
_BLANKS = r"(?:\s|\\+[nrtvf]|\\+u00(?:0[9a-d]|20|a0))+"


def on_record(user_id: UUID) -> QuerySet[Run]:
    """Without those of turns and conversations that are deleted, while that can be undone."""
    return Run.objects.filter(user_id=user_id, turn__conversation__deleted_at=None, turn__deleted_at=None)


def runs(user_id: UUID) -> QuerySet[Run]:
    """Newest first, with ``step_count``."""
    # Counted for the rows that are shown, not over all of them before they are cut.
    counted = Step.objects.filter(run=OuterRef("pk")).order_by().values("run").annotate(n=Count("id"))
    return (
        on_record(user_id)
        .select_related("turn__conversation")
        .annotate(step_count=Coalesce(Subquery(counted.values("n"), output_field=IntegerField()), 0))
        .order_by("-started_at", "-id")
    )


def run_of_turn(user_id: UUID, turn_id: UUID) -> Run | None:
    return on_record(user_id).filter(turn_id=turn_id).first()


def recorded(user_id: UUID, ids: Iterable[UUID]) -> set[UUID]:
    """Those of these runs whose record is still there."""
    return set(on_record(user_id).filter(id__in=list(ids)).values_list("id", flat=True))


def counts_of_people(user_ids: Collection[UUID]) -> dict[UUID, int]:
    """How many runs are on record, by person; who has none is absent."""
    rows = Run.objects.filter(user_id__in=user_ids).order_by()
    return dict(rows.values_list("user_id").annotate(n=Count("id")))


def run_ids_of_turns(user_id: UUID, turn_ids: Iterable[UUID]) -> dict[UUID, UUID]:
    """Turn id → run id, for those that have a run."""
    return dict(Run.objects.filter(user_id=user_id, turn_id__in=turn_ids).values_list("turn_id", "id"))


def steps(run: Run) -> QuerySet[Step]:
    return Step.objects.filter(user_id=run.user_id, run=run).order_by("number", "id")


def steps_of_turns(user_id: UUID, turn_ids: Iterable[UUID]) -> QuerySet[Step]:
    return (
        Step.objects.filter(user_id=user_id, run__turn_id__in=turn_ids)
        .select_related("run")
        .order_by("run_id", "number", "id")
    )


def step_numbered(user_id: UUID, run_id: UUID, number: int) -> Step:
    step = Step.objects.filter(user_id=user_id, run_id=run_id, number=number).first()
    if step is None:
        raise NotFoundError(f"There is no step {number} in this run.")
    return step


def approvals(user_id: UUID, turn_ids: Iterable[UUID]) -> QuerySet[Approval]:
    """What a person was asked in these turns, in that order."""
    return (
        Approval.objects.filter(
            user_id=user_id,
            run__turn_id__in=turn_ids,
            run__turn__conversation__deleted_at=None,
            run__turn__deleted_at=None,
        )
        .select_related("run__turn")
        .order_by("created_at", "id")
    )


def pending_approvals(user_id: UUID) -> QuerySet[Approval]:
    """What waits for the person's word now, in any conversation; the oldest first."""
    return (
        Approval.objects.filter(
            user_id=user_id,
            status=Approval.Status.PENDING,
            expires_at__gt=Now(),
            run__turn__status="waiting",
            run__turn__conversation__deleted_at=None,
        )
        .select_related("run__turn")
        .order_by("created_at", "id")
    )


def is_overtaken(run: Run) -> bool:
    """Whether its person forgot something since it began: what it holds may be just that."""
    return not Run.objects.filter(id=run.id, memory_epoch=F("user__memory_epoch")).exists()


def is_granted(run: Run, action: str, fingerprint: str) -> bool:
    """Whether its person said "always" to the tool, as it is now, in the run's conversation."""
    granted = Grant.objects.filter(
        user_id=run.user_id, conversation__turns=run.turn_id, action=action, fingerprint=fingerprint
    )
    return granted.exists()


def grants(user_id: UUID, conversation_id: UUID) -> QuerySet[Grant]:
    """One of each tool, whatever the circumstances it may run in."""
    given = Grant.objects.filter(user_id=user_id, conversation_id=conversation_id)
    return given.order_by("action", "id").distinct("action")


def checkpoints(run: Run) -> Sequence[Checkpoint]:
    """What the run has added so far, in order."""
    return list(Checkpoint.objects.filter(user_id=run.user_id, run=run).order_by("number", "id"))


def edits(user_id: UUID, run_id: UUID) -> list[PadEdit]:
    """What its person did to the pad, in that order."""
    return list(PadEdit.objects.filter(user_id=user_id, run_id=run_id).order_by("number", "id"))


def waiting_edits(run: Run) -> list[PadEdit]:
    """Those that no worker has taken up yet, in order."""
    waiting = PadEdit.objects.filter(user_id=run.user_id, run=run, applied_at=None)
    return list(waiting.order_by("number", "id"))


def runs_holding(user_id: UUID, texts: Iterable[str]) -> QuerySet[Run]:
    """Runs whose record has one of these texts in it, whatever its case and however often it was written as JSON."""
    texts = frozenset(texts)
    if len(texts) > MANY_TEXTS:
        return Run.objects.filter(user_id=user_id, id__in=_read_through(user_id, Wanted(texts)))
    of_run = {"user_id": user_id, "run": OuterRef("id")}
    steps = Step.objects.filter(**of_run).annotate(asked=Cast("arguments", TextField()))
    deltas = Checkpoint.objects.filter(**of_run).annotate(added=Cast("delta", TextField()))
    questions = Approval.objects.filter(**of_run).annotate(asked=Cast("arguments", TextField()))
    edited = PadEdit.objects.filter(**of_run)
    return (
        Run.objects.filter(user_id=user_id)
        .annotate(noted=Cast("pad", TextField()))
        .filter(
            holding(texts, "goal", "noted")
            | Exists(steps.filter(holding(texts, "asked", "observation", "brief", "error")))
            | Exists(deltas.filter(holding(texts, "added")))
            | Exists(questions.filter(holding(texts, "asked", "why", "touches", "reason")))
            | Exists(edited.filter(holding(texts, "target", "text")))
        )
    )


def _read_through(user_id: UUID, wanted: Wanted) -> set[UUID]:
    """The runs whose record has them in it: for hundreds of texts, which no pattern holds."""
    records: list[tuple[QuerySet[Any], str, tuple[str, ...]]] = [
        (Run.objects.all(), "id", ("goal", "pad")),
        (Step.objects.all(), "run_id", ("arguments", "observation", "brief", "error")),
        (Checkpoint.objects.all(), "run_id", ("delta",)),
        (Approval.objects.all(), "run_id", ("arguments", "why", "touches", "reason")),
        (PadEdit.objects.all(), "run_id", ("target", "text")),
    ]
    found: set[UUID] = set()
    for rows, run, columns in records:
        read = rows.filter(user_id=user_id).exclude(**{f"{run}__in": found})
        texts = read.values_list(run, *(Cast(column, TextField()) for column in columns))
        for run_id, *parts in texts.iterator(chunk_size=200):
            if run_id not in found and wanted.is_in("\n".join(parts)):
                found.add(run_id)
    return found


def holding(texts: Iterable[str], *columns: str) -> Q:
    """That one of these columns has one of these texts in it; see ``runs_holding``."""
    patterns = sorted(filter(None, map(_pattern, texts)))
    found = Q(pk__in=[])
    for at in range(0, len(patterns), PATTERNS_AT_ONCE):
        any_of_them = "|".join(patterns[at : at + PATTERNS_AT_ONCE])
        for column in columns:
            found |= Q(**{f"{column}__iregex": any_of_them})
    return found


def count(user_id: UUID) -> int:
    return on_record(user_id).count()


def _pattern(text: str) -> str:
    """A regular expression for the text as it stands and inside JSON inside JSON …, by whichever writer."""
    return _BLANKS.join("".join(map(_written, word)) for word in text.split())


def _written(character: str) -> str:
    """A character and its escapes: each JSON around another doubles the backslashes."""
    if character.isascii() and character.isalnum():
        return character
    if character == "\\":
        return r"\\+(?:u005c)?"
    # Letters beyond ASCII are escaped by their numbers, which differ by case.
    cases = {character, *filter(_is_one, (character.lower(), character.upper()))}
    plain = [rf"\\*{re.escape(each)}" if each.isascii() else each for each in sorted(cases)]
    return f"(?:{'|'.join([*plain, *map(_escape, sorted(cases))])})"


def _is_one(text: str) -> bool:
    return len(text) == 1


def _escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(rf"\\+u{units[at : at + 4]}" for at in range(0, len(units), 4))
