from typing import Any

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.http import HttpRequest

from memoryapp.accounts.models import ApiToken, SignInLink, User

# The admin's own form would be a way around the throttling of sign-in.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]


class RecordAdmin(admin.ModelAdmin):
    """Rows that the application makes: an admin looks at them, and adds none by a form."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002  # Django's signature
        return False


@admin.register(User)
class PersonAdmin(UserAdmin):
    list_display = ("username", "email", "is_staff", "is_active", "date_joined")
    ordering = ("date_joined",)


@admin.register(ApiToken)
class ApiTokenAdmin(RecordAdmin):
    list_display = ("prefix", "user", "name", "created_at", "expires_at", "last_used_at", "revoked_at")
    readonly_fields = ("user", "prefix", "digest", "created_at", "last_used_at")


@admin.register(SignInLink)
class SignInLinkAdmin(RecordAdmin):
    list_display = ("id", "user", "is_invitation", "created_at", "expires_at", "used_at")
    readonly_fields = ("user", "digest", "is_invitation", "created_at", "used_at")
