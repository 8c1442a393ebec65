"""A prompt drawn as one bar over the model's window: of the next message, or of a call that was made."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext, gettext_lazy

from memoryapp.context.models import ContextSnapshot
from memoryapp.context.preview import NextPrompt, Part

Size = tuple[str, int, bool]  # of a section: its name, its tokens, whether the provider has it in its cache
TEXT_MAX_CHARS: Final = 60_000  # of a section on a page; the newest parts are shown

LABELS: Final = {
    "system": gettext_lazy("Instructions and tools"),
    "pinned": gettext_lazy("Kept word for word"),
    "summary": gettext_lazy("Summary"),
    "transcript": gettext_lazy("Messages since the summary"),
    "recalled": gettext_lazy("Recalled memories"),
    "message": gettext_lazy("Your message"),
    "run": gettext_lazy("Tool calls and results"),
    "scratchpad": gettext_lazy("Kept free for the scratchpad"),
    "reserve": gettext_lazy("Kept free for the reply"),
}
# Room that is kept free for what is not there yet: drawn at the end of the input, beside the reserved output.
KEPT_FREE: Final = {"scratchpad"}


@dataclass(frozen=True, slots=True)
class Segment:
    """``x`` and ``width``: attributes of its rectangle, in percent of the window."""

    name: str
    label: str
    tokens: int
    percent: str
    x: str
    width: str
    is_cached: bool


@dataclass(frozen=True, slots=True)
class Mark:
    """A threshold. ``name``: trigger or wait."""

    name: str
    tokens: int
    x: str


@dataclass(frozen=True, slots=True)
class Bar:
    """``used_tokens`` may be more than ``input_tokens``: turns that found no room count, too."""

    window_tokens: int
    input_tokens: int
    used_tokens: int
    free_tokens: int
    reserve_output_tokens: int
    cut_turns: int
    percent: int
    segments: Sequence[Segment]
    reserve: Segment
    marks: Sequence[Mark]


@dataclass(frozen=True, slots=True)
class SectionText:
    """``hidden``: how many older parts are left off the page."""

    name: str
    label: str
    parts: Sequence[Part]
    hidden: int


@dataclass(frozen=True, slots=True)
class CallRow:
    """One model call: how large its prompt was thought to be, and was; None where nobody said.

    ``prefix_percent``: how much of it began like the call before.
    """

    estimated_tokens: int
    counted_tokens: int | None
    reported_tokens: int | None
    prefix_percent: int | None


def bar_of_next(prompt: NextPrompt) -> Bar:
    sizes = [(section.name, max(section.tokens, 0), section.is_cached) for section in prompt.sections]
    marks = [("trigger", prompt.trigger_tokens), ("wait", prompt.wait_tokens)]
    return _bar(
        sizes,
        window_tokens=prompt.window_tokens,
        input_tokens=prompt.input_tokens,
        reserve_output_tokens=prompt.reserve_output_tokens,
        used_tokens=prompt.used_tokens,
        cut_turns=prompt.cut_turns,
        marks=marks,
    )


def bar_of_call(call: ContextSnapshot) -> Bar:
    sizes = [
        (str(section["name"]), max(int(section["tokens"]), 0), bool(section["cached"]))
        for section in call.sections
    ]
    return _bar(
        sizes,
        window_tokens=call.window_tokens,
        input_tokens=max(call.window_tokens - call.reserve_output_tokens, 0),
        reserve_output_tokens=call.reserve_output_tokens,
        used_tokens=sum(tokens for _, tokens, _ in sizes),
        cut_turns=call.cut_turns,
        marks=(),
    )


def section_text(prompt: NextPrompt, name: str) -> SectionText | None:
    """The parts of a section as far as a page can show them; None when the prompt has no such section."""
    section = next((section for section in prompt.sections if section.name == name), None)
    if section is None:
        return None
    shown, chars = 0, 0
    for part in reversed(section.parts):
        chars += len(part.text)
        if shown and chars > TEXT_MAX_CHARS:
            break
        shown += 1
    parts = section.parts[len(section.parts) - shown :]
    return SectionText(name, _label(name), parts, hidden=len(section.parts) - shown)


def call_row(call: ContextSnapshot) -> CallRow:
    size = sum(tokens for _, tokens in call.chain)
    return CallRow(
        estimated_tokens=call.estimated_input_tokens,
        counted_tokens=call.counted_input_tokens,
        reported_tokens=call.reported_input_tokens,
        prefix_percent=min(round(100 * call.prefix_tokens / size), 100) if size else None,
    )


def _bar(
    sizes: Sequence[Size],
    *,
    window_tokens: int,
    input_tokens: int,
    reserve_output_tokens: int,
    used_tokens: int,
    cut_turns: int,
    marks: Sequence[tuple[str, int]],
) -> Bar:
    used = [size for size in sizes if size[0] not in KEPT_FREE]
    kept_free = [size for size in sizes if size[0] in KEPT_FREE]
    taken, room = _total(used), _total(kept_free)
    (reserve,) = _laid_out(
        [("reserve", reserve_output_tokens, False)], start=input_tokens, window_tokens=window_tokens
    )
    return Bar(
        window_tokens=window_tokens,
        input_tokens=input_tokens,
        used_tokens=used_tokens,
        free_tokens=max(input_tokens - used_tokens - room, 0),
        reserve_output_tokens=reserve_output_tokens,
        cut_turns=cut_turns,
        percent=round(100 * used_tokens / input_tokens) if input_tokens else 100,
        segments=[
            *_laid_out(used, start=0, window_tokens=window_tokens),
            *_laid_out(kept_free, start=max(input_tokens - room, taken), window_tokens=window_tokens),
        ],
        reserve=reserve,
        marks=[Mark(name, tokens, _share(tokens, window_tokens)) for name, tokens in marks],
    )


def _laid_out(sizes: Sequence[Size], *, start: int, window_tokens: int) -> list[Segment]:
    """One beside the other from ``start`` on."""
    segments: list[Segment] = []
    for name, tokens, is_cached in sizes:
        width = min(tokens, max(window_tokens - start, 0))
        segments.append(
            Segment(
                name=name,
                label=_label(name),
                tokens=tokens,
                percent=_percent_text(tokens, window_tokens),
                x=_share(start, window_tokens),
                width=_share(width, window_tokens),
                is_cached=is_cached,
            )
        )
        start += tokens
    return segments


def _total(sizes: Sequence[Size]) -> int:
    return sum(tokens for _, tokens, _ in sizes)


def _share(tokens: int, window_tokens: int) -> str:
    """A place on the bar as an attribute: "12.50%", never beyond its end."""
    return f"{min(100 * tokens / window_tokens, 100):.2f}%" if window_tokens else "0%"


def _percent_text(tokens: int, window_tokens: int) -> str:
    share = 100 * tokens / window_tokens if window_tokens else 0
    return gettext("under 1 %") if 0 < share < 1 else f"{share:.0f} %"


def _label(name: str) -> str:
    return str(LABELS.get(name, name.capitalize()))
