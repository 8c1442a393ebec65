"""Turns our own errors, and the bare ones of the frameworks, into answers a person or a program can act on."""

import logging
from collections.abc import Callable

from django.db import DataError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed

from memoryapp import views
from memoryapp.errors import MemoryAppError

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
        if isinstance(exception, DataError):
            # A NUL in a filter or a form: Postgres holds no such text, so nothing can match it or be it.
            logger.warning("%s holds what cannot be stored: %s", request.path, type(exception).__name__)
            return views.bad_request(request)
        return None
