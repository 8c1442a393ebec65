"""allauth's forms, in our words, and the one by which an admin adds a person."""

from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.forms import LoginForm
from django import forms
from django.utils.translation import gettext, gettext_lazy

from memoryapp.accounts import queries


class SignInForm(LoginForm):  # type: ignore[misc]  # allauth ships no types
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["login"].label = gettext("User name or e-mail")
        self.fields["login"].widget.attrs.pop("placeholder", None)


class NewPersonForm(forms.Form):
    """The name and the address are checked as where people sign up themselves."""

    username = forms.CharField(
        label=gettext_lazy("User name"),
        max_length=150,
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
        ),
    )
    email = forms.EmailField(
        label=gettext_lazy("E-mail, if they have one"),
        max_length=254,
        required=False,
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("They can sign in with it, too. Nothing is sent to it."),
    )

    def clean_username(self) -> str:
        name: str = get_adapter().clean_username(self.cleaned_data["username"])
        return name

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        if email and queries.has_address(email):
            raise forms.ValidationError(gettext("Somebody has this address already."))
        return email
