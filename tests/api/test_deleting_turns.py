"""Deleting turns and changing messages over REST."""

import pytest

from memoryapp.transcript import queries
from tests.api.requests import assert_problem, send
from tests.transcript.branching import talk


@pytest.fixture
def turns(alice, nudges):
    return talk(alice, "figs", "zanzibar", "dates")


def texts(api, turn) -> list[str]:
    items = send(api, "GET", f"/conversations/{turn.conversation_id}/turns").json()["items"]
    return [item["user_text"] for item in items]


def test_a_turn_is_deleted_and_brought_back(api, turns):
    deleted = send(api, "DELETE", f"/turns/{turns[1].id}")
    without = texts(api, turns[0])

    restored = send(api, "POST", "/turns/restore", {"deletion_id": deleted.json()["id"]})

    assert (deleted.status_code, deleted.json()["turns"]) == (200, 1)
    assert without == ["figs", "dates"]
    assert (restored.status_code, texts(api, turns[0])) == (200, ["figs", "zanzibar", "dates"])


def test_all_from_a_turn_on_are_deleted(api, turns):
    deleted = send(api, "DELETE", f"/turns/{turns[1].id}?following=true")

    assert (deleted.json()["turns"], texts(api, turns[0])) == (2, ["figs"])


def test_a_message_is_corrected_by_its_id(api, turns):
    turn = send(api, "GET", f"/turns/{turns[1].id}").json()

    changed = send(api, "PATCH", f"/messages/{turn['user_message_id']}", {"text": "Porto"})

    assert changed.json()["message_ids"] == [turn["user_message_id"]]
    assert changed.json()["repeated_in"] == [str(turns[1].messages.get(role="assistant").id)]
    assert changed.json()["turn"]["user_text"] == "Porto"


def test_words_of_a_message_are_redacted_wherever_they_are_said(api, turns):
    turn = send(api, "GET", f"/turns/{turns[1].id}").json()

    changed = send(api, "PATCH", f"/messages/{turn['user_message_id']}", {"redact": "zanzibar"})

    assert len(changed.json()["message_ids"]) == 2
    assert "zanzibar" not in changed.content.decode()


def test_either_a_text_or_words_to_redact_are_sent(api, turns):
    message_id = queries.user_message(turns[0]).id

    for body in ({}, {"text": "a", "redact": "b"}):
        assert_problem(send(api, "PATCH", f"/messages/{message_id}", body), 422, "invalid_input")


def test_bob_neither_deletes_nor_changes(bobs_api, turns):
    api = bobs_api
    message_id = queries.user_message(turns[0]).id

    assert send(api, "DELETE", f"/turns/{turns[0].id}").status_code == 404
    assert send(api, "PATCH", f"/messages/{message_id}", {"text": "x"}).status_code == 404


def test_how_long_a_conversation_is_kept_is_set_and_let_go(api, turns):
    path = f"/conversations/{turns[0].conversation_id}"

    kept = send(api, "PATCH", path, {"retention_days": 30}).json()
    unchanged = send(api, "PATCH", path, {"title": "Fruit"}).json()
    ruled = send(api, "PATCH", path, {"retention_days": None}).json()

    assert (kept["retention_days"], kept["kept_until"] is None) == (30, False)
    assert unchanged["retention_days"] == 30
    assert (ruled["retention_days"], ruled["kept_until"]) == (None, None)


def test_a_conversation_becomes_temporary_and_never_back(api, turns):
    path = f"/conversations/{turns[0].conversation_id}"

    became = send(api, "PATCH", path, {"temporary": True}).json()

    assert (became["temporary"], became["save_memory"]) == (True, False)
    assert send(api, "PATCH", path, {"temporary": False}).status_code == 422
