"""How data and people's words stand in a prompt: in blocks that nothing inside can close or forge. Pure."""

import json
import re
from collections.abc import Iterable, Mapping

from memoryapp.policies.trust import Origin


def as_data(value: object) -> str:
    """One line of JSON that parses back to ``value``, holds no ``<``, and is valid UTF-8 whatever is in it."""
    text = json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
    return text.encode("utf-8", "backslashreplace").decode()  # half a surrogate pair becomes its JSON escape


def without_tags(text: str, names: Iterable[str]) -> str:
    """The text word for word, but for a space that keeps it from opening or closing a block of these names."""
    return re.sub(rf"<(?=\s*/?\s*(?:{'|'.join(map(re.escape, names))})\b)", "< ", text, flags=re.IGNORECASE)


def inert(item: Mapping[str, object]) -> dict[str, object]:
    """An item for the prompt. What somebody else may have written (its ``origin``) comes without links and images.

    A model that repeats them would have the reader's browser, or the reader, go where a stranger wants.
    """
    if not Origin(str(item.get("origin", Origin.USER_TYPED))).is_strangers:
        return dict(item)
    return {name: without_markup(value) if isinstance(value, str) else value for name, value in item.items()}


def without_markup(text: str) -> str:
    """Of Markdown and HTML what a reader sees: the words of links, the descriptions of images, no addresses."""
    before = ""
    while text != before:  # what was nested comes to light
        before = text
        for shape, shown in _MARKUP:
            text = shape.sub(shown, text)
    return text


# Each takes characters away, so that taking turns ends; none reaches over more than one line of its own kind.
_MARKUP = (
    (re.compile(r"<!--|-->"), ""),
    (re.compile(r"</?[A-Za-z][^<>]*>"), ""),  # also <https://…>
    (re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s[^()]*)?\)"), r"\1"),
    (re.compile(r"!?\[([^\[\]]+)\]\[[^\[\]]*\]"), r"\1"),
    (re.compile(r"(?m)^[ ]{0,3}\[[^\[\]]+\]:[ \t]*\S+.*$"), ""),
)
