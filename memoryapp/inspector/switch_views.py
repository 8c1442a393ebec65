"""The switches above every chat: whether memory is used, whether it is added to, and which kinds never are."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_POST

from memoryapp.accounts.auth import caller_id
from memoryapp.errors import InvalidInputError, StaleVersionError
from memoryapp.inspector.break_glass import subject
from memoryapp.inspector.posted import next_page
from memoryapp.lifecycle.switches import switch_memory
from memoryapp.longterm import queries, refusals

ON_OFF = {"on": True, "off": False}
TOLD = {
    ("use", True): gettext_lazy("Memory is in use again."),
    ("use", False): gettext_lazy(
        "Paused: no reply and no program is given what is remembered. Nothing was deleted."
    ),
    ("save", True): gettext_lazy("Strata remembers again from now on. What you said meanwhile stays out."),
    ("save", False): gettext_lazy("Paused: nothing new is remembered. What is remembered already stays."),
}


@login_required
@require_POST
def switch(request: HttpRequest) -> HttpResponse:
    """``use`` and ``save``: on or off; what is not given stays as it is."""
    wanted = {name: _on_or_off(request.POST[name]) for name in ("use", "save") if name in request.POST}
    if not wanted:
        raise InvalidInputError(gettext("Say what to switch: use or save, on or off."))
    switch_memory(_person(request), use=wanted.get("use"), save=wanted.get("save"))
    for name, is_on in wanted.items():
        messages.success(request, str(TOLD[name, is_on]))
    return HttpResponseRedirect(next_page(request.POST) or reverse("inspector:overview"))


@login_required
@require_POST
def refuse_kind(request: HttpRequest, slug: str) -> HttpResponse:
    """``refused``: yes, nothing of this kind is remembered; no, it may be."""
    kind = queries.get_kind(slug)
    answer = request.POST.get("refused", "")
    if answer == "yes":
        refusals.refuse(_person(request), slug)
        said = gettext(
            "From now on nothing of the kind “{kind}” is remembered. What is remembered already stays."
        )
    elif answer == "no":
        refusals.allow(_person(request), slug)
        said = gettext("“{kind}” may be remembered again.")
    else:
        raise InvalidInputError(gettext("Say whether it is refused: yes or no."))
    messages.success(request, said.format(kind=gettext(kind.label)))
    return HttpResponseRedirect(next_page(request.POST) or reverse("inspector:overview"))


def _person(request: HttpRequest) -> UUID:
    """Whose switches the form showed. Raises ``StaleVersionError`` when these are not the ones that would change."""
    shown = request.POST.get("person", "")
    if shown == str(caller_id(request)):
        return caller_id(request)
    person = subject(request)
    if shown and shown != str(person):
        raise StaleVersionError(
            gettext("That page was about another person's memory. Reload it and try again.")
        )
    return person


def _on_or_off(value: str) -> bool:
    if value not in ON_OFF:
        raise InvalidInputError(gettext("A switch is on or off."))
    return ON_OFF[value]
