from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from memoryapp.accounts.admin import RecordAdmin
from memoryapp.tooling import operations
from memoryapp.tooling.models import McpServer, ServerUse


class McpServerForm(forms.ModelForm):
    """The token goes in and never comes out: the field is always empty."""

    token = forms.CharField(
        required=False,
        strip=True,
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "class": "vTextField"}),
        help_text="Sent to the server as a bearer token. Left empty, the stored one stays.",
    )
    forget_token = forms.BooleanField(required=False, label="Remove the stored token")

    class Meta:
        model = McpServer
        fields = ("name", "slug", "url", "is_enabled", "timeout_s")

    @property
    def token_to_save(self) -> str | None:
        """As ``operations.save_server`` takes it."""
        typed: str = self.cleaned_data.get("token", "")
        return typed or ("" if self.cleaned_data.get("forget_token") else None)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        before = McpServer.objects.filter(pk=self.instance.pk).first()
        if self.token_to_save is None and operations.leads_elsewhere(before, cleaned.get("url", "")):
            self.add_error("token", operations.TOKEN_AGAIN)
        return cleaned


@admin.register(McpServer)
class McpServerAdmin(admin.ModelAdmin):
    form = McpServerForm
    list_display = ("name", "slug", "url", "is_enabled", "tool_count", "has_token", "listed_at", "error")
    ordering = ("slug", "id")
    actions = ("refresh",)
    fieldsets = (
        (None, {"fields": ("name", "slug", "url", "is_enabled", "timeout_s")}),
        ("Token", {"fields": ("has_token", "token", "forget_token")}),
        ("What it offers", {"fields": ("tool_names", "listed_at", "error")}),
    )
    readonly_fields = ("has_token", "tool_names", "listed_at", "error")

    @admin.display(boolean=True, description="has a token")
    def has_token(self, server: McpServer) -> bool:
        return bool(server.sealed_token)

    @admin.display(description="tools")
    def tool_count(self, server: McpServer) -> int:
        return len(server.tools)

    @admin.display(description="tools")
    def tool_names(self, server: McpServer) -> str:
        return ", ".join(tool["name"] for tool in server.tools) or "None so far."

    def save_model(self, request: HttpRequest, obj: McpServer, form: McpServerForm, change: bool) -> None:  # noqa: ARG002, FBT001  # Django's signature
        operations.save_server(obj, token=form.token_to_save)
        if obj.is_enabled:
            # After the admin's own transaction: no network is waited for inside one.
            transaction.on_commit(lambda: self._refresh(request, obj))

    @admin.action(description="Refresh the tools of the selected servers", permissions=["change"])
    def refresh(self, request: HttpRequest, chosen: QuerySet[McpServer]) -> None:
        for server in chosen:
            self._refresh(request, server)

    def _refresh(self, request: HttpRequest, server: McpServer) -> None:
        listed = operations.refresh_tools(server, now=timezone.now())
        if listed.error:
            messages.warning(request, f"{listed.name}: {listed.error}")
        else:
            messages.success(request, f"{listed.name} offers {len(listed.tools)} tools.")


@admin.register(ServerUse)
class ServerUseAdmin(RecordAdmin):
    list_display = ("id", "user", "server", "created_at")
    fields = ("user", "conversation", "server", "created_at")
    readonly_fields = fields
