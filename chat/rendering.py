"""Markdown of untrusted authors, such as models, to HTML that is safe in a page, whole or while it streams.

The author may be anyone whose text a model repeats, so nothing here trusts the parser alone: raw HTML is
off, images are shown as links (a remote image reports what is on the screen to whoever hosts it), and the
sanitiser, which knows exactly the few elements below, comes last: nothing touches the HTML after it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from itertools import groupby
from typing import Any, Final

import nh3
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline, link
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_by_name
from pygments.token import STANDARD_TYPES, _TokenType
from pygments.util import ClassNotFound

# Pygments took 6 s for 120 kB of Python; what is past this much code in one text is shown plain.
HIGHLIGHT_MAX_CHARS: Final = 50_000
_LANGUAGE_MAX_CHARS: Final = 40

_EXTERNAL_URL: Final = re.compile(r"(?:https?://|mailto:)[^\s<>\"\\]+", re.IGNORECASE)
# Our own pages, for links that an assistant gives to what it remembers. Without dots there is no "..", and
# without a second slash or a backslash no "//host".
_OWN_URL: Final = re.compile(r"/(?:c|memory|settings)(?:/[\w-]+)*/?(?:\?[\w=&+-]*)?(?:#[\w-]*)?")

_ALIGNMENTS: Final = {
    "text-align:left": "align-left",
    "text-align:center": "align-center",
    "text-align:right": "align-right",
}
# fmt: off
_TAGS: Final = {
    "a", "blockquote", "br", "button", "code", "div", "em", "h3", "h4", "h5", "h6", "hr", "li",
    "ol", "p", "pre", "s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}
# fmt: on
_CLEANER: Final = nh3.Cleaner(
    tags=_TAGS,
    attributes={"*": set(), "a": {"href"}, "ol": {"start"}},  # "*" unset would mean title and lang
    tag_attribute_values={
        "a": {"target": {"_blank"}},
        "button": {"type": {"button"}, "data-copy": {""}},
        "div": {"tabindex": {"0"}},
        "pre": {"tabindex": {"0"}},
    },
    allowed_classes={
        "button": {"copy"},
        "div": {"code-block", "code-header", "table-scroll"},
        "span": {"language", *STANDARD_TYPES.values()} - {""},
        "td": set(_ALIGNMENTS.values()),
        "th": set(_ALIGNMENTS.values()),
    },
    link_rel="noopener noreferrer nofollow",
    url_schemes={"http", "https", "mailto"},
    url_relative=lambda url: url if _OWN_URL.fullmatch(url) else None,
)

# Characters that reorder, hide or break text without being seen: controls, every Bidi_Control, zero-width
# spaces, invisible operators, annotation marks and tags (which carry whole hidden sentences). The joiners
# stay: emoji and Persian need them.
_UNSEEN: Final = re.compile(
    r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f"
    r"\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)
_LINE_BREAK: Final = re.compile(r"\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_LONE_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


def render_markdown(text: str, *, highlight: bool = True) -> SafeString:
    """Render a whole text; code is coloured by class, so that one static stylesheet serves and CSP holds."""
    return _sanitised_html(_MARKDOWN.parse(_visible(text)), _highlighting(is_on=highlight))


@dataclass(frozen=True, slots=True)
class Frame:
    """What a reader must change: append the blocks, which are final, and replace the tail."""

    committed_html: tuple[str, ...]
    tail_html: str


class LiveRendering:
    """Renders a text as it grows, in frames, each safe by itself however the text was cut.

    A top-level block is committed, and never rendered again, once a later block has certainly begun: then
    nothing that can still arrive changes it. Only the tail after it is parsed again, so that a long reply
    costs little more than its length. Code is coloured when it is committed. A link whose definition follows
    in a later block is the one construct that differs from ``render_markdown`` of the whole text, which
    should replace the frames at the end.
    """

    def __init__(self, *, highlight: bool = True) -> None:
        self.rendered_chars = 0  # what the frames so far cost: every character, each time it was parsed
        self._highlighting = _highlighting(is_on=highlight)
        self._tail = ""
        self._ends_in_cr = False
        self._references: dict[str, Any] = {}
        self._last_frame: Frame | None = None

    def feed(self, delta: str) -> None:
        """Take the next piece of the text; any cut is allowed, also between the halves of a line break."""
        if not delta:
            return
        self._tail += _visible(delta.removeprefix("\n") if self._ends_in_cr else delta)
        self._ends_in_cr = delta.endswith("\r")
        self._last_frame = None

    def take_frame(self) -> Frame:
        """Return what is new since the last frame; with nothing fed since, no block and the same tail."""
        if self._last_frame is None:
            self._last_frame = self._next_frame()
            return self._last_frame
        return Frame(committed_html=(), tail_html=self._last_frame.tail_html)

    def _next_frame(self) -> Frame:
        env: EnvType = {"references": dict(self._references)}
        tokens = _MARKDOWN.parse(self._tail, env)
        self.rendered_chars += len(self._tail)
        lines = self._tail.split("\n")
        boundary = _last_certain_start(tokens, lines)
        split = next((i for i, token in enumerate(tokens) if _starts_at(token) == boundary), 0)

        committed = tuple(_sanitised_html(block, self._highlighting) for block in _blocks(tokens[:split]))
        tail_html = _sanitised_html(tokens[split:], _highlighting(is_on=False))

        self._references.update(_references_before(boundary, env))
        self._tail = "\n".join(lines[boundary:])
        return Frame(committed_html=committed, tail_html=tail_html)


def _visible(text: str) -> str:
    """Return the text with one kind of line break, nothing unseen, and only what UTF-8 can carry."""
    return _LONE_SURROGATE.sub("\ufffd", _UNSEEN.sub("", _LINE_BREAK.sub("\n", text)))


def _is_allowed_url(url: str) -> bool:
    return bool(_EXTERNAL_URL.fullmatch(url) or _OWN_URL.fullmatch(url))


def _highlighting(*, is_on: bool) -> EnvType:
    """Return a render environment: how many characters of code may still be coloured."""
    return {"highlight_chars": HIGHLIGHT_MAX_CHARS if is_on else 0}


def _sanitised_html(tokens: Sequence[Token], env: EnvType) -> SafeString:
    html = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, env)
    return mark_safe(_CLEANER.clean(html))  # noqa: S308 — the sanitiser's own output


def _starts_at(token: Token) -> int | None:
    """Return the line on which a top-level block begins, or None for a token that begins none."""
    return token.map[0] if token.level == 0 and token.nesting >= 0 and token.map else None


def _last_certain_start(tokens: Sequence[Token], lines: Sequence[str]) -> int:
    """Return the latest line at which a block began for certain; 0 when nothing before it can be committed.

    A block that follows an empty line, and whose own first line is complete, has ended what was before it:
    what the parser decides about earlier lines depends on no later one. Without the empty line a paragraph
    may yet become a heading, a table or the title of a link's definition.
    """
    complete = len(lines) - 1
    starts = (start for token in reversed(tokens) if (start := _starts_at(token)) is not None)
    return next((start for start in starts if 0 < start < complete and not lines[start - 1].strip(" \t")), 0)


def _blocks(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Cut the tokens into top-level blocks."""
    begin = 0
    for end, token in enumerate(tokens, start=1):
        if token.level == 0 and token.nesting <= 0 and token.type != "inline":
            yield tokens[begin:end]
            begin = end


