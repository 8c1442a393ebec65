"""A person changes the pad of a run that goes on: corrects, strikes, answers, adds. The run goes on with it."""

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction
from django.db.models import Max
from django.db.models.functions import Now
from django.utils.formats import number_format
from django.utils.translation import gettext

from memoryapp.activity import operations as activity
from memoryapp.activity.models import Tier, Verb
from memoryapp.errors import InvalidInputError, MemoryAppError, NotFoundError
from memoryapp.policies.flags import storable
from memoryapp.policies.secrets import SecretRefusedError, find_secret
from memoryapp.scratchpad import pad as pads
from memoryapp.scratchpad import queries
from memoryapp.scratchpad.models import PadEdit, Run
from memoryapp.scratchpad.operations import fence
from memoryapp.scratchpad.pad import KEY_MAX_CHARS, VALUE_MAX_CHARS, Edit, Op, Pad

EDITS_MAX = 100  # of one run: what a person says at a run's side, not a second conversation
WORDED = frozenset({Op.CORRECT_FACT, Op.ADD_FACT, Op.ADD_TODO, Op.ANSWER_QUESTION})


class RunEndedError(MemoryAppError):
    """Nothing goes on with the pad any more: it is a record."""

    code = "run_ended"
    http_status = 409


class PadChangedError(MemoryAppError):
    """The entry is not what its person saw; ``details["now"]`` is what stands there, None when it is gone."""

    code = "pad_changed"
    http_status = 409

    @property
    def now(self) -> str | None:
        now = self.details.get("now")
        return now if isinstance(now, str) else None


def edit(user_id: UUID, run_id: UUID, change: Edit, *, seen: str | None = None) -> PadEdit:
    """Keep what a person does to the pad, for the worker of the run. ``seen``: the value of the fact as it was shown.

    The same edit sent twice is one. Raises ``NotFoundError``, ``RunEndedError``, ``PadChangedError``,
    ``SecretRefusedError``, ``InvalidInputError``.
    """
    change = _checked(change)
    with transaction.atomic(durable=True):
        run = _at_work(user_id, run_id)
        waiting = queries.waiting_edits(run)
        if waiting and _as_edit(waiting[-1]) == change:
            return waiting[-1]
        _require_unchanged(with_edits(run, waiting), change, seen)
        last: int = PadEdit.objects.filter(run=run).aggregate(last=Max("number"))["last"] or 0
        if last >= EDITS_MAX:
            message = gettext("A run takes up to {most} edits. Stop it and say the rest in the chat.")
            raise InvalidInputError(message.format(most=EDITS_MAX))
        kept = PadEdit.objects.create(
            user_id=user_id,
            run=run,
            number=last + 1,
            op=change.op,
            target=change.target,
            text=change.text,
        )
        activity.note(user_id, Verb.EDITED, tier=Tier.SCRATCHPAD, subject_id=run_id, detail=change.op)
    return kept


def take_up(run: Run, pad: Pad, *, attempt: int) -> Pad:
    """The worker's pad with what its person did to it meanwhile, kept as the run's own. Raises ``FencedOffError``.

    An edit wins over what the worker wrote since. It is marked with the pad that holds it, so that a worker that takes
    over applies exactly those that no pad holds yet.
    """
    if not queries.waiting_edits(run):
        return pad
    with transaction.atomic(durable=True):
        fence(run, attempt)
        waiting = queries.waiting_edits(run)
        pad = pads.apply(pad, map(_as_edit, waiting))
        Run.objects.filter(id=run.id).update(pad=pad.to_json())
        PadEdit.objects.filter(id__in=[row.id for row in waiting]).update(applied_at=Now())
    return pad


def with_edits(run: Run, waiting: Sequence[PadEdit]) -> Pad:
    """The pad as its person left it, whether or not a worker has taken that up."""
    return pads.apply(pads.from_json(run.pad), map(_as_edit, waiting))


def _at_work(user_id: UUID, run_id: UUID) -> Run:
    """Locked, so that it neither ends nor takes another edit meanwhile."""
    found = queries.on_record(user_id).filter(id=run_id)
    run = found.select_for_update(of=("self",), no_key=True).first()
    if run is None:
        raise NotFoundError(gettext("There is no such run, or its record has been dropped."))
    if run.status != Run.Status.RUNNING:
        raise RunEndedError(
            gettext("This run has ended: nothing goes on with its scratchpad. Say it in the chat.")
        )
    return run


def _require_unchanged(pad: Pad, change: Edit, seen: str | None) -> None:
    now = pads.entry(pad, change)
    if now is None:
        raise PadChangedError(
            gettext("This is not on the scratchpad any more: the run went on meanwhile."), now=None
        )
    if change.op == Op.CORRECT_FACT and seen is not None and now != seen:
        raise PadChangedError(gettext("The run found something newer meanwhile."), now=now)
    if change.op == Op.ADD_FACT and any(fact.key == change.target for fact in pad.facts):
        raise InvalidInputError(gettext("The scratchpad has a fact of this name already. Correct that one."))


def _checked(change: Edit) -> Edit:
    """The words as they are kept: one line of what can be seen, and no secret."""
    if change.op not in WORDED:
        return Edit(change.op, change.target)
    text = _line(
        change.text,
        VALUE_MAX_CHARS,
        empty=gettext("Write something: the words must not be empty."),
        too_long=gettext("At most {most} characters for the words; this has {n}."),
    )
    target = change.target
    if change.op == Op.ADD_TODO:
        target = ""
    elif change.op == Op.ADD_FACT:
        target = _line(
            change.target,
            KEY_MAX_CHARS,
            empty=gettext("Write something: the name of the fact must not be empty."),
            too_long=gettext("At most {most} characters for the name of the fact; this has {n}."),
        )
    found = find_secret(text) or find_secret(f"{target}: {text}")
    if found:
        message = gettext("That looks like {found}. Secrets are not kept in memory.")
        raise SecretRefusedError(message.format(found=gettext(found)), found=found)
    return Edit(change.op, target, text)


def _line(text: str, max_chars: int, *, empty: str, too_long: str) -> str:
    """``empty``, ``too_long``: what to say then."""
    line = " ".join(storable(text).split())
    if not line:
        raise InvalidInputError(empty)
    if len(line) > max_chars:
        count = number_format(len(line), force_grouping=True)
        raise InvalidInputError(too_long.format(most=max_chars, n=count))
    return line


def _as_edit(row: PadEdit) -> Edit:
    return Edit(Op(row.op), row.target, row.text)
