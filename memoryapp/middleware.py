"""Turns our own errors into answers a person or a program can act on."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseBase

from memoryapp.errors import MemoryAppError
from memoryapp.views import app_error


class ErrorPageMiddleware:
    """A ``MemoryAppError`` that reaches the edge becomes its page, fragment or problem document."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        return app_error(request, exception) if isinstance(exception, MemoryAppError) else None
