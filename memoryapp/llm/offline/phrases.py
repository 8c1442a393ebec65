"""The responder's fixed texts: who it is, what it can do, and material for trying the stream by hand."""

import re
from collections.abc import Sequence
from textwrap import shorten

from memoryapp.llm.offline.foreign import is_foreign

MEMORY_PAGE = "[Memory](/memory/)"
_CONNECT = (
    "To connect a real model, set `ANTHROPIC_API_KEY` for Claude, or `ANTHROPIC_BASE_URL` for any "
    "server that speaks the Messages API (Ollama, llama.cpp, vLLM), and restart."
)
WHO_I_AM = (
    f"I am Strata's built-in responder: a set of rules, not a language model. I answer while no model "
    f"is connected. {_CONNECT}"
)
WHAT_I_CAN = f"""I am Strata's built-in responder, not a language model. I can:

- **remember** what you tell me about yourself: *I only drink green tea, never coffee.*
- **recall** it in any later conversation: *What do I usually drink?*
- tell the **time and date**: *What time is it?*
- **calculate**: *What is 17 × 23?*
- use any other **tool** of this chat by its name: *Use roll_dice {{"sides": 6}}*
- stream something long to try the chat with: *Count to 200*, *Tell me a long story*, *Show me markdown*

What I remember is yours to see, correct and delete on the {MEMORY_PAGE} page. {_CONNECT}"""
_FALLBACK_START = "I did not understand that: I am a built-in responder, not a language model."
_FALLBACK = f"""{_FALLBACK_START} I can only remember what you tell me about yourself, recall it, tell the
time, calculate, and use a tool by its name. Try:

- *I only drink green tea, never coffee.*
- *What do I usually drink?*
- *Use calculate {{"expression": "17 * 23"}}*

{_CONNECT}"""
_FALLBACK_SHORT = "I did not understand that either; ask *What can you do?* for examples."
_ENGLISH_ALONE = (
    "Without a model I learn facts from English alone; what you write in another language stays in your chats, where "
    "I can still find it."
)
NO_SECRETS = (
    "I don't keep secrets such as passwords, keys, or card and account numbers, so I did not save that."
)
_NOT_UNDERSTOOD = (
    "I (the built-in responder) did not understand this as something to remember. "
    "Write “Remember: …”, in any language, or use [Add a fact](/memory/facts/add/)."
)
NOTHING_KNOWN = (
    "I know nothing about that. If it is about you, write “Remember: …” with it, in any language, "
    "and I will keep it."
)
_FORGETTING = "Forgetting is in your hands, so that nothing goes by mistake."
_FORGET_UNCHANGED = f"Everything I remember is on the {MEMORY_PAGE} page. I changed nothing."
MARKDOWN = """# A heading

Some *emphasis*, some **strong text**, some `code`, and a [link](/memory/).

## A list

1. First
2. Second
   - with a detail
   - and another

## A table

| memory | lives | holds |
|---|---|---|
| scratchpad | one run | its steps |
| transcript | one conversation | what was said |
| long-term | until it expires | facts |

## A code block

```python
def greet(name: str) -> str:
    return f"Hello, {name}!"
```

> A quotation ends it."""

_COUNT_LIMIT = 500
_NAMED_CHARS = 120
_MISSED_NAMED = 3
_YEAR = (
    ("January", "A surveyor", "a brass compass"),
    ("February", "Two brothers", "a letter without an address"),
    ("March", "A choir", "a jar of blue sand"),
    ("April", "A clockmaker", "a broken oar"),
    ("May", "A lost dog", "a child's drawing"),
    ("June", "A painter", "three coins"),
    ("July", "A geologist", "a chart of another coast"),
    ("August", "The postman", "a dried thistle"),
    ("September", "A class of children", "a key that fitted nothing"),
    ("October", "A violinist", "a page of music"),
    ("November", "An old sailor", "a photograph of the sea"),
    ("December", "The first keeper's daughter", "a lamp exactly like her own"),
)

_WHOLE_MESSAGE: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(rf"\s*(?:{pattern})[\s!.?,…:)🙂👋]*", re.IGNORECASE), reply)
    for pattern, reply in (
        (
            (
                r"(?:hi|hello|hey|hiya|good (?:morning|afternoon|evening)|greetings)(?:,? (?:there"
                r"|again|strata|everyone|all))?"
            ),
            (
                "Hello! Tell me something about yourself and I will remember it, or ask me what I know. "
                "*What can you do?* shows the rest."
            ),
        ),
        (
            r"(?:many )?(?:thanks|thank you|thx|ty|cheers)(?: (?:so much|very much|a lot|again))?",
            "You're welcome.",
        ),
        (
            r"(?:good ?bye|bye(?: bye)?|see you(?: later| soon)?|good ?night)",
            "Goodbye. What you told me will be here.",
        ),
        (
            (
                r"(?:ok(?:ay)?|yes|no|yep|nope|sure|fine|great|cool|nice|perfect|got it|never ?mind"
                r"|forget it)"
            ),
            "All right.",
        ),
        (
            r"how are you(?: doing)?(?: today)?",
            "I have no moods, I am a built-in responder; but everything works. How can I help?",
        ),
        (
            (
                r"(?:who|what) (?:exactly )?are you|are you (?:an? )?(?:ai|llm|language model|bot|robot"
                r"|human|real|chatgpt|gpt|claude)(?: or .*)?|what(?:'s| is) your name|(?:what|which) "
                r"(?:language )?model (?:are you|is this|do you use)|how (?:do|can) i connect (?:a|an"
                r"|the|to a|claude).*"
            ),
            WHO_I_AM,
        ),
        (
            (
                r"(?:what can (?:you|i) (?:do|ask)(?: here)?|what do you do|how (?:do|does) (?:you|this"
                r"|it) work|help(?: me)?(?: please)?)"
            ),
            WHAT_I_CAN,
        ),
        (
            (
                r"(?:please )?(?:show(?: me)?|give me|demo) (?:some |a )?markdown(?: (?:sample|demo"
                r"|example))?(?: please)?"
            ),
            MARKDOWN,
        ),
    )
)
_FORGET = re.compile(
    r"(?:(?:please|now|can you|could you|would you|will you|i want you to|you should|you can|you must) "
    r"){0,3}(?:forget|delete|erase|remove|un-?remember)\b(?! to\b)",
    re.IGNORECASE,
)
_COUNT = re.compile(
    r"\s*(?:please |can you |could you )*count (?:from (?:1|one) )?(?:up )?to (\d{1,9})\b.{0,40}",
    re.IGNORECASE,
)
_STORY = re.compile(
    r"\s*(?:please |can you |could you )*(?:tell|write|give)(?: me)? (?:a |an |another )?(?:very "
    r"|really |long )*(?:story|tale|text|essay|poem)\b.{0,80}",
    re.IGNORECASE,
)


