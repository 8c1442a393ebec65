"""Pages as a reader has them: the words, one space apart."""

import html
import re

from django.http import HttpResponse


def words_of(response: HttpResponse) -> str:
    bare = re.sub(r"<(script|style|svg)\b.*?</\1>|<[^>]*>", "", response.content.decode(), flags=re.DOTALL)
    return " ".join(html.unescape(bare).split())
