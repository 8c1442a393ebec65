import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryapp.policies.terms import MAX_SOUGHT, MAX_TERMS, packed, sought, term_hash, terms


def meets(question: str, text: str) -> bool:
    """Whether a word of the question is among the text's terms."""
    stored = {term_hash(term) for term in terms(text)}
    return any(stored & set(word.variants) for word in sought(question).words)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What breeds of dogs?", "My dog is a brown dachshund."),
        ("When was I painting?", "I paint every Sunday."),
        ("¿Tengo perros?", "Mi perro se llama Biscuit."),
        ("Welche Hunde?", "Ich habe einen Hund, er heißt Bello."),
        ("habitacion doble", "Reservé una habitación doble."),
        ("Wie heißen die Straßen?", "Ich wohne in der Strasse am Markt."),
        ("Где мои кошки?", "У меня есть кошка."),
        ("我的猫叫什么名字？", "我养了一只猫。"),
        ("京都のどこ？", "私は京都に住んでいます。"),
        ("แมวของฉัน", "ฉันมีแมวสองตัว"),
        ("status of ord-2041?", "Your order is ORD-2041."),
        ("order 2041", "Your order is ORD-2041."),
        ("who is bob@example.com", "Write to Bob@Example.com."),
        ("bob", "Write to bob@example.com."),
        ("the client's name", "The clients were happy."),
    ],
)
def test_a_question_meets_a_text_in_another_form_of_its_words(question, text):
    assert meets(question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is the capital of France?", "What is my name?"),
        ("Where do I live?", "I only drink green tea, never coffee."),
        ("ORD-2042", "ORD-2041"),
        ("我住在哪里？", "你是谁？"),
    ],
)
def test_small_words_alone_are_no_meeting(question, text):
    stored = {term_hash(term) for term in terms(text)}

    shared = [word.text for word in sought(question).words if stored & set(word.variants)]

    assert shared in ([], ["ord"])


@pytest.mark.parametrize(
    "question",
    ["What happened on 8 May 2023?", "what about 2023-05-08", "2023年5月8日我做了什么？", "in May", "5月"],
)
def test_a_date_in_a_question_meets_what_was_said_that_day(question):
    stored = {term_hash(term) for term in terms("We went hiking.", said_on=date(2023, 5, 8))}

    assert any(stored & set(word.variants) for word in sought(question).words)


def test_words_asked_twice_count_twice():
    (word,) = sought("tea for me or tea for you").words

    assert word.count == 2


def test_packed_terms_are_little_endian_int32_in_order():
    found = terms("Green tea, green leaves")

    assert np.frombuffer(packed(found), "<i4").tolist() == [term_hash(term) for term in found]
    assert found == ["green", "tea", "green", "leav"]
    assert packed([]) == b""


def test_a_hash_is_the_same_in_every_process():
    code = "from memoryapp.policies.terms import term_hash; print(term_hash('dachshund'), term_hash('京都'))"

    elsewhere = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert elsewhere.stdout.split() == [str(term_hash("dachshund")), str(term_hash("京都"))]


def test_threads_stem_alike():
    texts = [f"The running dogs were painting {number} houses." for number in range(50)]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(terms, texts))

    assert found == [terms(text) for text in texts]


def test_a_word_is_not_lost_for_being_small_in_another_language():
    assert meets("my hat size", "I wear a hat.")


@given(st.text(max_size=300))
def test_any_text_has_bounded_terms(text):
    found = terms(text)

    assert len(np.frombuffer(packed(found), "<i4")) == len(found) <= MAX_TERMS
    assert len(sought(text).words) <= MAX_SOUGHT


def test_a_pasted_document_is_cut():
    assert len(terms("tree " * 20_000)) == MAX_TERMS
