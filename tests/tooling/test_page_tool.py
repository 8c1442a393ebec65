"""The tool that opens a page: what the model gets of it, and when a person is asked first."""

import json
from datetime import UTC, datetime
from uuid import UUID

import pytest
from pydantic import ValidationError

from memoryapp.conf import get_conf
from memoryapp.llm.base import Cancellation
from memoryapp.policies.trust import Origin
from memoryapp.tooling.base import Heard, ToolContext
from memoryapp.tooling.fetching import AddressRefusedError, FetchError
from memoryapp.tooling.page_text import decoded
from memoryapp.tooling.page_tool import FETCH_PAGE, PART_CHARS, FetchPage, run_fetch_page
from tests.tooling.serving import everywhere, limits, page, redirect, serving

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
ARTICLE = """<!doctype html><html><head><meta charset="utf-8"><title>On
  storks</title><script>alert(1)</script><style>p {}</style></head>
<body><nav><a href="/">Home</a> <a href="/more">More of this</a></nav>
<article><h1>On storks</h1>
<p>The white stork is a large bird which breeds in the warmer parts of Europe, and in northwestern Africa.</p>
<p>It flies to Africa for the winter, and avoids the sea, for the air over water does not carry it.</p>
<table><tr><td>Length</td><td>100–115 cm</td></tr></table></article>
<footer>All rights reserved by somebody. Cookie settings.</footer></body></html>"""


def context(*said: str) -> ToolContext:
    return ToolContext(
        user_id=UUID(int=1),
        conversation_id=UUID(int=2),
        run_id=UUID(int=3),
        tool_use_id="call_1",
        time_zone="UTC",
        now=NOW,
        epoch_at_start=0,
        cancellation=Cancellation(),
        heard=[Heard(UUID(int=n), text, NOW) for n, text in enumerate(said)],
    )


@pytest.fixture
def server():
    with serving() as server:
        yield server


def opened(server, target="/", **values):
    allowed = limits(server, max_bytes=values.pop("max_bytes", 2_000_000))
    arguments = FetchPage(url=server.url(target), **values)
    return run_fetch_page(arguments, context(), limits=allowed, resolve=everywhere)


def read(server, target="/", **values) -> dict:
    return json.loads(opened(server, target, **values).content)


def html(body: str | bytes, **headers) -> bytes:
    return page(body, **{"content_type": "text/html", **headers})


def test_of_an_article_the_model_gets_title_and_words(server):
    server.replies["/"] = html(ARTICLE)

    found = read(server)

    assert (found["url"], found["title"]) == (server.url(), "On storks")
    assert found["text"].startswith("On storks\nThe white stork is a large bird")
    assert "does not carry it." in found["text"]
    assert "100–115 cm" in found["text"]
    assert found["chars"] == len(found["text"])
    assert not {"truncated", "next_start"} & set(found)
    assert not any(noise in found["text"] for noise in ("alert", "Cookie", "p {}", "More of this"))


def test_what_it_says_is_untrusted(server):
    server.replies["/"] = html(ARTICLE)

    output = opened(server)

    assert output.origin == Origin.UNTRUSTED
    assert output.done == f"read {server.url()}"


def test_the_address_is_that_after_the_redirects(server):
    server.replies |= {"/": redirect("/articles/1"), "/articles/1": html(ARTICLE)}

    assert read(server)["url"] == server.url("/articles/1")


@pytest.mark.parametrize("content_type", ["text/plain", "text/markdown", "text/csv", "application/json"])
def test_plain_text_and_json_come_as_they_are(server, content_type):
    body = '{"a": "<b>",\n\n\n "b": [1, 2]}'
    server.replies["/"] = page(body, content_type=content_type)

    assert read(server) == {"url": server.url(), "title": "", "text": body, "chars": len(body)}


