"""POST /memories/search over everything that is remembered: facts, past messages, experiences."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memoryapp.longterm import experiences
from memoryapp.longterm.experiences import Lesson
from memoryapp.policies.trust import Origin
from memoryapp.scratchpad import operations as scratchpad
from tests.api.requests import assert_problem, send
from tests.context.saying import said, talk
from tests.longterm.saying import remember
from tests.snapshots import snapshot
from tests.turns import post

CHANGELOG = "Summarise the fastapi changelog for the release notes"
QUESTION = "Summarise the fastapi changelog"
SMALL_TALK = ["The weather is awful today.", "I had soup for lunch.", "My train was late again."]


@pytest.fixture(autouse=True)
def known(alice, nudges):
    """Something of each sort, found by its words. Returns the turn of the message."""
    for text in SMALL_TALK:
        talk(alice, text)
    turn = talk(alice, "The fastapi changelog took me all day to summarise.")
    remember(alice, "I summarise the fastapi changelog on Mondays", kind="event")
    task = post(alice, CHANGELOG)
    run = scratchpad.open_run(user_id=alice.id, turn_id=task.id, goal=CHANGELOG, attempt=1)
    lesson = Lesson(goal=CHANGELOG, tools=("fetch",), worked="fetch", avoid="", origin=Origin.TOOL)
    assert experiences.record(
        alice.id, lesson, run_id=run.id, epoch_at_start=alice.memory_epoch, now=timezone.now()
    )
    return turn


def search(api, **body) -> list[dict]:
    response = send(api, "POST", "/memories/search", {"query": QUESTION, **body})
    assert response.status_code == 200, response.content
    return response.json()["items"]


def test_everything_that_is_remembered_is_searched(api):
    items = search(api)

    assert {item["type"] for item in items} == {"fact", "turn", "experience"}
    scores = [item["score"] for item in items]
    assert scores == sorted(scores, reverse=True)


def test_a_message_says_where_and_by_whom_it_was_said(api, known):
    [item] = search(api, include=["turns"])

    message = said(known)
    assert item["message"] == {
        "id": str(message.id),
        "conversation_id": str(known.conversation_id),
        "turn_id": str(known.id),
        "seq": 1,
        "role": "user",
        "speaker": "",
        "said_at": item["message"]["said_at"],
        "text": "The fastapi changelog took me all day to summarise.",
        "origin": "user_typed",
    }
    assert set(item["arms"]) == {"cosine", "overlap"}
    assert 0.4 <= item["confidence"] <= 1


def test_an_experience_comes_as_it_is_listed(api):
    [item] = search(api, include=["experiences"])

    assert item["experience"] == send(api, "GET", f"/experiences/{item['experience']['id']}").json()


def test_what_is_looked_up_by_its_key_was_not_compared(api, alice):
    remember(alice, "Write to ana@example.org", kind="contact_preference", key="email")

    [item] = search(api, query="What's my email?")

    assert item["memory"]["key"] == "email"
    assert (item["arms"], item["confidence"]) == ({"cosine": None, "overlap": None}, 1.0)


def test_a_search_of_the_past_finds_what_was_known_then(api):
    before = timezone.now() - timedelta(hours=1)

    assert search(api, as_of=before.isoformat(), include=["facts", "turns"]) == []
    assert search(api, as_of=timezone.now().isoformat(), include=["facts", "turns"]) != []


def test_bob_finds_nothing_of_it(bobs_api):
    assert search(bobs_api) == []


@pytest.mark.parametrize(
    "body",
    [{"include": []}, {"include": ["everything"]}, {"as_of": "2026-11-30T09:00:00"}, {"as_of": "then"}],
)
def test_it_says_what_it_takes(api, body):
    assert_problem(send(api, "POST", "/memories/search", {"query": QUESTION, **body}), 422)


def test_the_context_of_a_turn_says_that_memory_was_unavailable(api, known):
    reason = "memory unavailable"
    snapshot(known, {"arms": {}, "confidence": None, "score": 0.0, "included": False, "reason": reason})

    context = send(api, "GET", f"/turns/{known.id}/context").json()

    assert context["is_memory_unavailable"] is True
    assert [item["reason"] for item in context["recalled"]] == [reason]
