"""What the next prompt of a conversation will hold, before its message is written: for the context bar."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext

from memoryapp.context import sections
from memoryapp.context.assembly import ContextWindow, open_window
from memoryapp.llm.base import ToolDefinition
from memoryapp.llm.registry import chat_limits
from memoryapp.transcript.models import Conversation
from memoryapp.tuning import queries as tuning


@dataclass(frozen=True, slots=True)
class Part:
    """One text of a section. ``label``: what it is, such as "Message 12" or the name of a tool."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class PreviewSection:
    """``name``: system, pinned, summary, transcript or scratchpad. ``is_cached``: the provider has it in its cache."""

    name: str
    tokens: int
    is_cached: bool
    parts: Sequence[Part]


@dataclass(frozen=True, slots=True)
class NextPrompt:
    """All in the model's tokens. Of ``input_tokens`` the next message and what is recalled for it take the rest."""

    window_tokens: int
    reserve_output_tokens: int
    input_tokens: int
    used_tokens: int
    trigger_tokens: int
    wait_tokens: int
    cut_turns: int
    sections: Sequence[PreviewSection]


def next_prompt(conversation: Conversation, *, tools: tuple[ToolDefinition, ...]) -> NextPrompt:
    """The prompt as it stands. ``tools``: those of the conversation, which are part of it."""
    conf = tuning.conf()
    model, shares = conf.chat_model, conf.for_model(conf.chat_model)
    window = open_window(
        conversation,
        before_seq=conversation.last_seq + 1,
        run=(),
        tools=tools,
        model=model,
        limits=chat_limits(),
    )
    budget = window.budget
    tokens = {str(section["name"]): int(str(section["tokens"])) for section in window.section_tokens()}
    texts = _texts(window)
    found = [
        PreviewSection(name, tokens[name], is_cached=True, parts=texts[name])
        for name in ("system", "pinned", "summary", "transcript")
    ]
    reserved = PreviewSection("scratchpad", budget.scratchpad_tokens, is_cached=False, parts=())
    return NextPrompt(
        window_tokens=budget.window_tokens,
        reserve_output_tokens=budget.reserve_output_tokens,
        input_tokens=budget.input_tokens,
        used_tokens=window.used_tokens,
        trigger_tokens=round(shares.compaction_trigger_share * budget.input_tokens),
        wait_tokens=round(shares.compaction_wait_share * budget.input_tokens),
        cut_turns=window.cut_turns,
        sections=[*found, reserved],
    )


def _texts(window: ContextWindow) -> dict[str, Sequence[Part]]:
    turns: list[Part] = []
    for said in window.spoken:
        turns.append(Part(gettext("Message {n}, you").format(n=said.seq), said.user_text))
        if said.reply:
            turns.append(Part(gettext("Message {n}, Strata").format(n=said.seq), said.reply))
    return {
        "system": [
            Part(gettext("Instructions"), sections.SYSTEM),
            *(Part(gettext("Tool {name}").format(name=tool.name), tool.description) for tool in window.tools),
        ],
        "pinned": [Part(gettext("Message {n}").format(n=line.turn.seq), line.text) for line in window.pinned],
        "summary": [Part(gettext("Messages 1–{n}").format(n=window.summary.last_seq), window.summary.text)]
        if window.summary
        else [],
        "transcript": turns,
    }