def test_a_long_page_is_read_in_parts_that_join(server):
    whole = "".join(f'"line {n}" \\\n' for n in range(2_000))
    server.replies["/"] = page(whole)

    parts = [read(server)]
    while "next_start" in parts[-1]:
        parts.append(read(server, start=parts[-1]["next_start"]))

    assert "".join(part["text"] for part in parts) == whole.strip()
    assert [part.get("truncated", False) for part in parts] == [True] * (len(parts) - 1) + [False]
    assert {part["chars"] for part in parts} == {len(whole.strip())}


def test_a_part_is_never_longer_than_the_tool_may_answer(server):
    server.replies["/"] = page('"\\\n' * PART_CHARS)

    assert len(opened(server).content) <= FETCH_PAGE.max_output_chars


def test_past_its_end_there_is_nothing_to_read(server):
    server.replies["/"] = page("short")

    with pytest.raises(FetchError, match="has 5 characters; there is nothing from 5 on"):
        read(server, start=5)


def test_an_empty_text_is_an_answer(server):
    server.replies["/"] = page("")

    assert read(server)["text"] == ""


@pytest.mark.parametrize("body", ["", "<html></html>", "<html><body><script>render()</script></body></html>"])
def test_a_page_without_words_is_said_so(server, body):
    server.replies["/"] = html(body)

    with pytest.raises(FetchError, match="no text"):
        read(server)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("only words", "only words"),
        ("<p>Short.</p>", "Short."),
        ('<?xml version="1.0" encoding="utf-8"?><html><body><p>Für Elise</p></body></html>', "Für Elise"),
        ("<body>" + "<div>" * 200 + "deep down", "deep down"),
        ("<p>a\x00b</p>", "ab"),
        ("<" * 50_000, "<<<"),
        ("<table>" + "<tr><td>a<td>b" * 30_000, "a b a b"),
    ],
)
def test_odd_markup_is_read_for_its_words(server, body, words):
    server.replies["/"] = html(body)

    assert words in read(server)["text"]


@pytest.mark.parametrize(
    "body", ["<div>" * 100_000 + "deep", "<b>" * 100_000 + "deep", "<div " + "a=b " * 200_000]
)
def test_markup_made_to_break_parsers_is_no_defect(server, body):
    server.replies["/"] = html(body)

    with pytest.raises(FetchError):
        read(server)


def test_what_a_person_would_not_see_is_not_shown_to_the_model_either(server):
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
    server.replies["/"] = page(f"a{hidden}b\u200bc\u202ed\x00e\x07f\r\ng")

    assert read(server)["text"] == "abcdef\ng"


@pytest.mark.parametrize(
    ("body", "charset", "text"),
    [
        ("Grüße".encode(), "utf-8", "Grüße"),
        ("Grüße".encode(), "", "Grüße"),
        ("Grüße".encode("latin-1"), "", "Grüße"),
        ("Grüße".encode("latin-1"), "iso-8859-1", "Grüße"),
        ("„Grüße“".encode("cp1252"), "iso-8859-1", "„Grüße“"),
        ("Привет".encode("koi8-r"), "KOI8-R", "Привет"),
        ("日本語".encode("shift_jis"), "Shift_JIS", "日本語"),
        ("你好".encode("gb18030"), "gb2312", "你好"),
        (
            b'<meta charset="windows-1251">' + "Привет".encode("cp1251"),
            "",
            '<meta charset="windows-1251">Привет',
        ),
        (
            b"<meta http-equiv=content-type content='text/html; charset=euc-jp'>" + "日本".encode("euc-jp"),
            "",
            "<meta http-equiv=content-type content='text/html; charset=euc-jp'>日本",
        ),
        (b"<meta charset=utf-16>" + "Grüße".encode(), "", "<meta charset=utf-16>Grüße"),
        ("Grüße".encode("utf-8-sig"), "latin-1", "Grüße"),
        (b"\xff\xfe" + "Grüße".encode("utf-16-le"), "utf-8", "Grüße"),
        (b"\xfe\xff" + "Grüße".encode("utf-16-be"), "", "Grüße"),
        ("Grüße".encode("utf-16-le"), "utf-16le", "Grüße"),
        (b"broken \xc3", "utf-8", "broken \ufffd"),
        ("Grüße".encode(), "no-such-charset", "Grüße"),
        (b"\\u0041", "unicode_escape", "\\u0041"),
        (b"xn--a", "idna", "xn--a"),
        (b"uryyb", "rot13", "uryyb"),
        (b"aGk=", "base64", "aGk="),
        (b"", "", ""),
    ],
)
def test_the_charset_is_found(body, charset, text):
    assert decoded(body, charset) == text


