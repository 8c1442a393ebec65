"""``{{ pieces|marked }}``: how a text changed, as ``del`` and ``ins`` that a screen reader says, too."""

from collections.abc import Iterable

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from memoryapp.policies.wording import Piece

register = template.Library()

_TAGS = {
    "removed": '<del><span class="visually-hidden">removed: </span>{}</del>',
    "added": '<ins><span class="visually-hidden">added: </span>{}</ins>',
    "same": "{}",
}


@register.filter
def marked(pieces: Iterable[Piece]) -> SafeString:
    # Not in a template: every blank between the tags would be seen in the text.
    return format_html_join("", "{}", ((format_html(_TAGS[piece.sort], piece.text),) for piece in pieces))
