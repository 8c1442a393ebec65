"""The words of a web page: from bytes in whatever charset to plain text without its surroundings."""

import codecs
import re
from dataclasses import dataclass
from itertools import islice

import trafilatura

from memoryapp.tooling.fetching import HTML, Fetched, FetchError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_META_CHARSET = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*(?!utf-?16)([\w.:+-]{1,40})""", re.IGNORECASE
)
# Beyond it only the words are taken, without asking which of them are the article: that takes 2 s for so many elements
# (measured; 11 s and 700 MB for the 400,000 that fit into two megabytes), their words alone a fifth of it.
_MAX_ELEMENTS = 50_000
_META_WITHIN_BYTES = 4_096  # the HTML standard looks at 1,024; real pages are late
# Python's codecs hold more than charsets: ``idna``, ``punycode`` and ``unicode_escape`` are left out.
_CHARSETS = re.compile(
    r"utf-(8|16|32)(-le|-be|-sig)?|iso8859-\d+|cp\d+|koi8-[rtu]|gb\w+|big5\w*|euc_\w+|shift_jis\w*|iso2022_\w+|mac-\w+"
)
# What browsers take these for (WHATWG Encoding): pages that claim the one hold the other.
_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
}
# Controls, what reorders or hides text, and the tag characters, which a model reads and a person does not see.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b\u202a-\u202e\u2060-\u206f\ufeff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


@dataclass(frozen=True, slots=True)
class PageText:
    title: str
    text: str


def page_text(page: Fetched) -> PageText:
    """Title and text of ``page``. Raises ``FetchError`` when there is nothing to read in it."""
    source = decoded(page.body, page.charset)
    if page.media_type not in HTML:
        return PageText("", _clean(source))
    found = _extracted(source)
    if not found.text:
        raise FetchError("The page has no text; it may need a browser that runs scripts.")
    return found


def decoded(body: bytes, charset: str) -> str:
    """By its mark, else ``charset``, else what the page says of itself, else as UTF-8, else as Windows-1252."""
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace")
    meta = _META_CHARSET.search(body[:_META_WITHIN_BYTES])
    for name in (charset, meta[1].decode("ascii") if meta else ""):
        if encoding := _charset(name):
            return body.decode(encoding, "replace")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body.decode("cp1252", "replace")


def _charset(name: str) -> str:
    """Python's name of a charset; nothing for what is none."""
    try:
        encoding = codecs.lookup(name).name
    except LookupError:
        return ""
    encoding = _WIDER.get(encoding, encoding)
    return encoding if _CHARSETS.fullmatch(encoding) else ""


def _extracted(source: str) -> PageText:
    source = source.replace("\x00", "")
    if "<" not in source:
        return PageText("", _clean(source))
    if "html" not in source[:50].lower():
        source = "<!doctype html>" + source  # the extractor takes nothing else for a page
    try:
        tree = trafilatura.load_html(source)
        if tree is None:
            return PageText("", "")
        title = " ".join((tree.findtext(".//title") or "").split())
        is_large = next(islice(tree.iter(), _MAX_ELEMENTS, None), None) is not None
        text = "" if is_large else trafilatura.extract(tree, include_comments=False)
        text = text or trafilatura.html2txt(source)
    except (RecursionError, ValueError) as error:  # markup made to break parsers
        raise FetchError("The page cannot be parsed.") from error
    return PageText(_clean(title), _clean(text))


def _clean(text: str) -> str:
    return _UNSEEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()
