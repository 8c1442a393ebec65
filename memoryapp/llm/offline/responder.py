"""Decides one reply: first every tool call the message needs, at once; then, when the results are there, the
words.
"""

import json
import re
from calendar import month_name
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from memoryapp.conf import get_conf
from memoryapp.llm.base import ToolResult
from memoryapp.llm.offline import phrases
from memoryapp.llm.offline.phrases import MEMORY_PAGE
from memoryapp.llm.offline.prompt import Call, Prompt, Recalled, decoded, recalled_items
from memoryapp.llm.offline.questions import (
    OVERVIEW_SHOWN,
    Questions,
    closest,
    find_questions,
    key_word,
    pertinent,
)
from memoryapp.llm.offline.sentences import puts_right
from memoryapp.llm.offline.statements import Findings, Statement, find_statements
from memoryapp.llm.offline.vocabulary import NAME, PET, RELATIVE

_QUERY_CHARS = 500
_SHOWN_CHARS = 2_000  # of what a tool answered
_NAMED = re.compile(
    r"use (?:the )?(?:tool )?`?(?P<tool>[A-Za-z0-9_-]{1,64})\b`?(?: with)?(?P<rest>[\s.{\[].*)?",
    re.DOTALL | re.IGNORECASE,
)
_TOLD_BY = {
    "user_typed": "You told me",
    "user_confirmed": "You confirmed what was said",
    "model_inferred": "I noted",
    "tool": "A tool reported",
    "imported": "You imported",
    "untrusted": "A text that nobody confirmed says, seen",
}
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OPENINGS = {"added": "I'll remember", "reinforced": "I already knew"}
_NOTES = {
    "conflict": f'"{{statement}}" contradicts something I know. Settle it on the {MEMORY_PAGE} page.',
    "pending": f'"{{statement}}" waits until you confirm it on the {MEMORY_PAGE} page.',
    "refused": "I did not keep that.",
    "ignored": "I took note of that when you first said it, so nothing changes.",
}
_SECOND_PERSON = {
    "i am": "you are", "i'm": "you're", "i was": "you were", "i've": "you've", "i'd": "you'd",
    "i'll": "you'll", "i": "you", "my": "your", "mine": "yours", "me": "you", "myself": "yourself",
}  # fmt: skip
_WHO = re.compile(rf"My (?:{RELATIVE}|{PET}) {NAME}\W*", re.IGNORECASE)  # "My wife Ana." is no sentence
_FIRST_PERSON = re.compile(r"\b(?:I am|I'm|I was|I've|I'd|I'll|I|my|mine|me|myself)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PlannedCall:
    name: str
    input: Mapping[str, Any]  # JSON, as the named tool wants it


@dataclass(frozen=True, slots=True)
class Reply:
    """Either calls or a text, never both."""

    text: str = ""
    calls: tuple[PlannedCall, ...] = ()


def respond(prompt: Prompt) -> Reply:
    """Pure and total: the same prompt gives the same reply, and no input raises.

    All calls of a run are made in its first reply, so a run has at most one round of tools.
    """
    if phrase := phrases.set_phrase(prompt.words):
        return Reply(phrase)
    if phrases.asks_to_forget(prompt.words):
        return Reply(_how_to_forget(prompt))
    named = _named(prompt.words)
    if named and (named[0] in prompt.offered or _is_of_a_tool(*named)):
        return _use_named(prompt, *named)
    findings, questions = find_statements(prompt.words), find_questions(prompt.words)
    calls = () if prompt.calls else tuple(_planned(prompt, findings, questions))
    if calls:
        return Reply(calls=calls)
    parts = [part for part in _parts(prompt, findings, questions) if part]
    return Reply("\n\n".join(parts) or phrases.fallback(prompt.words, prompt.replies))


def _planned(prompt: Prompt, findings: Findings, questions: Questions) -> Iterator[PlannedCall]:
    statements = [_put_right(statement, prompt) for statement in findings.statements]
    wanted = [PlannedCall("remember", _remember_input(statement)) for statement in statements]
    if questions.asks_time:
        wanted.append(PlannedCall("current_time", {}))
    wanted += [PlannedCall("calculate", {"expression": a_sum.expression}) for a_sum in questions.sums]
    # Recall has run before this call already; asking again pays only when it brought nothing.
    if questions.about_memory and not prompt.recalled:
        wanted.append(PlannedCall("recall", {"query": " ".join(questions.about_memory)[:_QUERY_CHARS]}))
    if questions.asks_overview:
        wanted.append(PlannedCall("list_facts", {"limit": OVERVIEW_SHOWN}))
    yield from (call for call in wanted if call.name in prompt.offered)


def _named(words: str) -> tuple[str, str] | None:
    """The tool that is to be tried by hand, and what it is to be given: ``use roll_dice {"sides": 6}``."""
    named = _NAMED.fullmatch(words.strip())
    if named is None:
        return None
    arguments = (named["rest"] or "").strip().removesuffix(".").rstrip()
    return (named["tool"], arguments or "{}") if arguments[:1] in {"", "{", "["} else None


def _is_of_a_tool(name: str, arguments: str) -> bool:
    """Not a plain word: "Use English." is about something else."""
    return "_" in name or arguments != "{}"


def _use_named(prompt: Prompt, tool: str, arguments: str) -> Reply:
    if prompt.calls:
        return Reply(_told_result(prompt.calls[-1]))
    if tool not in prompt.offered:
        return Reply(phrases.no_tool(tool))
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError) as error:
        return Reply(f"That is not JSON: {error}")
    if not isinstance(given, dict):
        return Reply('That is no JSON object, such as `{"sides": 6}`.')
    return Reply(calls=(PlannedCall(tool, given),))


