"""Who answers when no step is scripted: small, deterministic stand-ins for an assistant."""

import json
import re
from collections.abc import Callable
from typing import Any

from tests.modelserver.counting import as_blocks
from tests.modelserver.steps import Step, calls, reply

Json = dict[str, Any]
Persona = Callable[[Json], Step]

_RECALLED = re.compile(r"<recalled-memories\b[^>]*>\s*(.*?)\s*</recalled-memories>", re.DOTALL)
# Everything the application adds around the user's words comes in a fence of this shape.
_FENCE = re.compile(r"<([a-z][a-z-]*)\b[^>]*>.*?</\1>", re.DOTALL)
# What is to be summarised.
_COVERED_TURN = re.compile(r'<turn n="(\d+)">\nUser: (.*?)\n\nAssistant: ', re.DOTALL)
_EARLIER_SUMMARY = re.compile(r"<summary-so-far>\n(.*?)\n</summary-so-far>", re.DOTALL)
_BULLET = re.compile(r"^- .*", re.MULTILINE)
_SENTENCE = re.compile(r".*?[.!?](?=\s|$)|.+", re.DOTALL)
_MINUTES_LINES = 20
_STATEMENT = re.compile(r"^(i|i'm|i’m|my|we|our|call me|please remember|remember)\b", re.IGNORECASE)
_QUESTION = re.compile(
    r"\?\s*$|^(what|which|who|whom|whose|when|where|why|how|do|does|did|am|is|are|can|could|should|would|will)\b",
    re.IGNORECASE,
)
_NOISE = frozenset(
    re.findall(
        r"\w+",
        """
        a an and any are at be can could did do does for how i in is it like me my of on or our should tell the to
        user was we what when where which who will with would you your
        """,
    )
)


def newest_user_text(body: Json) -> str:
    """All text of the newest user message that is not only tool results, fences included."""
    for message in reversed(body["messages"]):
        texts = [block["text"] for block in as_blocks(message["content"]) if block.get("type") == "text"]
        has_results = any(block.get("type") == "tool_result" for block in as_blocks(message["content"]))
        if message["role"] == "user" and texts and not has_results:
            return "\n".join(texts)
    return ""


def user_words(body: Json) -> str:
    """What the person typed: the newest user text without what the application fenced in."""
    return _FENCE.sub("", newest_user_text(body)).strip()


def recalled_memories(body: Json) -> list[Json]:
    """The items of the recalled-memories fence of the newest user message: a JSON array, or one object a
    line.
    """
    fence = _RECALLED.search(newest_user_text(body))
    if fence is None:
        return []
    try:
        items = json.loads(fence[1])
    except ValueError:
        items = [json.loads(line) for line in fence[1].splitlines() if line.strip().startswith("{")]
    return items if isinstance(items, list) else [items]


def echo(body: Json) -> Step:
    results = _tool_results(body)
    if results:
        return reply(f"The tool said: {results[-1][1]}")
    return reply(f"You said: {user_words(body) or 'nothing'}")


def memory(body: Json) -> Step:
    """Remembers statements with the ``remember`` tool, answers questions from what was recalled, else admits
    not to know."""
    results = _tool_results(body)
    words = user_words(body)
    if results:
        return _acknowledge(results, words)
    remember = next((tool for tool in body.get("tools") or [] if tool["name"] == "remember"), None)
    if remember is not None and _STATEMENT.match(words) and not _QUESTION.search(words):
        return reply(calls("remember", **_remember_arguments(remember["input_schema"], words)))
    if not _QUESTION.search(words):
        return reply(f"You said: {words or 'nothing'}")
    return reply(_answer(words, recalled_memories(body)))


def minutes(body: Json) -> Step:
    """Answers at some length. Asked for a summary, it takes the minutes: the first sentence of each message, of the
    later ones only the newest, so that they stop growing."""
    text = newest_user_text(body)
    covered = _COVERED_TURN.findall(text)
    if covered:
        return reply(_minutes(_EARLIER_SUMMARY.findall(text), covered))
    if "<conversation>" in text:
        return reply("Minutes of a long talk")
    return reply(_at_length(user_words(body)), chunk_chars=80)


def _minutes(earlier: list[str], covered: list[tuple[str, str]]) -> str:
    lines = _BULLET.findall("\n".join(earlier))
    lines += [f"- {_first_sentence(words)} (turn {number})" for number, words in covered]
    facts = "\n".join(lines[1:][-_MINUTES_LINES:])
    return f"## Goal\n{lines[0]}\n\n## Facts and decisions\n{facts}"


def _at_length(words: str) -> str:
    subject = _first_sentence(words)
    steps = ("Before anything else", "After that", "Once this is settled", "At the very end")
    told = [f"{step}, we look at it again, one by one, and write down what came of it." for step in steps]
    return "\n\n".join([f"You said: {subject}", *told])


def _first_sentence(words: str) -> str:
    sentence = _SENTENCE.match(words)
    return " ".join(sentence[0].split()) if sentence else "Nothing."


def _acknowledge(results: list[tuple[bool, str]], words: str) -> Step:
    is_error, said = results[-1]
    return reply(f"I could not do that: {said}" if is_error else f"I will remember that: {words}")


def _answer(question: str, memories: list[Json]) -> str:
    if not memories:
        return "I do not know: nothing that I remember answers that."
    asked = _stems(question)
    best = max(memories, key=lambda item: len(asked & _stems(str(item["statement"]))))
    said_on = f" on {best['said_on']}" if best.get("said_on") else ""
    return f"You told me{said_on}: {best['statement']}"


def _stems(sentence: str) -> set[str]:
    words = re.findall(r"\w+", sentence.lower())
    return {word.removesuffix("s") for word in words if word not in _NOISE}


def _remember_arguments(schema: Json, words: str) -> Json:
    """Arguments that the offered schema allows: the words as statement and quote, and the first allowed
    choice.
    """
    properties: Json = schema.get("properties", {})
    known = {"statement": words, "text": words, "content": words, "quote": words}
    arguments = {name: value for name, value in known.items() if name in properties}
    for name, rules in properties.items():
        if "enum" in rules and (name in schema.get("required", ()) or name == "kind"):
            arguments[name] = "preference" if "preference" in rules["enum"] else rules["enum"][0]
        elif name == "kind" or name in schema.get("required", ()):
            arguments.setdefault(name, _filler(name, rules))
    return arguments


def _filler(name: str, rules: Json) -> Any:
    if name == "kind":
        return "preference"
    return {"boolean": False, "number": 0.9, "integer": 1, "array": [], "object": {}}.get(
        rules.get("type", ""), name
    )


def _tool_results(body: Json) -> list[tuple[bool, str]]:
    """Error flag and text of the tool results that end the conversation."""
    last = as_blocks(body["messages"][-1]["content"])
    results = [block for block in last if block.get("type") == "tool_result"]
    return [(bool(b.get("is_error")), _flat(b.get("content") or "")) for b in results]


def _flat(content: Any) -> str:
    return "".join(part.get("text", "") for part in as_blocks(content))


PERSONAS: dict[str, Persona] = {"echo": echo, "memory": memory, "minutes": minutes}
