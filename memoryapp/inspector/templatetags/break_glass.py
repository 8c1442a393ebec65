"""Whose memory a page shows, for its templates."""

from typing import Any

from django import template

from memoryapp.inspector.break_glass import Opened, opened

register = template.Library()


@register.simple_tag(takes_context=True)
def opened_memory(context: dict[str, Any]) -> Opened | None:
    """``{% opened_memory as opened %}``: None while none is open, and on the page of an error without a request."""
    request = context.get("request")
    return opened(request) if request is not None and hasattr(request, "session") else None
