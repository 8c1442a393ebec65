"""How data stands in a prompt beside words: as JSON in a fence that nothing inside can close. Pure."""

import json


def as_data(value: object) -> str:
    """One line of JSON that parses back to ``value``, holds no ``<``, and is valid UTF-8 whatever is in it."""
    text = json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
    return text.encode("utf-8", "backslashreplace").decode()  # half a surrogate pair becomes its JSON escape
