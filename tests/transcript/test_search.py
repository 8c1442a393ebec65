"""Finding what was said."""

import pytest

from memoryapp.llm.base import Usage
from memoryapp.transcript import operations as transcript
from memoryapp.transcript.search import search_conversations, search_messages
from tests.turns import claim, post, start

pytestmark = pytest.mark.django_db


def found(user, words, limit=10):
    return [
        hit.snippet.replace("[[", "").replace("]]", "")
        for hit in search_messages(user.id, words, limit=limit)
    ]


def test_other_forms_of_an_english_word_are_found(alice):
    post(alice, "We were planning the holidays")

    assert found(alice, "plan holiday") == ["We were planning the holidays"]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("Ich trinke morgens Kräutertee", "kräutertee"),
        ("Мы живём в Казани", "казани"),
        ("Invoice 1041-B is paid", "1041-B"),
    ],
)
def test_words_of_other_languages_and_identifiers_are_found_as_they_stand(alice, said, words):
    post(alice, said)

    assert found(alice, words) == [said]


def test_replies_are_found_too_and_say_who_spoke(alice):
    turn = post(alice, "Where is it?")
    transcript.finish_turn(claim(turn), reply="In the greenhouse.", model="m", usage=Usage())

    [hit] = search_messages(alice.id, "greenhouse", limit=10)

    assert (hit.role, hit.seq, hit.snippet) == ("assistant", 1, "In the [[greenhouse]].")


def test_a_phrase_is_narrower_than_its_words(alice):
    post(alice, "green tea in the morning")
    post(alice, "a green cup for tea")

    assert found(alice, '"green tea"') == ["green tea in the morning"]
    assert len(found(alice, "green tea")) == 2


def test_the_limit_holds(alice):
    for number in range(3):
        post(alice, f"tea number {number}")

    assert len(found(alice, "tea", limit=2)) == 2


def test_bob_finds_nothing_of_alices(alice, bob):
    post(alice, "green tea")

    assert found(bob, "tea") == []


def test_a_temporary_conversation_is_not_searched(alice):
    post(alice, "green tea", start(alice, is_temporary=True))

    assert found(alice, "tea") == []


@pytest.mark.parametrize("words", ["", "'", '"', "& | !", "tea)", ":*", "\\", "a\x00b"])
def test_no_query_is_an_error(alice, words):
    post(alice, "green tea")

    assert search_messages(alice.id, words, limit=10) is not None


def test_a_conversation_is_found_by_its_title_or_by_what_was_said_in_it(alice, bob):
    titled = start(alice, title="Greenhouse")
    said = start(alice, title="Plans")
    post(alice, "The greenhouse\nneeds a roof", said)
    post(alice, "Something else", start(alice, title="Other"))
    post(bob, "My greenhouse")

    rows, words = search_conversations(alice.id, "greenhouse")

    assert set(rows) == {titled, said}
    assert words == {said.id: "The greenhouse needs a roof"}
