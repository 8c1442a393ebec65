"""Text that a person decides by, as it really is: what cannot be seen is named where it stands."""

import re
from typing import Final

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

# Controls, every character that reorders, hides or joins text, blanks that are letters, and the variation selectors and
# tags, which carry whole hidden sentences. Unlike in a reply, also the joiners: here exact is better than pretty.
_UNSEEN: Final = re.compile(
    r"([\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    r"\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff])"
)


def with_unseen_named(text: str) -> SafeString:
    """The text, escaped, each character that cannot be seen as a mark with its code point."""
    # The split keeps what it splits at: every second piece is such a character.
    pieces = _UNSEEN.split(text)
    return format_html_join(
        "", "{}", ((_mark(piece) if at % 2 else piece,) for at, piece in enumerate(pieces))
    )


def _mark(character: str) -> SafeString:
    return format_html(
        '<span class="unseen" title="{}">U+{}</span>',
        gettext("A character that cannot be seen"),
        f"{ord(character):04X}",
    )
