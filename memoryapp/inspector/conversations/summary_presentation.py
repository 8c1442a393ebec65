"""What the pages of a summary show: what it stands for, how it was made, what it says, changed and left out."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse

from memoryapp.conf import get_conf
from memoryapp.policies import summaries as policy
from memoryapp.policies.summaries import DiffLine, LeftOut, Said
from memoryapp.transcript import queries
from memoryapp.transcript.models import Conversation, Message, PinnedLine, Summary
from memoryapp.transcript.queries import SpokenTurn
from memoryapp.transcript.summaries import PINNED_MAX_CHARS
from memoryapp.tuning import queries as tuning

TURNS_COMPARED = 500
LINES_SHOWN = 12  # of what was left out, until all are asked for
LINES_LISTED = 200  # then: nobody reads on, and each comes with a form
# Every two seconds, for a minute: a model needs a few seconds, and a worker that is away needs people.
MOST_LOOKS = 30
SAME_SHOWN = 2  # unchanged lines in a row; more are folded

TRIGGERS = {
    Summary.Trigger.AFTER_TURN: "After a reply, in the background",
    Summary.Trigger.BEFORE_TURN: "Before a reply, because the prompt was nearly full",
    Summary.Trigger.TOO_LONG: "Before a reply, because the provider said that the prompt was too long",
    Summary.Trigger.MANUAL: "You asked for it",
    Summary.Trigger.EDIT: "You edited it",
    Summary.Trigger.REBUILD: "What it was made from was changed or deleted",
}
REASONS = {
    "daily_budget_spent": "the day’s budget was spent",
    "breaker_open": "its last three tries in this chat failed, so it was left alone for a while",
    "empty": "it answered nothing that could be used",
    "no_sections": "its answer was not in the form asked for",
    "too_long": "its summary was longer than one may be",
    "not_smaller": "its summary was no shorter than the messages",
    "invented": "it stated a number, a name or a quotation that was never said",
    "model_overloaded": "the provider was overloaded",
    "model_rate_limited": "the provider's rate limit was reached",
    "model_spend_limit": "the provider's spending limit was reached",
    "model_authentication": "the provider did not accept the key",
    "model_not_found": "the provider does not know the model",
    "model_context_too_long": "the messages were too long for it",
    "model_unreachable": "the provider could not be reached",
    "model_timed_out": "the provider took too long",
}
STATES = {
    "in_use": "In use",
    "replaced": "Replaced",
    "elsewhere": "Of another branch",
    "stale": "Unused: made from something changed or deleted",
}
KINDS = {
    PinnedLine.Kind.GOAL: "Goal",
    PinnedLine.Kind.CONSTRAINT: "Rule",
    PinnedLine.Kind.PIN: "Kept by you",
}


@dataclass(frozen=True, slots=True)
class VersionRow:
    """One version as it is listed. ``state``: a key of ``STATES``."""

    version: int
    first_seq: int
    last_seq: int
    state: str
    state_label: str
    made_by: str
    trigger: str
    tokens_before: int
    tokens_after: int
    created_at: datetime
    url: str

    @property
    def covers(self) -> str:
        return f"Messages {self.first_seq}–{self.last_seq}" if self.last_seq > 1 else "Message 1"


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that belong together: the items of a list, or one paragraph."""

    is_list: bool
    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class Section:
    """``heading`` is empty for what stands before the first one."""

    heading: str
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class DiffGroup:
    """Lines of one kind in a row."""

    kind: str
    lines: Sequence[str]

    @property
    def is_folded(self) -> bool:
        return self.kind == "same" and len(self.lines) > SAME_SHOWN


@dataclass(frozen=True, slots=True)
class Changes:
    """Against the version that this one replaced."""

    before: VersionRow
    groups: Sequence[DiffGroup]
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class PinnedRow:
    id: UUID
    who: str
    kind_label: str
    text: str
    seq: int
    message_url: str


@dataclass(frozen=True, slots=True)
class LeftOutRow:
    """A sentence that the summary does not keep. ``problem``: why it cannot be pinned."""

    seq: int
    who: str
    text: str
    turn_id: UUID
    message_url: str
    problem: str


@dataclass(frozen=True, slots=True)
class LeftOutList:
    """``first_seq``–``last_seq``: the messages that were compared. ``count``: of all lines.

    ``more``: how many a longer page lists.
    """

    first_seq: int
    last_seq: int
    lines: Sequence[LeftOutRow]
    more: int
    count: int

    @property
    def unlisted(self) -> int:
        return self.count - len(self.lines) - self.more


