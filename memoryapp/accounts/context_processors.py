"""What every template may ask about the person looking."""

from django.http import HttpRequest

from memoryapp.conf import get_conf


def appearance(request: HttpRequest) -> dict[str, str]:
    """``theme``: the account's choice, or the cookie of a visitor who has not signed in."""
    user = getattr(request, "user", None)
    if user is not None and user.is_authenticated:
        return {"theme": user.theme}
    cookie = request.COOKIES.get("theme", "system")
    return {"theme": cookie if cookie in {"light", "dark"} else "system"}


def sign_up(_request: HttpRequest) -> dict[str, bool]:
    """``is_signup_open``: whether to offer an account to who has none."""
    return {"is_signup_open": get_conf().is_signup_open}
