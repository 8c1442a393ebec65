"""Reads of accounts."""

import hashlib
from datetime import datetime
from functools import lru_cache
from uuid import UUID
from zoneinfo import ZoneInfo, available_timezones

from django.db import connection
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from memoryapp.accounts.models import ApiToken, User
from memoryapp.errors import MemoryAppError, NotFoundError
from memoryapp.policies import lookalikes


class MemoryPausedError(MemoryAppError):
    """The person lets nothing use their memory for now."""

    code = "memory_paused"
    http_status = 409


FIRST_ACCOUNT = "admin"
RENEW = "Make a new one on the settings page or with: manage.py create_token USER."


def digest(secret: str) -> str:
    """SHA-256, hex. The secrets hold 256 random bits, so a fast hash is enough (nothing to guess)."""
    return hashlib.sha256(secret.encode()).hexdigest()


@lru_cache(maxsize=1)
def time_zones() -> tuple[str, ...]:
    """Names that Python and Postgres both know, without legacy aliases: what a person may choose.

    Lifetimes end at the person's midnight, which Postgres works out: a name it refuses would break their pages.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM pg_timezone_names")
        known = {name for (name,) in cursor.fetchall()} & available_timezones()
    return tuple(
        sorted(name for name in known if name == "UTC" or ("/" in name and not name.startswith("Etc/")))
    )


def time_zone_of(user_id: UUID) -> ZoneInfo:
    """By what this person's days begin."""
    return ZoneInfo(User.objects.values_list("time_zone", flat=True).get(id=user_id))


def get_person(user_id: UUID) -> User:
    """Raises ``NotFoundError``."""
    person = User.objects.filter(id=user_id).first()
    if person is None:
        raise NotFoundError(gettext("There is no such person."))
    return person


def is_awaited(person: User) -> bool:
    """Whether this account waits for its person's first look: so far nobody signed in with it, nor a program did.

    Never of an admin: what lets one in lets in to everything.
    """
    is_unused = person.last_login is None and not person.has_usable_password()
    is_plain = person.is_active and not person.is_staff and not person.is_superuser
    return is_unused and is_plain and not ApiToken.objects.filter(user=person).exists()


def has_address(email: str) -> bool:
    """Whether somebody signs in with this address, however it is written."""
    return User.objects.filter(email__iexact=email).exists()


def taken_for(username: str) -> str | None:
    """Whose name this one can be taken for; the same name counts."""
    shapes = lookalikes.shapes(username)
    names = User.objects.values_list("username", flat=True).iterator()
    return next((name for name in names if shapes & lookalikes.shapes(name)), None)


def people(*, text: str = "") -> QuerySet[User]:
    """For admins, by name: those whose user name or address holds the text."""
    rows = User.objects.all()
    return rows.filter(Q(username__icontains=text) | Q(email__icontains=text)) if text else rows


def uses_memory(user_id: UUID) -> bool:
    """Whether this person lets memory be used at all; the switch of a conversation comes on top."""
    return User.objects.values_list("use_memory", flat=True).get(id=user_id)


def require_memory_use(user_id: UUID) -> None:
    """Raises ``MemoryPausedError``."""
    if not uses_memory(user_id):
        raise MemoryPausedError("Memory is paused by the user: nothing that is remembered may be read now.")


def live_tokens(user: User, *, now: datetime) -> QuerySet[ApiToken]:
    return ApiToken.objects.filter(user=user, revoked_at=None, expires_at__gt=now).order_by(
        "-created_at", "id"
    )


def find_user(identifier: str) -> User | None:
    """The active account with this user name or, failing that, this e-mail address."""
    active = User.objects.filter(is_active=True)
    named = active.filter(username=identifier).first()
    return named or active.filter(email__iexact=identifier).exclude(email="").first()


def user_of_token(secret: str) -> tuple[User, ApiToken] | None:
    """The active owner of a live token, or None."""
    token = (
        ApiToken.objects.select_related("user")
        .filter(digest=digest(secret), revoked_at=None, expires_at__gt=timezone.now(), user__is_active=True)
        .first()
    )
    return (token.user, token) if token else None


def why_refused(secret: str, *, now: datetime) -> str:
    """What to tell the holder of a token that ``user_of_token`` does not accept."""
    token = ApiToken.objects.select_related("user").filter(digest=digest(secret)).first()
    if token is None:
        return "This API token is not known. Check that the whole token was copied."
    if token.revoked_at:
        return f"This API token was revoked on {token.revoked_at:%Y-%m-%d}. {RENEW}"
    if token.expires_at <= now:
        return f"This API token expired on {token.expires_at:%Y-%m-%d}. {RENEW}"
    return "The account of this API token is closed."
