"""What the model sees, in order: system and tools, summary, turns since, this message, this run, scratchpad."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from memoryapp.conf import get_conf
from memoryapp.context import sections
from memoryapp.context.models import ContextSnapshot
from memoryapp.context.recall import Recall, prompt_items, trace
from memoryapp.llm.base import ModelLimits, ModelMessage, ModelRequest, Text, ToolDefinition, ToolResult
from memoryapp.llm.tokens import estimate_message, estimate_text, estimate_tools
from memoryapp.policies.budget import Budget, newest_that_fit
from memoryapp.transcript import queries as transcript
from memoryapp.transcript.models import Summary, Turn
from memoryapp.transcript.queries import SpokenTurn

MESSAGE_MARGIN_TOKENS = 200  # fences and roles around a user message


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """A prompt in the making; ``run`` grows by whole messages, everything before it stays as it is."""

    model: str
    tools: tuple[ToolDefinition, ...]
    budget: Budget
    summary: Summary | None
    history: tuple[ModelMessage, ...]
    run: tuple[ModelMessage, ...]
    cut_turns: int

    def with_messages(self, *messages: ModelMessage) -> "ContextWindow":
        return replace(self, run=(*self.run, *messages))

    def request(self) -> ModelRequest:
        """The next call, with cache marks on the last finished turn and on the newest message."""
        return ModelRequest(
            model=self.model,
            system=sections.SYSTEM,
            messages=(*_marked(self.history), *_marked(self.run)),
            tools=self.tools,
            max_tokens=self.budget.reserve_output_tokens,
        )

    def section_tokens(self) -> list[dict[str, object]]:
        """``[{name, tokens, cached}]`` in prompt order; estimates."""
        summary = estimate_text(self.summary.text) if self.summary else 0
        history = sum(map(estimate_message, self.history))
        message = sum(map(estimate_message, self.run[:1]))
        # The summary stands in the first message of all, which is this turn's own when no turn came between.
        history, message = (history - summary, message) if self.history else (history, message - summary)
        return [
            {"name": "system", "tokens": self.budget.fixed_tokens, "cached": True},
            {"name": "summary", "tokens": summary, "cached": True},
            {"name": "transcript", "tokens": history, "cached": True},
            {"name": "message", "tokens": message, "cached": False},
            {"name": "run", "tokens": sum(map(estimate_message, self.run[1:])), "cached": False},
        ]


def opening_message(text: str, recall: Recall) -> ModelMessage:
    """This turn's user message: recalled memories as fenced data, then the user's words."""
    items = prompt_items(recall)
    blocks = (Text(sections.recalled_memories(items)),) if items else ()
    return ModelMessage("user", (*blocks, Text(text)))


def open_window(
    turn: Turn,
    *,
    run: Sequence[ModelMessage],
    tools: tuple[ToolDefinition, ...],
    model: str,
    limits: ModelLimits,
) -> ContextWindow:
    """The prompt of ``turn``: summary and whole turns since it, newest first kept, then the run so far."""
    conf = get_conf()
    summary = transcript.current_summary(turn.user_id, turn.conversation_id)
    spoken = transcript.spoken_turns(
        turn.user_id, turn.conversation_id, after_seq=summary.last_seq if summary else 0, before_seq=turn.seq
    )
    budget = Budget(
        window_tokens=limits.window_tokens,
        reserve_output_tokens=min(conf.max_output_tokens, limits.max_output_tokens),
        fixed_tokens=estimate_text(sections.SYSTEM) + estimate_tools(tools),
        scratchpad_tokens=conf.scratchpad_max_tokens,
    )
    taken = (
        sum(map(estimate_message, run))
        + (estimate_text(summary.text) if summary else 0)
        + MESSAGE_MARGIN_TOKENS
    )
    sizes = [estimate_text(said.user_text) + estimate_text(said.reply) + 20 for said in spoken]
    kept = newest_that_fit(sizes, allowance_tokens=budget.history_tokens - taken)
    history = _history(summary, spoken[len(spoken) - kept :])
    # A summary with no turn after it shares the user message that opens the run.
    if history and history[-1].role == "user" and run:
        run = (ModelMessage("user", (*history[-1].blocks, *run[0].blocks)), *run[1:])
        history = history[:-1]
    return ContextWindow(
        model=model,
        tools=tools,
        budget=budget,
        summary=summary,
        history=tuple(history),
        run=tuple(run),
        cut_turns=len(spoken) - kept,
    )


def record_snapshot(window: ContextWindow, *, turn: Turn, attempt: int, call: int, recall: Recall) -> None:
    """Keep the composition of a model call for the inspector; a repeated call keeps the first record."""
    snapshot = ContextSnapshot(
        user_id=turn.user_id,
        turn=turn,
        attempt=attempt,
        call=call,
        window_tokens=window.budget.window_tokens,
        reserve_output_tokens=window.budget.reserve_output_tokens,
        sections=window.section_tokens(),
        recalled=trace(recall),
    )
    # One statement on the way to the model, where every one is waited for.
    ContextSnapshot.objects.bulk_create([snapshot], ignore_conflicts=True)


def note_reported_tokens(turn_id: UUID, *, attempt: int, call: int, input_tokens: int) -> None:
    ContextSnapshot.objects.filter(turn_id=turn_id, attempt=attempt, call=call).update(
        reported_input_tokens=input_tokens
    )


def _history(summary: Summary | None, spoken: Sequence[SpokenTurn]) -> list[ModelMessage]:
    messages: list[ModelMessage] = []
    opening = (Text(sections.conversation_summary(summary.text)),) if summary else ()
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


def _marked(messages: Sequence[ModelMessage]) -> tuple[ModelMessage, ...]:
    """The same messages with a cache mark on the last block of the last one, where it can carry one."""
    if not messages:
        return ()
    *before, last = messages
    block = last.blocks[-1]
    if not isinstance(block, Text | ToolResult):
        return tuple(messages)
    return (*before, replace(last, blocks=(*last.blocks[:-1], replace(block, cache_mark=True))))
