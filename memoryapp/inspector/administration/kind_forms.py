"""What an admin writes into the rule of a kind."""

from datetime import date, datetime, time
from typing import Any

from django import forms
from django.core.validators import MaxLengthValidator
from django.utils import timezone
from django.utils.html import format_html
from django.utils.text import slugify
from django.utils.translation import gettext, gettext_lazy

from memoryapp.inspector.administration.refusals import reason_problem
from memoryapp.inspector.amounts import count_text
from memoryapp.longterm import queries
from memoryapp.longterm.models import MAX_DAYS, Kind
from memoryapp.policies import reasons

EXPERIENCE_FIELDS = {"is_always_used"}  # of statements alone
SLUG_MAX_CHARS = 50  # as its column
RUN_FIELDS = {
    "half_life_days",
    "min_confidence",
    "is_always_used",
    "needs_confirmation",
}  # of what is recalled


class DaysField(forms.CharField):
    """A number of days, or nothing for ever. Digits are 0 to 9: other scripts' are refused, not guessed at."""

    def __init__(self, *, least: int, **kwargs: Any) -> None:
        self.least = least
        super().__init__(required=False, **kwargs)
        self.widget.attrs.update(inputmode="numeric", autocomplete="off", size="8")

    def clean(self, value: Any) -> int | None:
        written = str(value or "").strip()
        if not written:
            return None
        is_number = written.isascii() and written.isdigit() and len(written) <= len(str(MAX_DAYS))
        if not is_number or not self.least <= int(written) <= MAX_DAYS:
            raise forms.ValidationError(self._problem())
        return int(written)

    def _problem(self) -> str:
        most = count_text(MAX_DAYS)
        return gettext("{field}: {least} to {most}, or empty.").format(
            field=self.label, least=self.least, most=most
        )


class PercentField(forms.IntegerField):
    """A share of one, written in per cent."""

    def clean(self, value: Any) -> float:
        percent: int | None = super().clean(value)
        return (percent or 0) / 100


class RuleForm(forms.Form):
    """All of a rule that can be changed. Its values are those of the kind's fields (``values``)."""

    label = forms.CharField(max_length=60, label=gettext_lazy("Label"))
    ttl_days = forms.CharField()
    half_life_days = DaysField(
        least=1,
        label=gettext_lazy("Half-life in days"),
        help_text=gettext_lazy("After so long, it counts half as recent. Empty: age does not matter."),
    )
    min_confidence = PercentField(
        label=gettext_lazy("Minimum confidence in %"),
        min_value=0,
        max_value=100,
        required=False,
        help_text=gettext_lazy("What is less sure is kept, but not recalled."),
    )
    needs_confirmation = forms.BooleanField(
        required=False, label=gettext_lazy("New ones are used only once their person has confirmed them")
    )
    is_always_used = forms.BooleanField(
        required=False, label=gettext_lazy("In every prompt, not only when it matters")
    )
    rationale = forms.CharField(
        label=gettext_lazy("Why so"),
        max_length=300,
        widget=forms.Textarea(attrs={"rows": 3}),
        validators=[MaxLengthValidator(300)],
        help_text=gettext_lazy("Shown to everyone beside each memory of this kind."),
    )

    def __init__(self, data: Any = None, *, kind: Kind) -> None:
        self.kind = kind
        super().__init__(data, initial=_initial(kind))
        least = 0 if kind.subject == Kind.Subject.RUN else 1
        self.fields["ttl_days"] = DaysField(
            least=least, label=gettext("Lifetime in days"), help_text=_lifetime_help(kind)
        )
        for name in _fields_without(kind):
            del self.fields[name]

    def clean_rationale(self) -> str:
        try:
            return reasons.cleaned(self.cleaned_data["rationale"], max_chars=300)
        except reasons.ReasonMissingError as error:
            raise forms.ValidationError(reason_problem(error)) from error

    def values(self) -> dict[str, Any]:
        """What was written, of a form that is valid; a percentage that stayed leaves the number as it was."""
        values = {name: self.cleaned_data[name] for name in RuleForm.base_fields if name in self.fields}
        confidence = values.get("min_confidence")
        if confidence is not None and round(self.kind.min_confidence * 100) == round(confidence * 100):
            values["min_confidence"] = self.kind.min_confidence
        return values


