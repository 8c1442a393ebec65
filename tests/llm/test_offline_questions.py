"""What the offline responder takes for a question, and which memories it lets answer."""

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryapp.llm.offline.arithmetic import find_sum
from memoryapp.llm.offline.prompt import Recalled
from memoryapp.llm.offline.questions import ANSWERS_SHOWN, Questions, closest, find_questions, pertinent
from tests.llm.offline_calls import Tools, said

NAME = Recalled("My name is Ana.", kind="identity")
ALLERGY = Recalled("I'm allergic to peanuts.", kind="constraint")
DOG = Recalled("My dog's name is Rex.", kind="identity")
WIFE = Recalled("I'm married to Joana.", kind="identity", confidence=0.3)
HOME = Recalled("I live in Porto.", kind="identity")
JOB = Recalled("I work as a nurse.", kind="identity")
TEA = Recalled("I only drink green tea, never coffee.", kind="preference", confidence=0.4)
PIZZA = Recalled("I like pizza.", kind="preference", confidence=0.31)
INVOICE = Recalled("Invoice 1041 is paid.", kind="ticket", confidence=0.45)
DENTIST = Recalled("I have a dentist appointment on 5 December.", kind="event", confidence=0.2)
EVERYTHING = (NAME, ALLERGY, DOG, WIFE, HOME, JOB, TEA, PIZZA, INVOICE, DENTIST)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What's my name?", NAME),
        ("What is my dog's name?", DOG),
        ("What is my dog called?", DOG),
        ("What pets do I have?", DOG),
        ("What is my wife's name?", WIFE),
        ("What am I allergic to?", ALLERGY),
        ("Do I have any allergies?", ALLERGY),
        ("Where do I live?", HOME),
        ("Which city do I live in?", HOME),
        ("Where do I work?", JOB),
        ("What's my job?", JOB),
        ("What do I usually drink?", TEA),
        ("Do I drink coffee?", TEA),
        ("What do I like?", PIZZA),
        ("Is invoice 1041 paid?", INVOICE),
        ("When is my dentist appointment?", DENTIST),
    ],
)
def test_the_memory_that_answers_is_found(question, expected):
    assert pertinent(question, EVERYTHING) == [expected]


HOUSEHOLD = Recalled("I live in Lisbon with my wife Ana.", kind="identity")
EMPLOYER = Recalled("I work at Siemens.", kind="identity")
CHILD = Recalled("My daughter Clara was born on 3 May 2019.", kind="identity")
SHOES = Recalled("My shoe size is 42.", kind="identity")
OWN = (ALLERGY, HOUSEHOLD, EMPLOYER, CHILD)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What food could make me ill?", ALLERGY),
        ("Could a dish make me sick?", ALLERGY),
        ("Where is my home?", HOUSEHOLD),
        ("Which town is my house in?", HOUSEHOLD),
        ("Which company pays my salary?", EMPLOYER),
        ("When was my girl born?", CHILD),
        ("What do I do for a living?", EMPLOYER),
        ("Do I have kids?", CHILD),
        ("What vehicle do I drive?", Recalled("My car is a red Fiat.")),
        ("How old is my son?", Recalled("My son is 7.")),
        ("How old am I?", Recalled("I'm 34.")),
    ],
)
def test_a_fact_that_is_always_given_answers_in_near_words(question, expected):
    given = dict.fromkeys((*OWN, SHOES, expected))

    assert pertinent(question, list(given)) == [expected]


def test_a_fact_that_is_always_given_was_found_for_no_question():
    assert closest("What is the capital of France?", OWN) == []


@pytest.mark.parametrize(
    "item",
    [
        Recalled("Invoice 1041 is paid.", confidence=0.9),
        Recalled("My wife paid the invoice.", confidence=0.9),
        Recalled("Your son's invoice is 1042.", confidence=0.9, said_by="assistant"),
        Recalled("Is my son's invoice 1042 paid?", confidence=0.9),
    ],
    ids=["another number", "another person", "an earlier reply", "an earlier question"],
)
def test_what_is_no_answer_is_not_the_closest(item):
    assert closest("Did my son pay invoice 1042?", [item]) == []


@pytest.mark.parametrize(
    "message",
    [
        "¿Dónde vivo?",
        "donde vivo",
        "Wo wohne ich?",
        "wo wohne ich",
        "我住在哪里？",
        "我叫什么名字",
        "où j'habite",
    ],
)
def test_a_question_in_another_language_is_one(message):
    assert find_questions(message).about_memory == (message,)


@pytest.mark.parametrize(
    "question",
    [
        "Do I like aubergines?",
        "What is the capital of France?",
        "Is invoice 1042 paid?",
        "What is my son's name?",
        "What is my cat called?",
        "How tall am I?",
        "Why?",
        "?",
        "",
    ],
)
def test_what_is_not_known_is_not_answered_by_what_is(question):
    assert pertinent(question, EVERYTHING) == []


