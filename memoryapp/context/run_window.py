"""How a run of many steps stays in the window: old results shorter, then the oldest steps told in a few words. Pure.

A run is ``[opening user message, assistant, results, assistant, results, …]``; a round is an assistant's message and
what answers it. While it fits, a run is only appended to, so that the provider's cache holds and thinking stays valid;
once it does not, everything is settled in one go, with room for the next steps. All functions leave their input alone,
and applying one twice is applying it once.

Thinking is bound to everything before it, and that of the newest round must come back: of a run that holds any,
nothing can be shortened. It is retold as a whole, so that no thinking is left and the next steps are bound to what is
told.
"""

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from memoryapp.context.short_results import head_and_tail, short_form
from memoryapp.llm.base import Block, ModelMessage, RedactedThinking, Text, Thinking, ToolResult, ToolUse
from memoryapp.policies.fencing import as_data

LINES_CHARS = 2_000  # of the list of steps that are told
FEW_LINES_CHARS = 500  # when there is hardly room
CALL_CHARS = 120
WHY_CHARS = 160
SAID_CHARS = 400
# What is left of each result of a single round that is too large for the window by itself.
HARD_CHARS = tuple(2**power for power in range(20, 7, -1))
# A run that no longer fits is settled to this share of its allowance: the next steps are appended without another
# settling, each of which costs the cached prefix.
SETTLED_SHARE = 0.8
# What older results may fill of it when a run is retold: room for new steps, and their thinking, is worth more.
RETOLD_SHARE = 0.5

