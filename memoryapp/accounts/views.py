"""Sign-in links and the settings page."""

from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone, translation
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from memoryapp.accounts import operations, queries
from memoryapp.accounts.auth import caller
from memoryapp.accounts.models import User
from memoryapp.errors import InvalidInputError

SESSION_BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
ON_OR_OFF = {"on": True, "off": False}
YEAR_S = 365 * 24 * 3600
USED_FORM = "token_form_used"  # reloading the page that shows a secret sends its form again


@never_cache
@require_GET
def sign_in(request: HttpRequest, token: str) -> HttpResponse:
    try:
        user = operations.redeem_sign_in_link(token, now=timezone.now())
    except operations.LinkInvalidError:
        return render(request, "accounts/sign_in_link_invalid.html", status=404)
    login(request, user, backend=SESSION_BACKEND)
    return redirect("chat:home")


@login_required
@require_GET
def settings_page(request: HttpRequest) -> HttpResponse:
    return _settings(request)


@login_required
@require_POST
def save_preferences(request: HttpRequest) -> HttpResponse:
    try:
        operations.change_preferences(
            caller(request),
            time_zone=request.POST.get("time_zone", ""),
            theme=request.POST.get("theme"),
            language=request.POST.get("language"),
            uses_list_keys=ON_OR_OFF.get(request.POST.get("list_keys", "")),
        )
    except InvalidInputError as error:
        return _settings(request, form_error=str(error), status=422)
    # The page that follows speaks the language that was chosen: so does what it says first.
    with translation.override(_chosen_language(request)):
        messages.success(request, gettext("Saved."))
    return redirect("accounts:settings")


def _chosen_language(request: HttpRequest) -> str | None:
    """Of the form; empty: the browser's. A form without the field changes none."""
    chosen = request.POST.get("language")
    if chosen is None:
        return translation.get_language()
    return chosen or translation.get_language_from_request(request)


@require_POST
def save_appearance(request: HttpRequest) -> HttpResponse:
    """The theme button: kept on the account, and in a cookie for the pages before sign-in."""
    theme = request.POST.get("theme", "")
    if theme not in User.Theme.values:
        return HttpResponse(gettext("Choose light, dark or system."), status=422, content_type="text/plain")
    if request.user.is_authenticated:
        operations.change_preferences(caller(request), theme=theme)
    response = HttpResponse(status=204)
    response.set_cookie(
        "theme", theme, max_age=YEAR_S, samesite="Lax", httponly=True, secure=request.is_secure()
    )
    return response


@login_required
@require_POST
def create_token(request: HttpRequest) -> HttpResponse:
    form_key = request.POST.get("form_key", "")[:64]
    if form_key and form_key == request.session.get(USED_FORM):
        said = gettext("This token was made already. If you did not copy it, revoke it and make another.")
        messages.info(request, said)
        return redirect("accounts:settings")
    try:
        _, secret = operations.create_token(
            caller(request), name=request.POST.get("name", ""), now=timezone.now()
        )
    except InvalidInputError as error:
        return _settings(request, form_error=str(error), status=422)
    request.session[USED_FORM] = form_key
    # Rendered, not redirected: the secret is shown this once and must not be stored anywhere.
    return _settings(request, new_token=secret, status=201)


@login_required
@require_POST
def revoke_token(request: HttpRequest, token_id: UUID) -> HttpResponse:
    operations.revoke_token(caller(request), token_id, now=timezone.now())
    messages.success(request, gettext("Token revoked."))
    return redirect("accounts:settings")


def _settings(request: HttpRequest, *, status: int = 200, **context: Any) -> HttpResponse:
    user = caller(request)
    context |= {
        "tokens": queries.live_tokens(user, now=timezone.now()),
        "time_zones": queries.time_zones(),
        "languages": settings.LANGUAGES,
        "form_key": str(uuid4()),
        "has_password": user.has_usable_password(),
    }
    return render(request, "accounts/settings.html", context, status=status)
