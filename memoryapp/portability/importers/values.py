"""Looks into JSON of which nothing is certain: the wrong type is read as nothing."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

# What ``json_entries`` builds: integers and Decimals, never floats.
Value = dict[str, Any] | list[Any] | str | int | Decimal | bool | None


def mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def sequence(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def mappings(value: object) -> Iterator[dict[str, Any]]:
    """The objects among the elements of a list."""
    return (one for one in sequence(value) if isinstance(one, dict))


def text(value: object) -> str:
    return value if isinstance(value, str) else ""


def first_text(of: dict[str, Any], *keys: str) -> str:
    """The first that is a text with something in it."""
    return next((found for key in keys if (found := text(of.get(key)).strip())), "")