def _told_result(call: Call) -> str:
    if _failed(call):
        return _failure(f"use {call.use.name}", call.result)
    assert call.result is not None
    return f"{call.use.name} answered:\n\n{_quoted(call.result.content)}"


def _quoted(text: str) -> str:
    """As a block of code, which nothing in the text can end."""
    fence = "`" * (max(map(len, re.findall("`+", text)), default=2) + 1)
    shown = text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}… (cut)"
    return f"{fence}\n{shown}\n{fence}"


def _put_right(statement: Statement, prompt: Prompt) -> Statement:
    """ "That's wrong: my dog is called Bono" takes the place of the only dog that was recalled."""
    subject, name, _ = statement.key.rpartition(".name.")
    if not (name and puts_right(prompt.words)):
        return statement
    known = (known for item in prompt.recalled for known in find_statements(item.statement).statements)
    keys = {one.key for one in known if one.key.startswith(f"{subject}{name}")}
    return replace(statement, key=keys.pop()) if len(keys) == 1 else statement


def _remember_input(statement: Statement) -> dict[str, str]:
    fields = {
        "statement": statement.statement,
        "kind": statement.kind,
        "key": statement.key,
        "quote": statement.quote,
    }
    return {name: value for name, value in fields.items() if value}


def _parts(prompt: Prompt, findings: Findings, questions: Questions) -> Iterator[str]:
    yield _bulleted(_outcome(call) for call in _made(prompt, "remember"))
    if findings.more and "remember" in prompt.offered:
        yield _to_be_read(findings)
    if findings.statements and "remember" not in prompt.offered:
        yield "I can't save that here: remembering is off in this conversation."
    if findings.has_withheld:
        yield phrases.NO_SECRETS
    if findings.missed and "remember" in prompt.offered:
        yield phrases.not_saved(findings.missed, is_all=findings.missed == (prompt.words.strip(),))
        yield phrases.english_alone(prompt.words, prompt.replies)
    if questions.asks_time:
        yield from _told_time(prompt)
    yield from _results_of_sums(prompt, questions)
    recalled = prompt.recalled or _recalled_by_tool(prompt)
    searches = [*_made(prompt, "recall"), *_made(prompt, "list_facts")]
    failed = (call.result for call in searches if _failed(call))
    yield from dict.fromkeys(_failure("search my memory", result) for result in failed)
    if questions.asks_overview:
        yield _overview(_each_once((*prompt.recalled, *_recalled_by_tool(prompt, "list_facts"))))
    if not any(_failed(call) for call in _made(prompt, "recall")):
        yield from _answers(questions.about_memory, recalled)


def _made(prompt: Prompt, name: str) -> list[Call]:
    return [call for call in prompt.calls if call.use.name == name]


def _failed(call: Call) -> bool:
    return call.result is None or call.result.is_error


def _failure(what: str, result: ToolResult | None) -> str:
    """Why a tool did not do its work, in its own words."""
    if result is None:
        return f"I could not {what}: the tool did not answer."
    content = decoded(result.content)
    message = _text(content, "message", "error", "detail") or (content if isinstance(content, str) else "")
    return f"I could not {what}: {' '.join(message.split()) or 'the tool failed'}"


def _text(content: object, *names: str) -> str:
    """The first non-empty value under one of ``names``, as text."""
    if not isinstance(content, dict):
        return ""
    values = (content.get(name) for name in names)
    return next(
        (str(value) for value in values if isinstance(value, str | int | float) and str(value).strip()), ""
    )


def _bulleted(lines: Iterable[str]) -> str:
    texts = list(lines)
    return texts[0] if len(texts) == 1 else "\n".join(f"- {text}" for text in texts)


# --- remember


def _outcome(call: Call) -> str:
    result = call.result
    if result is None or result.is_error:
        return _failure("save that", result)
    content = decoded(result.content)
    if isinstance(content, str):
        return content
    statement = _text(content, "statement") or str(call.use.input.get("statement", ""))
    message = _text(content, "message")
    outcome = _text(content, "outcome", "status")
    if opening := _OPENINGS.get(outcome):
        return _that(opening, statement)
    if outcome == "superseded":
        return f"Updated: {_addressed(statement)}"
    note = _NOTES.get(outcome, f"I could not tell whether that was saved; the {MEMORY_PAGE} page shows it.")
    return f"{note.format(statement=statement)} {message}".rstrip()


