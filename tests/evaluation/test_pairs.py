"""Our own sentences through the search of the chat, with the embedder that is installed: floors under the measured."""

from collections import Counter

import pytest
from django.db import transaction
from django.utils import timezone

from memoryapp.evaluation import pairs, report
from memoryapp.policies.terms import sought, term_hash, terms

pytestmark = pytest.mark.django_db  # for the database that they share

DATA = pairs.load()
# A few points under what docs/evaluation.md has.
FLOORS = {"recall@1": 0.6, "recall@5": 0.9, "auc": 0.7}
FLOOR_OF_A_LANGUAGE = 0.8
CEILING_OF_UNSAID = 0.35


def test_no_question_has_a_word_of_the_fact_that_answers_it():
    shared = [
        pair
        for pair in DATA.pairs
        if {variant for word in sought(pair.question).words for variant in word.variants}
        & set(map(term_hash, terms(pair.fact)))
    ]

    assert shared == []


def test_the_set_is_large_and_speaks_many_languages():
    languages = Counter(pair.category for pair in DATA.pairs)

    assert len(DATA.pairs) >= 120
    assert len(languages - Counter({pairs.CROSS_LINGUAL: 1_000})) >= 6
    assert languages[pairs.CROSS_LINGUAL] < len(DATA.pairs) / 2
    assert len(DATA.updates) == 40


def test_each_question_is_asked_once_and_no_unsaid_one_is_among_them():
    questions = Counter(pair.question for pair in DATA.pairs) + Counter(
        asked.question for asked in DATA.unsaid
    )

    assert [question for question, count in questions.items() if count > 1] == []


@pytest.fixture(scope="module")
def found(django_db_setup, django_db_blocker):
    """Measured once, and rolled back: it is the same for all of the tests."""
    everything = transaction.atomic()
    everything._from_testcase = (
        True  # what insists on a transaction of its own may run inside, as in any test
    )
    with django_db_blocker.unblock(), everything:
        measured = pairs.measure(with_vectors=True, now=timezone.now(), say=lambda _: None)
        transaction.set_rollback(True)
    return measured


def test_different_facts_are_kept_apart(found):
    assert found["kept_apart"] == found["facts"] == len(DATA.facts)


def test_facts_are_found_in_other_words(found):
    assert found["overall"]["recall@1"] >= FLOORS["recall@1"]
    assert found["overall"]["recall@5"] >= FLOORS["recall@5"]


def test_words_alone_would_find_none_of_them(found):
    assert found["baselines"]["bm25"]["recall@5"] == 0


@pytest.mark.parametrize("language", ["en", "de", "es", "fr", "zh", "ja"])
def test_facts_are_found_in_each_language(found, language):
    assert found["by_category"][language]["recall@5"] >= FLOOR_OF_A_LANGUAGE


def test_a_former_value_is_not_recalled(found):
    assert found["updates"]["stale_recalled"] == 0
    assert found["updates"]["stale_above_new"] == 0
    assert found["updates"]["n"] == len(DATA.updates)


def test_a_value_from_a_weaker_source_waits_for_the_person(found):
    assert found["contradictions"] == {"asked": 40, "unsettled_recalled": 0, "n": 40}


def test_what_says_the_same_is_stored_once(found):
    assert found["statements"]["stored_twice"] == 0


def test_what_only_looks_alike_is_kept_apart(found):
    assert found["statements"]["merged"] == 0


def test_what_was_never_said_gets_less_confidence(found):
    abstention = found["abstention"]

    assert abstention["auc"] >= FLOORS["auc"]
    assert abstention["answered_unknown"] <= CEILING_OF_UNSAID


def test_the_table_tells_what_was_found(found):
    table = report.pairs(found)

    assert "cross-lingual" in table
    assert table.splitlines()[0].startswith(f"{len(DATA.pairs)} questions over {len(DATA.facts)} facts")
