"""What can be asked to be forgotten, and what that takes, in words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.utils.translation import gettext, gettext_lazy, ngettext

from memoryapp.activity.models import Tier
from memoryapp.forgetting.scopes import PROGRAM, Asked
from memoryapp.inspector.amounts import count_text
from memoryapp.inspector.own_data.import_presentation import format_text
from memoryapp.longterm import queries as longterm
from memoryapp.longterm.models import Memory
from memoryapp.receipts.models import Receipt, Scope, Sort

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as StrPromise

_TITLES: Final[Mapping[Scope, "StrPromise"]] = {
    Scope.MEMORY: gettext_lazy("Forget this fact"),
    Scope.MEMORY_AND_SOURCE: gettext_lazy("Forget this fact, and where you said it"),
    Scope.EXPERIENCE: gettext_lazy("Forget this lesson"),
    Scope.CONVERSATION: gettext_lazy("Forget this conversation, and what was learned from it alone"),
    Scope.RUN: gettext_lazy("Forget this run, and what it alone taught"),
    Scope.EVERYTHING: gettext_lazy("Forget everything"),
    Scope.ACCOUNT: gettext_lazy("Delete your account"),
}
RECENT: Final[Mapping[str, "StrPromise"]] = {
    "hour": gettext_lazy("All of the last hour"),
    "day": gettext_lazy("All of the last day"),
}
_WIDE: Final = frozenset({Scope.KIND, Scope.SOURCE, Scope.RECENT, Scope.BATCH})
# By the names that previews, sorts of items and counts of receipts have for them.
_SEVERAL: Final[Mapping[str, Callable[[int], str]]] = {
    "memories": lambda n: ngettext("{n} fact", "{n} facts", n),
    "experiences": lambda n: ngettext("{n} lesson", "{n} lessons", n),
    "conversations": lambda n: ngettext("{n} conversation", "{n} conversations", n),
    "exchanges": lambda n: ngettext("{n} exchange", "{n} exchanges", n),
    "messages": lambda n: ngettext("{n} message", "{n} messages", n),
    "redacted messages": lambda n: ngettext("words in {n} message", "words in {n} messages", n),
    "summaries": lambda n: ngettext("{n} summary", "{n} summaries", n),
    "records": lambda n: ngettext("{n} run record", "{n} run records", n),
}
_OF_TIER: Final[Mapping[str, Sequence[str]]] = {
    Tier.LONGTERM: ("memories", "experiences"),
    Tier.TRANSCRIPT: ("conversations", "exchanges", "messages", "redacted messages", "summaries"),
    Tier.SCRATCHPAD: ("records",),
}
_OF_SORT: Final[Mapping[str, str]] = {
    Sort.MEMORY: "memories",
    Sort.EXPERIENCE: "experiences",
    Sort.CONVERSATION: "conversations",
    Sort.TURN: "exchanges",
    Sort.MESSAGE: "redacted messages",
    Sort.RUN: "records",
}


@dataclass(frozen=True, slots=True)
class TierCount:
    """What goes of a tier: "3 facts"."""

    tier: str
    texts: list[str]


def title(asked: Asked) -> str:
    """Of the page that asks whether to: "Forget all of the last hour". Raises NotFoundError for an unknown kind."""
    if asked.scope not in _WIDE:
        return str(_TITLES[asked.scope])
    labels = {kind.slug: gettext(kind.label) for kind in longterm.kinds()}
    return gettext("Forget: {what}").format(what=_wide_text(asked.scope, asked.subject, labels))


def receipt_title(receipt: Receipt, kind_labels: Mapping[str, str]) -> str:
    """What was asked for, without what it said: "Facts", "All of the last hour"."""
    if receipt.scope in _WIDE:
        return _wide_text(Scope(receipt.scope), receipt.subject, kind_labels)
    return str(receipt.get_scope_display())


def by_tier(counts: Mapping[str, int]) -> list[TierCount]:
    """Of previews and receipts, by their names; of a name that no text is for, nothing is said."""
    found = []
    for tier, names in _OF_TIER.items():
        texts = [_SEVERAL[name](n).format(n=count_text(n)) for name in names if (n := counts.get(name, 0))]
        if texts:
            found.append(TierCount(tier, texts))
    return found


def of_items(items: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """How many of each sort, by the names that ``by_tier`` knows."""
    return {_OF_SORT[sort]: len(ids) for sort, ids in items.items()}


def source_text(channel: str, program: str = "") -> str:
    if program:
        return gettext("the program “{name}”").format(name=program)
    return str(Memory.Channel(channel).label) if channel in Memory.Channel else channel


def _wide_text(scope: Scope, subject: str, kind_labels: Mapping[str, str]) -> str:
    match scope:
        case Scope.RECENT:
            return str(RECENT.get(subject, subject))
        case Scope.KIND:
            return gettext("All of the kind “{kind}”").format(kind=kind_labels.get(subject, subject))
        case Scope.BATCH:
            return gettext("An import from {source}").format(source=format_text(subject))
    program = subject.removeprefix(PROGRAM) if subject.startswith(PROGRAM) else ""
    return gettext("All that came from {source}").format(source=source_text(subject, program))
