"""Decides one reply: first every tool call the message needs, at once; then, when the results are there, the
words.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from memoryapp.conf import get_conf
from memoryapp.llm.base import ToolResult
from memoryapp.llm.offline import phrases
from memoryapp.llm.offline.foreign import Language
from memoryapp.llm.offline.phrases import Phrase
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
from memoryapp.llm.offline.statements import STATEMENT_CHARS, Findings, Statement, find_statements
from memoryapp.llm.offline.vocabulary import NAME, PET, RELATIVE

_QUERY_CHARS = 500
_SHOWN_CHARS = 2_000  # of what a tool answered
_NAMED = re.compile(
    r"use (?:the )?(?:tool )?`?(?P<tool>[A-Za-z0-9_-]{1,64})\b`?(?: with)?(?P<rest>[\s.{\[].*)?",
    re.DOTALL | re.IGNORECASE,
)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
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
    return Reply("\n\n".join(parts) or phrases.fallback(prompt.words, prompt.replies, prompt.language))


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
        return Reply(_told_result(prompt.calls[-1], prompt.language))
    if tool not in prompt.offered:
        return Reply(phrases.NO_TOOL.said_in(prompt.language, name=tool))
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError) as error:
        return Reply(phrases.NOT_JSON.said_in(prompt.language, error=error))
    if not isinstance(given, dict):
        return Reply(phrases.NO_OBJECT.said_in(prompt.language))
    return Reply(calls=(PlannedCall(tool, given),))


def _told_result(call: Call, language: Language) -> str:
    if _failed(call):
        return _failure("use", call.result, language, name=call.use.name)
    assert call.result is not None
    return phrases.TOOL_ANSWERED.said_in(language, name=call.use.name, answer=_quoted(call.result.content))


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
    language = prompt.language
    yield _bulleted(_outcome(call, language) for call in _made(prompt, "remember"))
    if findings.more and "remember" in prompt.offered:
        yield _to_be_read(findings, language)
    if findings.statements and "remember" not in prompt.offered:
        yield phrases.REMEMBERING_OFF.said_in(language)
    if findings.has_withheld:
        yield phrases.NO_SECRETS.said_in(language)
    if "remember" in prompt.offered:
        yield from _not_saved(prompt, findings)
    if questions.asks_time:
        yield from _told_time(prompt)
    yield from _results_of_sums(prompt, questions)
    recalled = prompt.recalled or _recalled_by_tool(prompt)
    searches = [*_made(prompt, "recall"), *_made(prompt, "list_facts")]
    failed = (call.result for call in searches if _failed(call))
    yield from dict.fromkeys(_failure("recall", result, language) for result in failed)
    if questions.asks_overview:
        listed = _each_once((*prompt.recalled, *_recalled_by_tool(prompt, "list_facts")))
        yield _overview(listed, language)
    if not any(_failed(call) for call in _made(prompt, "recall")):
        yield from _answers(questions.about_memory, recalled, language)


def _not_saved(prompt: Prompt, findings: Findings) -> Iterator[str]:
    if findings.too_long:
        yield phrases.too_long(findings.too_long, STATEMENT_CHARS, prompt.language)
    if findings.missed:
        is_all = findings.missed == (prompt.words.strip(),)
        yield phrases.not_saved(findings.missed, prompt.language, is_all=is_all)
        yield phrases.learned_languages(prompt.words, prompt.replies, prompt.language)


def _made(prompt: Prompt, name: str) -> list[Call]:
    return [call for call in prompt.calls if call.use.name == name]


def _failed(call: Call) -> bool:
    return call.result is None or call.result.is_error


def _failure(what: str, result: ToolResult | None, language: Language, **values: str) -> str:
    """Why a tool did not do its work, in its own words."""
    reason = phrases.NO_ANSWER.said_in(language) if result is None else _reason(result, language)
    return phrases.FAILURES[what].said_in(language, reason=reason, **values)


def _reason(result: ToolResult, language: Language) -> str:
    content = decoded(result.content)
    message = _text(content, "message", "error", "detail") or (content if isinstance(content, str) else "")
    return " ".join(message.split()) or phrases.TOOL_FAILED.said_in(language)


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


def _outcome(call: Call, language: Language) -> str:
    result = call.result
    if result is None or result.is_error:
        return _failure("remember", result, language)
    content = decoded(result.content)
    if isinstance(content, str):
        return content
    statement = _text(content, "statement") or str(call.use.input.get("statement", ""))
    outcome = _text(content, "outcome", "status")
    if outcome in phrases.OPENINGS:
        return _told_back(outcome, statement, language)
    note = phrases.NOTES.get(outcome, phrases.NOTES["unknown"])
    return f"{note.said_in(language, statement=statement)} {_text(content, 'message')}".rstrip()


def _to_be_read(findings: Findings, language: Language) -> str:
    """The background reads what a reply has no room for, and of one message no more than it may keep."""
    kept, limit = len(findings.statements), get_conf().memories_per_turn
    if limit <= kept:
        return phrases.FIRST_KEPT.said_in(language, n=kept)
    if kept + findings.more <= limit:
        return phrases.REST_IS_READ.said_in(language, n=kept)
    return phrases.NEXT_ARE_READ.said_in(language, n=kept, next=limit - kept)


def _told_back(outcome: str, statement: str, language: Language) -> str:
    """In German as it was said, in English to its author."""
    opening = phrases.OPENINGS[outcome].said_in(language)
    if language == "de":
        return f"{opening}: „{statement}“"
    addressed = _addressed(statement)
    is_quoted = addressed.startswith('"') or outcome == "superseded"
    return f"{opening}: {addressed}" if is_quoted else f"{opening} that {addressed}"


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
    made, language = _made(prompt, "current_time"), prompt.language
    if not made:
        yield phrases.NO_CLOCK.said_in(language)
    for call in made:
        if call.result is None or call.result.is_error:
            yield _failure("current_time", call.result, language)
        else:
            content = decoded(call.result.content)
            told = _text(content, "text", "local", "iso", "now") or (
                content if isinstance(content, str) else ""
            )
            is_told = phrases.TIME if told else phrases.CLOCK_IS_SILENT
            yield is_told.said_in(language, time=told.rstrip("."))


def _results_of_sums(prompt: Prompt, questions: Questions) -> Iterator[str]:
    made = {str(call.use.input.get("expression")): call for call in _made(prompt, "calculate")}
    for a_sum in questions.sums:
        call = made.get(a_sum.expression)
        if call is None:
            yield phrases.NO_CALCULATOR.said_in(prompt.language)
        elif call.result is None or call.result.is_error:
            yield _failure("calculate", call.result, prompt.language, sum=a_sum.shown)
        else:
            content = decoded(call.result.content)
            value = _text(content, "result", "value", "text") or str(content)
            yield phrases.RESULT.said_in(prompt.language, sum=a_sum.shown, value=value)


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


def _answers(asked: tuple[str, ...], recalled: tuple[Recalled, ...], language: Language) -> Iterator[str]:
    # Recall judged the message as a whole; which of its questions it was confident about, it did not say.
    judged = tuple(replace(item, confidence=None) for item in recalled) if len(asked) > 1 else recalled
    answers = {question: pertinent(question, judged) for question in asked}
    cited = {item.statement for items in answers.values() for item in items}
    for question, items in answers.items():
        maybe = (
            closest(question, [item for item in recalled if item.statement not in cited]) if not items else []
        )
        if items:
            yield _bulleted(_cited(item, language) for item in items)
        elif maybe:
            cited |= {item.statement for item in maybe}
            yield _hedged(maybe, language)
        elif len(asked) == 1:
            yield phrases.NOTHING_KNOWN.said_in(language)
        else:
            yield phrases.NOTHING_KNOWN_ABOUT.said_in(language, question=" ".join(question.split()))


def _hedged(items: list[Recalled], language: Language) -> str:
    cited = _bulleted(_cited(item, language) for item in items)
    phrase = phrases.MAY_BE_IT if len(items) == 1 else phrases.ONE_MAY_BE_IT
    return phrase.said_in(language, cited=cited)


def _how_to_forget(prompt: Prompt) -> str:
    """Names the facts that are meant; only their person can forget them."""
    meant = phrases.to_be_forgotten(prompt.words)
    facts = [item for item in pertinent(meant, prompt.recalled) if _UUID.fullmatch(item.id)]
    return phrases.how_to_forget(
        [(item.id, item.statement) for item in facts], key_word(meant), prompt.language
    )


def _overview(recalled: tuple[Recalled, ...], language: Language) -> str:
    if not recalled:
        return phrases.NOTHING_AT_HAND.said_in(language)
    cited = _bulleted(_cited(item, language) for item in recalled[:OVERVIEW_SHOWN])
    return phrases.OVERVIEW.said_in(language, cited=cited)


def _cited(item: Recalled, language: Language) -> str:
    told_by = _told_by(item).said_in(language, who=item.said_by)
    if item.said_on is None:
        return phrases.CITED_UNDATED.said_in(language, told_by=told_by, statement=item.statement)
    day = phrases.dated(item.said_on, language)
    return phrases.CITED.said_in(language, told_by=told_by, day=day, statement=item.statement)


def _told_by(item: Recalled) -> Phrase:
    if item.said_by != "user":
        return phrases.SAID_BY
    return phrases.TOLD_BY.get(item.origin, phrases.TOLD_BY["model_inferred"])
