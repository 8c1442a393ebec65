"""Statements that read like orders to the assistant, and characters that nobody sees. Pure.

A flag is for the person's eye, never the defence: what keeps a poisoned memory out is its origin (``policies.trust``).
So a missed one costs little, and what people often say to an assistant ("answer in German") is left alone. The rates
over ``tests/data/instructions.json`` are in docs/security.md.
"""

import base64
import binascii
import codecs
import re
import unicodedata

from memoryapp.errors import gettext_noop


def instruction_shaped(text: str) -> str | None:
    """Why the text looks like an instruction to the assistant, in a few words; None for what looks like a fact.

    ``text``: as it came, before ``storable``, so that hidden characters count.
    """
    if _HIDING.search(_FLAG_SEQUENCE.sub("", text)):
        return gettext_noop("hidden characters")
    plain = without_gaps(unicodedata.normalize("NFKC", storable(text)))
    for why, shape in _SHAPES:
        if shape.search(plain):
            return why
    return gettext_noop("an encoded part") if _holds_encoded(plain) else None


def storable(text: str) -> str:
    """The text without characters that show nothing: controls, zero widths, direction marks, tags, stray selectors.

    What a script or an emoji needs stays: joiners between letters that join, one variation selector, the three flags
    that are spelt in tags. Lines and tabs stay too. Idempotent.
    """
    parts = _FLAG_SEQUENCE.split(text)
    return "".join(part if index % 2 else _seen(part) for index, part in enumerate(parts))


def without_gaps(text: str) -> str:
    """One space, or one line's end, for several: a search for what may follow a gap would begin anew at each."""
    return _GAP.sub(lambda gap: "\n" if "\n" in gap[0] else " ", text)


def _seen(text: str) -> str:
    chars = [shown for char in text if (shown := _shown(char))]
    kept: list[str] = []
    for char, following in zip(chars, [*chars[1:], ""], strict=False):
        before = kept[-1] if kept else ""
        if char in _JOINERS:
            is_needed = _joins(before, following)
        elif _is_selector(char):
            is_needed = _may_vary(before)
        else:
            is_needed = True
        if is_needed:
            kept.append(char)
    return "".join(kept)


def _shown(char: str) -> str:
    """Nothing for what shows nothing by itself, a space or a line for controls that part words."""
    if char in "\n\t" or char in _JOINERS or char in _SHOWN_FORMATS:
        return char
    match unicodedata.category(char):
        case "Cc":
            return " " if char.isspace() else ""
        case "Zl" | "Zp":
            return "\n"
        case "Cf":
            return ""
    return "" if char in _BLANK_LETTERS else char


def _joins(before: str, following: str) -> bool:
    """Whether a joiner between the two is spelling (RFC 5892, appendix A, loosely) or part of an emoji (UTS #51)."""
    if not before:
        return False
    if _joining_script(before):
        return _joining_script(following) or unicodedata.combining(before) == _VIRAMA
    is_emoji = before == "\ufe0f" or unicodedata.category(before) in {"So", "Sk"}
    return is_emoji and bool(following) and unicodedata.category(following) in {"So", "Sm"}


def _joining_script(char: str) -> bool:
    return bool(char) and any(first <= char <= last for first, last in _JOINING_SCRIPTS)