def _to_be_read(findings: Findings) -> str:
    """The background reads what a reply has no room for, and of one message no more than it may keep."""
    kept, limit = len(findings.statements), get_conf().memories_per_turn
    if limit <= kept:
        return f"These are the first {kept}; the rest I do not keep."
    rest = "the rest is" if kept + findings.more <= limit else f"the next {limit - kept} are"
    return f"These are the first {kept}; {rest} read in a moment."


def _that(opening: str, statement: str) -> str:
    addressed = _addressed(statement)
    return f"{opening}: {addressed}" if addressed.startswith('"') else f"{opening} that {addressed}"


def _addressed(statement: str) -> str:
    """The statement said to its author; quoted instead where turning the persons round could go wrong."""
    text = statement.replace("’", "'")
    is_both = re.search(r"\b(?:you|your|yours|we|our|us)\b", text, re.IGNORECASE)
    if is_both or _WHO.fullmatch(text) or not re.match(r"(?:I|My)\b", text):
        return f'"{statement}"'
    # Ignoring case, "I" also matches the Turkish "ı" and "İ", which are not in the table.
    turned = _FIRST_PERSON.sub(lambda match: _SECOND_PERSON.get(match.group().lower(), match.group()), text)
    return turned[:1].lower() + turned[1:]


# --- time and sums


def _told_time(prompt: Prompt) -> Iterator[str]:
    made = _made(prompt, "current_time")
    if not made:
        yield "I can't tell the time here: that tool is not available."
    for call in made:
        if call.result is None or call.result.is_error:
            yield _failure("tell the time", call.result)
        else:
            content = decoded(call.result.content)
            told = _text(content, "text", "local", "iso", "now") or (
                content if isinstance(content, str) else ""
            )
            yield f"It is {told.rstrip('.')}." if told else "The clock gave no answer."


def _results_of_sums(prompt: Prompt, questions: Questions) -> Iterator[str]:
    made = {str(call.use.input.get("expression")): call for call in _made(prompt, "calculate")}
    for a_sum in questions.sums:
        call = made.get(a_sum.expression)
        if call is None:
            yield "I can't calculate here: that tool is not available."
        elif call.result is None or call.result.is_error:
            yield _failure(f"calculate {a_sum.shown}", call.result)
        else:
            content = decoded(call.result.content)
            value = _text(content, "result", "value", "text") or str(content)
            yield f"{a_sum.shown} is {value}."


# --- what is remembered


def _recalled_by_tool(prompt: Prompt, name: str = "recall") -> tuple[Recalled, ...]:
    return tuple(
        item
        for call in _made(prompt, name)
        if call.result is not None and not call.result.is_error
        for item in recalled_items(decoded(call.result.content))
    )


def _each_once(items: Iterable[Recalled]) -> tuple[Recalled, ...]:
    """Two questions may find the same memory; the order of the first finds stays."""
    found: dict[str, Recalled] = {}
    for item in items:
        found.setdefault(item.statement, item)
    return tuple(found.values())


def _answers(asked: tuple[str, ...], recalled: tuple[Recalled, ...]) -> Iterator[str]:
    # Recall judged the message as a whole; which of its questions it was confident about, it did not say.
    judged = tuple(replace(item, confidence=None) for item in recalled) if len(asked) > 1 else recalled
    answers = {question: pertinent(question, judged) for question in asked}
    cited = {item.statement for items in answers.values() for item in items}
    for question, items in answers.items():
        maybe = (
            closest(question, [item for item in recalled if item.statement not in cited]) if not items else []
        )
        if items:
            yield _bulleted(_cited(item) for item in items)
        elif maybe:
            cited |= {item.statement for item in maybe}
            yield _hedged(maybe)
        elif len(asked) == 1:
            yield phrases.NOTHING_KNOWN
        else:
            yield f"About *{' '.join(question.split())}* I know nothing."


def _hedged(items: list[Recalled]) -> str:
    if len(items) == 1:
        return f"This may be it: {_cited(items[0])}"
    return f"One of these may be it:\n\n{_bulleted(_cited(item) for item in items)}"


def _how_to_forget(prompt: Prompt) -> str:
    """Names the facts that are meant; only their person can forget them."""
    meant = phrases.to_be_forgotten(prompt.words)
    facts = [item for item in pertinent(meant, prompt.recalled) if _UUID.fullmatch(item.id)]
    return phrases.how_to_forget([(item.id, item.statement) for item in facts], key_word(meant))


def _overview(recalled: tuple[Recalled, ...]) -> str:
    if not recalled:
        return f"I have nothing about you at hand. Everything I remember is on the {MEMORY_PAGE} page."
    cited = _bulleted(_cited(item) for item in recalled[:OVERVIEW_SHOWN])
    return f"{cited}\n\nThis is what came to hand; everything I remember is on the {MEMORY_PAGE} page."


def _cited(item: Recalled) -> str:
    said_on = f" on {_dated(item.said_on)}" if item.said_on else ""
    told_by = _TOLD_BY.get(item.origin, "I noted") if item.said_by == "user" else f"{item.said_by} said"
    return f'{told_by}{said_on}: "{item.statement}"'


def _dated(day: date) -> str:
    return f"{day.day} {month_name[day.month]} {day.year}"
