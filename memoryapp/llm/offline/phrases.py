"""The responder's fixed texts, in each language that it answers in, and material for trying the stream by hand."""

import re
from calendar import month_name
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from textwrap import shorten

from memoryapp.llm.offline.foreign import Language, is_foreign


@dataclass(frozen=True, slots=True)
class Phrase:
    """One text in every language; ``{name}`` stands for a value."""

    en: str
    de: str

    def said_in(self, language: Language, **values: object) -> str:
        text = self.de if language == "de" else self.en
        return text.format(**values) if values else text

    def is_in(self, text: str) -> bool:
        return self.en in text or self.de in text


_MEMORY = Phrase("[Memory](/memory/)", "[Gedächtnis](/memory/)")
_CONNECT = Phrase(
    "To connect a real model, set `ANTHROPIC_API_KEY` for Claude, or `ANTHROPIC_BASE_URL` for any server that speaks "
    "the Messages API (Ollama, llama.cpp, vLLM), and restart.",
    "Um ein echtes Modell zu verbinden, setze `ANTHROPIC_API_KEY` für Claude oder `ANTHROPIC_BASE_URL` für einen "
    "Server, der die Messages API spricht (Ollama, llama.cpp, vLLM), und starte neu.",
)
WHO_I_AM = Phrase(
    "I am Strata's built-in responder: a set of rules, not a language model. I answer while no model is connected. "
    f"{_CONNECT.en}",
    "Ich bin der eingebaute Antwortgeber von Strata: Regeln, kein Sprachmodell. Ich antworte, solange kein Modell "
    f"verbunden ist. {_CONNECT.de}",
)
WHAT_I_CAN = Phrase(
    f"""I am Strata's built-in responder, not a language model. I can:

- **remember** what you tell me about yourself: *I only drink green tea, never coffee.*
- **recall** it in any later conversation: *What do I usually drink?*
- tell the **time and date**: *What time is it?*
- **calculate**: *What is 17 × 23?*
- use any other **tool** of this chat by its name: *Use roll_dice {{"sides": 6}}*
- stream something long to try the chat with: *Count to 200*, *Tell me a long story*, *Show me markdown*

What I remember is yours to see, correct and delete on the {_MEMORY.en} page. {_CONNECT.en}""",
    f"""Ich bin der eingebaute Antwortgeber von Strata, kein Sprachmodell. Ich kann:

- mir **merken**, was du mir in einfachen Sätzen über dich sagst: *Ich wohne in Wien.*
- es in jedem späteren Chat **wissen**: *Wo wohne ich?*
- **Uhrzeit und Datum** sagen: *Wie spät ist es?*
- **rechnen**: *17 × 23*
- jedes andere **Werkzeug** dieses Chats bei seinem Namen nutzen: *Use roll_dice {{"sides": 6}}*
- etwas Langes schreiben, um den Chat auszuprobieren: *Count to 200*, *Tell me a long story*, *Show me markdown*

Was ich mir merke, kannst du unter {_MEMORY.de} sehen, berichtigen und löschen. {_CONNECT.de}""",
)
_FALLBACK_START = Phrase(
    "I did not understand that: I am a built-in responder, not a language model.",
    "Das habe ich nicht verstanden: Ich bin ein eingebauter Antwortgeber, kein Sprachmodell.",
)
_FALLBACK = Phrase(
    f"""{_FALLBACK_START.en} I can only remember what you tell me about yourself, recall it, tell the
time, calculate, and use a tool by its name. Try:

- *I only drink green tea, never coffee.*
- *What do I usually drink?*
- *Use calculate {{"expression": "17 * 23"}}*

{_CONNECT.en}""",
    f"""{_FALLBACK_START.de} Ich kann mir nur merken, was du mir über dich sagst, es wiedergeben, die
Uhrzeit sagen, rechnen und ein Werkzeug bei seinem Namen nutzen. Versuch es mit:

- *Ich wohne in Wien.*
- *Wo wohne ich?*
- *Use calculate {{"expression": "17 * 23"}}*

{_CONNECT.de}""",
)
_FALLBACK_SHORT = Phrase(
    "I did not understand that either; ask *What can you do?* for examples.",
    "Auch das habe ich nicht verstanden; frag *Was kannst du?* nach Beispielen.",
)
_LEARNED_LANGUAGES = Phrase(
    "Without a model I learn facts from English, and a few plain sentences of German, alone; what you write in another "
    "language stays in your chats, where I can still find it.",
    "Ohne Modell lerne ich Fakten nur aus englischen und einigen einfachen deutschen Sätzen; was du sonst schreibst, "
    "bleibt in deinen Chats, wo ich es trotzdem finde.",
)
NO_SECRETS = Phrase(
    "I don't keep secrets such as passwords, keys, or card and account numbers, so I did not save that.",
    "Geheimnisse wie Passwörter, Schlüssel, Karten- oder Kontonummern merke ich mir nicht, also auch das nicht.",
)
_NOT_SAVED = Phrase("Not saved: {what}", "Nicht gespeichert: {what}")
_NOT_UNDERSTOOD = Phrase(
    "I (the built-in responder) did not understand this as something to remember. "
    "Write “Remember: …”, in any language, or use [Add a fact](/memory/facts/add/).",
    "Ich (der eingebaute Antwortgeber) habe nicht verstanden, was ich mir davon merken soll. "
    "Schreib „Merk dir: …“ oder nutze [Fakt hinzufügen](/memory/facts/add/).",
)
_TOO_LONG = Phrase(
    "what I am to remember may have {limit} characters at most, and this has {length}. Say it in fewer words.",
    "was ich mir merken soll, darf höchstens {limit} Zeichen haben, und das hat {length}. Sag es kürzer.",
)
_QUOTED = Phrase("“{text}”", "„{text}“")
_AND_MORE = Phrase(" and {n} more", " und {n} weitere")
NOTHING_KNOWN = Phrase(
    "I know nothing about that. If it is about you, write “Remember: …” with it, in any language, and I will keep it.",
    "Darüber weiß ich nichts. Wenn es um dich geht, schreib es mit „Merk dir: …“, und ich merke es mir.",
)
NOTHING_KNOWN_ABOUT = Phrase("About *{question}* I know nothing.", "Zu *{question}* weiß ich nichts.")
_FORGETTING = Phrase(
    "Forgetting is in your hands, so that nothing goes by mistake.",
    "Vergessen liegt in deiner Hand, damit nichts aus Versehen verschwindet.",
)
_HAS_ITS_BUTTON = Phrase(
    '"{statement}" has its *Forget* button on [its page](/memory/facts/{id}/).',
    "„{statement}“ hat den Knopf *Vergessen* auf [der eigenen Seite](/memory/facts/{id}/).",
)
_FORGET_ABOUT = Phrase(
    "Open [what I know about {word}](/memory/facts/?q={word}) and choose *Forget*.",
    "Öffne, [was ich über {word} weiß](/memory/facts/?q={word}), und wähle *Vergessen*.",
)
_FORGET_FOUND = Phrase(
    "Find what should go and choose *Forget*.", "Such, was verschwinden soll, und wähle *Vergessen*."
)
_FORGET_UNCHANGED = Phrase(
    f"Everything I remember is on the {_MEMORY.en} page. I changed nothing.",
    f"Alles, was ich mir merke, steht unter {_MEMORY.de}. Ich habe nichts geändert.",
)
NO_TOOL = Phrase(
    "There is no tool `{name}` in this chat. Tools of other servers are switched on under ⋯.",
    "In diesem Chat gibt es kein Werkzeug `{name}`. Werkzeuge anderer Server schaltest du unter ⋯ ein.",
)
TOOL_ANSWERED = Phrase("{name} answered:\n\n{answer}", "{name} hat geantwortet:\n\n{answer}")
NOT_JSON = Phrase("That is not JSON: {error}", "Das ist kein JSON: {error}")
NO_OBJECT = Phrase(
    'That is no JSON object, such as `{"sides": 6}`.', 'Das ist kein JSON-Objekt wie `{"sides": 6}`.'
)
OPENINGS = {
    "added": Phrase("I'll remember", "Gemerkt"),
    "reinforced": Phrase("I already knew", "Das wusste ich schon"),
    "superseded": Phrase("Updated", "Aktualisiert"),
}
NOTES = {
    "conflict": Phrase(
        f'"{{statement}}" contradicts something I know. Settle it on the {_MEMORY.en} page.',
        f"„{{statement}}“ widerspricht etwas, das ich weiß. Entscheide es unter {_MEMORY.de}.",
    ),
    "pending": Phrase(
        f'"{{statement}}" waits until you confirm it on the {_MEMORY.en} page.',
        f"„{{statement}}“ wartet, bis du es unter {_MEMORY.de} bestätigst.",
    ),
    "refused": Phrase("I did not keep that.", "Das habe ich mir nicht gemerkt."),
    "ignored": Phrase(
        "I took note of that when you first said it, so nothing changes.",
        "Das habe ich mir gemerkt, als du es zuerst gesagt hast; es ändert sich nichts.",
    ),
    "unknown": Phrase(
        f"I could not tell whether that was saved; the {_MEMORY.en} page shows it.",
        f"Ich weiß nicht, ob das gespeichert wurde; unter {_MEMORY.de} siehst du es.",
    ),
}
REMEMBERING_OFF = Phrase(
    "I can't save that here: remembering is off in this conversation.",
    "Das kann ich hier nicht speichern: In diesem Chat ist das Merken aus.",
)
FIRST_KEPT = Phrase(
    "These are the first {n}; the rest I do not keep.",
    "Das sind die ersten {n}; den Rest merke ich mir nicht.",
)
REST_IS_READ = Phrase(
    "These are the first {n}; the rest is read in a moment.",
    "Das sind die ersten {n}; der Rest wird gleich gelesen.",
)
NEXT_ARE_READ = Phrase(
    "These are the first {n}; the next {next} are read in a moment.",
    "Das sind die ersten {n}; die nächsten {next} werden gleich gelesen.",
)
FAILURES = {
    "remember": Phrase("I could not save that: {reason}", "Das konnte ich nicht speichern: {reason}"),
    "recall": Phrase(
        "I could not search my memory: {reason}", "Ich konnte mein Gedächtnis nicht durchsuchen: {reason}"
    ),
    "current_time": Phrase(
        "I could not tell the time: {reason}", "Die Uhrzeit weiß ich gerade nicht: {reason}"
    ),
    "calculate": Phrase(
        "I could not calculate {sum}: {reason}", "{sum} konnte ich nicht ausrechnen: {reason}"
    ),
    "use": Phrase("I could not use {name}: {reason}", "{name} konnte ich nicht nutzen: {reason}"),
}
NO_ANSWER = Phrase("the tool did not answer.", "Das Werkzeug hat nicht geantwortet.")
TOOL_FAILED = Phrase("the tool failed", "Das Werkzeug ist gescheitert.")
NO_CLOCK = Phrase(
    "I can't tell the time here: that tool is not available.",
    "Die Uhrzeit kann ich hier nicht sagen: Das Werkzeug fehlt.",
)
NO_CALCULATOR = Phrase(
    "I can't calculate here: that tool is not available.", "Rechnen kann ich hier nicht: Das Werkzeug fehlt."
)
TIME = Phrase("It is {time}.", "Es ist {time}.")
CLOCK_IS_SILENT = Phrase("The clock gave no answer.", "Die Uhr hat nicht geantwortet.")
RESULT = Phrase("{sum} is {value}.", "{sum} ist {value}.")
MAY_BE_IT = Phrase("This may be it: {cited}", "Vielleicht ist es das: {cited}")
ONE_MAY_BE_IT = Phrase("One of these may be it:\n\n{cited}", "Eines davon ist es vielleicht:\n\n{cited}")
NOTHING_AT_HAND = Phrase(
    f"I have nothing about you at hand. Everything I remember is on the {_MEMORY.en} page.",
    f"Über dich habe ich nichts zur Hand. Alles, was ich mir merke, steht unter {_MEMORY.de}.",
)
OVERVIEW = Phrase(
    f"{{cited}}\n\nThis is what came to hand; everything I remember is on the {_MEMORY.en} page.",
    f"{{cited}}\n\nDas ist, was ich zur Hand habe; alles, was ich mir merke, steht unter {_MEMORY.de}.",
)
CITED = Phrase('{told_by} on {day}: "{statement}"', "{told_by} am {day}: „{statement}“")
CITED_UNDATED = Phrase('{told_by}: "{statement}"', "{told_by}: „{statement}“")
TOLD_BY = {
    "user_typed": Phrase("You told me", "Von dir"),
    "user_confirmed": Phrase("You confirmed what was said", "Von dir bestätigt, gesagt"),
    "model_inferred": Phrase("I noted", "Von mir notiert"),
    "tool": Phrase("A tool reported", "Von einem Werkzeug"),
    "imported": Phrase("You imported", "Von dir importiert"),
    "untrusted": Phrase(
        "A text that nobody confirmed says, seen", "Aus einem Text, den niemand bestätigt hat, gesehen"
    ),
}
SAID_BY = Phrase("{who} said", "Von {who}")
_GERMAN_MONTHS = (
    "Januar", "Februar", "März", "April", "Mai", "Juni",
    "Juli", "August", "September", "Oktober", "November", "Dezember",
)  # fmt: skip
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

