"""Writes of accounts: the first account, sign-in links, API tokens, preferences, switches and visits."""

import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import IntegrityError, connection, transaction
from django.db.models import Case, F, Model, Q, Value, When
from django.db.models.functions import Greatest
from django.utils import timezone
from django.utils.translation import gettext

from memoryapp.accounts import queries
from memoryapp.accounts.models import ApiToken, SignInLink, User
from memoryapp.conf import get_conf
from memoryapp.errors import InvalidInputError, MemoryAppError, NotFoundError

TOKEN_PREFIX = "strata_"  # noqa: S105  # lets secret scanners recognise a leaked token
VISIT_ENDS_AFTER = timedelta(minutes=30)  # without a look at a page of the memory
LAST_USED_RESOLUTION = timedelta(minutes=1)  # a write per minute and token, not per request


class LinkInvalidError(NotFoundError):
    """The sign-in link was used, has expired, or never existed."""

    code = "sign_in_link_invalid"


class LastAdminError(MemoryAppError):
    """Without this account nobody could administer the installation."""

    code = "last_admin"
    http_status = 409


class AlreadyHereError(MemoryAppError):
    """Nobody else makes a way into the account of a person who has been here."""

    code = "already_here"
    http_status = 409


def ensure_first_account() -> User:
    """The installation's first account (``admin``), made when there is no account at all."""
    user = User.objects.filter(is_superuser=True, is_active=True).order_by("date_joined", "id").first()
    if user:
        return user
    with transaction.atomic(durable=True):
        user = User(username=queries.FIRST_ACCOUNT, is_staff=True, is_superuser=True)
        user.set_unusable_password()
        try:
            user.save()
        except IntegrityError as error:
            raise InvalidInputError(
                "The account 'admin' exists but is not an active administrator."
            ) from error
    return user


def add_person(*, username: str, email: str = "") -> User:
    """Within the caller's transaction: an account without a password, whose person comes in by a sign-in link.

    Raises InvalidInputError.
    """
    user = User(username=username, email=email)
    user.set_unusable_password()
    try:
        with transaction.atomic():
            user.save()
    except IntegrityError as error:
        said = gettext("There is an account of this name or with this address already.")
        raise InvalidInputError(said) from error
    return user


def invite(user_id: UUID) -> str:
    """The path of a sign-in link for who has not been here yet; it opens the account only while that is so.

    Raises NotFoundError, ``AlreadyHereError``.
    """
    with transaction.atomic(durable=True):
        person = _locked(queries.get_person(user_id).id)
        if not queries.is_awaited(person):
            raise AlreadyHereError(
                gettext("This person has been here. Links into their account are theirs alone.")
            )
        return _new_link(person, is_invitation=True)


def create_sign_in_link(user: User) -> str:
    """The path of a new one-time link for ``user``; older unused links of theirs end."""
    with transaction.atomic(durable=True):
        return _new_link(user, is_invitation=False)


def redeem_sign_in_link(token: str, *, now: datetime) -> User:
    """Use the link up. Raises ``LinkInvalidError``; of two requests at once, one wins.

    An invitation whose person has been here since, or has become an admin, is none any more.
    """
    links = SignInLink.objects.filter(digest=queries.digest(token), used_at=None, expires_at__gt=now)
    with transaction.atomic():
        link = links.first()
        # Used up behind the lock, for another request may have done so meanwhile.
        user = _locked(link.user_id) if link else None
        if link and user and _opens(link, user) and links.update(used_at=now) == 1:
            return user
    raise LinkInvalidError("This sign-in link has expired or was already used.")


def _opens(link: SignInLink, user: User) -> bool:
    return queries.is_awaited(user) if link.is_invitation else user.is_active


def _new_link(user: User, *, is_invitation: bool) -> str:
    token = secrets.token_urlsafe(32)
    SignInLink.objects.filter(user=user, used_at=None).delete()
    SignInLink.objects.create(
        user=user,
        digest=queries.digest(token),
        is_invitation=is_invitation,
        expires_at=timezone.now() + timedelta(minutes=get_conf().sign_in_link_minutes),
    )
    return f"/sign-in/{token}"


def _locked(user_id: UUID) -> User:
    return User.objects.select_for_update(no_key=True).get(id=user_id)


def create_token(user: User, *, name: str, now: datetime) -> tuple[ApiToken, str]:
    """A new API token and its secret, which is never stored and cannot be shown again."""
    name = name.strip()
    if not name.isprintable() or not 1 <= len(name) <= 80:
        raise InvalidInputError(gettext("Give the token a name of 1 to 80 characters, on one line."))
    secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        user=user,
        name=name,
        prefix=secret[:12],
        digest=queries.digest(secret),
        expires_at=now + timedelta(days=get_conf().api_token_days),
    )
    return token, secret


