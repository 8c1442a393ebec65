"""Rolling the older part of a conversation into its one summary, so that the prompt stays bounded.

Safe beside new turns and beside another compaction: it covers finished turns of the shown branch only, and each version
is added by a compare-and-swap, so that of two passes at once one wins and every turn is covered exactly once.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.utils import timezone

from memoryapp.lifecycle import daily_budget, prompts
from memoryapp.llm.base import Cancellation, Usage
from memoryapp.llm.errors import ModelError
from memoryapp.llm.jobs import whole_reply
from memoryapp.llm.registry import chat_limits, get_chat_model
from memoryapp.llm.tokens import estimate_text
from memoryapp.policies import compaction as policy
from memoryapp.policies import summaries as form
from memoryapp.policies.budget import share_out
from memoryapp.policies.fencing import without_tags
from memoryapp.policies.secrets import find_secret
from memoryapp.policies.summaries import Said
from memoryapp.transcript import queries, tree
from memoryapp.transcript import summaries as transcript
from memoryapp.transcript.models import Conversation, PinnedLine, Summary, Turn
from memoryapp.transcript.queries import SpokenTurn
from memoryapp.transcript.summaries import NewLine, NewSummary
from memoryapp.tuning import queries as tuning

logger = logging.getLogger(__name__)

TRIES = 2  # of the model; then the fallback
# Versions in one pass, when a reply waits for it and when nobody does: what is left then waits for the next one.
WAITED_ROUNDS, MAX_ROUNDS = 8, 100
OUR_TAGS = ("turn", "summary-so-far", "kept-verbatim-elsewhere")
BREAKER_OPEN = "breaker_open"
# No word of the model was waited for: it says nothing about how the next one would end.
NOT_ASKED = (BREAKER_OPEN, daily_budget.DailyBudgetSpentError.code)
FRAME_TOKENS = 60  # around a summary and the lines above it
LINE_TOKENS = 20  # before each line: its turn and what it is
# Of what a prompt may hold: folding less costs a call, and the provider's cache, for next to nothing.
WORTHWHILE_SHARE = 20


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a pass did: how many versions it added, and what the model spent on them."""

    versions: int = 0
    usage: Usage = Usage()  # noqa: RUF009  # frozen


@dataclass(frozen=True, slots=True)
class _Draft:
    text: str
    method: Summary.Method
    model: str
    fallback_reason: str
    usage: Usage


def is_due_after(turn: Turn) -> bool:
    """Whether the next prompt would reach the trigger share of what a prompt may hold, and no summary came since."""
    conf = tuning.conf()
    share = conf.for_model(conf.chat_model).compaction_trigger_share
    used = turn.next_prompt_tokens
    if not policy.is_due(used_tokens=used, input_tokens=_input_tokens(), share=share):
        return False
    current = queries.current_summary(turn.user_id, turn.conversation_id)
    return not (current and turn.finished_at and current.created_at > turn.finished_at)


def compact_after(turn: Turn) -> Compacted:
    """Compact in the background where that is due."""
    if not is_due_after(turn):
        return Compacted()
    return compact(
        turn.user_id,
        turn.conversation_id,
        used_tokens=turn.next_prompt_tokens,
        trigger=Summary.Trigger.AFTER_TURN,
    )