Round = tuple[ModelMessage, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tool call came to. ``why``: it failed, empty when it went well. ``result``: its short form."""

    call: str
    why: str = ""
    result: str = ""

    @property
    def line(self) -> str:
        return f"{self.call}: {self.why}" if self.why else self.call


@dataclass(frozen=True, slots=True)
class Steps:
    """What is known of steps that left the prompt. ``said``: to the reader meanwhile. ``pad``: the newest one."""

    outcomes: tuple[Outcome, ...] = ()
    said: str = ""
    pad: str = ""

    def followed_by(self, rounds: Sequence[Round]) -> "Steps":
        said = (self.said, *(text for one in rounds for text in _said(one)))
        return Steps(
            outcomes=(*self.outcomes, *(outcome for one in rounds for outcome in _outcomes(one))),
            said="\n\n".join(filter(None, said)),
            pad=_newest_pad(rounds) or self.pad,
        )


class ToldSteps(str):
    """The note in place of steps that left the prompt.

    It knows them, so that it can grow, and users' words that read the same are never taken for it. For everyone else
    it is the text of a ``Text`` block like any other.
    """

    __slots__ = ("steps",)
    steps: Steps

    def __new__(cls, text: str, steps: Steps = Steps()) -> "ToldSteps":
        note = super().__new__(cls, text)
        note.steps = steps
        return note


def compress_results(run: Sequence[ModelMessage], *, keep_rounds: int = 2) -> tuple[ModelMessage, ...]:
    """The run with the results of all but its newest ``keep_rounds`` rounds in their short form, never longer.

    JSON stays JSON, an error keeps its code and message; everything else of the messages stays as it is.
    """
    opening, rounds = _rounds(run)
    old, new = _parted(rounds, keep_rounds=keep_rounds)
    shortened = [_with_results(message, short_form) for one in old for message in one]
    return (*opening, *shortened, *_joined(new))


def drop_rounds(run: Sequence[ModelMessage], *, keep_rounds: int) -> tuple[ModelMessage, ...]:
    """The run without its oldest rounds; a note at the end of the opening message says what they came to.

    The newest scratchpad follows the note when it left with them.
    """
    opening, rounds = _rounds(run)
    old, new = _parted(rounds, keep_rounds=keep_rounds)
    if not old or not opening:
        return tuple(run)
    *before, last = opening
    words, known = _without_steps(last.blocks)
    steps = known.followed_by(old)
    if _newest_pad(new):
        steps = replace(steps, pad="")
    return (*before, replace(last, blocks=(*words, *_noted(steps))), *_joined(new))


def holds_thinking(run: Sequence[ModelMessage]) -> bool:
    return any(isinstance(block, Thinking | RedactedThinking) for message in run for block in message.blocks)


def fitted(
    run: Sequence[ModelMessage],
    *,
    allowance_tokens: int,
    measure: Callable[[ModelMessage], int],
    min_freed_share: float = 0.2,
) -> tuple[ModelMessage, ...]:
    """The run as it can be sent: at most ``allowance_tokens`` by ``measure``, which never shrinks with its content.

    As it is while it fits, and while its newest calls are unanswered. Else ``retold`` when it holds thinking; without,
    with short results, if that is enough, or without as many of the oldest rounds as need be, results short if that
    frees ``min_freed_share`` of the run. It is settled to 80 % of the allowance, unless that would take more than this.
    The newest round stays, its results cut hard if need be, and so does the opening message, whatever its size: only
    if these two alone are too large does the result not fit.
    """

    def size(messages: Sequence[ModelMessage]) -> int:
        return sum(map(measure, messages))

    if size(run) <= allowance_tokens or not _is_answered(run):
        return tuple(run)
    if holds_thinking(run):
        return retold(run, allowance_tokens=allowance_tokens, measure=measure)
    settled_tokens = int(SETTLED_SHARE * allowance_tokens)
    short = compress_results(run)
    if size(short) <= settled_tokens:
        return short
    is_worth_it = size(run) - size(short) >= min_freed_share * size(run)
    kept = short if is_worth_it else tuple(run)
    for keep_rounds in range(len(_rounds(run)[1]) - 1, 0, -1):
        kept = drop_rounds(kept, keep_rounds=keep_rounds)
        if size(kept) <= settled_tokens:
            return kept
    if size(kept) <= allowance_tokens:
        return kept
    for cut in _ever_shorter(kept):
        kept = cut
        if size(kept) <= allowance_tokens:
            break
    return kept


def retold(
    run: Sequence[ModelMessage], *, allowance_tokens: int, measure: Callable[[ModelMessage], int]
) -> tuple[ModelMessage, ...]:
    """The run as one user message: its opening verbatim, a note that tells every step, the newest scratchpad.

    The note lists what was called, failures first, and gives the newest results in their short form, as many as fit
    half of the allowance; those of the newest round may fill it, and are cut only when they do not fit. Retelling bit
    by bit tells the same as retelling at once. A run whose newest calls are unanswered comes back as it is.
    """
    opening, rounds = _rounds(run)
    if not rounds or not opening or not _is_answered(run):
        return tuple(run)
    *before, last = opening
    words, known = _without_steps(last.blocks)
    steps = known.followed_by(rounds)
    earlier = len(known.followed_by(rounds[:-1]).outcomes)

    def telling(results: Sequence[Outcome], *, chars: int = LINES_CHARS) -> tuple[ModelMessage, ...]:
        return (*before, replace(last, blocks=(*words, *_noted(steps, chars=chars, results=results))))

    def fits(told: tuple[ModelMessage, ...], share: float = 1.0) -> bool:
        return sum(map(measure, told)) <= share * allowance_tokens

    if fits(telling(steps.outcomes[earlier:]), RETOLD_SHARE):
        first = bisect_left(
            range(earlier), 1, key=lambda first: fits(telling(steps.outcomes[first:]), RETOLD_SHARE)
        )
        return telling(steps.outcomes[first:])
    briefer = (telling(results, chars=chars) for results, chars in _ever_briefer(steps.outcomes[earlier:]))
    return next((told for told in briefer if fits(told)), telling((), chars=FEW_LINES_CHARS))


def _is_answered(run: Sequence[ModelMessage]) -> bool:
    return bool(run) and run[-1].role == "user"


def _ever_briefer(newest: Sequence[Outcome]) -> Iterator[tuple[Sequence[Outcome], int]]:
    """Results to be given, and how many characters the list of steps may take."""
    yield newest, LINES_CHARS
    yield newest, FEW_LINES_CHARS
    for chars in HARD_CHARS:
        yield (
            [replace(one, result=head_and_tail(one.result, chars=chars)) for one in newest],
            FEW_LINES_CHARS,
        )


def _rounds(run: Sequence[ModelMessage]) -> tuple[tuple[ModelMessage, ...], list[Round]]:
    """What opens the run, and its rounds: each begins with the assistant."""
    opening: tuple[ModelMessage, ...] = ()
    rounds: list[Round] = []
    for message in run:
        if message.role == "assistant":
            rounds.append((message,))
        elif rounds:
            rounds[-1] = (*rounds[-1], message)
        else:
            opening = (*opening, message)
    return opening, rounds


def _parted(rounds: Sequence[Round], *, keep_rounds: int) -> tuple[Sequence[Round], Sequence[Round]]:
    cut = max(len(rounds) - max(keep_rounds, 0), 0)
    return rounds[:cut], rounds[cut:]


def _joined(rounds: Sequence[Round]) -> Round:
    return tuple(message for one in rounds for message in one)


def _with_results(message: ModelMessage, shorten: Callable[[ToolResult], str]) -> ModelMessage:
    blocks = tuple(
        replace(block, content=shorten(block)) if isinstance(block, ToolResult) else block
        for block in message.blocks
    )
    return message if blocks == message.blocks else replace(message, blocks=blocks)


def _ever_shorter(run: Sequence[ModelMessage]) -> Iterator[tuple[ModelMessage, ...]]:
    """The run with all its results cut, harder and harder; small ones beside a giant stay whole for long."""
    run = compress_results(run, keep_rounds=0)
    yield run
    for chars in HARD_CHARS:

        def cut(result: ToolResult, chars: int = chars) -> str:
            return head_and_tail(result.content, chars=chars)

        run = tuple(_with_results(message, cut) for message in run)
        yield run


def _without_steps(blocks: tuple[Block, ...]) -> tuple[tuple[Block, ...], Steps]:
    """The blocks of the opening message without the note and what follows it, and the steps that it knows."""
    for place, block in enumerate(blocks):
        if isinstance(block, Text) and isinstance(block.text, ToldSteps):
            return blocks[:place], block.text.steps
    return blocks, Steps()


def _outcomes(one: Round) -> Iterator[Outcome]:
    blocks = [block for message in one for block in message.blocks]
    results = {block.tool_use_id: block for block in blocks if isinstance(block, ToolResult)}
    for call in blocks:
        if isinstance(call, ToolUse):
            result = results.get(call.id)
            yield Outcome(
                call=_call(call),
                why=_why(result) if result and result.is_error else "",
                result=short_form(result) if result else "",
            )


def _call(call: ToolUse) -> str:
    arguments = json.dumps(dict(call.input), ensure_ascii=False, default=str) if call.input else ""
    return _line(f"{call.name} {arguments}", CALL_CHARS)


def _said(one: Round) -> Iterator[str]:
    texts = (b.text for m in one if m.role == "assistant" for b in m.blocks if isinstance(b, Text))
    yield from (text.strip() for text in texts if text.strip())


def _newest_pad(rounds: Sequence[Round]) -> str:
    """The text after the newest results that end in one."""
    closing = (m.blocks[-1] for one in reversed(rounds) for m in one if m.role == "user" and m.blocks)
    return next((block.text for block in closing if isinstance(block, Text)), "")


def _why(result: ToolResult) -> str:
    try:
        value = json.loads(result.content)
    except (ValueError, RecursionError):
        value = None
    said = (value.get("message") or value.get("error")) if isinstance(value, dict) else None
    return _line(str(said or result.content), WHY_CHARS) or "no reason given"


def _line(text: str, chars: int) -> str:
    line = " ".join(text[: 2 * chars].split())
    return line if len(line) <= chars else f"{line[: chars - 1]}…"


def _noted(steps: Steps, *, chars: int = LINES_CHARS, results: Sequence[Outcome] = ()) -> tuple[Text, ...]:
    """The note, and the scratchpad after it. Failures are listed first; what has no room is counted.

    What tools brought is data in a fence, as elsewhere in a prompt.
    """
    if not steps.outcomes:
        return ()
    failed, room = _listed([outcome for outcome in steps.outcomes if outcome.why], chars)
    done, _ = _listed([outcome for outcome in steps.outcomes if not outcome.why], room)
    unlisted = len(steps.outcomes) - failed.total() - done.total()
    told = {
        "steps": f"1–{len(steps.outcomes)} of this run, in short; do not repeat them",
        "failed": _counted(failed),
        "done": _counted(done),
        "more": unlisted,
        "said_to_the_user": _ending(steps.said),
        "results": [{"of": one.call, "result": one.result} for one in results if one.result],
    }
    shown = as_data({key: value for key, value in told.items() if value})
    note = ToldSteps(f"<steps-so-far>\n{shown}\n</steps-so-far>", steps)
    return (Text(note), *((Text(steps.pad),) if steps.pad else ()))


def _listed(outcomes: Sequence[Outcome], chars: int) -> tuple[Counter[str], int]:
    """Equal lines together, as many as fit in all; and the characters that are left, none once a line had no room.

    Counted as they are written: in JSON a control character takes six, and each line its quotes and a comma.
    """
    listed: Counter[str] = Counter()
    for line, count in Counter(outcome.line for outcome in outcomes).items():
        taken = len(as_data(_counted(Counter({line: count}))))
        if taken > chars:
            return listed, 0
        listed[line] = count
        chars -= taken
    return listed, chars


def _counted(lines: Counter[str]) -> list[str]:
    return [line if count == 1 else f"{line} (×{count})" for line, count in lines.items()]


def _ending(text: str) -> str:
    return text if len(text) <= SAID_CHARS else f"…{text[1 - SAID_CHARS :]}"
