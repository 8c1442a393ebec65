"""Experiences over REST: read, judged, forgotten; what a person has to confirm is not confirmed here."""

from uuid import uuid4

import pytest

from memoryapp.longterm import experience_queries
from memoryapp.policies.trust import Origin
from tests.api.requests import assert_problem, send
from tests.inspector.test_experiences import learn


def test_they_are_listed_newest_first_with_what_they_are_worth(api, alice):
    learn(alice, "First")
    newest = learn(alice, "Second")

    items = send(api, "GET", "/experiences").json()["items"]

    assert [item["goal"] for item in items] == ["Second", "First"]
    assert items[0] | {"recorded_at": "", "affirmed_at": "", "expires_at": ""} == {
        "id": str(newest.id),
        "goal": "Second",
        "tools": ["calculate", "recall"],
        "outcome": "succeeded",
        "worked": "recall(query: invoices)\ncalculate(expression: 1 + 2)",
        "avoid": "calculate(expression: 1 plus 2): not a number",
        "origin": "tool",
        "confidence": 0.6,
        "waits": False,
        "seen_count": 1,
        "given_count": 0,
        "run_id": str(newest.source_run_id),
        "recorded_at": "",
        "affirmed_at": "",
        "expires_at": "",
    }


def test_they_are_paged(api, alice):
    for number in range(3):
        learn(alice, f"Goal {number}")

    first = send(api, "GET", "/experiences?limit=2").json()
    rest = send(api, "GET", f"/experiences?limit=2&cursor={first['next_cursor']}").json()

    assert [item["goal"] for item in (*first["items"], *rest["items"])] == ["Goal 2", "Goal 1", "Goal 0"]
    assert rest["next_cursor"] is None


@pytest.mark.parametrize(("helped", "confidence"), [(True, 0.7), (False, 0.36)])
def test_feedback_moves_the_confidence(api, alice, helped, confidence):
    experience = learn(alice)

    response = send(api, "POST", f"/experiences/{experience.id}/feedback", {"helped": helped})

    assert response.status_code == 200
    assert response.json()["confidence"] == pytest.approx(confidence)


def test_a_program_cannot_confirm_what_waits_for_a_person(api, alice):
    experience = learn(alice, origin=Origin.UNTRUSTED)

    response = send(api, "POST", f"/experiences/{experience.id}/feedback", {"helped": True})

    assert_problem(response, 409, "needs_confirmation")
    assert experience_queries.get(alice.id, experience.id).waits


@pytest.mark.parametrize("body", [{}, {"helped": "perhaps"}, {"helped": True, "more": 1}])
def test_feedback_of_another_form_is_refused(api, alice, body):
    experience = learn(alice)

    assert_problem(send(api, "POST", f"/experiences/{experience.id}/feedback", body), 422)


def test_forgetting_one_is_for_good(api, alice):
    experience = learn(alice)

    assert send(api, "DELETE", f"/experiences/{experience.id}").status_code == 204

    assert_problem(send(api, "GET", f"/experiences/{experience.id}"), 404, "not_found")
    assert_problem(send(api, "DELETE", f"/experiences/{experience.id}"), 404, "not_found")


def test_one_that_there_is_not_is_404(api):
    assert_problem(send(api, "GET", f"/experiences/{uuid4()}"), 404, "not_found")
