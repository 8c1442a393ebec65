"""The REST API: one version, one router per resource, every error a problem document."""

from collections.abc import Callable, Sequence
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import Http404, HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, AuthorizationError, HttpError, ValidationError

from memoryapp import rest
from memoryapp.accounts.auth import API_AUTH, BearerAuth
from memoryapp.errors import MemoryAppError


def documentation(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """For who has an account: a signed-in person, or a program with its token."""
    for_people = login_required(view)

    def guarded(request: HttpRequest, **kwargs: Any) -> HttpResponse:
        return view(request, **kwargs) if BearerAuth()(request) else for_people(request, **kwargs)

    return guarded


api = NinjaAPI(
    title="Strata",
    version="1.0.0",
    description="Conversations, turns and the memories behind them. Errors are RFC 9457 problem documents.",
    auth=API_AUTH,
    parser=rest.ObjectParser(),
    docs_url="/docs",
    docs_decorator=documentation,
)
# By name: turns live in the chat, above this module.
api.add_router("/conversations", "memoryapp.transcript.api.router")
api.add_router("/conversations", "chat.api.conversations_router")
api.add_router("/turns", "chat.api.router")
api.add_router("/turns", "chat.waiting_api.router")
api.add_router("/approvals", "chat.waiting_api.approvals_router")
api.add_router("/pins", "chat.api.pins_router")
api.add_router("/messages", "chat.api.messages_router")
api.add_router("/turns", "memoryapp.context.api.turns_router")
api.add_router("/turns", "memoryapp.scratchpad.api.router")
api.add_router("/memories", "memoryapp.context.api.router")
api.add_router("/memories", "memoryapp.longterm.api.router")
api.add_router("/experiences", "memoryapp.longterm.experience_api.router")
api.add_router("/forget", "memoryapp.forgetting.api.router")
api.add_router("/receipts", "memoryapp.forgetting.api.receipts_router")
api.add_router("", "memoryapp.portability.api.router")
api.add_router("/activity", "memoryapp.activity.api.router")
api.add_router("/kinds", "memoryapp.longterm.kind_api.router")
api.add_router("/conversations", "memoryapp.tooling.api.conversations_router")
api.add_router("/mcp", "memoryapp.tooling.api.router")


@api.exception_handler(MemoryAppError)
def app_error(request: HttpRequest, error: MemoryAppError) -> HttpResponse:  # noqa: ARG001
    return rest.problem_of(error)


@api.exception_handler(ValidationError)
def invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:  # noqa: ARG001
    fields = [{"where": _where(item["loc"]), "problem": item["msg"]} for item in error.errors]
    detail = "; ".join(f"{field['where']}: {field['problem']}" for field in fields)
    return rest.problem(422, code="invalid_input", detail=detail, fields=fields)


def _where(loc: Sequence[str | int]) -> str:
    """The field as its sender knows it: without the name that the body has in our code."""
    path = loc[2:] if loc[0] == "body" else loc[1:]
    return ".".join(map(str, path)) or str(loc[0])


@api.exception_handler(AuthenticationError)
def unauthenticated(request: HttpRequest, error: AuthenticationError) -> HttpResponse:  # noqa: ARG001
    return rest.problem(
        401, code="unauthenticated", detail="Sign in, or send an API token as 'Authorization: Bearer …'."
    )


@api.exception_handler(AuthorizationError)
def unauthorised(request: HttpRequest, error: AuthorizationError) -> HttpResponse:  # noqa: ARG001
    return rest.problem(403, code="forbidden", detail="You may not do this.")


@api.exception_handler(HttpError)
def http_error(request: HttpRequest, error: HttpError) -> HttpResponse:  # noqa: ARG001
    """ninja's own refusals: of a body that cannot be read, and of a session without its CSRF token."""
    if isinstance(error.__cause__, MemoryAppError):  # ours, which ninja has wrapped
        return rest.problem_of(error.__cause__)
    if error.status_code == 400:
        return rest.problem(400, code="malformed_request", detail="The body is not JSON in UTF-8.")
    if error.status_code == 403:
        return rest.problem(
            403,
            code="csrf_failed",
            detail="Send the page's CSRF token as X-CSRFToken, or an API token as 'Authorization: Bearer …'.",
        )
    return rest.problem(error.status_code, code="error", detail=str(error))


@api.exception_handler(RequestDataTooBig)
def too_big(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:  # noqa: ARG001
    return rest.problem(
        413, code="body_too_big", detail="The body is larger than any message may be. Split it."
    )


@api.exception_handler(MultiPartParserError)
@api.exception_handler(TooManyFieldsSent)
@api.exception_handler(TooManyFilesSent)
def malformed_form(request: HttpRequest, error: Exception) -> HttpResponse:  # noqa: ARG001
    return rest.problem(
        400, code="malformed_request", detail="The body is no form as multipart/form-data writes it."
    )


@api.exception_handler(Http404)
def not_found(request: HttpRequest, error: Http404) -> HttpResponse:  # noqa: ARG001
    return rest.problem(404, code="not_found", detail="There is nothing at this address.")