class ChangeForm(RuleForm):
    """Another rule for a kind, and from when on."""

    applies_on = forms.DateField(
        label=gettext_lazy("From"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        help_text=gettext_lazy("The beginning of this day, where you are. Empty: now."),
        error_messages={"invalid": gettext_lazy("From: a day as year-month-day, or empty for now.")},
    )

    def __init__(self, data: Any = None, *, kind: Kind) -> None:
        super().__init__(data, kind=kind)
        self.fields["ttl_days"].help_text = f"{_lifetime_help(kind)} {_holds_for(kind)}"
        why = self.fields["rationale"]
        self.initial["rationale"] = ""
        why.required = False
        why.label = gettext("Why so (needed for a new lifetime)")
        help_text = gettext(
            "Shown to everyone beside each memory of this kind. So far: “{reason}” Left empty, the reason so far "
            "stays. A new lifetime needs a new reason."
        )
        why.help_text = format_html(help_text, reason=gettext(kind.rationale))

    def clean_rationale(self) -> str:
        """Empty: the reason stays as it is."""
        return super().clean_rationale() if self.cleaned_data["rationale"] else self.kind.rationale

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        is_other = "ttl_days" in values and values["ttl_days"] != self.kind.ttl_days
        if is_other and values.get("rationale") == self.kind.rationale:
            said = gettext("A new lifetime needs a new reason. Say why it is kept so long from now on.")
            self.add_error("rationale", said)
        return values

    def applies_at(self) -> datetime | None:
        """When that day begins in the zone that is active. None: now."""
        day: date | None = self.cleaned_data["applies_on"]
        return timezone.make_aware(datetime.combine(day, time())) if day else None


class NewKindForm(RuleForm):
    """A kind that there is not yet."""

    slug = forms.SlugField(
        label=gettext_lazy("Name for programs"),
        max_length=SLUG_MAX_CHARS,
        required=False,
        help_text=gettext_lazy("Small letters, digits, - and _. Empty: made of the label. It never changes."),
    )
    field_order = ("label", "slug")

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, kind=Kind(label="", rationale=""))

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        values["slug"] = slug = values.get("slug") or _slug_of(values.get("label", ""))
        if not slug:
            said = gettext("Write a name of letters and digits: the label has none to make it of.")
            self.add_error("slug", said)
        elif any(slug == kind.slug for kind in queries.kinds()):
            self.add_error("slug", gettext("There is a kind of this name already."))
        return values

    def values(self) -> dict[str, Any]:
        return {**super().values(), "slug": self.cleaned_data["slug"]}


def _initial(kind: Kind) -> dict[str, Any]:
    return {
        "label": kind.label,
        "ttl_days": "" if kind.ttl_days is None else str(kind.ttl_days),
        "half_life_days": "" if kind.half_life_days is None else str(kind.half_life_days),
        "min_confidence": round(kind.min_confidence * 100),
        "needs_confirmation": kind.needs_confirmation,
        "is_always_used": kind.is_always_used,
        "rationale": kind.rationale,
    }


def _lifetime_help(kind: Kind) -> str:
    if kind.subject == Kind.Subject.RUN:
        return gettext("Empty: for ever. 0: nothing is kept once a run has ended.")
    return gettext("Empty: for ever. It begins anew each time something is said again.")


def _holds_for(kind: Kind) -> str:
    """What is there already, and a new lifetime ends."""
    if kind.subject == Kind.Subject.RUN:
        return gettext(
            "A new lifetime holds for records that exist already, too. Those that somebody keeps for ever stay."
        )
    if kind.subject == Kind.Subject.EXPERIENCE:
        return gettext("A new lifetime holds for those that exist already, too.")
    return gettext(
        "A new lifetime holds for memories that exist already, too."
        " Those kept for ever or with a date of their own stay as they are."
    )


def _slug_of(label: str) -> str:
    return slugify(label).replace("-", "_")[:SLUG_MAX_CHARS]


def _fields_without(kind: Kind) -> set[str]:
    if kind.subject == Kind.Subject.RUN:
        return RUN_FIELDS
    return EXPERIENCE_FIELDS if kind.subject == Kind.Subject.EXPERIENCE else set()


def focus_problem(form: forms.Form) -> None:
    """Let the page of a refused form begin at the first field that is not right."""
    wrong = next((name for name in form.fields if name in form.errors), None)
    if wrong:
        form.fields[wrong].widget.attrs["autofocus"] = True
