"""What the page of one version of a summary shows: what it says, what changed, and what it left out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy

from memoryapp.inspector.amounts import cost_text
from memoryapp.inspector.conversations.summary_text import DiffGroup, Section, diff_groups, sections
from memoryapp.inspector.conversations.version_presentation import (
    VersionRow,
    summary_url,
    version_row,
    version_url,
)
from memoryapp.policies import summaries as policy
from memoryapp.policies.summaries import LeftOut, Said
from memoryapp.transcript import queries
from memoryapp.transcript.models import Message, PinnedLine, Summary
from memoryapp.transcript.queries import SpokenTurn
from memoryapp.transcript.summaries import PINNED_MAX_CHARS
from memoryapp.tuning import queries as tuning

TURNS_COMPARED: Final = 500
LINES_SHOWN: Final = 12  # of what was left out, until all are asked for
LINES_LISTED: Final = 200  # then: nobody reads on, and each comes with a form

KINDS: Final = {
    PinnedLine.Kind.GOAL: gettext_lazy("Goal"),
    PinnedLine.Kind.CONSTRAINT: gettext_lazy("Rule"),
    PinnedLine.Kind.PIN: gettext_lazy("Kept by you"),
}


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
    is_users: bool
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
        row=version_row(summary, in_use=in_use),
        newest_url=summary_url(in_use) if in_use and not is_in_use else "",
        previous_url=version_url(conversation_id, max(older)) if older else "",
        next_url=version_url(conversation_id, min(newer)) if newer else "",
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


def pinned_row(line: PinnedLine) -> PinnedRow:
    """``line`` comes with its turn and what was said in it."""
    is_users = line.text in queries.text_of(line.turn, Message.Role.USER)
    return PinnedRow(
        id=line.id,
        who=gettext("You") if is_users else "Strata",
        is_users=is_users,
        kind_label=str(KINDS[PinnedLine.Kind(line.kind)]),
        text=line.text,
        seq=line.turn.seq,
        message_url=reverse("chat:turn", args=[line.turn_id]),
    )


def _changes(summary: Summary, *, in_use: Summary | None) -> Changes | None:
    before = summary.replaces
    if before is None or before.is_stale or summary.is_stale:
        return None
    groups = diff_groups(before.text, summary.text)
    return Changes(
        before=version_row(before, in_use=in_use),
        groups=groups,
        added=sum(len(group.lines) for group in groups if group.kind == "added"),
        removed=sum(len(group.lines) for group in groups if group.kind == "removed"),
    )


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
        who=gettext("You") if line.who == "user" else "Strata",
        text=line.text,
        turn_id=turn.turn_id,
        message_url=reverse("chat:turn", args=[turn.turn_id]),
        problem=gettext("Too long to keep as one line") if is_too_long else "",
    )


def _percent(part: int, whole: int) -> int:
    return min(round(100 * part / whole), 100) if whole else 100
