"""One conversation put together, with what ``items.Conversation`` promises."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memoryapp.portability.importers.items import Attachment, Conversation, Reason, Role, Said
from memoryapp.portability.importers.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Head:
    """What is known of a conversation besides its messages."""

    external_id: str
    title: str
    started_at: datetime | None = None
    updated_at: datetime | None = None
    is_archived: bool = False
    is_pinned: bool = False
    is_not_to_remember: bool = False


def message(
    ledger: Ledger,
    role: Role,
    text: str,
    *,
    said_at: datetime | None = None,
    model: str = "",
    attachments: Sequence[Attachment | None] = (),
) -> Said:
    return Said(
        role=role,
        text=ledger.shortened(text.strip()),
        said_at=said_at,
        model=ledger.title(model) if role is Role.ASSISTANT else "",
        attachments=tuple(one for one in attachments if one),
    )


def conversation(
    ledger: Ledger, head: Head, messages: Iterator[Said], *, branches_left: int = 0
) -> Iterator[Conversation]:
    """None where nobody said anything, which is counted."""
    said = list(_in_time(_joined(messages, ledger), head.started_at))
    if not said:
        ledger.leave_out(Reason.EMPTY)
        return
    times = [one.said_at for one in said if one.said_at]
    yield Conversation(
        external_id=head.external_id,
        title=ledger.title(head.title),
        started_at=head.started_at or (times[0] if times else None),
        updated_at=head.updated_at or (times[-1] if times else None),
        messages=tuple(said),
        is_archived=head.is_archived,
        is_pinned=head.is_pinned,
        is_not_to_remember=head.is_not_to_remember,
        branches_left=branches_left,
    )


def _joined(messages: Iterator[Said], ledger: Ledger) -> Iterator[Said]:
    """Without empty messages; an answer in several pieces (between them tools were called) is one."""
    pieces: list[Said] = []
    for one in messages:
        if not one.text and not one.attachments:
            continue
        if pieces and not (one.role is pieces[0].role is Role.ASSISTANT):
            yield _one(pieces, ledger)
            pieces = []
        pieces.append(one)
    if pieces:
        yield _one(pieces, ledger)


def _one(pieces: Sequence[Said], ledger: Ledger) -> Said:
    if len(pieces) == 1:
        return pieces[0]
    return replace(
        pieces[0],
        text=ledger.shortened("\n\n".join(piece.text for piece in pieces if piece.text)),
        model=next((piece.model for piece in pieces if piece.model), ""),
        attachments=tuple(one for piece in pieces for one in piece.attachments),
    )


def _in_time(messages: Iterator[Said], started_at: datetime | None) -> Iterator[Said]:
    """A message without a time, or with one from before its predecessor's, has that of its predecessor."""
    at = started_at
    for one in messages:
        if one.said_at and (at is None or one.said_at > at):
            at = one.said_at
        yield replace(one, said_at=at)
