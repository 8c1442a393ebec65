"""Every address of the application, read from its URL patterns."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.converters import IntConverter, UUIDConverter


def addresses(ids: Mapping[str, object], *, under: str = "") -> Iterator[str]:
    """One address per pattern, with ``ids`` by parameter name; what has no id gets one that exists nowhere."""
    yield from sorted({address for address in _walk(get_resolver(), "/", ids) if address.startswith(under)})


def _walk(resolver: URLResolver, prefix: str, ids: Mapping[str, object]) -> Iterator[str]:
    for pattern in resolver.url_patterns:
        part = _filled(pattern, ids)
        if part is None:
            continue
        if isinstance(pattern, URLPattern):
            yield prefix + part
        else:
            yield from _walk(pattern, prefix + part, ids)


def _filled(pattern: URLPattern | URLResolver, ids: Mapping[str, object]) -> str | None:
    """The pattern's text with its parameters; None for a regular expression with some, which cannot be filled."""
    route = getattr(pattern.pattern, "_route", None)
    if route is None:
        expression = str(pattern.pattern).removeprefix("^").removesuffix("$")
        return None if "(" in expression else expression
    for name, converter in pattern.pattern.converters.items():
        value = str(ids.get(name, _unknown(converter)))
        route = re.sub(rf"<(\w+:)?{name}>", value, route)
    return route


def _unknown(converter: Any) -> str:
    if isinstance(converter, UUIDConverter):
        return "00000000-0000-7000-8000-000000000000"
    return "0" if isinstance(converter, IntConverter) else "unknown"
