"""What a file is called, and what became of what it holds, in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final
from uuid import UUID

from django.utils.translation import gettext, gettext_lazy

from memoryapp.inspector.amounts import count_text
from memoryapp.longterm.operations import ForgottenError
from memoryapp.longterm.reconciling import MemoryFullError, PendingFullError
from memoryapp.longterm.refusals import KindRefusedError, SavingPausedError
from memoryapp.policies.secrets import SecretRefusedError
from memoryapp.portability.importers.items import Format, Reason
from memoryapp.portability.merging import TOO_LONG
from memoryapp.portability.models import ImportBatch, ImportItem

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as StrPromise

# Names of products; the same in every language.
NAMES: Final[Mapping[str, str]] = {
    Format.CHATGPT: "ChatGPT",
    Format.CLAUDE: "Claude",
    Format.OPENWEBUI: "Open WebUI",
    Format.LIBRECHAT: "LibreChat",
    Format.MEM0: "mem0",
    Format.STRATA: "Strata",
}
# Why something was left out, or altered, by the name that the file's reader and our own refusals have for it.
_REASONS: Final[Mapping[str, "StrPromise"]] = {
    Reason.CORRUPTED: gettext_lazy("Entries that are damaged or of an unknown shape"),
    Reason.EMPTY: gettext_lazy("Without any words"),
    Reason.TOO_LARGE: gettext_lazy("Too large for one entry"),
    Reason.SHORTENED: gettext_lazy("Very long texts, of which the beginning is kept"),
    Reason.UNKNOWN_PART: gettext_lazy("Parts of messages that are not text"),
    Reason.DAMAGED_CHARACTER: gettext_lazy("Characters that cannot be stored, replaced or left out"),
    Reason.DOUBTFUL_DATE: gettext_lazy("Dates that cannot be true"),
    Reason.EXPIRED: gettext_lazy("Facts whose end has come"),
    Reason.OTHER_PERSON: gettext_lazy("Facts about somebody else"),
    TOO_LONG: gettext_lazy("Facts too long to be remembered"),
    SecretRefusedError.code: gettext_lazy("Passwords, keys and the like, which are never remembered"),
    KindRefusedError.code: gettext_lazy("Of a kind that you want never to be remembered"),
    SavingPausedError.code: gettext_lazy("While saving to memory is off"),
    ForgottenError.code: gettext_lazy("What you had forgotten"),
    MemoryFullError.code: gettext_lazy("Your memory is full"),
    PendingFullError.code: gettext_lazy("Too much waits for your word"),
}
STAYS_OUT: Final = gettext_lazy(
    "What you forgot stays out, whatever file holds it. To have it back, say it again or add it by hand."
)
_SORTS: Final = tuple(ImportItem.Sort)


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """``cells``: how many of each sort, in the order of ``SORTS``; ``samples``: beginnings of some; ``why``: it is so,
    where a person may wonder."""

    label: str
    why: str
    cells: Sequence[str]
    samples: Sequence[str]


@dataclass(frozen=True, slots=True)
class ImportRow:
    """An import as its page and the list show it. ``percent``: of what is done now; None while that is not known."""

    id: UUID
    title: str
    status: str
    status_label: str
    created_at: datetime
    finished_at: datetime | None
    undone_at: datetime | None
    size_bytes: int
    is_at_work: bool
    is_restore: bool
    position: int
    percent: int | None
    outcomes: Sequence[OutcomeRow]
    brings: int
    left_out: Sequence[tuple[str, str]]
    problem: str


def format_text(name: str) -> str:
    """ "ChatGPT"; before the file was looked at, that it is one."""
    return NAMES.get(name) or gettext("a file")


def import_row(batch: ImportBatch) -> ImportRow:
    return ImportRow(
        id=batch.id,
        title=gettext("Import from {source}").format(source=format_text(batch.format)),
        status=batch.status,
        status_label=str(batch.get_status_display()),
        created_at=batch.created_at,
        finished_at=batch.finished_at,
        undone_at=batch.undone_at,
        size_bytes=batch.size_bytes,
        is_at_work=batch.status in ImportBatch.AT_WORK,
        is_restore=batch.is_restore,
        position=batch.position,
        percent=min(100, batch.position * 100 // batch.total) if batch.total else None,
        outcomes=_outcomes(batch),
        brings=sum(
            sum(batch.counts.get(outcome, {}).values())
            for outcome in (
                ImportItem.Outcome.NEW,
                ImportItem.Outcome.CHANGED,
                ImportItem.Outcome.CONFLICTING,
            )
        ),
        left_out=[(_reason(name), count_text(n)) for name, n in sorted(batch.skipped.items())],
        problem=gettext(batch.error_message) if batch.error_message else "",
    )


def sort_labels() -> list[str]:
    return [str(sort.label) for sort in _SORTS]


def _reason(name: str) -> str:
    return str(_REASONS[name]) if name in _REASONS else name.replace("_", " ")


def _outcomes(batch: ImportBatch) -> list[OutcomeRow]:
    """Those that there are, in the order in which they matter."""
    return [
        OutcomeRow(
            label=str(outcome.label),
            why=str(STAYS_OUT) if outcome == ImportItem.Outcome.FORGOTTEN else "",
            cells=[count_text(counts.get(sort, 0)) for sort in _SORTS],
            samples=[sample["text"] for sample in batch.samples.get(outcome, ())],
        )
        for outcome in ImportItem.Outcome
        if (counts := batch.counts.get(outcome))
    ]
