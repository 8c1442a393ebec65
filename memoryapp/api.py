"""The REST API: one version, one router per resource, every error a problem document."""

from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, AuthorizationError, HttpError, ValidationError

from memoryapp import rest
from memoryapp.accounts.auth import API_AUTH
from memoryapp.errors import MemoryAppError

api = NinjaAPI(
    title="Strata",
    version="1.0.0",
    description="Conversations, turns and the memories behind them. Errors are RFC 9457 problem documents.",
    auth=API_AUTH,
    docs_url="/docs",
)
# By name: turns live in the chat, above this module.
api.add_router("/conversations", "memoryapp.transcript.api.router")
api.add_router("/conversations", "chat.api.conversations_router")
api.add_router("/turns", "chat.api.router")
api.add_router("/turns", "memoryapp.context.api.turns_router")
api.add_router("/turns", "memoryapp.scratchpad.api.router")
api.add_router("/memories", "memoryapp.context.api.router")
api.add_router("/memories", "memoryapp.longterm.api.router")
api.add_router("/kinds", "memoryapp.longterm.api.kinds_router")


@api.exception_handler(MemoryAppError)
def app_error(request: HttpRequest, error: MemoryAppError) -> HttpResponse:  # noqa: ARG001
    return rest.problem_of(error)


@api.exception_handler(ValidationError)
def invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:  # noqa: ARG001
    fields = [{"where": ".".join(map(str, item["loc"])), "problem": item["msg"]} for item in error.errors]
    detail = "; ".join(f"{field['where']}: {field['problem']}" for field in fields)
    return rest.problem(422, code="invalid_input", detail=detail, fields=fields)


@api.exception_handler(AuthenticationError)
def unauthenticated(request: HttpRequest, error: AuthenticationError) -> HttpResponse:  # noqa: ARG001
    return rest.problem(
        401,
        code="unauthenticated",
        detail="Send a valid API token as 'Authorization: Bearer …'. It may be missing, expired or revoked.",
    )


@api.exception_handler(AuthorizationError)
def unauthorised(request: HttpRequest, error: AuthorizationError) -> HttpResponse:  # noqa: ARG001
    return rest.problem(403, code="forbidden", detail="You may not do this.")


@api.exception_handler(HttpError)
def http_error(request: HttpRequest, error: HttpError) -> HttpResponse:  # noqa: ARG001
    code = (
        "malformed_request"
        if error.status_code == 400
        else "forbidden"
        if error.status_code == 403
        else "error"
    )
    return rest.problem(error.status_code, code=code, detail=str(error))


@api.exception_handler(Http404)
def not_found(request: HttpRequest, error: Http404) -> HttpResponse:  # noqa: ARG001
    return rest.problem(404, code="not_found", detail="There is nothing at this address.")
