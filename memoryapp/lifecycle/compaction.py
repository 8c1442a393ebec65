"""Rolling the older part of a conversation into its one summary, so that the prompt stays bounded."""

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from memoryapp.conf import get_conf
from memoryapp.lifecycle import prompts
from memoryapp.llm.base import Cancellation, Completed, ModelMessage, ModelRequest, Text, Usage
from memoryapp.llm.errors import ModelError
from memoryapp.llm.registry import get_chat_model
from memoryapp.llm.tokens import estimate_text
from memoryapp.policies import compaction as policy
from memoryapp.policies.budget import newest_that_fit
from memoryapp.transcript import operations as transcript
from memoryapp.transcript import queries
from memoryapp.transcript.models import Conversation, Summary
from memoryapp.transcript.queries import SpokenTurn

logger = logging.getLogger(__name__)

SUMMARY_MAX_TOKENS = 2_048
EXTRACT_CHARS = 240  # of each message, in the extractive fallback
TRIES = 2  # of the model; then the fallback
WHAT_WAS_SAID = "## What was said"
TURN_LINE = "- (turn "
# What must not be invented: addresses, numbers and identifiers with digits, quotations.
_ADDRESS = re.compile(r"https?://[^\s<>\"'“”]*[^\s<>\"'“”.,;:!?)\]}*_`]")
# Latin letters and digits only: scripts without spaces would make one word of a number and its sentence.
_NUMBER = re.compile(r"[A-Za-z\d_](?:[A-Za-z\d_.,:/-]*[A-Za-z\d_])?")
_QUOTATION = re.compile(r"[\"“„«]([^\"“”„«»\n]{2,})[\"“”»]")


@dataclass(frozen=True, slots=True)
class Draft:
    text: str
    method: Summary.Method
    model: str
    usage: Usage


def compact_if_due(user_id: UUID, conversation_id: UUID) -> Usage | None:
    """Fold the oldest turns into the summary when the transcript has outgrown its share of the window.

    Returns what the model spent, or None when nothing was due. Safe beside new turns and beside another compaction:
    it only ever covers finished turns, and one version per range wins.
    """
    conf = get_conf()
    conversation = queries.get_conversation(user_id, conversation_id)
    current = queries.current_summary(user_id, conversation_id)
    spoken = _finished_since(conversation, current)
    used = sum(map(_tokens, spoken)) + (estimate_text(current.text) if current else 0)
    window = get_chat_model().limits(conf.chat_model).window_tokens
    if not policy.is_due(used_tokens=used, window_tokens=window, trigger_share=conf.compaction_trigger_share):
        return None
    # Giants among the newest turns are folded in as well: kept whole they would push each other out of the window.
    room = int(conf.compaction_trigger_share * window) // 2
    fitting = newest_that_fit([_tokens(said) for said in spoken], allowance_tokens=room)
    keep_turns = min(conf.compaction_keep_turns, max(fitting, 1))
    last_seq = policy.last_turn_to_cover([said.seq for said in spoken], keep_turns=keep_turns)
    if last_seq is None:
        return None
    covered = [said for said in spoken if said.seq <= last_seq]
    draft = _draft(current, covered)
    tokens_before = sum(map(_tokens, covered)) + (estimate_text(current.text) if current else 0)
    transcript.add_summary(
        conversation,
        replaces=current,
        last_seq=last_seq,
        text=draft.text,
        method=draft.method,
        model=draft.model,
        tokens_before=tokens_before,
        tokens_after=estimate_text(draft.text),
    )
    return draft.usage


