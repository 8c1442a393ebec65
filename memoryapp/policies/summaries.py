"""The form of a summary, how a model's is checked before it is used, and how one is made without a model.

Pure: text in, text and verdicts out. Sizes are estimates (``memoryapp.llm.tokens``).
"""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from memoryapp.llm.tokens import estimate_text
from memoryapp.policies.budget import newest_that_fit
from memoryapp.policies.inventions import invents, numbers_of
from memoryapp.policies.standing_rules import states_rule

SECTIONS: tuple[str, ...] = (
    "## Goal",
    "## User constraints",
    "## Facts and decisions",
    "## Failed attempts",
    "## Open questions",
)
WHAT_WAS_SAID = "## What was said"

EXTRACT_CHARS = 240  # of each message, in a summary made without a model
EXTRACT_TOKENS = 80  # the same for scripts that say more in a character
GOAL_CHARS = 1_000
CONSTRAINT_CHARS = 300
CONSTRAINTS_PER_MESSAGE = 5
PASTED_CHARS = 4_000  # a longer message is mostly a document, whose rules are not the user's
ABBREVIATION_CHARS = 12  # more than the longest one has
KEPT_SHARE = 0.5  # of a sentence's content words: with fewer in the summary, it was left out

LEAST_WORDS = 2  # content words; with fewer and no number, a sentence says nothing that could be missed

Who = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Said:
    """One turn's words."""

    seq: int
    user_text: str
    reply: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A sentence, verbatim, of which the summary says less than half."""

    seq: int
    who: Who
    text: str


@dataclass(frozen=True, slots=True)
class DiffLine:
    kind: Literal["same", "added", "removed"]
    text: str


_TAGGED = re.compile(r"<([a-zA-Z][\w-]*)(?:\s[^<>]*)?>(.*)</\1\s*>", re.DOTALL)
_EMPTY_TAGS = re.compile(r"\A<([a-zA-Z][\w-]*)>\s*</\1>")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})(.*)")


def prepared(text: str) -> str:
    """The summary in a model's raw answer: without a code fence or tags around the whole; "" when nothing is left."""
    before, text = None, text.strip()
    while text != before:
        before = text
        text = _unfenced(_untagged(text)).strip()
    return text


def fault(summary: str, source: str, *, tokens_before: int, max_tokens: int) -> str:
    """Why a model's summary of ``source`` must not be used, as a short code, or "" when it may.

    ``empty``, ``no_sections`` (none of ``SECTIONS``), ``too_long`` (over ``max_tokens``), ``not_smaller`` (than the
    ``tokens_before`` it replaces), ``invented``: an address, a number, an identifier with digits, a quotation or a
    code span that does not stand in the source as a whole.
    """
    if not summary.strip():
        return "empty"
    if not _has_section(summary):
        return "no_sections"
    tokens = estimate_text(summary)
    if tokens > max_tokens:
        return "too_long"
    if tokens >= tokens_before:
        return "not_smaller"
    return "invented" if invents(summary, source) else ""


def _untagged(text: str) -> str:
    text = _EMPTY_TAGS.sub("", text)  # the tags first and the body after them
    match = _TAGGED.fullmatch(text)
    return match[2] if match and f"</{match[1]}" not in match[2] else text


def _unfenced(text: str) -> str:
    """``text`` without its outer fence, if its last line closes the one that its first line opens.

    Models nest fences without making the outer one longer, so a fence with an info string always opens.
    """
    lines = text.splitlines()
    depth = 0
    for number, line in enumerate(lines):
        fence = _FENCE.fullmatch(line)
        if fence and "`" not in fence[2]:
            depth += 1 if depth == 0 or fence[2].strip() else -1
        if depth == 0:
            return "\n".join(lines[1:-1]) if number == len(lines) - 1 and number > 0 else text
    return text


def _has_section(summary: str) -> bool:
    lines = {line.strip().rstrip(":").casefold() for line in summary.splitlines()}
    return any(heading.casefold() in lines for heading in SECTIONS)


_TURN_LINE = "- (turn "


@dataclass(frozen=True, slots=True)
class _Section:
    """``heading`` is "" for what stands before the first one."""

    heading: str
    body: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        return (self.heading, *self.body) if self.heading else self.body