@dataclass(frozen=True, slots=True)
class SummaryPage:
    """A version with everything its own page adds. ``text`` is empty when nobody may read it any more."""

    row: VersionRow
    newest_url: str  # of the version in use, when this is not it
    previous_url: str
    next_url: str
    kept_percent: int
    input_tokens: int
    output_tokens: int
    cost: str
    text: str
    sections: Sequence[Section]
    pinned: Sequence[PinnedRow]
    changes: Changes | None
    left_out: LeftOutList | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """A version was asked for. ``made_url`` leads to it once it is there, ``progress_url`` is where to look until then.

    Both are empty after a minute of looking.
    """

    made_url: str
    progress_url: str


def version_rows(conversation: Conversation) -> list[VersionRow]:
    """All versions, newest first."""
    found = queries.summaries(conversation.user_id, conversation.id).select_related("last_turn")
    in_use = queries.current_summary(conversation.user_id, conversation.id)
    return [_row(summary, in_use=in_use) for summary in found]


def summary_page(summary: Summary, *, is_long: bool = False) -> SummaryPage:
    """``summary`` comes with its ``last_turn`` and the version that it ``replaces``.

    ``is_long``: with up to ``LINES_LISTED`` lines of what was left out, instead of the first few.
    """
    user_id, conversation_id = summary.user_id, summary.conversation_id
    in_use = queries.current_summary(user_id, conversation_id)
    versions = list(queries.summaries(user_id, conversation_id).values_list("version", flat=True))
    older = [version for version in versions if version < summary.version]
    newer = [version for version in versions if version > summary.version]
    pinned = list(queries.pinned_lines(user_id, conversation_id).prefetch_related("turn__messages"))
    text = "" if summary.is_stale else summary.text
    is_in_use = in_use is not None and in_use.id == summary.id
    is_compared = bool(text) and summary.last_turn.is_current
    return SummaryPage(
        row=_row(summary, in_use=in_use),
        newest_url=summary_url(in_use) if in_use and not is_in_use else "",
        previous_url=_url(conversation_id, max(older)) if older else "",
        next_url=_url(conversation_id, min(newer)) if newer else "",
        kept_percent=_percent(summary.tokens_after, summary.tokens_before),
        input_tokens=summary.input_tokens,
        output_tokens=summary.output_tokens,
        cost=cost_text(
            summary.model or tuning.conf().cheap_model,
            input_tokens=summary.input_tokens,
            output_tokens=summary.output_tokens,
        ),
        text=text,
        sections=sections(text),
        pinned=[pinned_row(line) for line in pinned],
        changes=_changes(summary, in_use=in_use),
        left_out=_left_out(summary, pinned, is_long=is_long) if is_compared else None,
    )


def waiting(conversation: Conversation, newer_than: str, *, looks: int = 0) -> Waiting | None:
    """What became of a request for a new version; None when there was none.

    ``newer_than``: the newest version when it was asked for, from the address. ``looks``: how often the page looked.
    """
    if not newer_than.isascii() or not newer_than.isdigit():
        return None
    known = int(newer_than[:9])
    newest = queries.summaries(conversation.user_id, conversation.id).first()
    if newest and newest.version > known:
        return Waiting(made_url=summary_url(newest), progress_url="")
    query = urlencode({"newer_than": known, "looks": looks + 1})
    address = reverse("inspector:summary_progress", args=[conversation.id])
    return Waiting(made_url="", progress_url=f"{address}?{query}" if looks < MOST_LOOKS else "")


def summary_url(summary: Summary) -> str:
    return _url(summary.conversation_id, summary.version)


def fallback_text(summary: Summary) -> str:
    """Why the model's summary was not used; empty when it was, or none was asked for."""
    return REASONS.get(summary.fallback_reason, "it failed") if summary.fallback_reason else ""


def pinned_row(line: PinnedLine) -> PinnedRow:
    """``line`` comes with its turn and what was said in it."""
    asked = queries.text_of(line.turn, Message.Role.USER)
    return PinnedRow(
        id=line.id,
        who="You" if line.text in asked else "Strata",
        kind_label=KINDS[PinnedLine.Kind(line.kind)],
        text=line.text,
        seq=line.turn.seq,
        message_url=reverse("chat:turn", args=[line.turn_id]),
    )


def cost_text(model: str, *, input_tokens: int, output_tokens: int) -> str:
    """ "$0.0123", or "—" while nobody has configured the prices of ``model``."""
    prices = get_conf().for_model(model).prices
    if prices is None:
        return "—"
    usd = (input_tokens * prices[0] + output_tokens * prices[1]) / 1_000_000
    if 0 < usd < 0.0001:
        return "less than $0.0001"
    return f"${usd:.4f}" if usd < 1 else f"${usd:,.2f}"


_HEADING = re.compile(r"#{1,6}\s+(.+?)[\s#:]*")
_ITEM = re.compile(r"\s*(?:[-*•]|\d{1,3}[.)])\s+(.+)")


