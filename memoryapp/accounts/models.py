"""People, and the two secrets that stand in for a password: API tokens and one-time sign-in links."""

import secrets
from typing import ClassVar

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models.functions import Lower
from uuid6 import uuid7


def new_forgetting_key() -> bytes:
    """32 random bytes: keys the HMACs that let a forgotten statement be recognised without being kept."""
    return secrets.token_bytes(32)


class User(AbstractUser):
    """A person. Everything stored about them starts from this row."""

    class Theme(models.TextChoices):
        SYSTEM = "system", "Follow the system"
        LIGHT = "light", "Light"
        DARK = "dark", "Dark"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    time_zone = models.CharField(max_length=64, default="UTC")
    theme = models.CharField(max_length=6, choices=Theme, default=Theme.SYSTEM)
    # Of the pages; empty: what the browser asks for. What a person writes and the assistant answers is not touched.
    language = models.CharField(max_length=12, blank=True, default="")
    # Single keys that act on lists: in the way of who speaks to the computer, or presses keys by accident.
    uses_list_keys = models.BooleanField(default=True)
    # Above the switches of every chat and the wishes of every program: whether memory is used, and added to.
    use_memory = models.BooleanField(default=True)
    save_memory = models.BooleanField(default=True)
    # The memory pages: when they were last looked at, and up to when their person had seen them at the visit before.
    memory_visited_at = models.DateTimeField(null=True, blank=True)
    memory_seen_until = models.DateTimeField(null=True, blank=True)
    # Bumped by every forgetting; work that started under an older epoch may no longer write memories.
    memory_epoch = models.PositiveIntegerField(default=0)
    forgetting_key = models.BinaryField(max_length=32, default=new_forgetting_key, editable=False)

    class Meta:
        constraints: ClassVar = [
            # Sign-in works by e-mail, so an address names one person; most accounts have none.
            models.UniqueConstraint(Lower("email"), condition=~models.Q(email=""), name="user_email_unique"),
        ]


class ApiToken(models.Model):
    """A bearer token; only its SHA-256 is stored, the prefix lets its owner tell tokens apart."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=80)
    prefix = models.CharField(max_length=16)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = "API token"

    def __str__(self) -> str:
        return f"API token {self.prefix}…"


class SignInLink(models.Model):
    """A one-time link that signs its holder in; only the SHA-256 of its token is stored."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sign_in_links")
    digest = models.CharField(max_length=64, unique=True)
    # Made by an admin for somebody else: opens the account only while its person has not been here yet.
    is_invitation = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = "sign-in link"

    def __str__(self) -> str:
        return f"sign-in link {self.id}"
