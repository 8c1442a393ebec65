"""Which statements take another's place: a key is one question, and a second thing is no new answer to it."""

import pytest

from memoryapp.llm.offline.statements import find_statements
from memoryapp.policies.relations import Relation, relation
from memoryapp.policies.slots import slot_of

BOTH_HOLD = [
    # said first, said later
    ("My son is called Tim.", "My son is called Tom."),
    ("My sister is called Anna.", "My sister is called Bea."),
    ("My sister's name is Anna.", "My sister is Bea."),
    ("My doctor is called Silva.", "My doctor is called Sousa."),
    ("My dog is called Rex.", "We have a dog called Bello."),
    ("My dog is called Rex.", "My dog Bello."),
    ("My work e-mail is anna@acme.com", "My private e-mail is anna@home.org"),
    ("My email is anna@acme.com", "My private email is anna@home.org"),
    ("My email is anna@acme.com", "My backup email is anna@home.org"),
    ("My work phone is +49 170 1234567", "My home phone is +49 30 1234567"),
    ("My number is +49 170 1234567", "My work number is +49 30 1234567"),
    ("My name is Alexander Meyer.", "Call me Al."),
    ("My name is Alexander Meyer.", "My friends call me Al."),
    ("I live in Lisbon.", "In 2015 I moved to Porto."),
    ("I live in Lisbon.", "I moved to Porto in 2015."),
    ("I live in Lisbon.", "I moved to Porto ten years ago."),
    ("My mother lives in Rome.", "My mother moved to Oslo in 2010."),
    ("I work at Acme.", "I joined Duolingo."),
    ("I work at Acme.", "I started at Globex in 2012."),
    ("My car is a Volvo V60.", "My car is in the garage."),
    ("My car is a Volvo V60.", "My car is red."),
    ("My job is software engineer", "My job is stressful"),
    ("My bike is a Canyon.", "My bike is red"),
    ("I'm a nurse.", "I'm a pilot in Flight Simulator."),
    ("I live in Berlin.", "I live in Fear."),
    ("I live in Porto.", "I want to move to Lisbon."),
    ("I live in Porto.", "My friend Mia lives in Rome."),
]
REPLACED = [
    # said first, said later
    ("My wife is called Ana.", "My wife's name is Anna."),
    ("My boss is called Helen.", "My boss is called Bert."),
    ("My dog is called Bruno.", "My dog is called Bono, not Bruno."),
    ("My son is called Tim.", "My son's name is Tom, not Tim."),
    ("My work email is anna@acme.com", "My new work email is anna@globex.com"),
    ("My email is anna@acme.com", "My new email is anna@globex.com"),
    ("Call me Al.", "My friends call me Lex."),
    ("My name is Tomás.", "Call me Tommy instead of Tomás."),
    ("I live in Lisbon.", "I moved to Porto two weeks ago."),
    ("My car is a Volvo V60.", "My car is a red Fiat now."),
    ("My shoe size is 42", "My shoe size is 43"),
    ("My job is nurse", "My job is now teacher"),
]


def questions(message: str) -> set[str]:
    """What it answers, by the rules' keys and by its words."""
    found = find_statements(message).statements
    return {name for one in found for name in (one.key, slot_of(one.statement)) if name}


@pytest.mark.parametrize(("first", "later"), BOTH_HOLD)
def test_a_later_statement_about_something_else_takes_no_place(first, later):
    assert questions(first)
    assert not questions(first) & questions(later)
    assert relation(later, first) == Relation.APART


@pytest.mark.parametrize(("first", "later"), REPLACED)
def test_a_later_answer_to_the_same_question_takes_the_place_of_the_first(first, later):
    assert questions(first) & questions(later)


def test_a_name_and_what_to_be_called_are_two_facts():
    statements = find_statements("My name is Anna Schmidt but call me Nan.").statements

    assert [(statement.key, statement.quote) for statement in statements] == [
        ("name", "My name is Anna Schmidt"),
        ("nickname", "call me Nan."),
    ]


def test_what_happens_on_another_day_is_a_statement_of_its_own():
    statements = find_statements(
        "Yesterday we adopted a puppy called Momo and on Friday I have a dentist appointment at 9."
    ).statements

    assert [(statement.kind, statement.quote) for statement in statements] == [
        ("event", "Yesterday we adopted a puppy called Momo"),
        ("event", "on Friday I have a dentist appointment at 9."),
    ]


def test_those_one_lives_with_are_known_beside_the_place():
    statements = find_statements("I live with my wife Ana and our dog Bruno in Lisbon").statements

    assert [(statement.key, statement.quote) for statement in statements] == [
        ("city", "I live with my wife Ana and our dog Bruno in Lisbon"),
        ("family.wife.name", "my wife Ana"),
        ("pet.dog.name.bruno", "our dog Bruno"),
    ]


def test_a_secret_that_is_taken_back_is_withheld_all_the_same():
    assert find_statements("My password is hunter2. Not!").has_withheld
