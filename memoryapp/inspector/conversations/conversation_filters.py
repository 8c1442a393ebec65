"""Which conversations are listed: what an address asks for, as rows, and as other addresses."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import QuerySet
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy

from memoryapp.inspector.posted import midnight, words
from memoryapp.longterm import queries as longterm
from memoryapp.transcript import browsing, search
from memoryapp.transcript.models import Conversation
from memoryapp.transcript.snippets import Snippet

SHOW_CHOICES: Final = {
    "": gettext_lazy("All kept"),
    "pinned": gettext_lazy("Pinned"),
    "archived": gettext_lazy("Archived"),
    "summarised": gettext_lazy("With a summary"),
    "learned": gettext_lazy("With memories"),
    "temporary": gettext_lazy("Temporary"),
}
SORT_CHOICES: Final = {
    "": gettext_lazy("Newest first"),
    "longest": gettext_lazy("Longest first"),
    "memories": gettext_lazy("Most memories first"),
}
ORDERS: Final[Mapping[str, tuple[str, str]]] = {
    "": ("-updated_at", "-id"),
    "longest": ("-last_seq", "-id"),
    "memories": ("-memory_count", "-id"),
}


@dataclass(frozen=True, slots=True)
class ConversationFilters:
    """The words of an address, each empty unless it says something. ``since``, ``until``: days of the last message."""

    q: str = ""
    show: str = ""
    sort: str = ""
    since: str = ""
    until: str = ""

    @classmethod
    def of(cls, values: Mapping[str, str]) -> "ConversationFilters":
        show, sort = values.get("show", ""), values.get("sort", "")
        return cls(
            q=words(values, "q"),
            show=show if show in SHOW_CHOICES else "",
            sort=sort if sort in SORT_CHOICES else "",
            since=values["since"] if midnight(values.get("since", "")) else "",
            until=values["until"] if midnight(values.get("until", "")) else "",
        )

    @property
    def order(self) -> tuple[str, str]:
        return ORDERS[self.sort]

    @property
    def is_narrow(self) -> bool:
        """Whether it leaves any out."""
        return replace(self, sort="") != ConversationFilters()

    def query(self, **changes: str) -> str:
        """As an address has it, with the question mark; empty when nothing is asked for."""
        values = {field.name: getattr(self, field.name) for field in fields(self)} | changes
        kept = {name: value for name, value in values.items() if value}
        return f"?{urlencode(kept)}" if kept else ""


def rows(
    user_id: UUID, filters: ConversationFilters
) -> tuple[QuerySet[Conversation], Mapping[UUID, Snippet]]:
    """What is asked for, each with ``memory_count``, in no order; and by conversation what a search found in it."""
    show = "" if filters.show == "learned" else filters.show
    found = browsing.listed(
        user_id, show=show, since=midnight(filters.since), until=midnight(filters.until, days_later=1)
    )
    found = found.annotate(memory_count=Coalesce(longterm.learned_in_each(user_id), 0))
    if filters.show == "learned":
        found = found.filter(memory_count__gt=0)
    if not filters.q:
        return found, {}
    if filters.show == "temporary":  # what was said in them, no search finds
        return found.filter(title__icontains=filters.q), {}
    matching, said = search.search_conversations(user_id, filters.q)
    return found.filter(id__in=matching.order_by().values("id")), said
