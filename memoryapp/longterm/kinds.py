"""Kinds as staff add, look at and delete them; how one is changed is in ``kind_changes``."""

from typing import Any, Final

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import ProtectedError
from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext

from memoryapp.errors import InvalidInputError, MemoryAppError, NotFoundError
from memoryapp.longterm import kind_effects
from memoryapp.longterm.kind_effects import Fading
from memoryapp.longterm.models import Kind, Memory
from memoryapp.policies import reasons

RATIONALE_MAX_CHARS: Final = 300  # as its column


class KindInUseError(MemoryAppError):
    """``details["memories"]``: how many memories are of it."""

    code = "kind_in_use"
    http_status = 409


def get_kind(slug: str) -> Kind:
    """Of any subject. Raises NotFoundError."""
    kind = Kind.objects.filter(slug=slug).first()
    if kind is None:
        raise NotFoundError(gettext("There is no such kind."))
    return kind


def add(**values: Any) -> Kind:
    """A new kind of statement, with these fields. Raises InvalidInputError, which names the wrong ones."""
    with transaction.atomic(durable=True):
        kind = Kind(subject=Kind.Subject.STATEMENT, **values)
        validate(kind)
        kind.save()
        return kind


def delete(slug: str) -> None:
    """Raises NotFoundError, InvalidInputError for a kind that the program needs, KindInUseError."""
    kind = get_kind(slug)
    if kind.subject != Kind.Subject.STATEMENT:
        raise InvalidInputError(gettext("Runs and experiences need their rule. Change its lifetime instead."))
    try:
        kind.delete()
    except ProtectedError as error:
        held = Memory.everything.filter(kind=kind).count()  # what is being forgotten can come back
        raise KindInUseError(
            ngettext(
                "{n} memory belongs to this kind. Give the kind a short lifetime and delete it when that has faded, or "
                "let its owner move it to another kind.",
                "{n} memories belong to this kind. Give the kind a short lifetime and delete it when they have faded, "
                "or let their owners move them to another kind.",
                held,
            ).format(n=number_format(held, force_grouping=True)),
            memories=held,
        ) from error


def preview(slug: str, *, ttl_days: int | None) -> list[Fading]:
    """What another lifetime would do now, in 7 and in 30 days, if nothing were said meanwhile.

    Raises NotFoundError, InvalidInputError for a lifetime that the kind cannot have.
    """
    kind = get_kind(slug)
    if kind.subject == Kind.Subject.RUN:
        raise InvalidInputError(gettext("Records of runs hold no memories: there is nothing to preview."))
    before, kind.ttl_days = kind.ttl_days, ttl_days
    validate(kind)
    return kind_effects.fading(kind, before=before, after=ttl_days)


def validate(kind: Kind) -> None:
    """Raises InvalidInputError, which names the wrong fields."""
    try:
        kind.full_clean()
    except ValidationError as error:
        problems = [f"{field}: {' '.join(said)}" for field, said in error.message_dict.items()]
        raise InvalidInputError(" ".join(problems).replace("__all__: ", "")) from error
    try:
        reasons.cleaned(kind.rationale, max_chars=RATIONALE_MAX_CHARS)
    except reasons.ReasonMissingError as error:
        raise InvalidInputError(f"rationale: {error}") from error