def extract(current: Summary | None, covered: Sequence[SpokenTurn]) -> str:
    """A summary without a model: the first goal, then the beginning of every message, as many of the newest as fit.

    What a model wrote before stays above it as it is. The lines take at most half the room of what they replace.
    """
    known = current.text.strip().splitlines() if current else _opening(covered[0])
    head = [line for line in known if not line.startswith(TURN_LINE)]
    if WHAT_WAS_SAID not in head:
        head.append(WHAT_WAS_SAID)
    old = [line for line in known if line.startswith(TURN_LINE)]
    lines = [*old, *(line for said in covered for line in _extracted(said))]
    sizes = [estimate_text(line) + 1 for line in lines]
    replaced_tokens = sum(sizes[: len(old)]) + sum(map(_tokens, covered))
    kept = newest_that_fit(sizes, allowance_tokens=min(SUMMARY_MAX_TOKENS, replaced_tokens // 2))
    return "\n".join([*head, *lines[len(lines) - kept :]])


def is_faithful(summary: str, source: str, *, tokens_before: int) -> bool:
    """Whether a model's summary of ``source`` may be used: it has sections, is shorter, and invents nothing checkable.

    Checked are addresses, numbers, identifiers with digits, and quotations: each stands in the source, as a whole.
    """
    if not summary.strip() or "## " not in summary or estimate_text(summary) >= tokens_before:
        return False
    addresses = set(_ADDRESS.findall(source))
    if not addresses.issuperset(_ADDRESS.findall(summary)):
        return False
    known = set(_pieces(source))
    if not known.issuperset(piece for piece in _pieces(summary) if any(map(str.isdigit, piece))):
        return False
    words = " ".join(source.split())
    return all(" ".join(quoted.split()) in words for quoted in _QUOTATION.findall(summary))


def _pieces(text: str) -> Iterator[str]:
    """Words and numbers, whole and in parts: "2026-03-01" is also "2026"; "1041" is not "104"."""
    for match in _NUMBER.finditer(text):
        yield match.group()
        yield from re.split(r"[.,:/-]", match.group())


def _draft(current: Summary | None, covered: Sequence[SpokenTurn]) -> Draft:
    told = _told(current, covered)
    tokens_before = sum(map(_tokens, covered)) + (estimate_text(current.text) if current else 0)
    spent = Usage()
    for _ in range(TRIES if get_chat_model().name != "offline" else 0):
        try:
            text, usage = _asked(told)
        except ModelError as error:
            logger.warning("Compaction falls back to extraction: %s", error.code)
            break
        spent += usage
        if is_faithful(text, told, tokens_before=tokens_before):
            return Draft(text, Summary.Method.MODEL, get_conf().cheap_model, spent)
    return Draft(extract(current, covered), Summary.Method.EXTRACTIVE, "", spent)


def _told(current: Summary | None, covered: Sequence[SpokenTurn]) -> str:
    parts = [f"<summary-so-far>\n{current.text}\n</summary-so-far>"] if current else []
    parts += [f'<turn n="{s.seq}">\nUser: {s.user_text}\n\nAssistant: {s.reply}\n</turn>' for s in covered]
    return "\n\n".join(parts)


def _asked(told: str) -> tuple[str, Usage]:
    request = ModelRequest(
        model=get_conf().cheap_model,
        system=prompts.COMPACTION,
        messages=(ModelMessage("user", (Text(told),)),),
        tools=(),
        max_tokens=SUMMARY_MAX_TOKENS,
    )
    for event in get_chat_model().stream(request, Cancellation()):
        if isinstance(event, Completed):
            is_whole = event.reply.stop_reason == "end_turn"
            return (event.reply.text if is_whole else ""), event.reply.usage
    raise AssertionError


def _finished_since(conversation: Conversation, current: Summary | None) -> Sequence[SpokenTurn]:
    """The unbroken row of finished turns after the summary: a turn that still runs ends it."""
    after = current.last_seq if current else 0
    spoken = queries.spoken_turns(
        conversation.user_id, conversation.id, after_seq=after, before_seq=conversation.last_seq + 1
    )
    return [said for place, said in enumerate(spoken, start=after + 1) if said.seq == place]


def _tokens(said: SpokenTurn) -> int:
    return estimate_text(said.user_text) + estimate_text(said.reply)


def _opening(first: SpokenTurn) -> list[str]:
    return ["## Goal", f"- {_beginning(first.user_text)}"]


def _extracted(said: SpokenTurn) -> list[str]:
    lines = [f"{TURN_LINE}{said.seq}) The user said: {_beginning(said.user_text)}"]
    return (
        [*lines, f"{TURN_LINE}{said.seq}) The assistant said: {_beginning(said.reply)}"]
        if said.reply
        else lines
    )


def _beginning(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= EXTRACT_CHARS else text[:EXTRACT_CHARS].rsplit(" ", 1)[0] + " …"
