"""What rules alone make of a person who takes something back, puts it right, or says several things in one sentence."""

import pytest

from memoryapp.llm.offline.statements import find_statements
from tests.llm.test_offline_statements import KEPT

DENIED = [
    # message, kind
    ("I no longer live in Lisbon.", "identity"),
    ("I don't live in Porto.", "identity"),
    ("I don't live in Lisbon any more.", "identity"),
    ("I'm no longer based in Berlin", "identity"),
    ("I no longer work for Siemens.", "identity"),
    ("I don't work at Siemens any more.", "identity"),
    ("I don’t work as a nurse anymore.", "identity"),
    ("I'm no longer a nurse.", "identity"),
    ("I'm not a nurse any more.", "identity"),
    ("My name isn't Ana.", "identity"),
    ("My name is not Bob.", "identity"),
    ("My car is no longer a Volvo.", "identity"),
    ("My birthday is no longer 4 May 1990.", "identity"),
    ("My time zone is no longer UTC.", "identity"),
    ("My dog isn't called Bruno.", "identity"),
    ("I don't have a dog any more.", "identity"),
    ("My mother no longer lives in Porto.", "identity"),
    ("My email isn't ana@example.org any more.", "contact_preference"),
    ("I'm not vegan any more.", "constraint"),
    ("I'm no longer vegetarian.", "constraint"),
    ("I'm not allergic to nuts.", "constraint"),
    ("I'm no longer pregnant.", "constraint"),
    ("I don't have a nut allergy.", "constraint"),
    ("My wife isn't vegetarian any more.", "constraint"),
    ("My favourite colour is no longer blue.", "preference"),
    ("I'm not into jazz any more.", "preference"),
]
CORRECTED = [
    # message, kind, key, quote
    ("Actually I eat meat again.", "constraint", "diet", "I eat meat again."),
    ("I can eat peanuts again.", "constraint", "", "I can eat peanuts again."),
    ("I drink coffee again.", "preference", "", "I drink coffee again."),
    (
        "Please call me Tommy instead of Tomás",
        "identity",
        "name",
        "call me Tommy instead of Tomás",
    ),
    (
        "No, that's wrong: my dog is called Bono, not Bruno.",
        "identity",
        "pet.dog.name.bruno",
        "my dog is called Bono",
    ),
    ("I live in Porto, not in Lisbon.", "identity", "city", "I live in Porto"),
    ("I love tea, not coffee.", "preference", "", "I love tea, not coffee."),
    ("That’s not right, I live in Porto.", "identity", "city", "I live in Porto."),
    ("Yesterday I ran my first marathon.", "event", "", "Yesterday I ran my first marathon."),
    ("I passed my driving test.", "event", "", "I passed my driving test."),
]
COMPOUND = [
    # message, (kind, key, quote) of each statement
    (
        "My order number is ORD-55821 and it should arrive on Friday.",
        [("ticket", "", "My order number is ORD-55821 and it should arrive on Friday.")],
    ),
    (
        "My daughter's name is Clara and she is 7.",
        [
            ("identity", "family.daughter.name.clara", "My daughter's name is Clara"),
            ("identity", "family.daughter.age", "she is 7."),
        ],
    ),
    (
        "My wife is called Ana and she's allergic to nuts.",
        [
            ("identity", "family.wife.name", "My wife is called Ana"),
            ("constraint", "", "she's allergic to nuts."),
        ],
    ),
    (
        "My dog isn't called Bruno, it's Bono.",
        [
            ("identity", "", "My dog isn't called Bruno"),
            ("identity", "pet.dog.name.bono", "it's Bono."),
        ],
    ),
    (
        "My sister's name is Hannah and she lives in Glasgow",
        [
            ("identity", "family.sister.name.hannah", "My sister's name is Hannah"),
            ("identity", "family.sister.city", "she lives in Glasgow"),
        ],
    ),
    (
        "My favourite film is Alien and it scares me.",
        [("preference", "favorite.film", "My favourite film is Alien and it scares me.")],
    ),
    (
        "I live in Lisbon with my wife Ana and our dog Bruno",
        [
            ("identity", "city", "I live in Lisbon"),
            ("identity", "family.wife.name", "my wife Ana"),
            ("identity", "pet.dog.name.bruno", "our dog Bruno"),
        ],
    ),
    (
        "We live in Oslo with our son Leo, and our son Tim.",
        [
            ("identity", "city", "We live in Oslo"),
            ("identity", "", "our son Leo"),
            ("identity", "", "our son Tim."),
        ],
    ),
]


@pytest.mark.parametrize(("message", "kind"), DENIED, ids=[row[0] for row in DENIED])
def test_a_denial_is_kept_and_takes_the_place_of_no_other_value(message, kind):
    (statement,) = find_statements(message).statements

    assert (statement.kind, statement.key, statement.quote) == (kind, "", message)


@pytest.mark.parametrize(
    "said", [("'m ", "'m no longer "), (" is ", " is no longer "), ("I ", "I no longer ")]
)
def test_no_form_takes_the_denial_of_a_value_for_a_value(said):
    denials = {message.replace(*said, 1): key for message, _, key, _ in KEPT if key and said[0] in message}

    keys = {
        (message, statement.key)
        for message in denials
        for statement in find_statements(message).statements
        # What is said of a thing that one no longer likes is the answer to the question how one likes it.
        if statement.key and not statement.key.startswith("taste.")
    }

    assert denials
    assert keys == set()


@pytest.mark.parametrize(("message", "kind", "key", "quote"), CORRECTED, ids=[row[0] for row in CORRECTED])
def test_a_correction_is_kept_as_what_it_is(message, kind, key, quote):
    (statement,) = find_statements(message).statements

    assert (statement.kind, statement.key, statement.quote) == (kind, key, quote)


@pytest.mark.parametrize(("message", "expected"), COMPOUND, ids=[row[0] for row in COMPOUND])
def test_each_thing_that_a_sentence_says_stands_on_its_own(message, expected):
    statements = find_statements(message).statements

    assert [(statement.kind, statement.key, statement.quote) for statement in statements] == expected
    assert all(statement.quote in message for statement in statements)


@pytest.mark.parametrize(
    ("message", "statements"),
    [
        (
            "My sister's name is Hannah and she lives in Glasgow.",
            ["My sister's name is Hannah.", "My sister lives in Glasgow."],
        ),
        (
            "My wife is called Ana and she's allergic to nuts.",
            ["My wife is called Ana.", "My wife is allergic to nuts."],
        ),
        (
            "I live with my wife Ana and our dog Bruno in Lisbon",
            ["I live in Lisbon.", "My wife Ana.", "Our dog Bruno."],
        ),
        (
            "We live with our son Leo, and our son Tim.",
            ["We live with our son, and our son.", "Our son Leo.", "Our son Tim."],
        ),
    ],
)
def test_what_a_sentence_says_is_kept_in_parts_or_whole_but_once(message, statements):
    assert [statement.statement for statement in find_statements(message).statements] == statements
