"""Versions of a turn, kept lines and deletion over REST."""

import pytest

from chat import events
from memoryapp.redis_client import redis_client
from memoryapp.transcript.models import Conversation, Turn
from tests.api.requests import assert_problem, send
from tests.transcript.branching import answered, said, shown, talk
from tests.turns import post, start


@pytest.fixture
def turns(alice):
    return talk(alice, "one", "two", "three")


def test_an_edit_is_another_version_of_the_turn(api, turns):
    edited = send(api, "POST", f"/turns/{turns[1].id}/edit", {"text": "TWO"})

    body = edited.json()
    version = send(api, "GET", f"/turns/{body['id']}").json()
    before = send(api, "GET", f"/turns/{turns[1].id}").json()
    assert (edited.status_code, body["status"]) == (202, "queued")
    assert (version["seq"], version["user_text"], version["is_current"]) == (2, "TWO", True)
    assert version["parent_id"] == before["parent_id"] == str(turns[0].id)
    assert version["siblings"] == before["siblings"] == [str(turns[1].id), body["id"]]
    assert (before["is_current"], before["reply"]) == (False, "two!")


def test_the_turns_of_a_conversation_are_those_of_the_shown_branch(api, turns):
    send(api, "POST", f"/turns/{turns[1].id}/edit", {"text": "TWO"})

    items = send(api, "GET", f"/conversations/{turns[0].conversation_id}/turns").json()["items"]

    assert [turn["user_text"] for turn in items] == ["one", "TWO"]
    assert [len(turn["siblings"]) for turn in items] == [0, 2]


def test_a_turn_is_answered_anew_with_the_same_words(api, turns):
    body = send(api, "POST", f"/turns/{turns[2].id}/regenerate").json()

    assert send(api, "GET", f"/turns/{body['id']}").json()["user_text"] == "three"


@pytest.mark.parametrize(("path", "body"), [("edit", {"text": "TWO"}), ("regenerate", None)])
def test_the_same_key_is_the_same_version(api, turns, path, body):
    made = [
        send(api, "POST", f"/turns/{turns[1].id}/{path}", body, Idempotency_Key="k").json() for _ in range(2)
    ]

    assert made[0]["id"] == made[1]["id"]
    assert Turn.objects.count() == 4


def test_branches_are_shown_and_removed(api, turns):
    version = Turn.objects.get(
        id=send(api, "POST", f"/turns/{turns[1].id}/edit", {"text": "TWO"}).json()["id"]
    )
    answered(version)

    back = send(api, "POST", f"/turns/{turns[1].id}/show")
    showing = shown(turns[0])
    removed = [send(api, "POST", f"/turns/{turns[2].id}/remove") for _ in range(2)]

    assert back.status_code == 200
    assert back.json()["is_current"] is True
    assert showing == ["one", "two", "three"]
    assert [response.json()["is_current"] for response in removed] == [False, False]
    assert shown(turns[0]) == ["one", "two"]


@pytest.mark.parametrize(
    ("path", "body"),
    [("edit", {"text": "x"}), ("regenerate", None), ("show", None), ("remove", None)],
)
def test_while_a_reply_is_written_the_branches_stay(api, alice, turns, path, body):
    post(alice, "four", turns[0].conversation)

    assert_problem(send(api, "POST", f"/turns/{turns[1].id}/{path}", body), 409, "reply_in_progress")


def test_a_version_that_is_not_shown_is_not_edited(api, turns):
    answered(Turn.objects.get(id=send(api, "POST", f"/turns/{turns[1].id}/regenerate").json()["id"]))

    assert_problem(send(api, "POST", f"/turns/{turns[1].id}/edit", {"text": "x"}), 409, "turn_not_shown")