def _is_selector(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


def _may_vary(before: str) -> bool:
    """A letter of the Latin alphabet has no variants; one selector after another only carries what nobody sees."""
    if not before or before.isspace() or before in _JOINERS or _is_selector(before):
        return False
    return not before.isascii() or before in "0123456789#*"


def _holds_encoded(text: str) -> bool:
    if _PERCENT_RUN.search(text) or _SPACED_LETTERS.search(text):
        return True
    if any(_is_readable(_decoded(run)) for run in _ENCODED_RUN.findall(text)):
        return True
    words = re.findall(r"[a-z]+", text.lower())
    turned = [codecs.encode(word, "rot13") for word in words]
    common = sum(word in _COMMON_WORDS for word in turned)
    return common >= _ROT13_WORDS and common > sum(word in _COMMON_WORDS for word in words)


def _decoded(run: str) -> bytes:
    try:
        if len(run) % 2 == 0 and re.fullmatch(r"[0-9a-fA-F]+", run):
            return bytes.fromhex(run)
        return base64.b64decode(run.rstrip("=") + "=" * (-len(run.rstrip("=")) % 4), altchars=b"-_")
    except (binascii.Error, ValueError):
        return b""


def _is_readable(found: bytes) -> bool:
    """Text in words, which a checksum or a random id is not."""
    return bool(found) and b" " in found and all(32 <= byte < 127 or byte in b"\n\t" for byte in found)


_JOINERS = "\u200c\u200d"
_VIRAMA = 9  # the canonical combining class of the signs that join consonants
# Arabic, Syriac, N'Ko and the like; Indic; Myanmar, Khmer, Mongolian; Arabic presentation forms.
_JOINING_SCRIPTS = (
    ("\u0600", "\u08ff"),
    ("\u0900", "\u0dff"),
    ("\u1000", "\u109f"),
    ("\u1780", "\u18af"),
    ("\ufb50", "\ufdff"),
    ("\ufe70", "\ufefc"),
)
_SHOWN_FORMATS = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
# Letters and marks that are blank: Hangul fillers, the grapheme joiner, Khmer's inherent vowels.
_BLANK_LETTERS = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
# England, Scotland and Wales: the only sequences of tags that are shown (emoji-sequences.txt).
_FLAG_SEQUENCE = re.compile(
    "(\U0001f3f4\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074"
    "|\U000e0077\U000e006c\U000e0073)\U000e007f)"
)
# Tags; directions turned around; several selectors in a row; a zero width inside a Latin word.
_HIDING = re.compile(
    "[\U000e0000-\U000e007f\u202a-\u202e\u2066-\u2069]|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2}"
    "|(?<=[A-Za-z])[\u200b-\u200d\u2060-\u2064\ufeff]+(?=[A-Za-z])"
)

_BY_ONESELF = (
    r"(?<!\bI\s)(?<!\bwe\s)(?<!\bwho\s)(?<!\bto\s)(?<!\byou\s)"  # "I run the backup tool" is about oneself
)
_TOOL_NAMES = r"""(?:search_conversations|get_fact|list_facts|update_plan|fetch_page|read_result|current_time
    |confirm_memory)"""
_TOOL = re.compile(
    rf"""\b{_TOOL_NAMES}\b
    |{_BY_ONESELF}\b(?:call|invoke|execute|run|trigger|use|pick|choose|select)\s+
      (?:(?:the|a|an|your|any|every|this)\s+)?(?:\w+\s+){{0,3}}?(?:tool|function|command|plugin|shell)\b
    |\b(?:call|invoke|execute)\s+[`'"]?[a-z]+_[a-z_]+|\b(?:[a-z]+_[a-z_]+|remember|recall|calculate)\s?\(
    |\btool(?:s\s+need|\s+for|\s+named|\s+called|_call)|\bcall\s+(?:remember|recall|calculate)\b
    |\b(?:appelle[rz]?|llama|chama|rufe?|вызови)\b.{{0,20}}\b(?:outil|herramienta|ferramenta|werkzeug|remember|tool)
    |调用|呼び出""",
    re.IGNORECASE | re.VERBOSE,
)
_ROLE = re.compile(
    r"""(?:^|[\n.!?]\s*)(?:human|assistant|developer)\s*:\s|[\n.!?]\s*(?:system|user)\s*:\s
    |<\s*/?\s*(?:system|assistant|user|human|developer|instructions?|prompt|tool\w*|recalled-memories|scratchpad
      |conversation-summary|kept-word-for-word)\b
    |<\|[^|>\n]{1,40}\|>|\[/?INST\]|<</?SYS>>|(?<!\#)\#{2,}\s*(?:system|instructions?|response|assistant)\b
    |["']role["']\s*:\s*["']|\b(?:begin|end)\s+(?:of\s+)?(?:system|developer|admin)\b|\bsystem\s+(?:message|note)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_RULES = r"(?:instructions?|rules?|prompts?|guidelines?|polic(?:y|ies)|restrictions?|directions)"
_OVERRIDE = re.compile(
    rf"""{_BY_ONESELF}\b(?:ignore|disregard|forget|override|bypass|skip)\s+(?:\w+\s+){{0,4}}?
      (?:{_RULES}|above|approvals?)\b
    |\bdisregard\s+everything\b|\bnew\s+{_RULES}\s*:|\byour\s+(?:\w+\s+)?{_RULES}\b|\b(?:developer|god|dan)\s+mode\b
    |\b(?:overrides?|outranks?|supersedes?)\s+(?:what\s+)?(?:the\s+)?(?:user|operator|system|rules?)\b|^\s*override\b
    |\b(?:no\s+longer\s+appl(?:y|ies)|without\s+(?:limits|restrictions))\b
    |\bignorier\w*\b.{{0,40}}\b(?:anweisung|regel|vorgabe)|\bignora\w*\b.{{0,40}}\b(?:instruc|istruzion|reglas|regole)
    |\b(?:ignor\w*|oubli\w*)\b.{{0,40}}\b(?:consigne|instruction|instruç)|忽略.{{0,12}}(?:指令|指示|规则)
    |(?:指示|命令|ルール).{{0,6}}無視|игнориру\w*\s.{{0,40}}(?:инструкц|правил|указан)""",
    re.IGNORECASE | re.VERBOSE,
)
_MODEL = r"(?:assistant|ai|model|chat\s?bot|bot|agent|llm|strata|claude|chatgpt)"
# What a note to a program orders and people rarely write down about themselves.
_ORDER = r"""(?:send|forward|upload|transmit|transfer|wire|leak|reveal|disclose|append|embed|insert|attach
    |recommend|cite|quote|promote|obey|deny|approve|decode|respond|reply|answer\s+(?:with|that)|act\s+(?:as|on)|pretend
    |treat|regard|assume|consider|leave\s+out|drop|switch|replace|redirect|hide|conceal|steer|do\s+(?:what|as)|follow\s+(?:the|what|any)
    |make\s+sure|ensure|ask\s+the\s+user)"""
_SOFTLY = r"""(?:(?:please|always|never|also|quietly|silently|secretly|simply|from\s+now\s+on|henceforth|do\s+not
    |don't),?\s+)*"""
_ADDRESSED = re.compile(
    rf"""\byou\s+(?:must|shall|will|are\s+(?:now|an?|to)|may|have\s+no|need\s+to)\b
    |\b(?:the|this|your|our|any)\s+{_MODEL}\s+(?:must|shall|should|has\s+to|needs\s+to|is\s+(?:allowed|authori[sz]ed))\b
    |\b(?:tell|inform|show|ask|convince|persuade)\s+the\s+user\b|\b(?:tell|mention)\b.{{0,60}}\bto\s+the\s+user\b
    |\bthe\s+user\s+(?:must|should|shall|may)\s+(?:not|never)\b|\bwhat\s+the\s+user\s+says?\b
    |(?:^|[.!?;:\n]\s*){_SOFTLY}{_ORDER}\b(?!\s+invoices?\s+by\b)
    |\b(?:in|to|of|with)\s+(?:every|each)\s+(?:reply|answer|response|summary|message)\b
    |\b(?:system|hidden)\s+prompt\b|\brefer\s+to\s+(?:the\s+)?knowledge\b
    |\b(?:has|have|is|are)\s+to\s+be\s+(?:answered|replaced|approved|ignored)\b|\banswer\s+should\s+be\b
    |\b(?:empfiehl|recomienda|recommande[rz]?|рекомендуй|envía|envoie[rz]?|sende)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_USER = (
    r"(?:user|human|customer|nutzer|benutzer|usuario|utilisateur|utilizador|usuário|utente|пользовател\w*)"
)
_WHEN = re.compile(
    rf"""\b(?:when(?:ever)?|if|once|as\s+soon\s+as|each\s+time|every\s+time|next\s+time|after|before|until)\s+
      (?:(?:the|a|any)\s+)?(?:(?:{_USER})\s+\w+|(?:someone|anyone)\s+(?:asks|mentions)\s+(?:for|about)|the\s+word\b)
    |\b(?:when(?:ever)?|if|once|as\s+soon\s+as)\s+(?:you(?:\s+are|'re)\s+)?(?:asked|prompted|questioned)\b
    |\b(?:when(?:ever)?|if|once|before|after|(?:each|every|next)\s+time|in\s+case)\b[^.!?\n]{{1,80}},\s*{_SOFTLY}{_ORDER}\b
    |\bbefore\s+you\s+answer\b|(?:^|[.!?]\s*)for\s+[^.!?\n]{{1,60}}\s(?:use|execute|pick)\b
    |\b(?:wenn|sobald|cuando|cada\s+vez|quand|lorsqu|chaque\s+fois|когда|quando)\b.{{0,30}}{_USER}
    |(?:当|每当|如果|もし).{{0,10}}(?:用户|ユーザー)|(?:用户|ユーザー).{{0,12}}(?:时候|とき|たら)""",
    re.IGNORECASE | re.VERBOSE,
)
_GRANT = re.compile(
    r"""\bthe\s+user\s+(?:has\s+|have\s+)?(?:already\s+)?(?:authori[sz]e[sd]|approve[sd]|consent(?:s|ed)|permit(?:s|ted)
      |allow(?:s|ed)|agree[sd]|grant(?:s|ed))\b
    |\b(?:by|from)\s+the\s+operator\b
    |\b(?:trusted|authoritative|reliable|official)\s+(?:source|vendor|site|domain|authority|partner)\b
    |\bonly\s+(?:safe|trusted|reliable|correct|official)\s|\bneeds?\s+no\s+(?:approval|confirmation|permission)\b
    |\bwithout\s+(?:confirmation|asking|approval)\b|\bit\s+is\s+mandatory\b""",
    re.IGNORECASE | re.VERBOSE,
)
_SECRECY = re.compile(
    r"""\bwithout\s+(?:telling|informing|mentioning)\b|\bkeep\s+this\s+between\s+us\b
    |\b(?:never|not|don't)\s+(?:tell|mention)\b.{0,60}\buser\b|\bdo\s+not\s+mention\s+this\b""",
    re.IGNORECASE | re.VERBOSE,
)
_LINK = re.compile(
    r"\b(?:https?|ftp|data|javascript):(?://|\w)|\bwww\.\w|!\[[^\]]*\]\(|\]\(\s*\w+:|<(?:img|script|iframe|svg|a)\b",
    re.IGNORECASE,
)
_SHAPES = (
    (gettext_noop("a role marker"), _ROLE),
    (gettext_noop("overrides the rules"), _OVERRIDE),
    (gettext_noop("a tool's name"), _TOOL),
    (gettext_noop("when the user…"), _WHEN),
    (gettext_noop("a permission or a claim of trust"), _GRANT),
    (gettext_noop("asks for secrecy"), _SECRECY),
    (gettext_noop("addresses the assistant"), _ADDRESSED),
    (gettext_noop("a link"), _LINK),
)
_GAP = re.compile(r"\s{2,}")
_SPACED_LETTERS = re.compile(r"(?<!\w)(?:\w\s+){7,}\w(?!\w)")
_PERCENT_RUN = re.compile(r"(?:%[0-9a-fA-F]{2}\s?){8,}")
_ENCODED_RUN = re.compile(r"(?<![\w/+=-])[A-Za-z0-9+/_-]{24,}={0,2}(?![\w/+=-])")
_ROT13_WORDS = 3
_COMMON_WORDS = frozenset(
    """the and you to of in is it that all this with not are as be on your user from always never ignore send call
    remember previous instructions rules tool memory when system""".split()  # noqa: SIM905 - reads better than quoted words
)
