"""Every text of a page has a translation, which fills the same gaps and carries the same markup."""

import re
from collections import Counter

import pytest

from tests.catalogue import compiled, in_source, is_complete, locales, mo_file, texts, translated

GAP = re.compile(r"%\(\w+\)[sd]|%%|\{[\w.]*\}")
MARKUP = re.compile(r"</?[a-z][^>]*>")


@pytest.fixture(scope="module", params=locales())
def locale(request):
    return request.param


@pytest.fixture(scope="module")
def catalogue(locale):
    return translated(locale)


def pairs(catalogue):
    """(source, translation) of each form; the plural is what the other forms are held against."""
    for message in catalogue:
        if not message.id:
            continue
        if isinstance(message.id, (tuple, list)):
            yield message.id[1], message.string[-1]
        else:
            yield message.id, message.string


def test_there_is_a_second_language():
    assert "de" in locales()


def test_every_text_of_the_pages_is_in_the_catalogue_and_nothing_else(catalogue):
    wanted, present = texts(in_source()), texts(catalogue)

    assert wanted - present == set(), "run: make messages"
    assert present - wanted == set(), "run: make messages"


def test_every_text_is_translated(catalogue):
    waiting = [message.id for message in catalogue if message.id and not is_complete(message)]

    assert waiting == []


def test_a_translation_fills_the_same_gaps_and_keeps_the_markup(catalogue):
    wrong = [
        (source, translation)
        for source, translation in pairs(catalogue)
        if set(GAP.findall(source)) != set(GAP.findall(translation))
        or Counter(MARKUP.findall(source)) != Counter(MARKUP.findall(translation))
    ]

    assert wrong == []


def test_a_translation_ends_like_its_text(catalogue):
    """A lost full stop or space shows where two texts meet."""
    ends = re.compile(r"(?:\s|[.:…?!])?\Z")

    wrong = [
        (source, translation)
        for source, translation in pairs(catalogue)
        if source[:1].isspace() != translation[:1].isspace()
        or ends.search(source)[0] != ends.search(translation)[0]
    ]

    assert wrong == []


def test_what_is_served_is_what_is_written(locale, catalogue):
    assert mo_file(locale).read_bytes() == compiled(catalogue), "run: make messages"
