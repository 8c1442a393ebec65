"""For the page that tells what was just done."""

from typing import Any

from django import template

from memoryapp.accounts.auth import caller_id
from memoryapp.inspector import break_glass, undoing

register = template.Library()


@register.simple_tag(takes_context=True)
def undo_offers(context: dict[str, Any]) -> list[undoing.Told]:
    """Each is told once: a page that asks for them has to show them. What they are about is for its person's eyes: not
    for an admin who has the memory open."""
    request = context["request"]
    offers = undoing.taken(request)
    if not offers:
        return []
    page_of = request.resolver_match.kwargs.get("memory_id") if request.resolver_match else None
    reader = None if break_glass.opened(request) else caller_id(request)
    return undoing.told(reader, offers, page_of=page_of)
