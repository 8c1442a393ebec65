"""The switches of a person's memory as they stand, wherever they are shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django import template
from django.utils.translation import gettext

from memoryapp.accounts import queries as accounts
from memoryapp.accounts.auth import caller_id
from memoryapp.inspector.break_glass import subject
from memoryapp.longterm import queries, refusals

register = template.Library()


@dataclass(frozen=True, slots=True)
class KindSwitch:
    slug: str
    label: str
    is_refused: bool


@dataclass(frozen=True, slots=True)
class Switch:
    """``name``: in the form; ``act``: on the button, what it will do."""

    name: str
    is_on: bool
    title: str
    means: str
    act: str


@dataclass(frozen=True, slots=True)
class Switches:
    """``person_id``: whose they are, so that a form changes those that it shows."""

    person_id: UUID
    both: Sequence[Switch]
    kinds: Sequence[KindSwitch]

    @property
    def refused_count(self) -> int:
        return sum(kind.is_refused for kind in self.kinds)


@register.simple_tag(takes_context=True)
def memory_switches(context: dict[str, Any]) -> Switches:
    """``{% memory_switches as switches %}``: in the inspector those of the person it shows, elsewhere the reader's."""
    request = context["request"]
    is_inspector = request.resolver_match is not None and request.resolver_match.app_name == "inspector"
    user_id = subject(request) if is_inspector else caller_id(request)
    person = accounts.get_person(user_id)
    refused = refusals.refused(user_id)
    return Switches(
        person_id=user_id,
        both=[_use(is_on=person.use_memory), _save(is_on=person.save_memory)],
        kinds=[
            KindSwitch(kind.slug, gettext(kind.label), is_refused=kind.slug in refused)
            for kind in queries.statement_kinds()
        ],
    )


def _use(*, is_on: bool) -> Switch:
    if is_on:
        means = gettext("Replies and programs may be given what is remembered, in chats that use memory.")
        act = gettext("Pause using memory")
    else:
        means = gettext("No reply and no program is given anything that is remembered. Nothing was deleted.")
        act = gettext("Use memory again")
    return Switch("use", is_on, gettext("Use memory"), means, act)


def _save(*, is_on: bool) -> Switch:
    if is_on:
        means = gettext("What you say may be remembered, in chats that save.")
        act = gettext("Pause saving")
    else:
        means = gettext(
            "Nothing new is remembered, and what you say now is not learned later either. You can still add facts by "
            "hand."
        )
        act = gettext("Save again")
    return Switch("save", is_on, gettext("Save to memory"), means, act)
