"""How data and people's words stand in a prompt: in blocks that nothing inside can close or forge. Pure."""

import json
import re
from collections.abc import Iterable


def as_data(value: object) -> str:
    """One line of JSON that parses back to ``value``, holds no ``<``, and is valid UTF-8 whatever is in it."""
    text = json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
    return text.encode("utf-8", "backslashreplace").decode()  # half a surrogate pair becomes its JSON escape


def without_tags(text: str, names: Iterable[str]) -> str:
    """The text word for word, but for a space that keeps it from opening or closing a block of these names."""
    return re.sub(rf"<(?=\s*/?\s*(?:{'|'.join(map(re.escape, names))})\b)", "< ", text, flags=re.IGNORECASE)
