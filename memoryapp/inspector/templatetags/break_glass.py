"""Whose memory a page shows, for its templates."""

from typing import Any

from django import template

from memoryapp.inspector.break_glass import Opened, opened

register = template.Library()


@register.simple_tag(takes_context=True)
def opened_memory(context: dict[str, Any]) -> Opened | None:
    """``{% opened_memory as opened %}``: None on a page about the reader's own memory."""
    return opened(context["request"])
