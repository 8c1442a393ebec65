"""Per-request: who acts, the signed-in person's time zone and language, and no caching of private pages."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone, translation
from django.utils.cache import patch_cache_control

from memoryapp.acting import NOBODY, Actor, act_as, acting_as


class PersonMiddleware:
    """Names who acts, renders in the user's zone and language, and keeps signed-in pages out of every cache."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        user = request.user
        zone = ZoneInfo(user.time_zone) if user.is_authenticated else None
        language = user.language if user.is_authenticated else ""
        # Without a choice, what LocaleMiddleware read from the browser stays.
        speaking = translation.override(language) if language else nullcontext()
        with acting_as(NOBODY.actor), timezone.override(zone), speaking:
            if user.is_authenticated:
                act_as(Actor.PERSON)  # a token says otherwise in the view
            response = self.get_response(request)
            response.headers.setdefault(
                "Content-Language", translation.get_language() or settings.LANGUAGE_CODE
            )
        # Asked again: a bearer token or a sign-in link says who it is only in the view.
        is_private = user.is_authenticated or request.user.is_authenticated
        if is_private and not response.has_header("Cache-Control"):
            patch_cache_control(response, private=True, no_store=True)
        return response

    def process_view(self, request: HttpRequest, *_view: Any) -> None:
        """In Django's admin a person acts as an admin, on their own rows too."""
        match = request.resolver_match
        if match and match.app_name == "admin" and request.user.is_authenticated:
            act_as(Actor.ADMIN, request.user.get_username())
