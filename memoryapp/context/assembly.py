"""What the model sees, in order: system and tools, pinned lines and summary, turns since, this message, this run."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from django.utils.translation import gettext

from memoryapp.context import queries, sections, uses
from memoryapp.context.models import ContextSnapshot
from memoryapp.context.recall import Recall, prompt_items, trace
from memoryapp.context.run_window import fitted, holds_thinking, retold
from memoryapp.llm import messages_json
from memoryapp.llm.base import ModelLimits, ModelMessage, ModelRequest, Text, ToolDefinition, ToolResult
from memoryapp.llm.registry import chat_limits
from memoryapp.llm.tokens import (
    MESSAGE_TOKENS,
    estimate_message,
    estimate_request,
    estimate_text,
    estimate_tools,
)
from memoryapp.policies.budget import Budget, newest_that_fit, share_out
from memoryapp.transcript import queries as transcript
from memoryapp.transcript.models import Conversation, PinnedLine, Summary, Turn
from memoryapp.transcript.operations import MessageTooLongError, grouped
from memoryapp.transcript.queries import SpokenTurn
from memoryapp.tuning import queries as tuning

MESSAGE_MARGIN_TOKENS = 200  # fences and roles around a user message
TURN_MARGIN_TOKENS = 20  # roles of a turn, and the remark under a reply that was cut off
SMALL_MESSAGE_TOKENS = (
    500  # not worth asking for before it is posted: the worker looks at every prompt anyway
)
# The scratchpad, and what is recalled, take a tenth each of a small window, what is always used takes half as much; of
# a large one all take what is configured.
SMALL_SHARE = 10
# One link of a prompt's chain of digests: digest up to and including this part, and the part's estimated tokens.
Link = tuple[str, int]


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """A prompt in the making; ``run`` grows by whole messages, everything before it stays as it is.

    ``budget`` is in the provider's tokens; ``ratio`` is what a local estimate is multiplied by to get them.
    ``spoken``: the turns that stand verbatim in ``history``. ``cut_turns``: older ones that found no room.
    """

    model: str
    tools: tuple[ToolDefinition, ...]
    budget: Budget
    ratio: float
    pinned: tuple[PinnedLine, ...]
    summary: Summary | None
    spoken: tuple[SpokenTurn, ...]
    history: tuple[ModelMessage, ...]
    run: tuple[ModelMessage, ...]
    cut_turns: int = 0
    cut_tokens: int = 0

    def with_messages(self, *messages: ModelMessage) -> "ContextWindow":
        return replace(self, run=(*self.run, *messages))

    def with_fitting_run(self, *, previous: Sequence[Link]) -> "ContextWindow":
        """The run as it can be sent after a call whose chain was ``previous``.

        While prompt and output fit the window it is append-only and the provider's cache holds. Thinking is bound to
        the prompt that it answered: when that is not how this one begins (the run was resumed or the window opened
        anew, and something before it has changed), the run is retold without.
        """
        room = self._estimated(self.budget.history_tokens) - sum(map(estimate_message, self.history))
        settle = retold if holds_thinking(self.run) and not self._goes_on_from(previous) else fitted
        return replace(self, run=settle(self.run, allowance_tokens=max(room, 0), measure=estimate_message))

    def _goes_on_from(self, previous: Sequence[Link]) -> bool:
        begins = [digest for digest, _ in self.chain()[: len(previous)]]
        return begins == [digest for digest, _ in previous]

    def request(self) -> ModelRequest:
        """The next call, with cache marks on the last finished turn and on the newest message."""
        return ModelRequest(
            model=self.model,
            system=sections.SYSTEM,
            messages=(*_marked(self.history), *_marked(self.run)),
            tools=self.tools,
            max_tokens=self.budget.reserve_output_tokens,
        )

    @property
    def used_tokens(self) -> int:
        """What the prompt takes, with the turns that were cut from it: what compaction is decided by."""
        said = sum(map(estimate_message, (*self.history, *self.run))) + self.cut_tokens
        return self.budget.fixed_tokens + self._reported(said)

    @property
    def is_too_long(self) -> bool:
        """Whether it would not fit although every older turn was cut."""
        said = self._reported(sum(map(estimate_message, (*self.history, *self.run))))
        return self.budget.fixed_tokens + said > self.budget.input_tokens

    def next_prompt_tokens(self, text: str, reply: str, *, reported_tokens: int) -> int:
        """What the conversation's next prompt takes before its own message: this one's reported usage decides.

        Of this turn ``text`` and ``reply`` stay; what was recalled and what the run did leave.
        """
        estimated = estimate_request(self.request())
        ratio = min(max(reported_tokens / estimated, 0.5), 2.0) if reported_tokens else self.ratio
        fixed = estimate_text(sections.SYSTEM) + estimate_tools(self.tools)
        history = sum(map(estimate_message, self.history)) if self.history else self._front_tokens
        said = estimate_text(text) + estimate_text(reply) + 2 * MESSAGE_TOKENS
        return round(ratio * (fixed + history + said + self.cut_tokens))

    def section_tokens(self) -> list[dict[str, object]]:
        """``[{name, tokens, cached}]`` in prompt order; estimates in the provider's tokens."""
        pinned, summary = self._pinned_tokens, self._summary_tokens
        history = sum(map(estimate_message, self.history))
        message = sum(map(estimate_message, self.run[:1]))
        # Both stand in the first message of all, which is this turn's own when no turn came between.
        if self.history:
            history -= pinned + summary
        else:
            message -= pinned + summary
        recalled = sum(estimate_text(block.text) for block in _recalled_blocks(self.run))
        run = sum(map(estimate_message, self.run[1:]))
        return [
            {"name": "system", "tokens": self.budget.fixed_tokens, "cached": True},
            {"name": "pinned", "tokens": self._reported(pinned), "cached": True},
            {"name": "summary", "tokens": self._reported(summary), "cached": True},
            {"name": "transcript", "tokens": self._reported(history), "cached": True},
            {"name": "recalled", "tokens": self._reported(recalled), "cached": False},
            {"name": "message", "tokens": self._reported(message - recalled), "cached": False},
            {"name": "run", "tokens": self._reported(run), "cached": False},
        ]

    def chain(self) -> list[Link]:
        """Digests of the prompt's beginnings: system and tools, then up to each message; for comparing two prompts."""
        tools = [[tool.name, tool.description, dict(tool.input_schema)] for tool in self.tools]
        parts = [
            (
                json.dumps([sections.SYSTEM, tools]),
                estimate_text(sections.SYSTEM) + estimate_tools(self.tools),
            )
        ]
        parts += [
            (json.dumps(messages_json.to_json(message)), estimate_message(message))
            for message in (*self.history, *self.run)
        ]
        digest, links = hashlib.sha256(), []
        for text, tokens in parts:
            digest.update(text.encode())
            links.append((digest.hexdigest()[:12], self._reported(tokens)))
        return links

    @property
    def _pinned_tokens(self) -> int:
        return estimate_text(sections.pinned_lines(self.pinned)) if self.pinned else 0

    @property
    def _summary_tokens(self) -> int:
        return estimate_text(self.summary.text) if self.summary else 0

    @property
    def _front_tokens(self) -> int:
        return self._pinned_tokens + self._summary_tokens

    def _reported(self, estimated: int) -> int:
        return round(self.ratio * estimated)

    def _estimated(self, reported: int) -> int:
        return int(reported / self.ratio)


