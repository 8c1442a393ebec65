from datetime import UTC, datetime

import pytest

from memoryapp.portability.importers.items import Reason
from tests.portability.importers.uploads import as_json, data, facts, items, skipped


@pytest.fixture
def example():
    return items(data("mem0.json"))


def test_the_memories_of_the_first_person_are_facts(example):
    assert [(one.text, one.external_id) for one in facts(example)] == [
        ("Is a vegetarian", "f-1"),
        ("Has a season ticket", "f-3"),
        ("Plays chess", "f-5"),
    ]
    assert {one.source for one in facts(example)} == {"import:mem0"}


def test_times_with_an_offset_are_kept_in_utc(example):
    assert facts(example)[0].said_at == datetime(2024, 7, 26, 15, 59, 30, tzinfo=UTC)


def test_an_end_that_is_still_to_come_comes_along(example):
    assert [one.expires_at for one in facts(example)] == [None, datetime(2027, 1, 31, tzinfo=UTC), None]


def test_a_category_that_is_one_of_our_kinds_is_a_hint(example):
    assert [one.kind_hint for one in facts(example)] == ["identity", "", ""]


def test_what_is_left_out_is_counted(example):
    assert skipped(example) == {Reason.EXPIRED: 1, Reason.OTHER_PERSON: 1, Reason.CORRUPTED: 1}


def test_a_bare_list_is_accepted():
    found = items(as_json([{"id": "1", "memory": "Likes tea"}, {"id": "2", "memory": " "}]))

    assert [one.text for one in facts(found)] == ["Likes tea"]
    assert skipped(found) == {Reason.EMPTY: 1}


def test_a_long_memory_is_several_facts_of_which_the_first_has_the_id():
    found = items(as_json([{"id": "1", "memory": "It rains. " * 300}]))

    assert [one.external_id for one in facts(found)] == ["1", ""]
    assert all(len(one.text) <= 2000 for one in facts(found))
