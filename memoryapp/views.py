"""Pages that belong to no room: health, and every error a person can meet. None of them needs the database."""

import sys
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import is_valid_path
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_safe
from django_htmx.middleware import HtmxDetails
from redis.exceptions import RedisError

from memoryapp import rest
from memoryapp.errors import MemoryAppError
from memoryapp.redis_client import redis_client

DATABASE_ERRORS = (OperationalError, InterfaceError)
UNAVAILABLE = gettext_noop(
    "Strata cannot reach its database or its queue right now. Nothing you sent before was lost; "
    "try again in a moment."
)


@require_safe
def healthz(_request: HttpRequest) -> JsonResponse:
    """Liveness: the process answers."""
    return JsonResponse({"status": "ok"})


@require_safe
def readyz(_request: HttpRequest) -> JsonResponse:
    """Readiness, dependency by dependency: 200 when all are there, else 503."""
    found = {"postgres": _postgres(), "redis": _redis()}
    is_ready = all(state == "ok" for state in found.values())
    return JsonResponse(
        {"status": "ok" if is_ready else "unavailable", "dependencies": found},
        status=200 if is_ready else 503,
    )


@require_safe
def favicon(_request: HttpRequest) -> HttpResponse:
    """For pages that name no icon, such as the admin's: browsers then ask for this address."""
    return redirect(static("icons/mark.svg"))


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:  # noqa: ARG001
    return error_response(request, 400, gettext("The request could not be understood."))


def permission_denied(request: HttpRequest, exception: PermissionDenied | None = None) -> HttpResponse:  # noqa: ARG001
    return error_response(request, 403, gettext("You may not see this page."))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001
    return error_response(
        request,
        403,
        gettext("This page was open for too long or came from another site. Reload it and send again."),
        template="errors/403_csrf.html",
    )


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:  # noqa: ARG001
    return error_response(
        request, 404, gettext("The address may be wrong, or what was here has been deleted.")
    )


def method_not_allowed(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """``response`` is Django's or ninja's bare refusal; what it allows is kept.

    The address of a form, opened as a page (a bookmark, a way back after sign-in), leads to the page above it.
    """
    if request.method == "GET" and not request.path.startswith("/api/"):
        return redirect(_page_above(request.path))
    said = gettext("This address does not answer {method}.").format(method=request.method)
    answer = error_response(request, 405, said)
    answer["Allow"] = response["Allow"]
    return answer


def _page_above(path: str) -> str:
    """The nearest address above this one that exists."""
    while path != "/":
        path = path.rstrip("/").rpartition("/")[0] + "/"
        if is_valid_path(path):
            return path
    return path


def too_many_requests(request: HttpRequest) -> HttpResponse:
    """allauth looks this up as ``handler429``."""
    said = gettext("There were too many tries. Wait a few minutes, then try again.")
    response = error_response(request, 429, said)
    response["Retry-After"] = "300"  # the longest of the sign-in limits
    return response


def server_error(request: HttpRequest) -> HttpResponse:
    """Called while the exception is being handled: a lost database is an outage, not a defect."""
    if isinstance(sys.exc_info()[1], (*DATABASE_ERRORS, RedisError)):
        response = error_response(request, 503, gettext(UNAVAILABLE))
        response["Retry-After"] = "5"
        return response
    said = gettext("Something went wrong on our side. It has been logged; please try again.")
    return error_response(request, 500, said)


def app_error(request: HttpRequest, error: MemoryAppError) -> HttpResponse:
    """The page, or for htmx the fragment, of a predictable refusal."""
    response = error_response(request, error.http_status, str(error))
    if "retry_after_s" in error.details:
        response["Retry-After"] = str(error.details["retry_after_s"])
    return response


def error_response(request: HttpRequest, status: int, message: str, *, template: str = "") -> HttpResponse:
    """``message`` in the form the caller reads: problem+json for programs, a fragment for htmx, else a page."""
    if request.path.startswith("/api/"):
        return rest.problem(status, code=HTTPStatus(status).name.lower(), detail=message)
    context: dict[str, Any] = {"message": message, "status": status}
    htmx = getattr(request, "htmx", None)
    page = template or f"errors/{status if status in {400, 403, 404, 405, 429, 500, 503} else 'base'}.html"
    if isinstance(htmx, HtmxDetails) and htmx:
        page = "_error.html"
    # Rendered without context processors: they would ask the very database that may be gone.
    return render(None, page, context, status=status)


def _postgres() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        executor = MigrationExecutor(connection)
        pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DATABASE_ERRORS:
        return "unreachable"
    return "migrations pending" if pending else "ok"


def _redis() -> str:
    try:
        redis_client().ping()
    except (RedisError, OSError):
        return "unreachable"
    return "ok"
