"""The switches of a person's memory as they stand, wherever they are shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django import template

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
class Switches:
    """``person_id``: whose they are, so that a form changes those that it shows."""

    person_id: UUID
    use: bool
    save: bool
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
        use=person.use_memory,
        save=person.save_memory,
        kinds=[
            KindSwitch(kind.slug, kind.label, is_refused=kind.slug in refused)
            for kind in queries.statement_kinds()
        ],
    )