def extract(previous: str, covered: Sequence[Said], *, max_tokens: int) -> str:
    """A deterministic summary: the sections of ``previous``, then a line for each message, as many as fit.

    Of a first summary the goal is the beginning of the first message. Sections give way to lines down to half the
    room: the largest loses its oldest line; of the lines the oldest go first. Never more than ``max_tokens``, which
    the caller sets below what is replaced. With nothing covered, a ``previous`` that fits comes back as it is.
    """
    if not covered and estimate_text(previous) <= max_tokens:
        return previous
    sections = _sections(previous) if previous.strip() else _opening(covered[:1])
    old = [line for section in sections if section.heading == WHAT_WAS_SAID for line in section.body]
    lines = [*(line for line in old if line.strip()), *(line for said in covered for line in _told(said))]
    room_of_lines = sum(map(_size, (WHAT_WAS_SAID, *lines))) if lines else 0
    head = _shrunk(
        [section for section in sections if section.heading != WHAT_WAS_SAID],
        max_tokens=max(max_tokens - room_of_lines, max_tokens // 2),
    )
    allowance = max_tokens - sum(map(_size, head)) - _size(WHAT_WAS_SAID)
    kept = newest_that_fit([*map(_size, lines)], allowance_tokens=allowance)
    return "\n".join([*head, *((WHAT_WAS_SAID, *lines[len(lines) - kept :]) if kept else ())])


def _sections(text: str) -> list[_Section]:
    sections = [_Section("", ())]
    for line in text.strip().splitlines():
        if line.startswith("## "):
            sections.append(_Section(line.rstrip(), ()))
        else:
            sections[-1] = replace(sections[-1], body=(*sections[-1].body, line))
    return sections if sections[0].body else sections[1:]


def _opening(first: Sequence[Said]) -> list[_Section]:
    return [_Section(SECTIONS[0], (f"- {_beginning(said.user_text)}",)) for said in first]


def _told(said: Said) -> Iterator[str]:
    for who, text in (("user", said.user_text), ("assistant", said.reply)):
        if text.strip():
            yield f"{_TURN_LINE}{said.seq}) The {who} said: {_beginning(text)}"


def _shrunk(sections: Sequence[_Section], *, max_tokens: int) -> list[str]:
    """Their lines, after the largest one has lost its oldest line until all fit."""
    left = list(sections)
    sizes = [sum(map(_size, section.lines)) for section in left]
    while left and sum(sizes) > max_tokens:
        largest = sizes.index(max(sizes))
        heading, body = left[largest].heading, left[largest].body
        less = _with_less(body)
        if less:
            left[largest] = _Section(heading, less)
            sizes[largest] -= _size(body[0]) - (_size(less[0]) if len(body) == 1 else 0)
        else:
            del left[largest], sizes[largest]
    return [line for section in left for line in section.lines]


def _with_less(body: tuple[str, ...]) -> tuple[str, ...]:
    """Without the oldest line; of an only line the first half, while that says something."""
    if len(body) != 1:
        return body[1:]
    half = _shortened(body[0], len(body[0]) // 2)
    return (half,) if len(half) > 20 else ()


def _size(line: str) -> int:
    """Never less than what the line adds to a text: one more than the rounded estimate, with its line break."""
    return estimate_text(f"{line}\n") + 1


def _beginning(text: str) -> str:
    text = " ".join(text[: 4 * EXTRACT_CHARS].split())
    tokens = estimate_text(text)
    is_dense = tokens > EXTRACT_TOKENS * len(text) / EXTRACT_CHARS
    most = max(len(text) * EXTRACT_TOKENS // tokens, 1) if is_dense else EXTRACT_CHARS
    return _shortened(text, most)


def _shortened(text: str, chars: int) -> str:
    """At most ``chars`` and an ellipsis, cut between words where there are any."""
    if len(text) <= chars:
        return text
    head = text[:chars].rstrip(" …")
    last_space = head.rfind(" ")
    return f"{head[:last_space] if last_space > chars // 2 else head} …"


_CODE_FENCE = re.compile(r"\s*(?:```|~~~)")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’»)*_]*\s+|(?<=[。！？])[」』”）]*")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|z\.\s?B|d\.\s?h|u\.\s?a|p\.\s?ex|Dr|Mr|Mrs|Ms|Prof|St|Nr|Sr|Sra|vs|ca|bzw|cf|approx|incl)"
    r"|\b\w|\b\d\d)\.$"
)


def goal(first_user_text: str) -> str:
    """The beginning of the first message, verbatim: at most ``GOAL_CHARS``, cut at the end of a line or a word."""
    text = first_user_text.strip()
    if len(text) <= GOAL_CHARS:
        return text
    head = text[: GOAL_CHARS + 1]  # one more, to see whether a word ends just there
    for boundary in (head.rfind("\n"), max(head.rfind(" "), head.rfind("\t"))):
        if boundary > GOAL_CHARS // 2:
            return head[:boundary].rstrip()
    return head[:GOAL_CHARS].rstrip()