# English, German, the answer in the language that was matched.
_SMALL_TALK: tuple[tuple[str, str, Phrase], ...] = (
    (
        r"(?:hi|hello|hey|hiya|good (?:morning|afternoon|evening)|greetings)(?:,? (?:there|again|strata|everyone))*",
        r"(?:hallo|guten (?:tag|morgen|abend)|servus|moin|grüß (?:gott|dich)|grüezi)(?:,? (?:strata|zusammen|alle))?",
        Phrase(
            "Hello! Tell me something about yourself and I will remember it, or ask me what I know. "
            "*What can you do?* shows the rest.",
            "Hallo! Erzähl mir etwas über dich, und ich merke es mir, oder frag mich, was ich weiß. "
            "*Was kannst du?* zeigt den Rest.",
        ),
    ),
    (
        r"(?:many )?(?:thanks|thank you|thx|ty|cheers)(?: (?:so much|very much|a lot|again))?",
        r"(?:(?:vielen |herzlichen |besten )?danke?(?: (?:schön|sehr|dir|vielmals))*|dankeschön)",
        Phrase("You're welcome.", "Gern geschehen."),
    ),
    (
        r"(?:good ?bye|bye(?: bye)?|see you(?: later| soon)?|good ?night)",
        r"(?:tschüss?|tschau|auf wiedersehen|bis (?:bald|später|morgen|dann)|gute nacht)",
        Phrase("Goodbye. What you told me will be here.", "Bis bald. Was du mir gesagt hast, bleibt hier."),
    ),
    (
        r"(?:ok(?:ay)?|yes|no|yep|nope|sure|fine|great|cool|nice|perfect|got it|never ?mind|forget it)",
        r"(?:in ordnung|alles klar|ja|nein|gut|super|prima|passt|genau|klar|schon gut|vergiss es)",
        Phrase("All right.", "In Ordnung."),
    ),
    (
        r"how are you(?: doing)?(?: today)?",
        r"wie geht(?:['’]s| es)(?: dir| ihnen)?(?: heute)?",
        Phrase(
            "I have no moods, I am a built-in responder; but everything works. How can I help?",
            "Stimmungen habe ich nicht, ich bin ein eingebauter Antwortgeber; aber alles läuft. Wie kann ich helfen?",
        ),
    ),
    (
        (
            r"(?:who|what) (?:exactly )?are you|are you (?:an? )?(?:ai|llm|language model|bot|robot|human|real|chatgpt"
            r"|gpt|claude)(?: or .*)?|what(?:'s| is) your name|(?:what|which) (?:language )?model (?:are you|is this"
            r"|do you use)|how (?:do|can) i connect (?:a|an|the|to a|claude).*"
        ),
        (
            r"(?:wer|was) bist du(?: eigentlich| genau)?|wie hei(?:ß|ss)t du(?: eigentlich)?"
            r"|bist du (?:eine? )?(?:ki|mensch|roboter|bot|sprachmodell|echt|chatgpt|claude)(?: oder .*)?"
        ),
        WHO_I_AM,
    ),
    (
        (
            r"(?:what can (?:you|i) (?:do|ask)(?: here)?|what do you do|how (?:do|does) (?:you|this|it) work"
            r"|help(?: me)?(?: please)?)"
        ),
        (
            r"(?:was (?:kannst du|kann ich hier)(?: (?:tun|machen|alles|fragen|hier))*"
            r"|wie funktioniert (?:das|es)(?: hier)?|(?:bitte )?(?:hilfe|hilf mir)(?: bitte)?)"
        ),
        WHAT_I_CAN,
    ),
)