def revoke_token(user: User, token_id: UUID, *, now: datetime) -> None:
    revoked = ApiToken.objects.filter(user=user, id=token_id, revoked_at=None).update(revoked_at=now)
    if revoked != 1:
        raise NotFoundError(gettext("There is no such token."))


def note_token_use(token: ApiToken, *, now: datetime) -> None:
    if token.last_used_at is None or now - token.last_used_at > LAST_USED_RESOLUTION:
        ApiToken.objects.filter(id=token.id).update(last_used_at=now)


def change_preferences(
    user: User,
    *,
    time_zone: str | None = None,
    theme: str | None = None,
    language: str | None = None,
    uses_list_keys: bool | None = None,
) -> None:
    """Keep what is given. ``language``: a code of ``settings.LANGUAGES``, or empty for the browser's."""
    if time_zone is not None and time_zone not in queries.time_zones():
        raise InvalidInputError(gettext("Choose a time zone from the list, such as Europe/Berlin."))
    if theme is not None and theme not in User.Theme.values:
        raise InvalidInputError(gettext("Choose light, dark or system."))
    if language and language not in dict(settings.LANGUAGES):
        raise InvalidInputError(gettext("Choose a language from the list."))
    given = {
        "time_zone": time_zone,
        "theme": theme,
        "language": language,
        "uses_list_keys": uses_list_keys,
    }
    wanted = {name: value for name, value in given.items() if value is not None}
    if wanted:
        User.objects.filter(id=user.id).update(**wanted)


def switch_memory(user_id: UUID, *, use: bool | None = None, save: bool | None = None) -> User:
    """Within the caller's transaction: set what is given. Returns the person as they were before, locked."""
    before = _locked(user_id)
    wanted = {
        name: value for name, value in (("use_memory", use), ("save_memory", save)) if value is not None
    }
    if wanted:
        User.objects.filter(id=user_id).update(**wanted)
    return before


def note_memory_visit(user_id: UUID, *, now: datetime) -> datetime | None:
    """Note a look at the memory pages. Returns up to when their person had seen them at the visit before.

    None at the first visit. A visit ends after 30 minutes without a look, and until then the answer stays.
    """
    # One statement, so that two tabs at once begin one visit; the right sides are the row as it was.
    ended = Q(memory_visited_at__lt=now - VISIT_ENDS_AFTER)
    User.objects.filter(id=user_id).update(
        memory_seen_until=Case(When(ended, then=F("memory_visited_at")), default=F("memory_seen_until")),
        memory_visited_at=Greatest(F("memory_visited_at"), Value(now)),
    )
    return User.objects.values_list("memory_seen_until", flat=True).get(id=user_id)


def lock_admins(leaving_id: UUID) -> None:
    """Within the caller's transaction, before their own row is locked: where an admin leaves, others who leave wait."""
    admins = User.objects.filter(is_staff=True).order_by("id")
    if admins.filter(id=leaving_id).exists():
        list(admins.select_for_update(no_key=True))


def delete_account_within(user_id: UUID) -> None:
    """Within the caller's transaction: ``erase_person``, as its person asks for it. Raises ``LastAdminError``.

    Rows of other rooms must be gone before, and ``lock_admins`` called before any of them.
    """
    user = _locked(user_id)
    if user.is_staff and not User.objects.filter(is_staff=True, is_active=True).exclude(id=user_id).exists():
        raise LastAdminError(
            gettext("You are the only admin here. Make somebody else an admin first, or this place has none.")
        )
    erase_person(user_id)


def erase_person(user_id: UUID) -> None:
    """Delete the person, with all that is about them, and their key; they are signed out everywhere.

    A restored backup holds one who was gone: whether an admin is left was asked when they went.
    """
    ids = [row.session_key for row in Session.objects.iterator() if _is_of(row, user_id)]
    Session.objects.filter(session_key__in=ids).delete()
    User.objects.filter(id=user_id).delete()


def _is_of(session: Session, user_id: UUID) -> bool:
    return session.get_decoded().get(SESSION_KEY) == str(user_id)


def delete_rows(user_id: UUID, models: Iterable[type[Model]]) -> None:
    """Within the caller's transaction: all rows of a person in these tables, without a look at what refers to them: the
    database checks at the commit that nothing does any more."""
    with connection.cursor() as cursor:
        for model in models:
            table = connection.ops.quote_name(model._meta.db_table)  # noqa: SLF001
            cursor.execute(f"DELETE FROM {table} WHERE user_id = %s", [user_id])  # noqa: S608


def advance_memory_epoch(user_id: UUID) -> None:
    """Invalidate work in flight: nothing that began before this commit may write a memory after it."""
    User.objects.filter(id=user_id).update(memory_epoch=F("memory_epoch") + 1)
