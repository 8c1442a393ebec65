"""Which sentences of a reply repeat a fact."""

import pytest

from memoryapp.policies.repeats import left, repeats

SAID = "I keep a heron called Wotan"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "Good morning! You keep a heron called Wotan, so mind the pond.\nAnything else?",
            ["You keep a heron called Wotan, so mind the pond."],
        ),
        (
            "- Your herons: one is called Wotan, whom you keep.",
            ["- Your herons: one is called Wotan, whom you keep."],
        ),
        ("Wotan rules the gods. A heron eats fish.", []),
        ("Noted.", []),
        ("", []),
    ],
)
def test_a_sentence_with_every_word_of_it_repeats_it(text, found):
    assert repeats(text, [SAID]) == found


def test_what_a_model_calls_the_person_is_no_word_of_it():
    assert repeats("You are vegan, so no cheese.", ["The user is vegan."]) == ["You are vegan, so no cheese."]


def test_a_statement_of_small_words_alone_is_repeated_nowhere():
    assert repeats("It is so.", ["It is."]) == []


def test_sentences_of_a_language_without_spaces_are_parted():
    assert repeats("你好。你不吃牛肉。再见。", ["我不吃牛肉"]) == ["你不吃牛肉。"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Porto Alegre is lovely. In Porto, too!", ["Porto Alegre", "Porto"]),
        ("PORTO? Porto. porto!", ["PORTO"]),
        ("Living in Lisbon, I see.", []),
        ("", []),
    ],
)
def test_words_that_a_correction_took_away_are_found_as_they_stand_there(text, found):
    assert left(text, before="I live in Porto Alegre.", after="I live in Lisbon.") == found