def opening_message(text: str, recall: Recall) -> ModelMessage:
    """This turn's user message: recalled memories as fenced data, then the user's words."""
    items = prompt_items(recall)
    blocks = (Text(sections.recalled_memories(items)),) if items else ()
    return ModelMessage("user", (*blocks, Text(text)))


def open_window(
    conversation: Conversation,
    *,
    before_seq: int,
    run: Sequence[ModelMessage],
    tools: tuple[ToolDefinition, ...],
    model: str,
    limits: ModelLimits,
    shrunk_to: float = 1.0,
) -> ContextWindow:
    """The prompt of the turn ``before_seq``: pinned lines, summary and whole turns since it, then the run so far.

    Where the room does not do, the oldest turns are cut, never the newest message. ``shrunk_to``: the share of the
    window to fill, when the provider has said that it is smaller than it seems.
    """
    user_id = conversation.user_id
    ratio = queries.learned_ratio(model)
    budget = _budget(limits, tools=tools, ratio=ratio, shrunk_to=shrunk_to)
    summary = transcript.current_summary(user_id, conversation.id)
    pinned = tuple(transcript.pinned_lines(user_id, conversation.id))
    front = sections.front(summary, pinned)
    sizes = transcript.turn_sizes(
        user_id, conversation.id, after_seq=summary.last_seq if summary else 0, before_seq=before_seq
    )
    taken = sum(map(estimate_message, run)) + estimate_text(front) + MESSAGE_MARGIN_TOKENS
    tokens = [size.tokens + TURN_MARGIN_TOKENS for size in sizes]
    kept = newest_that_fit(tokens, allowance_tokens=int(budget.history_tokens / ratio) - taken)
    spoken = transcript.spoken_turns(
        user_id, conversation.id, after_seq=before_seq - 1 - kept, before_seq=before_seq
    )
    history = _history(front, spoken)
    # What stands before the first turn shares the user message that opens the run when there is no turn between.
    if history and history[-1].role == "user" and run:
        run = (ModelMessage("user", (*history[-1].blocks, *run[0].blocks)), *run[1:])
        history = history[:-1]
    return ContextWindow(
        model=model,
        tools=tools,
        budget=budget,
        ratio=ratio,
        pinned=pinned,
        summary=summary,
        spoken=tuple(spoken),
        history=tuple(history),
        run=tuple(run),
        cut_turns=len(sizes) - kept,
        cut_tokens=sum(tokens[: len(tokens) - kept]),
    )


