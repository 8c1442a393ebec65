"""Per-request: the signed-in person's time zone, and no caching of private pages."""

from collections.abc import Callable
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django.utils.cache import patch_cache_control


class PersonMiddleware:
    """Activates the user's zone for rendering, and keeps signed-in pages out of every cache."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        user = request.user
        zone = ZoneInfo(user.time_zone) if user.is_authenticated else None
        with timezone.override(zone):
            response = self.get_response(request)
        # Asked again: a bearer token or a sign-in link says who it is only in the view.
        is_private = user.is_authenticated or request.user.is_authenticated
        if is_private and not response.has_header("Cache-Control"):
            patch_cache_control(response, private=True, no_store=True)
        return response
