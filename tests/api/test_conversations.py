"""Conversations over REST."""

import pytest

from memoryapp.longterm.models import Memory
from memoryapp.transcript.models import Conversation
from tests.api.requests import assert_problem, send
from tests.world import everything_of


def test_a_conversation_begins_empty_with_memory_on(api, alice):
    response = send(api, "POST", "/conversations", {})

    body = response.json()
    assert response.status_code == 201
    assert body == {
        "id": str(Conversation.objects.get(user=alice).id),
        "title": "",
        "title_source": "first_words",
        "pinned": False,
        "archived": False,
        "temporary": False,
        "use_memory": True,
        "save_memory": True,
        "turns": 0,
        "retention_days": None,
        "kept_until": None,
        "created_at": body["created_at"],
        "updated_at": body["updated_at"],
    }


def test_a_conversation_takes_a_title_and_switches(api):
    asked = {"title": " Holiday \n plans ", "temporary": True, "use_memory": False, "save_memory": False}

    body = send(api, "POST", "/conversations", asked).json()

    assert body["title"] == "Holiday plans"
    assert (body["temporary"], body["use_memory"], body["save_memory"]) == (True, False, False)


def test_a_conversation_is_read_back_by_its_id(api, conversation):
    assert send(api, "GET", f"/conversations/{conversation['id']}").json() == conversation


def test_title_and_switches_change_one_by_one(api, conversation):
    path = f"/conversations/{conversation['id']}"

    send(api, "PATCH", path, {"title": "Renamed"})
    send(api, "PATCH", path, {"save_memory": False})

    body = send(api, "GET", path).json()
    assert (body["title"], body["use_memory"], body["save_memory"]) == ("Renamed", True, False)


def test_a_conversation_is_pinned_and_archived_and_named(api, conversation):
    path = f"/conversations/{conversation['id']}"

    both = send(api, "PATCH", path, {"pinned": True, "archived": True, "title": "Mine"}).json()
    neither = send(api, "PATCH", path, {"pinned": False, "archived": False}).json()

    assert (both["pinned"], both["archived"], both["title_source"]) == (True, True, "user")
    assert (neither["pinned"], neither["archived"], neither["title"]) == (False, False, "Mine")


def test_archived_conversations_are_listed_and_found_apart(api):
    for title in ("Holiday now", "Holiday then"):
        send(api, "POST", "/conversations", {"title": title})
    then = send(api, "GET", "/conversations?q=then").json()["items"][0]
    send(api, "PATCH", f"/conversations/{then['id']}", {"archived": True})

    def listed(query: str) -> list[str]:
        return [item["title"] for item in send(api, "GET", f"/conversations?{query}").json()["items"]]

    assert listed("") == listed("q=holiday") == ["Holiday now"]
    assert listed("archived=true") == listed("archived=true&q=holiday") == ["Holiday then"]


@pytest.mark.parametrize("title", ["", "   ", "\u200b", "x" * 201])
def test_a_conversation_keeps_its_title_when_the_new_one_is_none(api, conversation, title):
    path = f"/conversations/{conversation['id']}"
    send(api, "PATCH", path, {"title": "Kept"})

    assert_problem(send(api, "PATCH", path, {"title": title}), 422)

    assert send(api, "GET", path).json()["title"] == "Kept"


def test_a_deleted_conversation_is_gone_with_its_turns(api, alice):
    world = everything_of(alice)
    path = f"/conversations/{world.conversation_id}"

    statuses = [send(api, "DELETE", path).status_code for _ in range(2)]

    assert statuses == [204, 204]
    assert_problem(send(api, "GET", path), 404, "not_found")
    assert_problem(send(api, "GET", f"/turns/{world.turn_id}"), 404, "not_found")
    assert send(api, "GET", "/conversations").json()["items"] == []


def test_what_was_remembered_outlives_its_conversation(api, alice):
    world = everything_of(alice)

    send(api, "DELETE", f"/conversations/{world.conversation_id}")

    assert Memory.objects.filter(id=world.memory_id).exists()


def test_the_list_is_newest_first_and_leaves_temporary_ones_out(api):
    for title in ("first", "second"):
        send(api, "POST", "/conversations", {"title": title})
    send(api, "POST", "/conversations", {"title": "passing", "temporary": True})

    listed = send(api, "GET", "/conversations").json()

    assert [item["title"] for item in listed["items"]] == ["second", "first"]
    assert listed["next_cursor"] is None


def test_the_list_can_be_narrowed_to_a_word_of_the_title(api):
    for title in ("Holiday plans", "100 % wool"):
        send(api, "POST", "/conversations", {"title": title})

    assert [item["title"] for item in send(api, "GET", "/conversations?q=HOLIDAY").json()["items"]] == [
        "Holiday plans"
    ]
    assert [item["title"] for item in send(api, "GET", "/conversations?q=%25").json()["items"]] == [
        "100 % wool"
    ]


def test_the_list_can_be_narrowed_to_what_was_said(api):
    said_in = send(api, "POST", "/conversations", {"title": "Plans"}).json()
    send(api, "POST", "/conversations", {"title": "Other"})
    send(api, "POST", f"/conversations/{said_in['id']}/turns", {"text": "We saw an aardvark"})

    found = send(api, "GET", "/conversations?q=aardvark").json()["items"]

    assert [item["id"] for item in found] == [said_in["id"]]
    assert found[0]["snippet"] == [
        {"text": "We saw an ", "is_match": False},
        {"text": "aardvark", "is_match": True},
    ]


def test_without_a_search_or_with_a_match_in_the_title_alone_there_is_no_snippet(api):
    send(api, "POST", "/conversations", {"title": "Holiday plans"})

    for path in ("/conversations", "/conversations?q=holiday"):
        assert [item["snippet"] for item in send(api, "GET", path).json()["items"]] == [None]


def test_summaries_show_what_they_cover_and_what_they_saved(api, world):
    body = send(api, "GET", f"/conversations/{world.conversation_id}/summaries").json()

    (summary,) = body["items"]
    assert (summary["version"], summary["first_seq"], summary["last_seq"]) == (1, 1, 1)
    assert summary["tokens_before"] == 100 > summary["tokens_after"] > 0
    assert summary["text"] == "The user likes marmalade."
