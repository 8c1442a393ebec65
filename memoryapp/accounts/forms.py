"""allauth's forms, in our words."""

from typing import Any

from allauth.account.forms import LoginForm

NAME_OR_EMAIL = "User name or e-mail"


class SignInForm(LoginForm):  # type: ignore[misc]  # allauth ships no types
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["login"].label = NAME_OR_EMAIL
        self.fields["login"].widget.attrs.pop("placeholder", None)
