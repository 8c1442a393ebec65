"""What a person does not want to be remembered: anything of a kind, or for now anything at all."""

from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext

from memoryapp.accounts.models import User
from memoryapp.activity import operations as activity
from memoryapp.activity.models import Tier, Verb
from memoryapp.errors import MemoryAppError
from memoryapp.longterm import history, queries
from memoryapp.longterm.candidates import Candidate
from memoryapp.longterm.models import KindRefusal, Memory

# The person's own hand; what they import is theirs, too.
BY_HAND = {Memory.Channel.INSPECTOR, Memory.Channel.IMPORT}


class KindRefusedError(MemoryAppError):
    """``details["kind"]``: the slug of the kind of which the person wants nothing to be remembered."""

    code = "kind_refused"
    http_status = 409


class SavingPausedError(MemoryAppError):
    """The person has paused saving to memory; what they write on the memory page is kept all the same."""

    code = "saving_paused"
    http_status = 409


def refuse(user_id: UUID, slug: str) -> None:
    """Nothing of this kind is remembered from now on; what is remembered stays. Raises InvalidInputError."""
    with transaction.atomic(durable=True):
        history.lock_person(user_id)
        _, is_new = KindRefusal.objects.get_or_create(user_id=user_id, kind=queries.get_kind(slug))
        if is_new:
            activity.note(
                user_id,
                Verb.SWITCHED,
                tier=Tier.LONGTERM,
                detail=history.NEVER_REMEMBER.format(kind=slug),
            )


def allow(user_id: UUID, slug: str) -> None:
    """Facts of this kind may be remembered again. Raises InvalidInputError."""
    with transaction.atomic(durable=True):
        history.lock_person(user_id)
        gone, _ = KindRefusal.objects.filter(user_id=user_id, kind=queries.get_kind(slug)).delete()
        if gone:
            activity.note(
                user_id,
                Verb.SWITCHED,
                tier=Tier.LONGTERM,
                detail=history.REMEMBER_AGAIN.format(kind=slug),
            )


def refused(user_id: UUID) -> set[str]:
    """The slugs of the kinds of which the person wants nothing to be remembered."""
    return set(KindRefusal.objects.filter(user_id=user_id).values_list("kind__slug", flat=True))


def check(person: User, candidate: Candidate) -> None:
    """Within the caller's transaction, which holds the person's lock. Raises SavingPausedError, KindRefusedError."""
    _check_saving(person, candidate.channel)
    check_kind(person.id, candidate.kind)


def check_edit(memory: Memory, *, statement: str, kind: str | None, channel: str) -> None:
    """``check``, when a memory gets other words or another kind; with them it is a new one to whoever refuses those.

    By hand, what is kept of a refused kind can still be corrected.
    """
    is_moved = kind not in {None, memory.kind.slug}
    if not is_moved and statement == memory.statement:
        return
    _check_saving(memory.user, channel)
    if is_moved or channel not in BY_HAND:
        check_kind(memory.user_id, kind or memory.kind.slug)


def check_kind(user_id: UUID, slug: str) -> None:
    """Raises KindRefusedError."""
    refusal = KindRefusal.objects.filter(user_id=user_id, kind__slug=slug)
    label = refusal.values_list("kind__label", flat=True).first()
    if label is not None:
        raise KindRefusedError(
            gettext(
                "Nothing of the kind “{kind}” is to be remembered. Its person can allow it on the Memory page."
            ).format(kind=gettext(label)),
            kind=slug,
        )


def _check_saving(person: User, channel: str) -> None:
    if not person.save_memory and channel not in BY_HAND:
        raise SavingPausedError(
            gettext("Saving to memory is paused. Its person can resume it on the Memory page.")
        )
