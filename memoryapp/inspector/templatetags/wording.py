"""``{{ pieces|marked }}``: how a text changed, as ``del`` and ``ins`` that a screen reader says, too."""

from collections.abc import Iterable

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from memoryapp.policies.wording import Piece

register = template.Library()


@register.filter
def marked(pieces: Iterable[Piece]) -> SafeString:
    # Not in a template: every blank between the tags would be seen in the text.
    return format_html_join("", "{}", ((_mark(piece),) for piece in pieces))


def _mark(piece: Piece) -> SafeString:
    match piece.sort:
        case "removed":
            tag = '<del><span class="visually-hidden">{} </span>{}</del>'
            return format_html(tag, gettext("removed:"), piece.text)
        case "added":
            tag = '<ins><span class="visually-hidden">{} </span>{}</ins>'
            return format_html(tag, gettext("added:"), piece.text)
    return format_html("{}", piece.text)
