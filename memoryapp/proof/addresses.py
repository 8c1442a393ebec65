"""Every address of the application, read from its URL patterns: a new one is known without a word here."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.converters import IntConverter, UUIDConverter


def addresses(ids: Mapping[str, object], *, under: str = "") -> Iterator[str]:
    """One address per pattern, with ``ids`` by parameter name; what has no id gets one that exists nowhere."""
    yield from addresses_of_many({name: [value] for name, value in ids.items()}, under=under)


def addresses_of_many(ids: Mapping[str, Sequence[object]], *, under: str = "") -> Iterator[str]:
    """As ``addresses``, with every one of several ids in each pattern."""
    found = {address for address in _walk(get_resolver(), [""], ids, "/") if address.startswith(under)}
    yield from sorted(found)


def _walk(
    resolver: URLResolver, prefixes: Sequence[str], ids: Mapping[str, Sequence[object]], root: str
) -> Iterator[str]:
    for pattern in resolver.url_patterns:
        whole = [prefix + part for prefix in prefixes for part in _filled(pattern, ids)]
        if isinstance(pattern, URLPattern):
            yield from (root + address for address in whole)
        else:
            yield from _walk(pattern, whole, ids, root)


def _filled(pattern: URLPattern | URLResolver, ids: Mapping[str, Sequence[object]]) -> Iterator[str]:
    """The pattern's text with its parameters; nothing for a regular expression with some, which cannot be filled."""
    route = getattr(pattern.pattern, "_route", None)
    if route is None:
        expression = str(pattern.pattern).removeprefix("^").removesuffix("$")
        if "(" not in expression:
            yield expression
        return
    converters = pattern.pattern.converters
    choices = [ids.get(name) or [_unknown(converter)] for name, converter in converters.items()]
    for chosen in itertools.product(*choices):
        text = route
        for name, value in zip(converters, chosen, strict=True):
            text = re.sub(rf"<(\w+:)?{name}>", str(value), text)
        yield text


def _unknown(converter: Any) -> str:
    if isinstance(converter, UUIDConverter):
        return "00000000-0000-7000-8000-000000000000"
    return "0" if isinstance(converter, IntConverter) else "unknown"
