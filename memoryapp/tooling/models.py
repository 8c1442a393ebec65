"""Servers that offer tools over MCP, and in which conversations people use them."""

from typing import ClassVar
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from uuid6 import uuid7


def validate_address(url: str) -> None:
    """An absolute http(s) URL without a password in it, which would be shown and logged with the rest.

    Django's own validator refuses hosts of one word, which is what servers in one network of containers have.
    """
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or not url.isprintable() or " " in url:
        raise ValidationError("Write the whole address, such as https://tools.example/mcp.")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise ValidationError(
            "Leave user names, passwords and #… out of the address; a token has its own field."
        )


class McpServer(models.Model):
    """A server of tools, set up by an admin for everyone; each person switches it on where they want it."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    # Without "_", so that mcp_<slug>_<tool> names one tool of one server.
    slug = models.CharField(
        "short name",
        max_length=24,
        unique=True,
        validators=[RegexValidator(r"^[a-z0-9-]+\Z", "Use small letters, digits and hyphens.")],
        help_text="The beginning of its tools' names, such as <b>github</b> in mcp_github_search.",
    )
    name = models.CharField(max_length=80, help_text="What people read when they are asked about a call.")
    url = models.CharField(
        "address",
        max_length=500,
        validators=[validate_address],
        help_text="Where it speaks MCP over streamable HTTP, such as https://tools.example/mcp.",
    )
    # Encrypted (secrets.py). Written only: no page and no answer has it.
    sealed_token = models.TextField(blank=True, editable=False)
    is_enabled = models.BooleanField(
        "enabled", default=True, help_text="Off: offered to nobody, and used nowhere it was switched on."
    )
    timeout_s = models.PositiveSmallIntegerField(
        "time-out in seconds",
        default=30,
        validators=[MinValueValidator(1), MaxValueValidator(600)],
        help_text="For a whole call, connecting included.",
    )
    # The last listing that succeeded, as far as it is offered: see listing.py for the shape.
    tools = models.JSONField(default=list, editable=False)
    listed_at = models.DateTimeField(null=True, blank=True, editable=False)
    error = models.TextField("last problem", blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = "MCP server"

    def __str__(self) -> str:
        return self.name

    @property
    def host(self) -> str:
        """With its port, where it is an unusual one."""
        return urlsplit(self.url).netloc


class ServerUse(models.Model):
    """That a person uses a server's tools in a conversation. Without such a row they are not there."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="server_uses")
    conversation = models.ForeignKey(
        "transcript.Conversation", on_delete=models.CASCADE, related_name="server_uses"
    )
    server = models.ForeignKey(McpServer, on_delete=models.CASCADE, related_name="uses")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = "use of an MCP server"
        verbose_name_plural = "uses of MCP servers"
        constraints: ClassVar = [
            # Also the index by which a turn finds its tools.
            models.UniqueConstraint(fields=["user", "conversation", "server"], name="server_use_once"),
        ]

    def __str__(self) -> str:
        return f"use {self.id}"
