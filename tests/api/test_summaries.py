"""Summaries by API: what each version is, edits by ``If-Match``, and asking for a new one; and the next prompt."""

import pytest

from memoryapp.nudges import SUMMARISE_AGAIN, SUMMARISE_NOW
from memoryapp.transcript import queries
from memoryapp.transcript.models import Summary
from tests.api.requests import assert_problem, send


@pytest.fixture
def path(world):
    return f"/conversations/{world.conversation_id}"


def test_each_version_says_how_it_was_made_and_which_one_it_replaced(api, path):
    send(api, "PUT", f"{path}/summary", {"text": "Marmalade, bitter."}, If_Match='"1"')

    items = send(api, "GET", f"{path}/summaries").json()["items"]

    assert [
        (row["version"], row["method"], row["trigger"], row["in_use"], row["replaces"]) for row in items
    ] == [(2, "edited", "edit", True, 1), (1, "model", "after_turn", False, None)]
    assert items[1]["model"] == "offline"
    assert (items[1]["fallback_reason"], items[1]["input_tokens"], items[1]["output_tokens"]) == ("", 0, 0)


def test_an_edit_answers_the_version_that_it_became(api, path):
    answer = send(api, "PUT", f"{path}/summary", {"text": "Marmalade, bitter."}, If_Match='"1"')

    assert answer.status_code == 200
    assert (answer.json()["version"], answer.json()["text"]) == (2, "Marmalade, bitter.")


def test_an_edit_names_the_version_it_was_made_of(api, path):
    send(api, "PUT", f"{path}/summary", {"text": "First."}, If_Match='"1"')

    assert_problem(send(api, "PUT", f"{path}/summary", {"text": "Second."}), 428, "precondition_required")
    late = send(api, "PUT", f"{path}/summary", {"text": "Second."}, If_Match='"1"')

    assert assert_problem(late, 409, "summary_moved_on")["version"] == 2


@pytest.mark.parametrize("text", ["", "word " * 40_000])
def test_an_edit_within_limits_only(api, path, text):
    assert_problem(send(api, "PUT", f"{path}/summary", {"text": text}, If_Match='"1"'), 422)


def test_the_text_of_a_version_made_from_something_forgotten_is_not_told(api, path, world):
    Summary.objects.filter(conversation_id=world.conversation_id).update(is_stale=True)

    (row,) = send(api, "GET", f"{path}/summaries").json()["items"]

    assert (row["text"], row["in_use"]) == ("", False)


def test_a_version_is_asked_for_and_made_in_the_background(
    api, path, world, monkeypatch, django_capture_on_commit_callbacks
):
    sent = []
    monkeypatch.setattr("memoryapp.nudges._send", lambda name, row_id, **_: sent.append((name, row_id)))

    with django_capture_on_commit_callbacks(execute=True):
        answers = [send(api, "POST", f"{path}/summaries", body) for body in ({}, {"again": True})]

    assert [answer.status_code for answer in answers] == [202, 202]
    assert answers[0].json() == {"status": "queued", "newest_version": 1}
    assert sent == [(SUMMARISE_NOW, world.conversation_id), (SUMMARISE_AGAIN, world.conversation_id)]


def test_the_next_prompt_is_told_in_numbers_without_its_texts(api, alice, path, world):
    answer = send(api, "GET", f"{path}/context")

    body = answer.json()
    assert [section["name"] for section in body["sections"]][:4] == [
        "system",
        "pinned",
        "summary",
        "transcript",
    ]
    assert body["input_tokens"] == body["window_tokens"] - body["reserve_output_tokens"]
    assert 0 < body["used_tokens"] < body["trigger_tokens"] < body["wait_tokens"] < body["input_tokens"]
    assert (body["cut_turns"], body["recalled"]) == (0, [])
    assert "marmalade" not in answer.content.decode()
    assert queries.turns(alice.id, world.conversation_id).count() == 1
