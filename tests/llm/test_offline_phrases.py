"""The responder's texts: each in every language, and the language of the message decides."""

from string import Formatter

import pytest

from memoryapp.llm.offline import phrases
from memoryapp.llm.offline.foreign import language_of
from memoryapp.llm.offline.phrases import Phrase


def phrases_in(value: object) -> list[Phrase]:
    if isinstance(value, Phrase):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else ()
    return [phrase for item in inside for phrase in phrases_in(item)]


PHRASES = [phrase for value in vars(phrases).values() for phrase in phrases_in(value)]


def placeholders(text: str) -> set[str | None]:
    return {name for _, name, _, _ in Formatter().parse(text) if name and name.isidentifier()}


@pytest.mark.parametrize("phrase", PHRASES, ids=[phrase.en[:40] for phrase in PHRASES])
def test_every_phrase_has_both_languages_with_the_same_values(phrase):
    assert phrase.en.strip()
    assert phrase.de.strip()
    assert phrase.en != phrase.de or not any(character.isalpha() for character in phrase.en.format(text=""))
    assert placeholders(phrase.en) == placeholders(phrase.de)


@pytest.mark.parametrize(
    ("message", "language"),
    [
        ("Ich darf kein Schweinefleisch essen.", "de"),
        ("Was weißt du über mich?", "de"),
        ("Wo wohne ich?", "de"),
        ("Merk dir: Tee ist gut.", "de"),
        ("I live in Wien.", "en"),
        ("Where is my bin?", "en"),
        ("ok", "en"),
        ("Soy alérgica a las nueces.", "en"),
        ("Où est mon chat ?", "en"),
        ("Jag bor i Malmö.", "en"),
        ("我住在里斯本。", "en"),
        ("", "en"),
    ],
)
def test_the_language_of_a_message_is_that_of_its_commonest_words(message, language):
    assert language_of(message) == language