def compact(
    user_id: UUID,
    conversation_id: UUID,
    *,
    trigger: Summary.Trigger,
    used_tokens: int | None = None,
    shrunk_to: float = 1.0,
    cancellation: Cancellation | None = None,
) -> Compacted:
    """Fold the oldest turns into the summary until the prompt takes its target share, or nothing is left to fold.

    ``used_tokens``: what the prompt takes now. Without it as much is folded as may be: all but the newest turns.
    ``shrunk_to``: the share of the window that there is, when the provider has said that it is smaller than it seems.
    ``cancellation``: whoever waits for it does so no longer; what the model was asked for is then extracted.
    """
    conversation = queries.get_conversation(user_id, conversation_id)
    keep_tokens = _keep_tokens(conversation, used_tokens, shrunk_to=shrunk_to)
    versions, usage = 0, Usage()
    is_waited_for = trigger in (Summary.Trigger.BEFORE_TURN, Summary.Trigger.TOO_LONG)
    for number in range(WAITED_ROUNDS if is_waited_for else MAX_ROUNDS):
        is_begun_by_itself = trigger == Summary.Trigger.AFTER_TURN and number == 0
        added = _roll_up(
            conversation,
            keep_tokens=keep_tokens,
            trigger=trigger,
            cancellation=cancellation or Cancellation(),
            least_tokens=_input_tokens() // WORTHWHILE_SHARE if is_begun_by_itself else 0,
        )
        if added is None:
            break
        versions, usage = versions + 1, usage + added
    return Compacted(versions, usage)


def summarise_again(user_id: UUID, conversation_id: UUID) -> Compacted:
    """A new version in place of the one in use, of the same turns, made anew from the version before."""
    conversation = queries.get_conversation(user_id, conversation_id)
    current = queries.current_summary(user_id, conversation_id)
    if current is None:
        return Compacted()
    base = queries.summary_base(current)
    after_seq = base.last_seq if base else 0
    covered = queries.spoken_turns(
        user_id, conversation_id, after_seq=after_seq, before_seq=current.last_seq + 1
    )
    if not covered:
        return Compacted()
    text, drafts = base.text if base else "", []
    for chunk in _chunks(covered):
        drafts.append(_draft(conversation, text, chunk, cancellation=Cancellation(), is_asked_for=True))
        text = drafts[-1].text
    usage = sum((draft.usage for draft in drafts), Usage())
    new = NewSummary(
        last_turn_id=current.last_turn_id,
        last_seq=current.last_seq,
        text=text,
        method=drafts[-1].method,
        model=drafts[-1].model,
        fallback_reason=drafts[-1].fallback_reason,
        trigger=Summary.Trigger.MANUAL,
        tokens_before=_tokens(covered) + (base.tokens_after if base else 0),
        usage=usage,
        taint=transcript.taint_of(base, covered),
    )
    added = transcript.add_summary(conversation, new, replaces=current)
    return Compacted(int(added is not None), usage)


def _roll_up(
    conversation: Conversation,
    *,
    keep_tokens: int,
    least_tokens: int,
    trigger: Summary.Trigger,
    cancellation: Cancellation,
) -> Usage | None:
    """Add one version; what it cost, or None when less than ``least_tokens`` could be folded or nothing be gained."""
    user_id = conversation.user_id
    current = queries.current_summary(user_id, conversation.id)
    after_seq = current.last_seq if current else 0
    sizes = queries.turn_sizes(user_id, conversation.id, after_seq=after_seq)
    last_seq = policy.last_to_cover(
        sizes,
        keep_tokens=keep_tokens,
        keep_turns=tuning.conf().compaction_keep_turns,
        chunk_tokens=_chunk_tokens(),
    )
    foldable = sum(size.tokens for size in sizes if last_seq is not None and size.seq <= last_seq)
    if last_seq is None or foldable < least_tokens:
        return None
    last = tree.place(user_id, conversation.id, last_seq)
    covered = queries.spoken_turns(user_id, conversation.id, after_seq=after_seq, before_seq=last_seq + 1)
    # A deleted turn says nothing, though a summary may end with its place.
    if last is None or not covered or (last.deleted_at is None and covered[-1].turn_id != last.id):
        return None  # the branch was changed between the reads
    draft = _draft(conversation, current.text if current else "", covered, cancellation=cancellation)
    lines = _lines_to_keep(conversation, covered)
    tokens_before = _tokens(covered) + (current.tokens_after if current else 0)
    if _tokens_in_prompt(draft.text, lines, is_first=current is None) >= tokens_before:
        return None
    new = NewSummary(
        last_turn_id=last.id,
        last_seq=last_seq,
        text=draft.text,
        method=draft.method,
        model=draft.model,
        fallback_reason=draft.fallback_reason,
        trigger=trigger,
        tokens_before=tokens_before,
        usage=draft.usage,
        taint=transcript.taint_of(current, covered),
    )
    added = transcript.add_summary(conversation, new, replaces=current, lines=lines)
    return draft.usage if added else None


