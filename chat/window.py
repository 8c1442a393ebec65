"""The prompt of a turn: opening it, and making room in it."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from django.utils import timezone
from django.utils.translation import gettext_noop

from chat.progress import Progress
from memoryapp.context import assembly, exclusions
from memoryapp.context.assembly import ContextWindow
from memoryapp.context.recall import NOTHING, UNAVAILABLE, Recall, recall
from memoryapp.lifecycle import compaction
from memoryapp.lifecycle import operations as lifecycle
from memoryapp.llm import messages_json
from memoryapp.llm.base import ModelMessage, Text, ToolDefinition
from memoryapp.llm.errors import ContextTooLong
from memoryapp.llm.registry import chat_limits, get_chat_model
from memoryapp.llm.tokens import estimate_request
from memoryapp.longterm import experiences
from memoryapp.policies import compaction as policy
from memoryapp.policies.trust import Origin, weakest
from memoryapp.scratchpad import queries as runs
from memoryapp.scratchpad.models import Checkpoint
from memoryapp.transcript import operations as transcript
from memoryapp.transcript import queries
from memoryapp.transcript.models import PinnedLine, Summary, Turn
from memoryapp.tuning import queries as tuning

logger = logging.getLogger(__name__)

# Of a window, and of a prompt, that proved too large this much is filled at most, so that the second try fits.
SHRUNK_TO = 0.7


def recall_for(turn: Turn, text: str) -> Recall:
    """What memory has to say to the message, in a conversation that uses memory, of a person who lets it be used.

    When recall fails the turn goes on without it, and says so: a reply without memory is better than none.
    """
    if not (turn.conversation.use_memory and turn.user.use_memory):
        return NOTHING
    try:
        recalled = recall(
            turn.user_id,
            text,
            now=timezone.now(),
            max_tokens=assembly.recall_tokens(chat_limits()),
            standing_max_tokens=assembly.standing_tokens(chat_limits()),
            in_prompt=queries.in_prompt(turn.user_id, turn.conversation_id),
            without=exclusions.left_out(turn.user_id, turn.id),
        )
    except Exception:  # an edge: whatever is wrong with memory is not wrong with the conversation
        logger.exception("Recall failed for turn %s", turn.id)
        return UNAVAILABLE
    experiences.note_given(turn.user_id, [item.what.id for item in recalled.given("experience")])
    return recalled


def open_window(
    turn: Turn, run: Sequence[ModelMessage], *, tools: Sequence[ToolDefinition], shrunk_to: float = 1.0
) -> ContextWindow:
    """The prompt of the turn.

    The history is chosen for the message alone, so that a run that goes on stands behind what it began with.
    """
    conversation, model = turn.conversation, tuning.conf().chat_model
    opened = assembly.open_window(
        conversation,
        before_seq=turn.seq,
        run=run[:1],
        tools=tuple(tools),
        model=model,
        limits=chat_limits(),
        shrunk_to=shrunk_to,
    )
    return opened.with_messages(*run[1:])


def taint_of(window: ContextWindow) -> Origin:
    """The weakest origin in what stands before the run: it holds for as long as that stands there, in any form.

    A page that was read three turns ago is still in the reply to it, or in the summary; a "yes" typed today cannot
    make what it asks for the user's own (delayed tool invocation, MITRE ATLAS AML.T0080). Of the kept lines, those
    that code chose are the user's words, those that a person pinned may be anybody's.
    """
    told = [said.taint for said in window.spoken]
    told += [Origin(line.turn.taint) for line in window.pinned if line.kind == PinnedLine.Kind.PIN]
    return weakest([*told, Origin(window.summary.taint)] if window.summary else told)


def make_room(progress: Progress) -> None:
    """Compact before the call when the prompt is nearly full: the one case in which a turn waits for it.

    Near the threshold the provider's count decides, elsewhere the estimate. A run that goes on had room made for it
    when it began.
    """
    conf, window = tuning.conf(), progress.window
    if len(window.run) > 1:
        return
    share = conf.for_model(conf.chat_model).compaction_wait_share
    used, limit = window.used_tokens, window.budget.input_tokens
    if not window.cut_turns and policy.is_near(used_tokens=used, input_tokens=limit, share=share):
        used = progress.counted_tokens = get_chat_model().count_tokens(window.request())
    if policy.is_due(used_tokens=used, input_tokens=limit, share=share):
        _compact(progress, used_tokens=used, trigger=Summary.Trigger.BEFORE_TURN)
    if progress.window.is_too_long:
        raise transcript.MessageTooLongError(
            "This message does not fit the model's window beside what must stay. Send it in parts."
        )


def _compact(
    progress: Progress,
    *,
    used_tokens: int,
    trigger: Summary.Trigger,
    shrunk_to: float = 1.0,
) -> None:
    """Fold older turns into the summary now, and open the window anew."""
    turn = progress.turn
    progress.publish({"type": "activity", "text": gettext_noop("Summarising earlier messages")})
    lifecycle.compacted(
        turn.conversation,
        lambda: compaction.compact(
            turn.user_id,
            turn.conversation_id,
            trigger=trigger,
            used_tokens=used_tokens,
            shrunk_to=shrunk_to,
            cancellation=progress.cancellation,
        ),
    )
    messages = messages_of(runs.checkpoints(progress.run))
    progress.window = open_window(turn, messages, tools=progress.tools.definitions, shrunk_to=shrunk_to)
    progress.taint = weakest([progress.taint, taint_of(progress.window)])  # turns that had been cut are back
    progress.counted_tokens = None


def messages_of(recorded: Sequence[Checkpoint]) -> list[ModelMessage]:
    messages: list[ModelMessage] = []
    for entry in recorded:
        for message in entry.delta:
            messages = _followed_by(messages, messages_json.from_json(message))
    return messages


def extended(window: ContextWindow, message: ModelMessage) -> ContextWindow:
    return replace(window, run=tuple(_followed_by(window.run, message)))


def _followed_by(messages: Sequence[ModelMessage], message: ModelMessage) -> list[ModelMessage]:
    """What is added for the model's next call is one message with what it answers: some models want strict turns."""
    *before, last = messages or [message]
    if messages and last.role == message.role == "user":
        return [*before, replace(last, blocks=(*last.blocks, *message.blocks))]
    return [*messages, message]


