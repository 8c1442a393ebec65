from django.contrib import admin
from django.contrib.auth.admin import UserAdmin

from memoryapp.accounts.models import ApiToken, SignInLink, User


@admin.register(User)
class PersonAdmin(UserAdmin):
    list_display = ("username", "email", "is_staff", "is_active", "date_joined")
    ordering = ("date_joined",)


@admin.register(ApiToken)
class ApiTokenAdmin(admin.ModelAdmin):
    list_display = ("prefix", "user", "name", "created_at", "expires_at", "last_used_at", "revoked_at")
    readonly_fields = ("user", "prefix", "digest", "created_at", "last_used_at")


@admin.register(SignInLink)
class SignInLinkAdmin(admin.ModelAdmin):
    list_display = ("id", "user", "created_at", "expires_at", "used_at")
    readonly_fields = ("user", "digest", "created_at", "used_at")
