import pytest

from memoryapp.policies.languages import language_of, plausible_languages, small_words


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "Where did I leave the keys to the boat?"),
        ("de", "Wo habe ich die Schlüssel gelassen?"),
        ("es", "¿Dónde dejé las llaves de la casa?"),
        ("fr", "Où est-ce que j'ai laissé les clés ?"),
        ("it", "Dove ho lasciato le chiavi della macchina?"),
        ("pt", "Onde foi que eu deixei as chaves do carro?"),
        ("nl", "Waar heb ik de sleutels van het huis gelaten?"),
        ("pl", "Gdzie są moje klucze do domu?"),
        ("ru", "Где мои ключи от дома?"),
        ("uk", "Де мої ключі від дому?"),
        ("el", "Πού είναι τα κλειδιά μου;"),
        ("ar", "أين تركت مفاتيح البيت؟"),
        ("hi", "मेरी चाबियाँ कहाँ हैं?"),
        ("zh", "我把钥匙放在哪里了？"),
        ("ja", "鍵をどこに置きましたか？"),
        ("ko", "열쇠를 어디에 두었지?"),
        ("th", "ฉันวางกุญแจไว้ที่ไหน"),
    ],
)
def test_a_sentence_tells_its_language(language, text):
    assert language_of(text) == language


@pytest.mark.parametrize("text", ["", "  ", "42", "ok", "Biscuit", "🎉", "ORD-2041"])
def test_english_when_nothing_tells(text):
    assert language_of(text) == "en"


def test_a_brand_in_latin_letters_does_not_change_the_language():
    assert language_of("我昨天买了一台新的 MacBook Pro 电脑") == "zh"


def test_a_short_question_may_be_in_several_languages_and_always_in_english():
    plausible = plausible_languages("como se llama")

    assert plausible[0] == "es"
    assert "en" in plausible


def test_small_words_are_known_without_their_accents():
    assert {"qué", "que"} <= small_words("es")
    assert small_words("xx") == frozenset()
