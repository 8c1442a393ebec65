"""Whose memory the inspector's pages show: the reader's own, or that of a person whose memory an admin has opened.

An admin opens one for a while, with a reason that its person reads in their activity. Only these pages follow it:
chats, settings and the API always belong to the one who is signed in.
"""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from memoryapp.accounts import queries as accounts
from memoryapp.accounts.auth import caller, caller_id
from memoryapp.acting import Actor, act_as, acting_as
from memoryapp.activity import operations as activity
from memoryapp.activity.models import Tier, Verb
from memoryapp.errors import InvalidInputError

OPEN_FOR: Final = timedelta(minutes=30)
REASON_MAX_CHARS: Final = 300
_SESSION_KEY: Final = "opened_memory"


@dataclass(frozen=True, slots=True)
class Opened:
    """``until``: an ISO moment, for the session."""

    user_id: str
    username: str
    reason: str
    until: str

    @property
    def until_at(self) -> datetime | None:
        return parse_datetime(self.until)


def opened(request: HttpRequest) -> Opened | None:
    """The memory that this session has opened, while that holds: for half an hour, and as long as its admin is one."""
    kept = request.session.get(_SESSION_KEY)
    if not kept or not caller(request).is_staff:
        return None
    found = Opened(**kept)
    return found if found.until_at and found.until_at > timezone.now() else None


def subject(request: HttpRequest) -> UUID:
    """Whose memory a page of the inspector reads and changes; what is done to another's is noted as the admin's."""
    found = opened(request)
    if found is None:
        return caller_id(request)
    act_as(Actor.ADMIN, caller(request).get_username())
    return UUID(found.user_id)


def open_memory(request: HttpRequest, user_id: UUID, *, reason: str) -> None:
    """Open this person's memory to the session of an admin; the person is told by whom and why.

    Raises ``InvalidInputError`` without a reason, ``PermissionDenied``, ``NotFoundError``.
    """
    admin = caller(request)
    if not admin.is_staff:
        raise PermissionDenied
    reason = " ".join(reason.split())
    if not reason or len(reason) > REASON_MAX_CHARS:
        raise InvalidInputError(f"Say why, in at most {REASON_MAX_CHARS} characters: the person reads it.")
    person = accounts.get_person(user_id)
    # Noted first: a memory is never open without its person being told.
    with acting_as(Actor.ADMIN, admin.get_username()):
        activity.note(person.id, Verb.OPENED, tier=Tier.ACCOUNT, detail=reason)
    until = timezone.now() + OPEN_FOR
    request.session[_SESSION_KEY] = asdict(
        Opened(str(person.id), person.get_username(), reason, until.isoformat())
    )


def close(request: HttpRequest) -> None:
    request.session.pop(_SESSION_KEY, None)
