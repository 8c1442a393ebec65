"""One line for each request, without content: an address may hold what somebody searched for, a route does not."""

import logging
import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

logger = logging.getLogger(__name__)


class RequestLogMiddleware:
    """Outermost, so that the time is all of it; of a stream, the time until its first byte."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        began = time.perf_counter()
        response = self.get_response(request)
        if logger.isEnabledFor(logging.INFO):
            logger.info("request", extra=_told(request, response, ms=(time.perf_counter() - began) * 1000))
        return response


def _told(request: HttpRequest, response: HttpResponseBase, *, ms: float) -> dict[str, object]:
    match = request.resolver_match
    user = getattr(request, "user", None)
    return {
        "method": request.method,
        "route": match.route if match else None,
        "status": response.status_code,
        "ms": round(ms, 1),
        "user_id": str(user.pk) if user is not None and user.is_authenticated else None,
    }