@pytest.mark.parametrize(
    "said",
    [
        "Read https://page.example/a?b=1",
        "https://page.example/a?b=1",
        "Is (https://page.example/a?b=1) right?",
        "See [this](https://page.example/a?b=1).",
        "<https://page.example/a?b=1>, please",
        "What about https://page.example/a?b=1?",
        "line\nhttps://page.example/a?b=1\nline",
    ],
)
def test_an_address_that_the_person_wrote_is_opened_at_once(said):
    arguments = FetchPage(url="https://page.example/a?b=1")

    assert not FETCH_PAGE.asks_first(arguments, context("Hello.", said))


@pytest.mark.parametrize(
    "said",
    [
        "",
        "page.example",
        "Read https://page.example/",
        "Read https://page.example/a",
        "Read https://page.example/a?b=12",
        "Read https://page.example/a?b=1/more",
        "Read http://page.example/a?b=1",
        "Read xhttps://page.example.test/?https://page.example/a?b=1",
        "Read https://page.example/A?B=1",
    ],
)
def test_before_any_other_address_the_person_is_asked(said):
    arguments = FetchPage(url="https://page.example/a?b=1")

    assert FETCH_PAGE.asks_first(arguments, context(said))


def test_where_nobody_said_anything_the_person_is_asked():
    assert FETCH_PAGE.asks_first(FetchPage(url="https://page.example/"), context())


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://page.example/a", "page.example"),
        ("https://your-bank.example@evil.example/", "evil.example"),
        ("https://pаge.example/", "xn--pge-6cd.example"),  # with a Cyrillic а
        ("https://[::1", "of this address"),
    ],
)
def test_who_is_asked_reads_which_server_it_is(url, host):
    assert f"The server {host}, which" in FETCH_PAGE.will_touch(FetchPage(url=url))


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"url": ""},
        {"url": "https://page.example/" + "a" * 2_000},
        {"url": 1},
        {"url": "https://page.example/\ud800"},
        {"url": "https://page.example/", "start": -1},
        {"url": "https://page.example/", "start": 10**9},
        {"url": "https://page.example/", "start": "1"},
        {"url": "https://page.example/", "headers": {"Cookie": "a"}},
        {"url": "https://page.example/", "method": "POST"},
        {"url": "https://page.example/", "user_id": 1},
    ],
)
def test_arguments_of_the_wrong_shape_are_refused(wrong):
    with pytest.raises(ValidationError):
        FETCH_PAGE.checked(wrong)


def test_the_marks_say_what_the_tool_is():
    assert FETCH_PAGE.untrusted_output
    assert not FETCH_PAGE.side_effects


@pytest.fixture
def _configured(monkeypatch):
    monkeypatch.setenv("STRATA_FETCH_MAX_BYTES", "10000")
    get_conf.cache_clear()
    yield
    get_conf.cache_clear()


@pytest.mark.usefixtures("_configured")
def test_without_limits_of_a_test_those_of_the_configuration_hold(server):
    with pytest.raises(AddressRefusedError, match="ports, 80 and 443"):
        run_fetch_page(FetchPage(url=server.url()), context(), resolve=everywhere)
    with pytest.raises(AddressRefusedError, match="not on the public internet"):
        run_fetch_page(FetchPage(url="http://page.example/"), context(), resolve=everywhere)

    assert server.requests == []


def test_the_tool_is_off_until_an_operator_turns_it_on():
    assert get_conf().fetch_page is False