@pytest.mark.parametrize("question", ["Can I eat pork?", "Which breed is he?"])
def test_however_sure_recall_is_a_fact_without_a_shared_word_or_topic_is_no_answer(question):
    office = Recalled("My office is in Bristol.", confidence=0.9)

    assert pertinent(question, [NAME, office]) == []
    assert "Bristol" not in Tools().run(said(question, {"statement": office.statement, "confidence": 0.9}))


@pytest.mark.parametrize("statement", ["I'm a vegetarian.", "I can't eat gluten.", "Pork makes me happy."])
def test_a_fact_with_a_word_or_a_topic_of_the_question_is_one(statement):
    fact = Recalled(statement, confidence=0.6)

    assert pertinent("Can I eat pork?", [NAME, fact]) == [fact]


def test_confidence_does_not_turn_one_number_into_another():
    assert pertinent("Is invoice 1042 paid?", [replace(INVOICE, confidence=0.95)]) == []


def test_several_answers_are_limited_and_best_first():
    likes = [
        Recalled(f"I like {food}.", confidence=0.3 + n / 100)
        for n, food in enumerate(("figs", "rice", "soup", "tofu", "kale", "miso"))
    ]

    answers = pertinent("What do I like?", likes)

    assert [answer.statement for answer in answers] == [
        "I like miso.",
        "I like kale.",
        "I like tofu.",
        "I like soup.",
        "I like rice.",
    ]
    assert len(answers) == ANSWERS_SHOWN


@pytest.mark.parametrize(
    "message",
    [
        "What time is it?",
        "what's the time",
        "What's the date today?",
        "What day is it?",
        "What is today's date?",
        "Do you know what time it is?",
        "Hi! What time is it now?",
    ],
)
def test_clock_questions(message):
    questions = find_questions(message)

    assert questions.asks_time
    assert questions.about_memory == ()


@pytest.mark.parametrize(
    "message", ["What time is my appointment?", "What day is my exam?", "What's the date of the wedding?"]
)
def test_dates_of_ones_own_are_not_clock_questions(message):
    questions = find_questions(message)

    assert not questions.asks_time
    assert questions.about_memory == (message,)


@pytest.mark.parametrize(
    "message",
    [
        "What do you know about me?",
        "What have you remembered?",
        "Tell me what you know about me.",
        "What do you remember about me?",
        "What have you learned about me?",
        "Who am I to you?",
        "Who am I?",
        "Do you know who I am?",
        "Tell me about myself.",
    ],
)
def test_overview_questions(message):
    assert find_questions(message).asks_overview


@pytest.mark.parametrize(
    "message",
    [
        "What do you know about my dog?",
        "Who am I meeting tomorrow?",
        "Do you remember my name?",
        "Remind me what I drink.",
    ],
)
def test_narrow_questions_are_no_overview(message):
    questions = find_questions(message)

    assert not questions.asks_overview
    assert questions.about_memory


@pytest.mark.parametrize("message", ["I like tea.", "Thanks.", "The sky is blue.", "Open the door."])
def test_what_is_not_asked_is_no_question(message):
    questions = find_questions(message)

    assert questions == Questions(asks_time=False, sums=(), asks_overview=False, about_memory=())


@pytest.mark.parametrize(
    ("sentence", "expression"),
    [
        ("What is 17 * 23?", "17*23"),
        ("17*23", "17*23"),
        ("Was ist 2 + 2?", "2+2"),
        ("Wie viel ist 17 * 23?", "17*23"),
        ("what's 2 + 2", "2+2"),
        ("2+2=", "2+2"),
        ("how much is 3 plus 4 times 2?", "3+4*2"),
        ("What is 12% of 80?", "12/100*80"),
        ("12 percent of 80.5", None),
        ("what is 12 percent of 80.5", "12/100*80.5"),
        ("Calculate (1,299.95 - 120) × 0.19", "(1299.95-120)*0.19"),
        ("calculate 10 divided by 4", "10/4"),
        ("What is 2 to the power of 10?", "2**10"),
        ("what is 7 squared plus 1", "7**2+1"),
        ("What is -3 + 5?", "-3+5"),
        ("What is 3 x 4?", "3*4"),
        ("2026-11-30", None),
        ("555-1234", None),
        ("24/7", None),
        ("What is 42?", None),
        ("What is 12 34 + 5?", None),
        ("What is (2 + 3?", None),
        ("What is C++?", None),
        ("What is " + "1+" * 200 + "1?", None),
        ("", None),
    ],
)
def test_sums(sentence, expression):
    found = find_sum(sentence)

    assert (found.expression if found else None) == expression


@given(st.text(max_size=300), st.lists(st.text(max_size=60), max_size=4))
def test_arbitrary_text_never_raises(question, statements):
    items = [Recalled(statement, said_on=date(2026, 11, 30)) for statement in statements]

    assert set(pertinent(question, items)) <= set(items)
    find_questions(question)
