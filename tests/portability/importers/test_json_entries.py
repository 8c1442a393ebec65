import io
import json
from decimal import Decimal

import pytest

from memoryapp.portability.importers.clean_bytes import CleanBytes
from memoryapp.portability.importers.errors import UnreadableFileError
from memoryapp.portability.importers.json_entries import Unbuilt, entries


def read(text, *, unread=(), entry_bytes=10**6):
    stream = CleanBytes(io.BytesIO(text.encode()), token_bytes=10**7, on_read=lambda _: None)
    return list(entries(stream, unread=unread, entry_bytes=entry_bytes))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[]", []),
        ("{}", []),
        ('[1, "a", null, true, [], {}]', [1, "a", None, True, [], {}]),
        ('{"a": [1, {"b": [[2]]}], "c": null}', [{"a": [1, {"b": [[2]]}], "c": None}]),
        ('{"results": [1, 2], "relations": [3]}', [1, 2]),
        ('{"count": 0, "results": []}', []),
        ('{"results": {"a": 1}}', [{"results": {"a": 1}}]),
        ("5", [5]),
    ],
)
def test_entries_are_the_elements_of_the_list_or_the_whole(text, found):
    assert read(text) == found


def test_numbers_of_any_size_and_precision_are_kept():
    assert read("[123456789012345678901234567890, 1e400, 0.1]") == [
        123456789012345678901234567890,
        Decimal("1e400"),
        Decimal("0.1"),
    ]


def test_values_that_nobody_reads_are_not_built():
    text = '[{"a": 1, "skip": {"deep": [{"skip": 1}]}, "b": [{"skip": [[1], 2], "c": 3}]}]'

    assert read(text, unread={"skip"}) == [{"a": 1, "b": [{"c": 3}]}]
    assert read('{"skip": [1], "a": 2}', unread={"skip"}) == [{"a": 2}]


@pytest.mark.parametrize(
    "large", ["x" * 5_000, [0] * 100, [[]] * 100, [{}] * 100, {"a": {str(n): 0 for n in range(99)}}]
)
def test_an_entry_that_is_too_large_is_passed_over_and_the_next_one_read(large):
    assert read(json.dumps([large, {"a": 1}]), entry_bytes=5_000) == [Unbuilt.TOO_LARGE, {"a": 1}]


def test_an_object_that_is_too_large_as_a_whole_is_passed_over():
    whole = {str(number): "x" * 100 for number in range(100)}

    assert read(json.dumps(whole), entry_bytes=5_000) == [Unbuilt.TOO_LARGE]


@pytest.mark.parametrize(
    "text",
    ["", " ", "[", '[{"a": 1}', '[{"a": 1', '["a', "[1] x", "[1,]", "[NaN]", "{1: 2}", "[\x7f]", f"[{'9' * 5000}]",
     "[1e99999999999999999999]", "]", '{"skip": [1', '["a\nb"]'],
)  # fmt: skip
def test_what_is_not_json_to_its_end_is_refused(text):
    with pytest.raises(UnreadableFileError):
        read(text, unread={"skip"})


def test_entries_before_the_damage_are_given():
    stream = CleanBytes(io.BytesIO(b"[1, 2, x"), token_bytes=10, on_read=lambda _: None)
    found = entries(stream, unread=(), entry_bytes=1000)

    assert [next(found), next(found)] == [1, 2]
    with pytest.raises(UnreadableFileError):
        next(found)