def _references_before(line: int, env: EnvType) -> dict[str, Any]:
    """Return the link definitions that end before the line; one in the tail may still be half written."""
    return {label: found for label, found in env["references"].items() if found["map"][1] <= line}


class _Renderer(RendererHTML):
    """CommonMark, with our wrappers around code and tables."""

    def fence(self, tokens: Sequence[Token], idx: int, _options: OptionsDict, env: EnvType) -> str:
        words = tokens[idx].info.split(maxsplit=1)
        return _code_html(tokens[idx].content, words[0][:_LANGUAGE_MAX_CHARS] if words else "", env)

    def code_block(self, tokens: Sequence[Token], idx: int, _options: OptionsDict, env: EnvType) -> str:
        return _code_html(tokens[idx].content, "", env)

    def renderToken(  # noqa: N802 — the base class's name
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        html = super().renderToken(tokens, idx, options, env)
        if tokens[idx].type == "table_open":
            return '<div class="table-scroll" tabindex="0">\n' + html
        if tokens[idx].type == "table_close":
            return html + "</div>\n"
        return html


def _present(state: StateCore) -> None:
    """Give cells their alignment as a class (the policy allows no inline style) and links their target.

    Headings go below the page's own two levels, so that its outline stays one.
    """
    for token in state.tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(int(token.tag[1]) + 2, 6)}"
        if token.type in {"th_open", "td_open"} and "style" in token.attrs:
            token.attrs = {"class": _ALIGNMENTS[str(token.attrs["style"])]}
        for child in token.children or []:
            # Leaving must not lose the conversation; our own pages open in place.
            if child.type == "link_open" and not _OWN_URL.fullmatch(str(child.attrs["href"])):
                child.attrs["target"] = "_blank"


