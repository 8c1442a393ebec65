"""Forgetting by a program: asked twice, told what goes, and given a receipt."""

from uuid import UUID

import pytest
from django.utils import timezone

from memoryapp.longterm import queries as memories
from memoryapp.receipts import operations
from memoryapp.receipts.models import Receipt
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.transcript import claims, conversations
from tests.api.requests import assert_problem, send
from tests.world import finished_turn, posted_turn

STATEMENT = "I keep a heron called Wotan"


@pytest.fixture
def memory(api) -> dict:
    return send(api, "POST", "/memories", {"statement": STATEMENT}).json()


def forget(api, **body):
    return send(api, "POST", "/forget", body)


def known(user) -> set[str]:
    return {memory.statement for memory in memories.memories(user.id)}


def test_what_is_not_confirmed_is_not_forgotten_and_the_answer_tells_what_would_go(api, alice, memory):
    problem = assert_problem(forget(api, scope="memory", id=memory["id"]), 422, "not_confirmed")

    assert problem["preview"]["counts"] == {"memories": 1}
    assert problem["preview"]["undo_minutes"] > 0
    assert known(alice) == {STATEMENT}


def test_the_preview_tells_the_same_and_changes_nothing(api, alice, memory):
    response = send(api, "POST", "/forget/preview", {"scope": "memory", "id": memory["id"]})

    assert response.status_code == 200
    assert response.json()["counts"] == {"memories": 1}
    assert known(alice) == {STATEMENT}


def test_what_is_confirmed_is_forgotten_with_a_receipt_that_names_the_program(api, alice, memory):
    receipt = forget(api, scope="memory", id=memory["id"], confirm=True).json()

    assert known(alice) == set()
    assert receipt["items"] == {"memory": [memory["id"]]}
    assert (receipt["scope"], receipt["subject_id"], receipt["actor"]) == ("memory", memory["id"], "program")
    assert send(api, "GET", "/receipts").json()["items"] == [receipt]
    assert send(api, "GET", f"/receipts/{receipt['id']}").json() == receipt
    assert STATEMENT not in str(receipt)
    stored = Receipt.objects.get(id=UUID(receipt["id"]))
    assert stored.signature == operations.signature(stored)


def test_it_comes_back_and_can_be_ended(api, alice, memory):
    first = forget(api, scope="memory", id=memory["id"], confirm=True).json()
    undone = send(api, "POST", f"/receipts/{first['id']}/undo").json()
    again = forget(api, scope="memory", id=memory["id"], confirm=True).json()
    send(api, "POST", f"/receipts/{again['id']}/finish")

    late = send(api, "POST", f"/receipts/{again['id']}/undo")

    assert undone["restored"] == {"memory": [memory["id"]]}
    assert_problem(late, 409, "too_late")
    assert known(alice) == set()


def test_everything_goes_by_one_call(api, alice, bob, memory):
    send(api, "POST", "/conversations", {"title": "Birds"})

    receipt = forget(api, scope="everything", confirm=True).json()

    assert receipt["counts"] == {"memories": 1, "conversations": 1}
    assert (known(alice), receipt["undo_until"]) == (set(), None)


def test_an_account_is_not_a_programs_to_delete(api, alice, memory):
    assert_problem(forget(api, scope="account", confirm=True), 422, "not_by_program")

    assert known(alice) == {STATEMENT}


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"scope": "the moon", "confirm": True}, 422, "invalid_input"),
        ({"scope": "memory", "confirm": True}, 404, "not_found"),
        ({"scope": "memory", "id": "x", "confirm": True}, 404, "not_found"),
        ({"scope": "recent", "id": "year", "confirm": True}, 422, "invalid_input"),
        ({"scope": "kind", "id": "weather", "confirm": True}, 422, "invalid_input"),
        ({"scope": "kind", "id": "event", "confirm": True}, 404, "nothing_to_forget"),
    ],
)
@pytest.mark.usefixtures("memory")
def test_what_cannot_be_forgotten_is_said(api, alice, body, status, code):
    assert_problem(send(api, "POST", "/forget", body), status, code)

    assert known(alice) == {STATEMENT}


def test_copies_of_a_chat_are_named_and_go_along_where_that_is_asked_for(api, alice):
    conversation = conversations.start_conversation(alice, now=timezone.now())
    turn = finished_turn(alice, conversation.id, text=STATEMENT, reply="Noted.")
    copy = conversations.fork_conversation(alice, turn.id, idempotency_key="copy", now=timezone.now())
    asked = {"scope": "conversation", "id": str(conversation.id)}

    seen = send(api, "POST", "/forget/preview", asked).json()
    receipt = forget(api, **asked, with_copies=True, confirm=True).json()

    assert seen["copies"] == [str(copy.id)]
    assert sorted(receipt["items"]["conversation"]) == sorted([str(conversation.id), str(copy.id)])


@pytest.mark.parametrize(("path", "more"), [("/forget", {"confirm": True}), ("/forget/preview", {})])
def test_a_run_that_goes_on_is_to_be_stopped_first(api, alice, path, more):
    conversation = conversations.start_conversation(alice, now=timezone.now())
    turn = posted_turn(alice, conversation.id)
    claim = claims.claim_turn(turn.id)
    run = scratchpad.open_run(user_id=alice.id, turn_id=turn.id, goal=STATEMENT, attempt=claim.attempt)

    response = send(api, "POST", path, {"scope": "run", "id": str(run.id), **more})

    assert_problem(response, 409, "run_in_progress")
