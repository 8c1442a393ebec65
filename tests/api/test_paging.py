"""Cursors: every row once, in order, whatever is written meanwhile."""

import base64
import json

import pytest

from memoryapp.transcript.models import Conversation
from tests.api.requests import assert_problem, send
from tests.world import posted_turn


def pages(api, path, limit):
    """The items of each page until the last."""
    cursor, separator = "", "&" if "?" in path else "?"
    while cursor is not None:
        body = send(api, "GET", f"{path}{separator}limit={limit}&cursor={cursor}").json()
        yield body["items"]
        cursor = body["next_cursor"]


@pytest.fixture
def conversations(api):
    return [send(api, "POST", "/conversations", {"title": f"No. {n}"}).json()["id"] for n in range(7)]


@pytest.fixture
def memories(api):
    return [send(api, "POST", "/memories", {"statement": f"Fact number {n}"}).json()["id"] for n in range(7)]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 200])
def test_pages_hold_every_conversation_once_and_in_order(api, conversations, limit):
    found = [item["id"] for page in pages(api, "/conversations", limit) for item in page]

    assert found == conversations[::-1]


@pytest.mark.parametrize("limit", [1, 3, 7])
@pytest.mark.parametrize("sort", ["newest", "oldest", "expires"])
def test_pages_hold_every_memory_once_in_every_order(api, memories, limit, sort):
    found = [item["id"] for page in pages(api, f"/memories?sort={sort}", limit) for item in page]

    assert found == (memories[::-1] if sort == "newest" else memories)


def test_pages_hold_every_turn_once(api, alice, conversations):
    for _ in range(5):
        posted_turn(alice, conversations[0])

    found = [
        item["seq"] for page in pages(api, f"/conversations/{conversations[0]}/turns", 2) for item in page
    ]

    assert found == [1, 2, 3, 4, 5]


def test_a_row_written_between_two_pages_moves_nothing(api, conversations):
    reading = pages(api, "/conversations", 3)
    found = [item["id"] for item in next(reading)]

    send(api, "POST", "/conversations", {"title": "Meanwhile"})

    assert [*found, *(item["id"] for page in reading for item in page)] == conversations[::-1]


def test_rows_of_the_same_moment_are_not_lost_between_pages(api, conversations):
    Conversation.objects.update(updated_at=Conversation.objects.first().created_at)

    found = [item["id"] for page in pages(api, "/conversations", 2) for item in page]

    assert sorted(found) == sorted(conversations)


def test_the_last_page_has_no_cursor_even_when_it_is_full(api, conversations):
    assert [len(page) for page in pages(api, "/conversations", 7)] == [7]


@pytest.mark.parametrize("path", ["/conversations", "/memories"])
@pytest.mark.parametrize("limit", [0, -1, 201, 10**30])
def test_a_limit_out_of_bounds_is_refused(api, path, limit):
    assert_problem(send(api, "GET", f"{path}?limit={limit}"), 422)


def encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


BAD_CURSORS = {
    "not base64": "%21%21%21",
    "not ASCII": "%C3%A9",
    "not JSON": "abcd",
    "a number": encoded(5),
    "null": encoded(None),
    "an object": encoded({"a": 1, "b": 2}),
    "too short": encoded(["2026-01-01T00:00:00+00:00"]),
    "too long": encoded(["a", "b", "c"]),
    "no date": encoded(["yesterday", "00000000-0000-7000-8000-000000000000"]),
    "no id": encoded(["2026-01-01T00:00:00+00:00", "1"]),
    "NUL": encoded(["\x00", "\x00"]),
    "half a pair": encoded(["\ud800", "\ud800"]),
    "numbers": encoded([1, 2]),
    "nested": base64.urlsafe_b64encode(b"[" * 40_000).decode(),
}


@pytest.mark.parametrize("path", ["/conversations", "/memories", "/memories?sort=expires"])
@pytest.mark.parametrize("cursor", BAD_CURSORS.values(), ids=BAD_CURSORS.keys())
def test_a_cursor_that_is_not_ours_is_refused(api, path, cursor):
    joined = "&" if "?" in path else "?"

    problem = assert_problem(send(api, "GET", f"{path}{joined}cursor={cursor}"), 422)

    assert "cursor" in problem["detail"]