def _image_as_link(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 — markdown-it's signature
    """``![alt](url)`` as ``[alt](url)``; inside another link, where none can be, as its words."""
    start = state.pos
    if not state.src.startswith("![", start):
        return False
    label = state.src[start + 2 : state.md.helpers.parseLinkLabel(state, start + 1)]
    is_inside_link = state.linkLevel > 0
    state.pos += 1
    if not link(state, silent or is_inside_link):
        state.pos = start
        return False
    if is_inside_link and not silent:
        state.pending += label
    elif not silent and not label.strip():
        address = Token("text", "", 0, content=str(state.tokens[-2].attrs["href"]), level=state.level + 1)
        state.tokens.insert(-1, address)
    return True


def _code_html(code: str, language: str, env: EnvType) -> str:
    lexer_class = _lexer_class(language.lower()) if len(code) <= env["highlight_chars"] else None
    if lexer_class:
        env["highlight_chars"] -= len(code)
    code_html = _coloured(code, lexer_class) if lexer_class else escape(code)
    return (
        '<div class="code-block">'
        f'<div class="code-header"><span class="language">{escape(language)}</span>'
        f'<button type="button" class="copy" data-copy="">{escape(gettext("Copy"))}</button></div>'
        f'<pre tabindex="0"><code>{code_html}</code></pre>'
        "</div>\n"
    )


@lru_cache(maxsize=256)
def _lexer_class(language: str) -> type[Lexer] | None:
    """Return the language's lexer, remembered because Pygments searches for it for milliseconds.

    The class and not an instance: lexers may keep state while they run, and several threads render.
    """
    try:
        return find_lexer_class_by_name(language) if language else None
    except ClassNotFound:
        return None


def _coloured(code: str, lexer_class: type[Lexer]) -> str:
    lexed = list(lexer_class(stripnl=False, ensurenl=False).get_tokens(code))
    if "".join(value for _, value in lexed) != code:
        return escape(code)  # colours are not worth one changed character
    runs = groupby(lexed, key=lambda pair: _css_class(pair[0]))
    return "".join(_span_html(name, "".join(value for _, value in run)) for name, run in runs)


def _css_class(kind: _TokenType) -> str:
    """Return the class of the nearest kind that stylesheets know; lexers may invent finer ones."""
    return STANDARD_TYPES[next(known for known in reversed(kind.split()) if known in STANDARD_TYPES)]


def _span_html(css_class: str, text: str) -> str:
    return f'<span class="{css_class}">{escape(text)}</span>' if css_class else escape(text)


_MARKDOWN: Final = MarkdownIt("commonmark", {"html": False, "linkify": True}, renderer_cls=_Renderer)
_MARKDOWN.enable(["table", "strikethrough", "linkify"])
_MARKDOWN.inline.ruler.at("image", _image_as_link)
_MARKDOWN.core.ruler.push("present", _present)
_MARKDOWN.validateLink = _is_allowed_url  # type: ignore[method-assign]
# Only what is written as an address becomes a link: "README.md" is no host in Moldova.
_MARKDOWN.linkify.set({"fuzzy_link": False})  # type: ignore[union-attr]