def set_phrase(message: str) -> str:
    """The ready answer to a message that is small talk or asks for a sample; empty when it is neither."""
    for pattern, reply in _WHOLE_MESSAGE:
        if pattern.fullmatch(message):
            return reply
    if count := _COUNT.fullmatch(message):
        return _counted(int(count.group(1)))
    return _story() if _STORY.fullmatch(message) else ""


def asks_to_forget(message: str) -> bool:
    return bool(_FORGET.match(message.strip()))


def to_be_forgotten(message: str) -> str:
    """What a message that asks to forget speaks of: "that I love olives"."""
    return _FORGET.sub("", message.strip(), count=1)


def how_to_forget(facts: Sequence[tuple[str, str]], word: str) -> str:
    """Where the button is: on the page of each of the ``facts`` (id, statement); else where facts with ``word`` are."""
    pages = [
        f'"{statement}" has its *Forget* button on [its page](/memory/facts/{id_}/).'
        for id_, statement in facts
    ]
    if len(pages) > 1:
        where = "\n\n" + "\n".join(f"- {page}" for page in pages) + "\n\n"
    elif pages:
        where = f" {pages[0]} "
    elif word:
        where = f" Open [what I know about {word}](/memory/facts/?q={word}) and choose *Forget*. "
    else:
        where = " Find what should go and choose *Forget*. "
    return f"{_FORGETTING}{where}{_FORGET_UNCHANGED}"


def not_saved(missed: Sequence[str], *, is_all: bool) -> str:
    """That nothing was kept of the ``missed`` sentences, which are named unless they are the whole message."""
    if is_all:
        return f"Not saved: {_NOT_UNDERSTOOD}"
    named = ", ".join(
        f"“{shorten(sentence.rstrip('. '), _NAMED_CHARS, placeholder='…')}”"
        for sentence in missed[:_MISSED_NAMED]
    )
    more = f" and {len(missed) - _MISSED_NAMED} more" if len(missed) > _MISSED_NAMED else ""
    return f"Not saved: {named}{more}. {_NOT_UNDERSTOOD}"


def no_tool(name: str) -> str:
    return f"There is no tool `{name}` in this chat. Tools of other servers are switched on under ⋯."


def fallback(message: str, replies: Sequence[str]) -> str:
    """In full once in a conversation, of which ``replies`` are the earlier ones; afterwards in a line."""
    is_told = any(_FALLBACK_START in reply or _FALLBACK_SHORT in reply for reply in replies)
    text = _FALLBACK_SHORT if is_told else _FALLBACK
    return "\n\n".join(part for part in (text, english_alone(message, replies)) if part)


def english_alone(message: str, replies: Sequence[str]) -> str:
    """Said once in a conversation, to a message in another language."""
    is_told = any(_ENGLISH_ALONE in reply for reply in replies)
    return _ENGLISH_ALONE if is_foreign(message) and not is_told else ""


def _counted(last: int) -> str:
    rows = [
        ", ".join(str(number) for number in range(first, min(first + 10, last + 1, _COUNT_LIMIT + 1)))
        for first in range(1, min(last, _COUNT_LIMIT) + 1, 10)
    ]
    if last > _COUNT_LIMIT:
        rows.append(f"I stop at {_COUNT_LIMIT}.")
    return "\n\n".join(rows) or "There is nothing to count."


def _story() -> str:
    opening = (
        "# The Keeper of Low Point\n\nOn the last rock before the open sea stood a lighthouse, and in "
        "it lived a keeper who wrote down one thing every evening: what the day had brought, and what "
        "she had decided not to keep."
    )
    chapters = [
        f"**{month}.** {visitor} came up the path and stayed until the lamp was lit. They talked about "
        f"the weather first, as everyone does, and then about the things one only says with the sea in "
        f"the window. In the morning the keeper found {found} on the sill. She turned it over twice, "
        f"wrote a line in her book, and put it on the "
        "shelf beside the others."
        for month, visitor, found in _YEAR
    ]
    ending = (
        "When the year was over she read the book from the first page. Most of it she struck out, "
        "gladly. Twelve lines she left, and each of them said where it had come from and on which day. "
        "*The end.*"
    )
    return "\n\n".join([opening, *chapters, ending])
