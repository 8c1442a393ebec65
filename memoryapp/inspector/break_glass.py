"""Whose memory the inspector's pages show: the reader's own, or that of a person whose memory an admin has opened.

An admin opens one for a while, with a reason that its person reads in their activity. Only these pages follow it:
chats, settings and the API always belong to the one who is signed in. A form acts on the memory that its page showed
or on none: while one is open, ``memoryapp.middleware`` writes into each whose it is, and has ``check_form`` read it.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext

from memoryapp.accounts import queries as accounts
from memoryapp.accounts.auth import caller, caller_id
from memoryapp.accounts.models import User
from memoryapp.acting import Actor, act_as, acting_as
from memoryapp.activity import operations as activity
from memoryapp.activity import queries as openings
from memoryapp.errors import MemoryAppError, NotFoundError
from memoryapp.inspector import undoing
from memoryapp.inspector.posted import uuid_or_none
from memoryapp.policies import reasons

OPEN_FOR: Final = timedelta(minutes=30)
REASON_MAX_CHARS: Final = 300
FIELD: Final = "person"
# Forms that the settings page has too: they name their person always, and may be about the admin's own.
OWN_TOO: Final = frozenset({"switches", "refuse_kind"})
_SESSION_KEY: Final = "opened_memory"  # the id of an opening; what it says is asked of its row every time
_TOKEN: Final = re.compile(rb'<input type="hidden" name="csrfmiddlewaretoken"[^>]*>')


class OtherMemoryError(MemoryAppError):
    """A form showed another memory than the one that it would act on now."""

    code = "other_memory"
    http_status = 409


@dataclass(frozen=True, slots=True)
class Opened:
    user_id: str
    username: str
    reason: str
    until_at: datetime


def opened(request: HttpRequest) -> Opened | None:
    """The memory that this session has opened, while that holds: for half an hour, until it is closed, and as long as
    its person is there and its admin is one."""
    opening_id = _opening_id(request)
    if opening_id is None or not isinstance(request.user, User):
        return None
    now = timezone.now()
    if not request.user.is_staff:
        # For good: it does not open again for one who becomes an admin once more.
        activity.close_memory(opening_id, admin_id=request.user.id, now=now)
        return None
    found = openings.open_to(request.user.id, opening_id, now=now)
    if found is None:
        return None
    return Opened(str(found.user_id), found.user.get_username(), found.reason, found.until)


def subject(request: HttpRequest) -> UUID:
    """Whose memory a page of the inspector reads and changes; what is done to another's is noted as the admin's."""
    found = opened(request)
    if found is None:
        return caller_id(request)
    act_as(Actor.ADMIN, caller(request).get_username())
    return UUID(found.user_id)


def open_memory(request: HttpRequest, user_id: UUID, *, reason: str) -> None:
    """Open this person's memory to the session of an admin; the person is told by whom and why.

    Raises ``ReasonMissingError`` without a reason that can be read, ``PermissionDenied``, ``NotFoundError``.
    """
    admin = caller(request)
    if not admin.is_staff:
        raise PermissionDenied
    person = accounts.get_person(user_id)
    reason = reasons.cleaned(reason, max_chars=REASON_MAX_CHARS)
    close(request)
    now = timezone.now()
    with acting_as(Actor.ADMIN, admin.get_username()):
        opening = activity.open_memory(
            person.id, admin_id=admin.id, reason=reason, now=now, until=now + OPEN_FOR
        )
    request.session[_SESSION_KEY] = str(opening.id)


def close(request: HttpRequest) -> None:
    """For good; what can be undone in that memory is not offered on the pages of the next."""
    opening_id = _opening_id(request)
    if opening_id:
        activity.close_memory(opening_id, admin_id=caller_id(request), now=timezone.now())
    request.session.pop(_SESSION_KEY, None)
    undoing.taken(request)


def check_form(request: HttpRequest) -> None:
    """Raises ``OtherMemoryError`` for the form of a page that showed another memory than is open now."""
    shown, found = request.POST.get(FIELD, ""), opened(request)
    own = str(caller_id(request))
    if found is None:
        if shown not in {"", own}:
            raise OtherMemoryError(_closed(request, shown))
        return
    is_own_too = request.resolver_match and request.resolver_match.url_name in OWN_TOO
    if shown == found.user_id or (is_own_too and shown == own):
        return
    raise OtherMemoryError(_another(request, shown or own, opened=found.username))


def _closed(request: HttpRequest, shown: str) -> str:
    name = _name_of(request, shown)
    if name is None:
        return gettext("This page showed somebody else’s memory, which is closed now.")
    return gettext("This page showed {person}’s memory, which is closed now.").format(person=name)


def _another(request: HttpRequest, shown: str, *, opened: str) -> str:
    """A form of the page of ``shown``, sent while the memory of ``opened`` is open."""
    name = _name_of(request, shown)
    if uuid_or_none(shown) == caller_id(request):
        said = gettext("You have {opened}’s memory open, and this page showed your own.")
    elif name is None:
        said = gettext("You have {opened}’s memory open, and this page showed somebody else’s.")
    else:
        said = gettext("You have {opened}’s memory open, and this page showed {person}’s.")
    way_out = gettext("Close it first, or use its own page.")
    return f"{said.format(opened=opened, person=name)} {way_out}"


def with_person(page: bytes, user_id: str) -> bytes:
    """The page; each of its forms that change something says whose memory was shown."""
    field = f'<input type="hidden" name="{FIELD}" value="{user_id}">'.encode()
    return _TOKEN.sub(lambda token: token[0] + field, page)


def _opening_id(request: HttpRequest) -> UUID | None:
    return uuid_or_none(str(request.session.get(_SESSION_KEY, "")))


def _name_of(request: HttpRequest, user_id: str) -> str | None:
    """For admins alone: nobody else learns who has an id."""
    found = uuid_or_none(user_id)
    if found is None or not caller(request).is_staff:
        return None
    try:
        return accounts.get_person(found).get_username()
    except NotFoundError:
        return None