def _draft(
    conversation: Conversation,
    previous: str,
    covered: Sequence[SpokenTurn],
    *,
    cancellation: Cancellation,
    is_asked_for: bool = False,
) -> _Draft:
    """A checked summary by the model, tried twice; else one made without it, with the reason why."""
    conf = tuning.conf()
    told = _told(conversation, previous, covered)
    tokens_before = _tokens(covered) + estimate_text(previous)
    reason, spent = "", Usage()
    may_ask = conf.model_summaries and get_chat_model().name != "offline"
    if may_ask and not is_asked_for and _is_breaker_open(conversation):
        reason = BREAKER_OPEN
    elif may_ask and daily_budget.is_spent(conversation.user_id):
        reason = daily_budget.DailyBudgetSpentError.code
    elif may_ask:
        for _ in range(TRIES):
            try:
                answer, usage = _asked(told, cancellation)
            except ModelError as error:
                reason = error.code
                break
            spent += usage
            text = form.prepared(answer)
            reason = form.fault(
                text, told, tokens_before=tokens_before, max_tokens=transcript.summary_limit_tokens()
            )
            if not reason:
                return _Draft(text, Summary.Method.MODEL, conf.cheap_model, "", spent)
        logger.warning("Conversation %s is summarised without the model: %s", conversation.id, reason)
    said = [Said(turn.seq, turn.user_text, turn.reply) for turn in covered]
    text = form.extract(
        previous, said, max_tokens=min(transcript.summary_limit_tokens(), max(tokens_before // 2, 1))
    )
    return _Draft(text, Summary.Method.EXTRACTIVE, "", reason, spent)


def _asked(told: str, cancellation: Cancellation) -> tuple[str, Usage]:
    """The model's answer; empty unless it ended by itself: a cut one, or a call of a tool, is none."""
    reply = whole_reply(
        prompts.COMPACTION, told, max_tokens=transcript.summary_limit_tokens(), cancellation=cancellation
    )
    return (reply.text if reply.stop_reason == "end_turn" else ""), reply.usage


def _told(conversation: Conversation, previous: str, covered: Sequence[SpokenTurn]) -> str:
    kept = queries.pinned_lines(conversation.user_id, conversation.id)
    lines = "\n".join(f"- {line.text}" for line in kept)
    parts = [f"<kept-verbatim-elsewhere>\n{lines}\n</kept-verbatim-elsewhere>"] if lines else []
    parts += [f"<summary-so-far>\n{previous}\n</summary-so-far>"] if previous else []
    parts += [
        f'<turn n="{said.seq}">\nUser: {_fenced(said.user_text)}\n\nAssistant: {_fenced(said.reply)}\n</turn>'
        for said in covered
    ]
    return "\n\n".join([*parts, prompts.COMPACT_NOW])


def _tokens_in_prompt(text: str, lines: Sequence[NewLine], *, is_first: bool) -> int:
    """What a version and its new lines take there; both stand in blocks of their own once there are any."""
    framed = (FRAME_TOKENS if is_first else 0) + len(lines) * LINE_TOKENS
    return estimate_text(text) + sum(estimate_text(line.text) for line in lines) + framed


def _clipped(text: str) -> str:
    """One message must not outgrow the window of the model that summarises it."""
    tokens, limit = estimate_text(text), _chunk_tokens() // 2
    return text if tokens <= limit else prompts.clipped(text, max_chars=len(text) * limit // tokens)


def _fenced(text: str) -> str:
    """What somebody said, unable to pass for another part of what the model is told."""
    return without_tags(_clipped(text), OUR_TAGS)


def _lines_to_keep(conversation: Conversation, covered: Sequence[SpokenTurn]) -> list[NewLine]:
    """The first goal and the rules that the user stated, word for word, as far as there is room: no secrets."""
    kept = list(queries.lines_of_all_branches(conversation.user_id, conversation.id))
    known = {line.text for line in kept}
    room = transcript.pinned_limit_tokens() - sum(estimate_text(line.text) for line in kept)
    lines: list[NewLine] = []
    for line in _candidates(covered):
        tokens = estimate_text(line.text)
        if line.text not in known and tokens <= room and not find_secret(line.text):
            lines.append(line)
            known.add(line.text)
            room -= tokens
    return lines


def _candidates(covered: Sequence[SpokenTurn]) -> Iterator[NewLine]:
    if covered[0].seq == 1:
        yield NewLine(covered[0].turn_id, PinnedLine.Kind.GOAL, form.goal(covered[0].user_text))
    for said in covered:
        for rule in form.constraints(said.user_text):
            yield NewLine(said.turn_id, PinnedLine.Kind.CONSTRAINT, rule)


def _is_breaker_open(conversation: Conversation) -> bool:
    versions = queries.summaries(conversation.user_id, conversation.id).exclude(method=Summary.Method.EDITED)
    tried = versions.exclude(fallback_reason__in=NOT_ASKED).values_list("fallback_reason", "created_at")
    return policy.is_breaker_open(
        list(tried[: policy.FALLBACKS_IN_A_ROW]),
        now=timezone.now(),
        minutes=tuning.conf().compaction_breaker_minutes,
    )


def _keep_tokens(conversation: Conversation, used_tokens: int | None, *, shrunk_to: float) -> int:
    """How much of the newest turns may stay, so that with the rest of the prompt they take the target share."""
    conf = tuning.conf()
    # Below the trigger in any case, or one pass would call for the next.
    share = min(conf.compaction_target_share, conf.for_model(conf.chat_model).compaction_trigger_share / 2)
    target = int(share * shrunk_to * _input_tokens())
    if used_tokens is None:
        return target
    current = queries.current_summary(conversation.user_id, conversation.id)
    after_seq = current.last_seq if current else 0
    sizes = queries.turn_sizes(conversation.user_id, conversation.id, after_seq=after_seq)
    others = used_tokens - sum(size.tokens for size in sizes) - (current.tokens_after if current else 0)
    return max(target - max(others, 0) - transcript.summary_limit_tokens(), 0)


def _input_tokens() -> int:
    """What a prompt of the chat may hold at most."""
    return share_out(chat_limits()).input_tokens


def _chunk_tokens() -> int:
    """What one call of the summarising model is given at most of the turns.

    Half its window, so that estimates may be off; less where the summary before, the one it writes, the kept lines and
    the instructions need more than the other half.
    """
    window_tokens = get_chat_model().limits(tuning.conf().cheap_model).window_tokens
    beside = 2 * transcript.summary_limit_tokens() + transcript.pinned_limit_tokens()
    rest = window_tokens - beside - estimate_text(prompts.COMPACTION)
    return max(min(window_tokens // 2, rest), window_tokens // 8)


def _chunks(covered: Sequence[SpokenTurn]) -> Iterator[list[SpokenTurn]]:
    chunk: list[SpokenTurn] = []
    size = 0
    for said in covered:
        tokens = _tokens([said])
        if chunk and size + tokens > _chunk_tokens():
            yield chunk
            chunk, size = [], 0
        chunk.append(said)
        size += tokens
    yield chunk


def _tokens(covered: Sequence[SpokenTurn]) -> int:
    return sum(estimate_text(said.user_text) + estimate_text(said.reply) for said in covered)
