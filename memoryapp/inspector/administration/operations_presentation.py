"""What an installation is doing, as the operations page says it: in plain words, with the names that logs use."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.formats import number_format
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_noop

from memoryapp.forgetting.purging import State
from memoryapp.inspector.administration.operating import Cost, Operations
from memoryapp.inspector.amounts import count_text
from memoryapp.inspector.stored_texts import FAILURES
from memoryapp.lifecycle.figures import Failure, JobFigures
from memoryapp.transcript.figures import Failed

TURNS = {
    "queued": gettext_noop("Replies that wait for their turn"),
    "running": gettext_noop("Replies being written"),
    "waiting": gettext_noop("Replies on hold"),
}
QUEUES = {
    "turns": gettext_noop("Replies not picked up yet"),
    "memory": gettext_noop("Background work not picked up yet"),
}
JOBS = {
    "embedding": gettext_noop("Making words searchable by meaning"),
    "compaction": gettext_noop("Summaries of long chats"),
    "extraction": gettext_noop("Learning from conversations"),
    "promotion": gettext_noop("Lessons of runs"),
    "expiry": gettext_noop("Deleting what is over"),
    "title": gettext_noop("Titles of chats"),
}
PURGE_STEPS = {
    "sessions": gettext_noop("Sessions that are over"),
    "tables": gettext_noop("Tables and indexes"),
    "log": gettext_noop("The database's own log of changes"),
    "redis": gettext_noop("The file of the queues"),
    "logs": gettext_noop("What the programs said of themselves"),
}
SORTS = {
    "memories": gettext_noop("Memories"),
    "messages": gettext_noop("Messages"),
    "experiences": gettext_noop("Experiences"),
}
NOTHING = "–"


@dataclass(frozen=True, slots=True)
class Figure:
    label: str
    value: str = ""
    at: datetime | None = None
    is_warning: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """A text or a moment; ``technical``: what logs call it."""

    column: str
    text: str = ""
    technical: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """``failure``: what it tells of, which can be tried again."""

    label: str
    technical: str
    cells: Sequence[Cell]
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Table:
    id: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Row]
    empty: str
    has_actions: bool = False


def work(found: Operations) -> list[Figure]:
    turns = [Figure(gettext(TURNS[status]), count_text(count)) for status, count in found.turns.items()]
    oldest = Figure(gettext("The first reply waits since"), NOTHING, at=found.oldest_queued_at)
    queues = [
        Figure(
            gettext(QUEUES[name]),
            gettext("not reachable") if waiting is None else count_text(waiting),
            is_warning=waiting is None,
        )
        for name, waiting in found.queues.items()
    ]
    breakers = Figure(
        gettext("Chats summarised without the model"),
        count_text(found.open_breakers),
        is_warning=bool(found.open_breakers),
    )
    return [*turns, oldest, *queues, breakers]


def unsearchable(found: Operations) -> list[Figure]:
    """What is found by its words alone until it has a vector."""
    return [
        Figure(gettext(SORTS[sort]), value=count_text(count))
        for sort, count in found.embedding_backlog.items()
    ]


def failures(found: Sequence[Failure]) -> Table:
    columns = [gettext("Work"), gettext("Why"), gettext("Times"), gettext("Last")]
    return Table(
        "failures",
        gettext("Background work that failed in the last 24 hours"),
        columns,
        [
            Row(
                _job(each.job),
                each.job,
                [
                    Cell(columns[1], _why(each.error_code), each.error_code),
                    Cell(columns[2], count_text(each.count)),
                    Cell(columns[3], at=each.last_at),
                ],
                failure=each,
            )
            for each in found
        ],
        gettext("None."),
        has_actions=True,
    )


def jobs(found: Sequence[JobFigures]) -> Table:
    columns = [gettext("Work"), gettext("Times"), gettext("Failed"), gettext("Entries"), gettext("Last")]
    return Table(
        "jobs",
        gettext("Background work, 24 hours"),
        columns,
        [
            Row(
                _job(each.job),
                each.job,
                [
                    *_counts(columns[1:4], (each.runs, each.failures, each.rows)),
                    Cell(columns[4], at=each.last_at),
                ],
            )
            for each in found
        ],
        gettext("Nothing ran."),
    )


def failed_replies(found: Sequence[Failed]) -> Table:
    columns = [gettext("Why"), gettext("Times"), gettext("Last")]
    return Table(
        "errors",
        gettext("Replies that failed, 24 hours"),
        columns,
        [
            Row(
                _why(each.error_code),
                each.error_code,
                [Cell(columns[1], count_text(each.count)), Cell(columns[2], at=each.last_at)],
            )
            for each in found
        ],
        gettext("None."),
    )


def costs(found: Sequence[Cost]) -> Table:
    columns = [
        gettext("For"),
        gettext("Model"),
        gettext("Calls"),
        gettext("Tokens in"),
        gettext("From the cache"),
        gettext("Tokens out"),
        gettext("US dollars, at most"),
    ]
    return Table(
        "cost",
        gettext("What the models were used for, 24 hours"),
        columns,
        [
            Row(
                capfirst(gettext(each.purpose)),
                "",
                [
                    Cell(columns[1], technical=each.model),
                    *_counts(
                        columns[2:6],
                        (each.calls, each.input_tokens, each.cache_read_tokens, each.output_tokens),
                    ),
                    Cell(columns[6], NOTHING if each.usd is None else number_format(each.usd, 2)),
                ],
            )
            for each in found
        ],
        gettext("No model was called."),
    )


@dataclass(frozen=True, slots=True)
class ShownPurge:
    """``at``: when the last one that ended well did; ``steps``: of the last one, however it went."""

    state: State
    says: str
    at: datetime | None
    error: str
    steps: Table


def purge(found: State) -> ShownPurge:
    last, good = found.last, found.last_good
    columns = [gettext("What"), gettext("Seconds"), gettext("How much")]
    rows = [
        Row(
            gettext(PURGE_STEPS[step["name"]]) if step["name"] in PURGE_STEPS else step["name"],
            step["name"],
            [
                Cell(columns[1], NOTHING if step["seconds"] is None else number_format(step["seconds"], 1)),
                Cell(columns[2], step["detail"]),
            ],
        )
        for step in (last.steps if last else ())
    ]
    return ShownPurge(
        state=found,
        says=_purge_says(found),
        at=good.finished_at if good else None,
        error=_purge_error(found),
        steps=Table("purge-steps", gettext("The last purge"), columns, rows, gettext("None yet.")),
    )


def _purge_error(found: State) -> str:
    if found.last is None or found.is_running:
        return ""
    return found.last.error if found.last.finished_at else gettext("it was broken off.")


def _purge_says(found: State) -> str:
    if found.is_running:
        return gettext("It is running.")
    if found.is_waiting:
        return gettext("Something that was deleted is still in the files of the servers.")
    return gettext("Nothing that was deleted is left in the files of the servers.")


def _counts(columns: Sequence[str], values: Sequence[int]) -> list[Cell]:
    return [Cell(column, count_text(value)) for column, value in zip(columns, values, strict=True)]


def _why(code: str) -> str:
    known = FAILURES.get(code)
    return str(known) if known else ""


def _job(name: str) -> str:
    return gettext(JOBS[name])