def sections(text: str) -> list[Section]:
    """The text by its headings, without the marks that made them."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    for line in text.splitlines():
        if heading := _HEADING.fullmatch(line.strip()):
            parts.append((heading[1], []))
        elif line.strip():
            parts[-1][1].append(line)
    return [Section(heading, _blocks(lines)) for heading, lines in parts if heading or lines]


def _blocks(lines: Iterable[str]) -> list[Block]:
    found: list[Block] = []
    for is_list, run in groupby(lines, key=lambda line: bool(_ITEM.fullmatch(line))):
        if is_list:
            found.append(Block(is_list=True, lines=[_bare(line) for line in run]))
        else:
            found += [Block(is_list=False, lines=[line.strip()]) for line in run]
    return found


def _bare(line: str) -> str:
    item = _ITEM.fullmatch(line)
    return item[1] if item else line


def _row(summary: Summary, *, in_use: Summary | None) -> VersionRow:
    state = _state(summary, in_use=in_use)
    return VersionRow(
        version=summary.version,
        first_seq=1,
        last_seq=summary.last_seq,
        state=state,
        state_label=STATES[state],
        made_by=_made_by(summary),
        trigger=TRIGGERS[Summary.Trigger(summary.trigger)],
        tokens_before=summary.tokens_before,
        tokens_after=summary.tokens_after,
        created_at=summary.created_at,
        url=summary_url(summary),
    )


def _state(summary: Summary, *, in_use: Summary | None) -> str:
    if summary.is_stale:
        return "stale"
    if not summary.last_turn.is_current:
        return "elsewhere"
    return "in_use" if in_use and in_use.id == summary.id else "replaced"


def _made_by(summary: Summary) -> str:
    if summary.method == Summary.Method.EDITED:
        return "Edited by you"
    if summary.method == Summary.Method.MODEL:
        return f"By {summary.model}" if summary.model else "By the model"
    reason = fallback_text(summary)
    return f"Without the model: {reason}" if reason else "Without a model: the beginning of each message"


def _changes(summary: Summary, *, in_use: Summary | None) -> Changes | None:
    before = summary.replaces
    if before is None or before.is_stale or summary.is_stale:
        return None
    lines = policy.diff(before.text, summary.text)
    return Changes(
        before=_row(before, in_use=in_use),
        groups=_groups(lines),
        added=sum(line.kind == "added" for line in lines),
        removed=sum(line.kind == "removed" for line in lines),
    )


def _groups(lines: Sequence[DiffLine]) -> list[DiffGroup]:
    runs = groupby(lines, key=lambda line: line.kind)
    return [DiffGroup(kind, [line.text for line in run]) for kind, run in runs]


def _left_out(summary: Summary, pinned: Sequence[PinnedLine], *, is_long: bool) -> LeftOutList:
    """Of all the messages it stands for, also those that an earlier version had folded in; of very many the newest."""
    after_seq = max(summary.last_seq - TURNS_COMPARED, 0)
    covered = queries.spoken_turns(
        summary.user_id, summary.conversation_id, after_seq=after_seq, before_seq=summary.last_seq + 1
    )
    said = [Said(turn.seq, turn.user_text, turn.reply) for turn in covered]
    lines = _once_each(policy.left_out(summary.text, [line.text for line in pinned], said))
    turns = {turn.seq: turn for turn in covered}
    listed = [_left_out_row(line, turns[line.seq]) for line in lines[:LINES_LISTED]]
    shown = listed if is_long else listed[:LINES_SHOWN]
    return LeftOutList(
        first_seq=after_seq + 1,
        last_seq=summary.last_seq,
        lines=shown,
        more=len(listed) - len(shown),
        count=len(lines),
    )


def _once_each(lines: Iterable[LeftOut]) -> list[LeftOut]:
    """Of the same words said again, the first time."""
    found: dict[str, LeftOut] = {}
    for line in lines:
        found.setdefault(line.text, line)
    return list(found.values())


def _left_out_row(line: LeftOut, turn: SpokenTurn) -> LeftOutRow:
    is_too_long = len(line.text) > PINNED_MAX_CHARS
    return LeftOutRow(
        seq=line.seq,
        who="You" if line.who == "user" else "Strata",
        text=line.text,
        turn_id=turn.turn_id,
        message_url=reverse("chat:turn", args=[turn.turn_id]),
        problem="Too long to keep as one line" if is_too_long else "",
    )


def _percent(part: int, whole: int) -> int:
    return min(round(100 * part / whole), 100) if whole else 100


def _url(conversation_id: UUID, version: int) -> str:
    return reverse("inspector:summary", args=[conversation_id, version])
