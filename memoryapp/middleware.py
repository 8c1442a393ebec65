"""Turns our own errors, and the bare ones of the frameworks, into answers a person or a program can act on."""

import logging
from collections.abc import Callable

from django.core.exceptions import PermissionDenied
from django.db import DataError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed

from memoryapp import views
from memoryapp.errors import MemoryAppError
from memoryapp.inspector import break_glass

logger = logging.getLogger(__name__)


class ErrorPageMiddleware:
    """A ``MemoryAppError`` that reaches the edge becomes its page, fragment or problem document."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if isinstance(response, HttpResponseNotAllowed):
            return views.method_not_allowed(request, response)
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, MemoryAppError):
            return views.app_error(request, exception)
        if isinstance(exception, PermissionDenied):
            # As Django answers it, which logs a traceback: a scraper without its token would fill the log with them.
            return views.permission_denied(request)
        if isinstance(exception, DataError):
            # A NUL in a filter or a form: Postgres holds no such text, so nothing can match it or be it.
            logger.warning("%s holds what cannot be stored: %s", request.path, type(exception).__name__)
            return views.bad_request(request)
        return None


class OpenedMemoryMiddleware:
    """While an admin has a person's memory open, the forms of its pages say whose it is; a form acts on no other."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        # Asked before: it may end while the page that shows it is made.
        found = break_glass.opened(request)
        response = self.get_response(request)
        if found and isinstance(response, HttpResponse) and _is_page_of_inspector(request, response):
            response.content = break_glass.with_person(response.content, found.user_id)
        return response

    def process_view(self, request: HttpRequest, *_view: object) -> HttpResponse | None:
        if not _is_inspector(request) or request.method != "POST" or not request.user.is_authenticated:
            return None
        try:
            break_glass.check_form(request)
        except break_glass.OtherMemoryError as error:
            return views.app_error(request, error)
        return None


def _is_inspector(request: HttpRequest) -> bool:
    return request.resolver_match is not None and request.resolver_match.app_name == "inspector"


def _is_page_of_inspector(request: HttpRequest, response: HttpResponse) -> bool:
    return _is_inspector(request) and response.get("Content-Type", "").startswith("text/html")
