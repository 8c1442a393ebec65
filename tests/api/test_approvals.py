"""Turns that wait, for programs: what they wait for, and the word of their person."""

import pytest

from memoryapp.scratchpad.models import Approval, Grant
from memoryapp.transcript import conversations
from memoryapp.transcript.models import Turn
from tests.api.requests import assert_problem, send
from tests.turns import fresh, post
from tests.waits import NOTE, SAID, asking, waiting

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nudges")]


def decide(api, turn, approval, **body):
    return send(api, "POST", f"/turns/{turn.id}/approvals/{approval.tool_use_id}", body)


def test_a_turn_that_waits_for_the_model_says_why_and_until_when(api, alice):
    turn = waiting(alice, "model")

    shown = send(api, "GET", f"/turns/{turn.id}").json()

    assert shown["status"] == "waiting"
    assert shown["reply"] == SAID
    wait = shown["waiting"]
    assert (wait["reason"], wait["message"], wait["approvals"]) == ("model", "The model is overloaded.", [])
    assert wait["resume_at"] is not None


def test_a_turn_that_asks_shows_each_call_with_all_that_a_decision_needs(api, alice):
    turn, [approval] = asking(alice)

    [asked] = send(api, "GET", f"/turns/{turn.id}").json()["waiting"]["approvals"]

    assert asked.pop("expires_at") is not None
    assert asked == {
        "tool_use_id": "call-1",
        "tool": "send_note",
        "arguments": NOTE,
        "why": SAID,
        "touches": "The shared notebook.",
        "source": "strata-example-tool",
        "nonce": approval.nonce,
    }


def test_a_turn_that_does_not_wait_waits_for_nothing(api, alice):
    assert send(api, "GET", f"/turns/{post(alice, 'Hello').id}").json()["waiting"] is None


@pytest.mark.parametrize("with_nonce", [True, False])
def test_an_approved_call_is_decided_and_its_turn_goes_on(api, alice, with_nonce):
    turn, [approval] = asking(alice)
    nonce = {"nonce": approval.nonce} if with_nonce else {}

    accepted = decide(api, turn, approval, approve=True, **nonce)

    approval.refresh_from_db()
    assert accepted.status_code == 202
    assert accepted.json()["status"] == "queued"
    assert accepted.json()["events_url"] == f"/api/v1/turns/{turn.id}/events"
    assert approval.status == "approved"
    assert send(api, "GET", f"/turns/{turn.id}").json()["waiting"] is None


def test_a_denial_keeps_its_reason(api, alice):
    turn, [approval] = asking(alice)

    decide(api, turn, approval, approve=False, reason="Anna is on holiday")

    approval.refresh_from_db()
    assert (approval.status, approval.reason) == ("denied", "Anna is on holiday")


def test_always_is_a_grant_in_the_conversation(api, alice):
    turn, [approval] = asking(alice)

    decide(api, turn, approval, approve=True, always=True)

    grant = Grant.objects.get()
    assert (grant.conversation_id, grant.action) == (turn.conversation_id, "send_note")


def test_a_second_decision_is_refused(api, alice):
    turn, [approval] = asking(alice)
    decide(api, turn, approval, approve=False)

    assert_problem(decide(api, turn, approval, approve=True), 409, "approval_closed")


def test_a_decision_with_the_nonce_of_another_call_is_refused(api, alice):
    turn, [first, second] = asking(alice, one=NOTE, two=NOTE)

    assert_problem(decide(api, turn, first, approve=True, nonce=second.nonce), 409, "approval_changed")
    assert set(Approval.objects.values_list("status", flat=True)) == {"pending"}


@pytest.mark.parametrize(
    "body",
    [{}, {"approve": "yes please"}, {"approve": True, "reason": "x" * 501}, {"approve": True, "all": 1}],
)
def test_a_decision_that_is_none_is_refused(api, alice, body):
    turn, [approval] = asking(alice)

    assert_problem(decide(api, turn, approval, **body), 422)
    assert fresh(turn).status == Turn.Status.WAITING


def test_an_unknown_call_is_404(api, alice):
    turn, _ = asking(alice)

    assert_problem(send(api, "POST", f"/turns/{turn.id}/approvals/none/at-all", {"approve": True}), 404)


@pytest.mark.parametrize("reason", ["model", "stuck"])
def test_a_waiting_turn_is_taken_up_at_once_on_request(api, alice, reason):
    turn = waiting(alice, reason)

    resumed = send(api, "POST", f"/turns/{turn.id}/resume")

    assert resumed.status_code == 202
    assert resumed.json()["status"] == "queued"


def test_what_waits_for_a_decision_is_not_resumed_without_one(api, alice):
    turn, _ = asking(alice)

    assert_problem(send(api, "POST", f"/turns/{turn.id}/resume"), 409, "turn_not_waiting")
    assert fresh(turn).status == Turn.Status.WAITING


def test_everything_that_waits_for_a_decision_is_listed_oldest_first(api, alice):
    first, _ = asking(alice)
    second, _ = asking(alice, one=NOTE, two={"text": "Another"})
    gone, _ = asking(alice)
    conversations.delete_conversation(alice.id, gone.conversation_id)

    items = send(api, "GET", "/approvals").json()["items"]

    assert [(item["turn_id"], item["tool_use_id"]) for item in items] == [
        (str(first.id), "call-1"),
        (str(second.id), "one"),
        (str(second.id), "two"),
    ]
    assert items[0]["conversation_id"] == str(first.conversation_id)
    assert items[0]["arguments"] == NOTE


def test_bob_neither_sees_nor_decides_what_alice_is_asked(bobs_api, alice):
    turn, [approval] = asking(alice)

    assert send(bobs_api, "GET", "/approvals").json() == {"items": []}
    assert_problem(decide(bobs_api, turn, approval, approve=True, nonce=approval.nonce), 404, "not_found")
    assert_problem(send(bobs_api, "POST", f"/turns/{turn.id}/resume"), 404, "not_found")
    approval.refresh_from_db()
    assert approval.status == "pending"
