"""Who is let onto the pages for admins."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse

from memoryapp.accounts.auth import caller

View = Callable[..., HttpResponse]


def for_staff(view: View) -> View:
    """People who are not staff may not, strangers sign in first."""

    @login_required
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not caller(request).is_staff:
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return guarded
