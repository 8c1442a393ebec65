"""For the page that tells what was just done."""

from typing import Any

from django import template

from memoryapp.inspector import undoing

register = template.Library()


@register.simple_tag(takes_context=True)
def undo_offers(context: dict[str, Any]) -> list[undoing.Offer]:
    """Each is told once: a page that asks for them has to show them."""
    return undoing.taken(context["request"])
