"""Reads of accounts."""

import hashlib
from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils import timezone

from memoryapp.accounts.models import ApiToken, User

FIRST_ACCOUNT = "admin"


def digest(secret: str) -> str:
    """SHA-256, hex. The secrets hold 256 random bits, so a fast hash is enough (nothing to guess)."""
    return hashlib.sha256(secret.encode()).hexdigest()


def live_tokens(user: User, *, now: datetime) -> QuerySet[ApiToken]:
    return ApiToken.objects.filter(user=user, revoked_at=None, expires_at__gt=now).order_by(
        "-created_at", "id"
    )


def find_user(identifier: str) -> User | None:
    """By user name or e-mail address."""
    return User.objects.filter(Q(username=identifier) | Q(email__iexact=identifier)).order_by("id").first()


def has_accounts() -> bool:
    return User.objects.exists()


def user_of_token(secret: str) -> tuple[User, ApiToken] | None:
    """The active owner of a live token, or None."""
    token = (
        ApiToken.objects.select_related("user")
        .filter(digest=digest(secret), revoked_at=None, expires_at__gt=timezone.now(), user__is_active=True)
        .first()
    )
    return (token.user, token) if token else None