def said_in(messages: Sequence[ModelMessage]) -> str:
    """What the assistant said to the person between its tools."""
    texts = (
        "".join(b.text for b in m.blocks if isinstance(b, Text)) for m in messages if m.role == "assistant"
    )
    return "\n\n".join(text.strip() for text in texts if text.strip())


def shrink(progress: Progress, *, refused: ContextTooLong) -> None:
    """Make the prompt as short as the provider wants it, once in a turn; raises ``refused`` when that was done."""
    if progress.has_shrunk:
        raise refused
    progress.has_shrunk = True
    told = refused.details.get("prompt_tokens")
    _compact(
        progress,
        used_tokens=told if isinstance(told, int) else progress.window.budget.window_tokens,
        trigger=Summary.Trigger.TOO_LONG,
        shrunk_to=_shrunk_to(progress.window, refused),
    )


def _shrunk_to(window: ContextWindow, refused: ContextTooLong) -> float:
    """The share of the window that there is, by what the provider told of it, else by the prompt that it refused."""
    budget = window.budget
    estimated = window.ratio * estimate_request(window.request())
    told, limit = refused.details.get("prompt_tokens"), refused.details.get("limit_tokens")
    if isinstance(told, int) and isinstance(limit, int):
        room = limit * min(estimated / max(told, 1), 1.0)  # in tokens as they are estimated here
    else:
        room = SHRUNK_TO * (estimated + budget.reserve_output_tokens)
    return min(room / budget.window_tokens, SHRUNK_TO)