def constraints(text: str) -> list[str]:
    """The sentences of a user's message that state a standing rule, verbatim, at most five.

    None from a pasted document, from quoted lines or from code.
    """
    if len(text) > PASTED_CHARS:
        return []
    spoken = (line for line in _lines_outside_code(text) if not line.lstrip().startswith((">", "|")))
    found = (span.strip() for line in spoken for span in _sentences(line))
    rules = (span for span in found if len(span) <= CONSTRAINT_CHARS and states_rule(span))
    return list(dict.fromkeys(rules))[:CONSTRAINTS_PER_MESSAGE]


def _lines_outside_code(text: str) -> Iterator[str]:
    is_code = False
    for line in text.splitlines():
        if _CODE_FENCE.match(line):
            is_code = not is_code
        elif not is_code:
            yield line


def _sentences(line: str) -> Iterator[str]:
    """Spans of ``line``; a full stop after an abbreviation, an initial or an ordinal ends none."""
    start = 0
    for end in _SENTENCE_END.finditer(line):
        last_word = line[max(start, end.start() - ABBREVIATION_CHARS) : end.start()]
        if not _ABBREVIATION.search(last_word):
            yield line[start : end.end()].strip()
            start = end.end()
    yield line[start:].strip()


_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_LATIN_LEAST = 4  # letters; shorter words are mostly grammar, in the languages with spaces
_STEM = 6  # letters: "booked" and "booking" are one word
_FUNCTION_WORDS = frozenset(
    """about also been before being could does doing done every from have having here into just like more most much
    only other over same should some such than that their them then there these they this those very want well were
    what when where which while will with would your yours yourself please thanks
    aber auch eine einen einem einer dass dein deine doch habe haben kann mein meine nicht noch oder sich sind wenn wird
    avec cette dans elle mais nous pour quand sont tout vous être avoir
    como cuando desde donde esta este esto hace para pero porque quiero sobre también tiene
    anche come con cosa della delle dello dopo perché però quando questa questo sono
    mais muito para pela pelo porque quando você""".split()  # noqa: SIM905 - a hundred quoted words would read worse
)
_WITHOUT_SPACES = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f]+")


def left_out(summary: str, pinned: Sequence[str], covered: Sequence[Said]) -> list[LeftOut]:
    """The sentences of the covered turns that neither the summary nor a pinned line keeps, in order.

    A sentence is kept when at least half of its content words stand there, or one of its numbers; "Noted!" is none.
    """
    kept = "\n".join((summary, *pinned))
    words, numbers = _content_words(kept), numbers_of(kept)
    found: list[LeftOut] = []
    for said in covered:
        told: tuple[tuple[Who, str], ...] = (("user", said.user_text), ("assistant", said.reply))
        for who, text in told:
            spans = (span for line in text.splitlines() for span in _sentences(line))
            found += [
                LeftOut(said.seq, who, span)
                for span in spans
                if _is_left_out(span, words=words, numbers=numbers)
            ]
    return found


def diff(before: str, after: str) -> list[DiffLine]:
    """How to get from one version to another, line by line; what was removed stands before what replaces it."""
    old, new = before.splitlines(), after.splitlines()
    changes: list[DiffLine] = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            changes += [DiffLine("same", line) for line in old[old_start:old_end]]
            continue
        changes += [DiffLine("removed", line) for line in old[old_start:old_end]]
        changes += [DiffLine("added", line) for line in new[new_start:new_end]]
    return changes


def _is_left_out(sentence: str, *, words: set[str], numbers: set[str]) -> bool:
    told, figures = _content_words(sentence), numbers_of(sentence)
    if (len(told) < LEAST_WORDS and not figures) or figures & numbers:
        return False
    return len(told & words) < KEPT_SHARE * len(told) if told else True


def _content_words(text: str) -> set[str]:
    """Stems of the words that carry content; pairs of characters where words are not parted by spaces."""
    text = text.replace("’", "'").casefold()
    dense = [run.group() for run in _WITHOUT_SPACES.finditer(text)]
    pairs = {run[place : place + 2] for run in dense for place in range(len(run) - 1)}
    spaced = _WORD.findall(_WITHOUT_SPACES.sub(" ", text))
    return pairs | {
        word[:_STEM] for word in spaced if len(word) >= _LATIN_LEAST and word not in _FUNCTION_WORDS
    }