def require_fitting(
    user_id: UUID, conversation_id: UUID | None, text: str, *, tools: tuple[ToolDefinition, ...]
) -> None:
    """Refuse a message that could not be sent even alone. Raises ``MessageTooLongError`` with its size and the limit.

    ``conversation_id``: None for a message that opens one.
    """
    tokens = estimate_text(text)
    if tokens <= SMALL_MESSAGE_TOKENS:
        return
    conf = tuning.conf()
    ratio = queries.learned_ratio(conf.chat_model)
    limits = chat_limits()
    budget = _budget(limits, tools=tools, ratio=ratio, shrunk_to=1.0)
    front = 0
    if conversation_id:
        summary = transcript.current_summary(user_id, conversation_id)
        pinned = tuple(transcript.pinned_lines(user_id, conversation_id))
        front = estimate_text(sections.front(summary, pinned))
    memories = recall_tokens(limits) + standing_tokens(limits)
    limit = int(budget.history_tokens / ratio) - front - memories - MESSAGE_MARGIN_TOKENS
    if tokens > limit:
        n, most = round(tokens * ratio), round(max(limit, 0) * ratio)
        message = gettext(
            "The message is about {n} tokens long; this model can take {most} at once. Shorten it or send it in parts."
        )
        raise MessageTooLongError(
            message.format(n=grouped(n), most=grouped(most)), tokens=n, limit_tokens=most
        )