def test_a_copy_is_a_conversation(api, turns):
    copies = [send(api, "POST", f"/turns/{turns[1].id}/fork", Idempotency_Key="k") for _ in range(2)]

    copy = copies[0].json()
    items = send(api, "GET", f"/conversations/{copy['id']}/turns").json()["items"]
    assert [response.status_code for response in copies] == [201, 201]
    assert copies[1].json()["id"] == copy["id"]
    assert copy["turns"] == 2
    assert [turn["user_text"] for turn in items] == ["one", "two"]


def test_a_message_below_a_turn_that_is_no_longer_the_last_is_refused(api, turns):
    path = f"/conversations/{turns[0].conversation_id}/turns"

    stale = send(api, "POST", path, {"text": "x", "after": str(turns[0].id)})
    fresh = send(api, "POST", path, {"text": "four", "after": str(turns[2].id)})

    assert assert_problem(stale, 409, "conversation_moved_on")["newer"] == 2
    assert fresh.status_code == 202
    assert shown(turns[0]) == ["one", "two", "three", "four"]


def test_a_repeated_request_is_answered_alike_although_it_has_moved_on_by_itself(api, turns):
    path = f"/conversations/{turns[0].conversation_id}/turns"
    body = {"text": "four", "after": str(turns[2].id)}

    ids = {send(api, "POST", path, body, Idempotency_Key="k").json()["id"] for _ in range(2)}

    assert len(ids) == 1


def test_a_message_too_large_for_the_model_says_by_how_much(api, turns, configure):
    configure(STRATA_WINDOW_TOKENS="16000", STRATA_MAX_OUTPUT_TOKENS="2000")
    text = "word " * 19_000

    for path in (f"/conversations/{turns[0].conversation_id}/turns", f"/turns/{turns[1].id}/edit"):
        response = send(api, "POST", path, {"text": text})
        problem = assert_problem(response, response.status_code, "message_too_long")
        assert response.status_code in {413, 422}
        assert problem["tokens"] > problem["limit_tokens"] > 0

    assert Turn.objects.count() == 3


def test_words_are_kept_listed_and_taken_off(api, turns):
    path = f"/conversations/{turns[0].conversation_id}/pins"

    made = [send(api, "POST", path, {"turn_id": str(turns[1].id), "text": "two"}) for _ in range(2)]
    listed = send(api, "GET", path).json()["items"]
    gone = [send(api, "DELETE", f"/pins/{made[0].json()['id']}").status_code for _ in range(2)]

    assert [response.status_code for response in made] == [201, 201]
    assert [(line["text"], line["seq"], line["kind"]) for line in listed] == [("two", 2, "pin")]
    assert listed[0]["id"] == made[0].json()["id"] == made[1].json()["id"]
    assert gone == [204, 204]
    assert send(api, "GET", path).json() == {"items": []}


def test_words_that_were_not_said_there_are_not_kept(api, alice, turns):
    path = f"/conversations/{turns[0].conversation_id}/pins"
    elsewhere = said(alice, "two")

    assert_problem(
        send(api, "POST", path, {"turn_id": str(turns[0].id), "text": "two"}), 422, "malformed_text"
    )
    assert_problem(send(api, "POST", path, {"turn_id": str(elsewhere.id), "text": "two"}), 404)


def test_a_temporary_conversation_is_deleted_with_its_streams(api, alice):
    turn = said(alice, "secret", start(alice, is_temporary=True))
    events.publish(turn.id, {"type": "start", "attempt": 1}, attempt=1)

    statuses = [send(api, "DELETE", f"/conversations/{turn.conversation_id}").status_code for _ in range(2)]

    assert statuses == [204, 404]
    assert not Conversation.objects.exists()
    assert not redis_client().exists(events.stream_key(turn.id))


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_a_temporary_conversation_cannot_be_told_to_save(api, method):
    made = send(api, "POST", "/conversations", {"temporary": True}).json()
    path = "/conversations" if method == "POST" else f"/conversations/{made['id']}"
    body = {"temporary": True, "save_memory": True} if method == "POST" else {"save_memory": True}

    assert_problem(send(api, method, path, body), 422, "temporary_saves_nothing")

    assert made["save_memory"] is False
