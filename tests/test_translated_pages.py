"""No page has a text that the catalogues cannot reach: each is walked with every translation put in brackets."""

import re
from dataclasses import asdict
from html.parser import HTMLParser

import pytest
from django.test import Client
from django.utils import translation

from tests.addresses import addresses
from tests.world import CONTENT, everything_of

OPENS, CLOSES = "⟦", "⟧"
SPOKEN = ("title", "aria-label", "placeholder", "alt", "aria-description", "aria-roledescription")
# What people wrote, names, code and dates are the same in every language.
SILENT_TAGS = {"script", "style", "code", "time", "textarea", "kbd"}
VOID = {"area", "br", "col", "hr", "img", "input", "link", "meta", "source", "use", "wbr", "path"}
WORDS = re.compile(r"[^\W\d_]{2,}")
# Names that stay as they are.
NAMES = re.compile(r"\b(Strata|Markdown|JSON|CSV|API|MCP|HTML|UTC|CET|Deutsch|English|min|ms|MB|kB|GB)\b")


class Reader(HTMLParser):
    """Collects the texts that are neither in brackets nor declared to be nobody's to translate."""

    def __init__(self):
        super().__init__()
        self.left: list[str] = []
        self.stack: list[tuple[str, bool]] = []
        self.depth = 0

    @property
    def is_silent(self):
        return any(silent for _tag, silent in self.stack)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        silent = (
            tag in SILENT_TAGS
            or given.get("translate") == "no"
            or "dir" in given
            or ("lang" in given and tag != "html")
            or "user-text" in (given.get("class") or "")
        )
        if not self.depth:
            for name in SPOKEN:
                self._check(given.get(name) or "", f"@{name} ", silent or self.is_silent)
        if tag not in VOID:
            self.stack.append((tag, silent))

    def handle_endtag(self, tag):
        if any(open_tag == tag for open_tag, _silent in self.stack):
            while self.stack.pop()[0] != tag:
                pass

    def handle_data(self, data):
        outside = ""
        for character in data:
            if character == OPENS:
                self.depth += 1
            elif character == CLOSES:
                self.depth -= 1
            elif not self.depth:
                outside += character
        self._check(outside, "", self.is_silent)

    def _check(self, text, where, silent):
        outside = re.sub(f"{OPENS}.*{CLOSES}", "", text, flags=re.DOTALL)
        if not silent and WORDS.search(NAMES.sub("", outside)):
            self.left.append(where + " ".join(outside.split()))


@pytest.fixture
def bracketed(monkeypatch):
    """Whatever goes through gettext comes back in brackets."""
    whole = translation._trans

    def bracket(text):
        return f"{OPENS}{text}{CLOSES}" if text else text

    def counted(one, many, number):
        return bracket(one if number == 1 else many)

    monkeypatch.setattr(whole, "gettext", bracket)
    monkeypatch.setattr(whole, "ngettext", counted)
    monkeypatch.setattr(whole, "pgettext", lambda _context, text: bracket(text))
    monkeypatch.setattr(whole, "npgettext", lambda _context, *forms: counted(*forms))


class Figures(HTMLParser):
    """Collects the numbers that browsers read, not people: of drawings, gauges and fields."""

    NAMES = frozenset(
        {"d", "points", "transform", "viewbox", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "rx"}
        | {"width", "height", "offset", "min", "max", "low", "high", "step"}
    )

    def __init__(self):
        super().__init__()
        self.found: list[tuple[str, str, str | None]] = []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        is_number = tag in {"progress", "meter", "data"} or given.get("type") == "number"
        self.found += [
            (tag, name, value)
            for name, value in attrs
            if name in self.NAMES or (name == "value" and is_number)
        ]


def figures(browser, address, language):
    reader = Figures()
    reader.feed(browser.get(address, headers={"Accept-Language": language}).content.decode())
    return reader.found


def walked(ids):
    return [
        address
        for address in addresses(ids)
        if not address.startswith(("/api/", "/admin/", "/accounts/logout"))
        and not address.endswith(("/stream", "/events"))
    ]


def left_over(browser, address):
    response = browser.get(address)
    if not response.get("Content-Type", "").startswith("text/html"):
        return []
    reader = Reader()
    reader.feed(response.content.decode())
    return reader.left


def test_every_text_of_every_page_can_be_translated(carol, bracketed):
    ids = asdict(everything_of(carol))
    browser = Client()
    browser.force_login(carol)

    left = {text: address for address in walked(ids) for text in left_over(browser, address)}

    of_the_person = (CONTENT, carol.username, "Tools", "tools.example", "laptop")
    assert {text: at for text, at in left.items() if not any(word in text for word in of_the_person)} == {}


@pytest.mark.parametrize(
    "address", ["/accounts/login/", "/accounts/signup/", "/accounts/password/reset/", "/nowhere/"]
)
def test_every_text_before_sign_in_can_be_translated(db, settings, bracketed, address):
    assert left_over(Client(), address) == []


def test_numbers_that_browsers_read_are_the_same_in_every_language(carol):
    ids = asdict(everything_of(carol))
    browser = Client()
    browser.force_login(carol)

    differing = [
        address
        for address in walked(ids)
        if figures(browser, address, "de") != figures(browser, address, "en")
    ]

    assert differing == []