def _whole_message(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\s*(?:{pattern})[\s!.?,…:)🙂👋]*", re.IGNORECASE)


_WHOLE_MESSAGE: tuple[tuple[re.Pattern[str], str], ...] = (
    *((_whole_message(english), reply.en) for english, _, reply in _SMALL_TALK),
    *((_whole_message(german), reply.de) for _, german, reply in _SMALL_TALK),
    (
        _whole_message(
            r"(?:please )?(?:show(?: me)?|give me|demo) (?:some |a )?markdown(?: (?:sample|demo|example))?(?: please)?"
        ),
        MARKDOWN,
    ),
)
_FORGET = re.compile(
    r"(?:(?:please|now|can you|could you|would you|will you|i want you to|you should|you can|you must) "
    r"){0,3}(?:forget|delete|erase|remove|un-?remember)\b(?! to\b)"
    r"|(?:bitte |kannst du ){0,2}(?:vergiss|vergesse|lösche?|entferne?)\b(?! nicht\b),?",
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


def how_to_forget(facts: Sequence[tuple[str, str]], word: str, language: Language) -> str:
    """Where the button is: on the page of each of the ``facts`` (id, statement); else where facts with ``word`` are."""
    pages = [_HAS_ITS_BUTTON.said_in(language, id=id_, statement=statement) for id_, statement in facts]
    if len(pages) > 1:
        where = "\n\n" + "\n".join(f"- {page}" for page in pages) + "\n\n"
    elif pages:
        where = f" {pages[0]} "
    elif word:
        where = f" {_FORGET_ABOUT.said_in(language, word=word)} "
    else:
        where = f" {_FORGET_FOUND.said_in(language)} "
    return f"{_FORGETTING.said_in(language)}{where}{_FORGET_UNCHANGED.said_in(language)}"


def not_saved(missed: Sequence[str], language: Language, *, is_all: bool) -> str:
    """That nothing was kept of the ``missed`` sentences, which are named unless they are the whole message."""
    how_to = _NOT_UNDERSTOOD.said_in(language)
    if is_all:
        return _NOT_SAVED.said_in(language, what=how_to)
    shortened = (
        shorten(sentence.rstrip(". "), _NAMED_CHARS, placeholder="…") for sentence in missed[:_MISSED_NAMED]
    )
    named = ", ".join(_QUOTED.said_in(language, text=text) for text in shortened)
    rest = len(missed) - _MISSED_NAMED
    more = _AND_MORE.said_in(language, n=rest) if rest > 0 else ""
    return _NOT_SAVED.said_in(language, what=f"{named}{more}. {how_to}")


def too_long(length: int, limit: int, language: Language) -> str:
    return _NOT_SAVED.said_in(language, what=_TOO_LONG.said_in(language, length=length, limit=limit))


def fallback(message: str, replies: Sequence[str], language: Language) -> str:
    """In full once in a conversation, of which ``replies`` are the earlier ones; afterwards in a line."""
    is_told = any(_FALLBACK_START.is_in(reply) or _FALLBACK_SHORT.is_in(reply) for reply in replies)
    text = (_FALLBACK_SHORT if is_told else _FALLBACK).said_in(language)
    return "\n\n".join(part for part in (text, learned_languages(message, replies, language)) if part)


def learned_languages(message: str, replies: Sequence[str], language: Language) -> str:
    """Said once in a conversation, to a message in another language than English."""
    is_told = any(_LEARNED_LANGUAGES.is_in(reply) for reply in replies)
    return _LEARNED_LANGUAGES.said_in(language) if is_foreign(message) and not is_told else ""


def dated(day: date, language: Language) -> str:
    if language == "de":
        return f"{day.day}. {_GERMAN_MONTHS[day.month - 1]} {day.year}"
    return f"{day.day} {month_name[day.month]} {day.year}"


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