def recall_tokens(limits: ModelLimits) -> int:
    """What recalled memories may take of this window."""
    return min(tuning.conf().recall_max_tokens, limits.window_tokens // SMALL_SHARE)


def standing_tokens(limits: ModelLimits) -> int:
    """What memories that are always used may take of this window."""
    return min(tuning.conf().standing_max_tokens, limits.window_tokens // (2 * SMALL_SHARE))


def record_snapshot(
    window: ContextWindow,
    *,
    turn: Turn,
    attempt: int,
    call: int,
    recall: Recall,
    previous: Sequence[Link],
    counted_tokens: int | None = None,
) -> list[Link]:
    """Keep the composition of a model call for the inspector; a repeated call keeps the first record.

    ``previous``: the chain of the conversation's previous call. Returns this one's.
    """
    chain = window.chain()
    snapshot = ContextSnapshot(
        user_id=turn.user_id,
        turn=turn,
        attempt=attempt,
        call=call,
        model=window.model,
        window_tokens=window.budget.window_tokens,
        reserve_output_tokens=window.budget.reserve_output_tokens,
        sections=window.section_tokens(),
        recalled=trace(recall),
        estimated_input_tokens=estimate_request(window.request()),
        counted_input_tokens=counted_tokens,
        prefix_tokens=identical_prefix(previous, chain),
        chain=chain,
        cut_turns=window.cut_turns,
    )
    # One statement on the way to the model, where every one is waited for; with the first call one more.
    ContextSnapshot.objects.bulk_create([snapshot], ignore_conflicts=True)
    if call == 1:
        uses.note_recalled(turn, recall)
    return chain


def identical_prefix(previous: Sequence[Link], chain: Sequence[Link]) -> int:
    """How many tokens the second prompt begins with that the first began with too."""
    same = 0
    for before, now in zip(previous, chain, strict=False):
        if before[0] != now[0]:
            break
        same += now[1]
    return same


def note_reported_tokens(turn_id: UUID, *, attempt: int, call: int, input_tokens: int) -> None:
    ContextSnapshot.objects.filter(turn_id=turn_id, attempt=attempt, call=call).update(
        reported_input_tokens=input_tokens
    )


def _budget(
    limits: ModelLimits, *, tools: tuple[ToolDefinition, ...], ratio: float, shrunk_to: float
) -> Budget:
    conf = tuning.conf()
    fixed = estimate_text(sections.SYSTEM) + estimate_tools(tools)
    return share_out(
        replace(limits, window_tokens=int(limits.window_tokens * shrunk_to)),
        fixed_tokens=round(fixed * ratio),
        scratchpad_tokens=min(conf.scratchpad_max_tokens, limits.window_tokens // SMALL_SHARE),
    )


def _history(front: str, spoken: Sequence[SpokenTurn]) -> list[ModelMessage]:
    messages: list[ModelMessage] = []
    opening = (Text(front),) if front else ()
    for said in spoken:
        messages.append(ModelMessage("user", (*opening, Text(said.user_text))))
        messages.append(ModelMessage("assistant", (Text(_reply(said)),)))
        opening = ()
    if opening:
        messages.append(ModelMessage("user", opening))
    return messages


def _reply(said: SpokenTurn) -> str:
    """What the reader saw of it; the model must not take half a reply for the whole."""
    reply = said.reply.strip()
    if not reply:
        return sections.NOT_DELIVERED
    return reply if said.is_whole else f"{reply}\n\n{sections.CUT_OFF}"


def _recalled_blocks(run: Sequence[ModelMessage]) -> list[Text]:
    opening = run[0].blocks if run else ()
    return [
        block
        for block in opening[:-1]
        if isinstance(block, Text) and block.text.startswith(sections.RECALLED_TAG)
    ]


def _marked(messages: Sequence[ModelMessage]) -> tuple[ModelMessage, ...]:
    """The same messages with a cache mark on the last block of the last one, where it can carry one."""
    if not messages:
        return ()
    *before, last = messages
    block = last.blocks[-1]
    if not isinstance(block, Text | ToolResult):
        return tuple(messages)
    return (*before, replace(last, blocks=(*last.blocks[:-1], replace(block, cache_mark=True))))
