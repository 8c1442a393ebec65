"""When two statements are the same, when they cannot both hold, and that in doubt they stay two."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memoryapp.evaluation
from memoryapp.policies.likeness import essence, is_denial, is_same
from memoryapp.policies.reconciliation import KEY, normalise
from memoryapp.policies.relations import Relation, anchors, relation
from memoryapp.policies.slots import slot_of, synonyms

STATEMENTS = json.loads((Path(memoryapp.evaluation.__file__).parent / "data/statements.json").read_text())
texts = st.text() | st.text(alphabet="aIi'’不我了 .,andotuser?1")


def merged(pair):
    return relation(pair["other"], pair["one"]) == Relation.SAME or normalise(pair["one"]) == normalise(
        pair["other"]
    )


@pytest.mark.parametrize("pair", STATEMENTS["distinct"], ids=lambda pair: f"{pair['one']} / {pair['other']}")
def test_look_alikes_stay_two_whichever_came_first(pair):
    assert relation(pair["other"], pair["one"]) == Relation.APART
    assert relation(pair["one"], pair["other"]) == Relation.APART


@pytest.mark.parametrize(
    "pair", STATEMENTS["duplicates"], ids=lambda pair: f"{pair['one']} / {pair['other']}"
)
def test_a_repetition_is_among_those_that_are_looked_at(pair):
    for one, other in ((pair["one"], pair["other"]), (pair["other"], pair["one"])):
        assert normalise(one) == normalise(other) or any(part in other.casefold() for part in anchors(one))


def test_the_repetitions_of_the_set_are_seen_as_such():
    missed = [pair for pair in STATEMENTS["duplicates"] if not merged(pair)]

    assert len(STATEMENTS["duplicates"]) == 100
    assert missed == []


@pytest.mark.parametrize(
    "update", STATEMENTS["updates"], ids=lambda update: f"{update['former']} / {update['new']}"
)
def test_an_evident_update_is_a_rival_and_what_only_a_key_tells_is_not(update):
    expected = Relation.APART if update["key"] else Relation.RIVAL

    assert relation(update["new"], update["former"]) == expected


@pytest.mark.parametrize(
    "update", [row for row in STATEMENTS["updates"] if not row["key"]], ids=lambda update: update["new"]
)
def test_what_an_update_replaces_is_among_those_that_are_looked_at(update):
    is_keyed = slot_of(update["new"]) and ":" not in slot_of(update["new"])

    assert is_keyed or any(part in update["former"].casefold() for part in anchors(update["new"]))


@given(texts)
def test_a_statement_is_the_same_as_itself_and_denies_itself_never(text):
    assert is_same(text, text) == (essence(text).phrases != ())
    assert not is_denial(text, text)


@given(texts, texts)
def test_sameness_and_denial_do_not_depend_on_the_order(one, other):
    assert is_same(one, other) == is_same(other, one)
    assert is_denial(one, other) == is_denial(other, one)


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_two_numbers_are_never_one(one, other):
    said = relation(f"ticket {one} is open", f"ticket {other} is open")

    assert said == (Relation.SAME if one == other else Relation.APART)


@given(texts)
def test_a_slot_without_an_object_is_a_key_that_may_be_stored(text):
    slot = slot_of(text)

    assert slot == "" or ":" in slot or KEY.fullmatch(slot)


@pytest.mark.parametrize(
    "statement",
    [
        "I lived in Lisbon",
        "I want to live in Lisbon",
        "I live in Lisbon and Porto",
        "I live in Lisbon in summer but in Porto in winter",
        "I live in a flat",
        "My sister lives in Lisbon",
        "I moved to marketing",
        "I moved to Linux",
        "I work at home",
        "I work at a bank",
        "I also work at Acme",
        "I worked at Acme from 2019 to 2020",
        "Call me back later",
        "Call me a taxi",
        "I go by bus",
        "My wife is a doctor",
        "I am allergic to nuts",
        "I have a daughter called Ida",
        "Write it in pencil",
        "我住在朋友家",
        "叫我起床",
        "我叫了外卖",
        "她住在上海",
    ],
)
def test_what_is_compound_past_planned_or_has_many_answers_takes_no_ones_place(statement):
    assert slot_of(statement) == ""


@pytest.mark.parametrize(
    "statement", ["I like tea", "I love teas", "I can't stand tea", "The user hates tea"]
)
def test_attitudes_to_one_thing_answer_one_question(statement):
    assert slot_of(statement) == slot_of("I enjoy tea") != slot_of("I enjoy coffee")


def test_keys_that_ask_the_same_are_known():
    assert "home.city" in synonyms("city") == synonyms("residence")
    assert synonyms("drink.favourite") == {"drink.favourite"}
