"""Rolling the older part of a conversation into its one summary, so that the prompt stays bounded."""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from memoryapp.conf import get_conf
from memoryapp.lifecycle import prompts
from memoryapp.llm.base import Cancellation, Completed, ModelMessage, ModelRequest, Text, Usage
from memoryapp.llm.errors import ModelError
from memoryapp.llm.registry import get_chat_model
from memoryapp.llm.tokens import estimate_text
from memoryapp.policies import compaction as policy
from memoryapp.transcript import operations as transcript
from memoryapp.transcript import queries
from memoryapp.transcript.models import Conversation, Summary
from memoryapp.transcript.queries import SpokenTurn

logger = logging.getLogger(__name__)

SUMMARY_MAX_TOKENS = 2_048
EXTRACT_CHARS = 240  # of each message, in the extractive fallback
# What must not be invented: numbers, identifiers with digits, addresses.
_VERBATIM = re.compile(r"https?://\S+|\b[\w.-]*\d[\w.-]*\b")


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
    last_seq = policy.last_turn_to_cover([said.seq for said in spoken], keep_turns=conf.compaction_keep_turns)
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


def extract(current: Summary | None, covered: Sequence[SpokenTurn], *, max_tokens: int) -> str:
    """A summary without a model: the first goal, then the beginning of every message, newest kept when it gets long."""
    lines = [line for said in covered for line in _extracted(said)]
    head = (
        current.text.strip()
        if current
        else f"## Goal\n- {_beginning(covered[0].user_text)}\n## What was said"
    )
    while lines and estimate_text("\n".join([head, *lines])) > max_tokens:
        lines.pop(0)
    return "\n".join([head, *lines])


def is_faithful(summary: str, sources: str, *, tokens_before: int) -> bool:
    """Whether a model's summary may be used: it has sections, is shorter, and invents no number, id or address."""
    if not summary.strip() or "## " not in summary or estimate_text(summary) >= tokens_before:
        return False
    return all(found in sources for found in _VERBATIM.findall(summary))


def _draft(current: Summary | None, covered: Sequence[SpokenTurn]) -> Draft:
    sources = "\n\n".join([current.text if current else "", *(f"{s.user_text}\n{s.reply}" for s in covered)])
    tokens_before = estimate_text(sources)
    model = get_chat_model()
    if model.name != "offline":
        for _ in range(2):  # once more when the check fails, then without a model
            try:
                text, usage = _asked(current, covered)
            except ModelError as error:
                logger.warning("Compaction falls back to extraction: %s", error.code)
                break
            if is_faithful(text, sources, tokens_before=tokens_before):
                return Draft(text, Summary.Method.MODEL, get_conf().cheap_model, usage)
    text = extract(current, covered, max_tokens=min(SUMMARY_MAX_TOKENS, tokens_before // 2))
    return Draft(text, Summary.Method.EXTRACTIVE, "", Usage())


def _asked(current: Summary | None, covered: Sequence[SpokenTurn]) -> tuple[str, Usage]:
    parts = [f"<summary-so-far>\n{current.text}\n</summary-so-far>"] if current else []
    parts += [f'<turn n="{s.seq}">\nUser: {s.user_text}\n\nAssistant: {s.reply}\n</turn>' for s in covered]
    request = ModelRequest(
        model=get_conf().cheap_model,
        system=prompts.COMPACTION,
        messages=(ModelMessage("user", (Text("\n\n".join(parts)),)),),
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


def _extracted(said: SpokenTurn) -> list[str]:
    lines = [f"- (turn {said.seq}) The user said: {_beginning(said.user_text)}"]
    return (
        [*lines, f"- (turn {said.seq}) The assistant said: {_beginning(said.reply)}"] if said.reply else lines
    )


def _beginning(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= EXTRACT_CHARS else text[:EXTRACT_CHARS].rsplit(" ", 1)[0] + " …"
