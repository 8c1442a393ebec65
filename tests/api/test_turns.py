"""Turns over REST: posting, reading, stopping, answering again, and what each left behind."""

import asyncio
import json
from uuid import uuid4

import pytest
from celery import Celery

from memoryapp import nudges
from memoryapp.celery import app
from memoryapp.transcript.models import Message, Turn
from tests.api.requests import assert_problem, send
from tests.world import failed_turn, finished_turn, posted_turn


def post(api, conversation, text="Hello", **headers):
    return send(api, "POST", f"/conversations/{conversation['id']}/turns", {"text": text}, **headers)


def test_a_posted_message_is_queued_and_says_where_its_events_are(api, conversation):
    response = post(api, conversation)

    body = response.json()
    assert response.status_code == 202
    assert body["status"] == "queued"
    assert body["events_url"] == f"/api/v1/turns/{body['id']}/events"


def test_a_queued_turn_reads_back_with_an_empty_reply(api, conversation):
    posted = post(api, conversation, "  Hello\r\nthere  ").json()

    turn = send(api, "GET", f"/turns/{posted['id']}").json()

    assert turn["user_text"] == "Hello\nthere"
    assert (turn["seq"], turn["status"], turn["reply"], turn["error"]) == (1, "queued", "", None)
    assert (turn["run_id"], turn["finished_at"]) == (None, None)


def test_a_finished_turn_has_its_reply_its_usage_and_its_run(api, world):
    turn = send(api, "GET", f"/turns/{world.turn_id}").json()

    assert turn["status"] == "completed"
    assert turn["reply"] == "I will remember marmalade."
    assert turn["usage"] == {
        "input_tokens": 10,
        "output_tokens": 5,
        "cache_read_tokens": 0,
        "cache_creation_tokens": 0,
    }
    assert turn["run_id"] == str(world.run_id)


def test_a_failed_turn_says_why_and_keeps_what_was_written(api, alice, conversation):
    failed = failed_turn(alice, conversation["id"])

    turn = send(api, "GET", f"/turns/{failed.id}").json()

    assert turn["error"] == {"code": "model_unavailable", "message": "The model is away."}
    assert turn["reply"] == "I was about to"


def test_the_turns_of_a_conversation_are_listed_in_order(api, alice, conversation):
    for text in ("one", "two", "three"):
        finished_turn(alice, conversation["id"], text=text, reply=text.upper())

    items = send(api, "GET", f"/conversations/{conversation['id']}/turns").json()["items"]

    assert [(turn["seq"], turn["user_text"], turn["reply"]) for turn in items] == [
        (1, "one", "ONE"),
        (2, "two", "TWO"),
        (3, "three", "THREE"),
    ]


def test_the_same_key_and_message_is_the_same_turn(api, conversation):
    first = post(api, conversation, Idempotency_Key="k1")
    again = post(api, conversation, Idempotency_Key="k1")

    assert again.status_code == 202
    assert again.json()["id"] == first.json()["id"]
    assert Turn.objects.count() == 1


def test_the_same_key_with_another_message_is_refused(api, conversation):
    post(api, conversation, "Hello", Idempotency_Key="k1")

    refused = post(api, conversation, "Goodbye", Idempotency_Key="k1")

    assert_problem(refused, 422, "idempotency_conflict")
    assert Turn.objects.count() == 1


def test_the_same_key_in_another_conversation_is_refused(api, conversation):
    post(api, conversation, Idempotency_Key="k1")
    other = send(api, "POST", "/conversations", {}).json()

    assert_problem(post(api, other, Idempotency_Key="k1"), 422, "idempotency_conflict")


def test_keys_of_two_people_do_not_meet(api, bobs_api, conversation):
    bobs = send(bobs_api, "POST", "/conversations", {}).json()
    post(api, conversation, Idempotency_Key="k1")

    assert post(bobs_api, bobs, Idempotency_Key="k1").status_code == 202


def test_without_a_key_every_post_is_a_new_turn(api, conversation):
    assert post(api, conversation).json()["id"] != post(api, conversation).json()["id"]


def test_a_key_has_a_limit(api, conversation):
    assert_problem(post(api, conversation, Idempotency_Key="k" * 201), 422)
    assert not Turn.objects.exists()


def test_a_message_for_an_unknown_conversation_is_404(api):
    assert_problem(send(api, "POST", f"/conversations/{uuid4()}/turns", {"text": "Hello"}), 404)


@pytest.mark.parametrize("text", ["", "   ", "\n\n", "\u200b\u00a0"])
def test_an_empty_message_is_refused(api, conversation, text):
    assert_problem(post(api, conversation, text), 422, "empty_message")
    assert not Turn.objects.exists()


def test_a_message_that_is_too_long_says_the_limit(api, conversation):
    problem = assert_problem(post(api, conversation, "x" * 200_000), 422, "message_too_long")

    assert problem["limit_chars"] == 100_000
    assert problem["chars"] == 200_000
    assert not Turn.objects.exists()


def test_a_message_of_the_largest_size_in_the_longest_spelling_is_taken(api, conversation, configure):
    configure(STRATA_WINDOW_TOKENS="1000000")
    text = "💥" * 100_000  # 12 bytes each as JSON escapes

    assert post(api, conversation, text).status_code == 202
    assert Message.objects.get().text == text


def test_stopping_a_queued_turn_ends_it(api, alice, conversation):
    turn = posted_turn(alice, conversation["id"])

    stopped = send(api, "POST", f"/turns/{turn.id}/stop")

    assert stopped.status_code == 202
    assert stopped.json()["status"] == "cancelled"


def test_stopping_a_finished_turn_leaves_it(api, world):
    stopped = send(api, "POST", f"/turns/{world.turn_id}/stop")

    assert stopped.json()["status"] == "completed"


def test_a_failed_turn_can_be_answered_again(api, alice, conversation):
    turn = failed_turn(alice, conversation["id"])

    retried = send(api, "POST", f"/turns/{turn.id}/retry")

    assert retried.status_code == 202
    assert retried.json()["status"] == "queued"


def test_a_turn_with_an_answer_is_not_answered_again(api, world):
    assert_problem(send(api, "POST", f"/turns/{world.turn_id}/retry"), 409, "turn_not_retryable")


def test_the_context_shows_sections_and_every_candidate_with_its_reason(api, world):
    body = send(api, "GET", f"/turns/{world.turn_id}/context").json()

    assert body["sections"] == [{"name": "system", "tokens": 5, "cached": True}]
    (item,) = body["recalled"]
    assert item["memory_id"] == str(world.memory_id)
    assert (item["included"], item["reason"]) == (True, "relevant")


def test_a_turn_that_has_not_called_the_model_has_no_context(api, conversation):
    posted = post(api, conversation).json()

    assert_problem(send(api, "GET", f"/turns/{posted['id']}/context"), 404)


def test_the_scratchpad_shows_the_goal_and_the_steps(api, world):
    body = send(api, "GET", f"/turns/{world.turn_id}/scratchpad").json()

    assert body["goal"] == "I like marmalade."
    (step,) = body["steps"]
    assert step == {
        "n": 1,
        "action": "recall",
        "args": {"query": "I like marmalade."},
        "observation": "I will remember marmalade.",
        "brief": "",
        "error": "",
        "status": "ok",
        "tokens": 7,
        "ms": 3,
        "origin": "tool",
        "taint": "",
    }


def test_a_turn_that_has_not_started_has_no_scratchpad(api, conversation):
    posted = post(api, conversation).json()

    assert_problem(send(api, "GET", f"/turns/{posted['id']}/scratchpad"), 404)


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_the_events_of_a_finished_turn_are_its_reply_and_an_end(api, world):
    response = api.get(f"/api/v1/turns/{world.turn_id}/events")

    stream = _read(response)
    assert response["Content-Type"] == "text/event-stream"
    assert [event["type"] for event in _data(stream)] == ["start", "text", "end"]
    assert _data(stream)[1]["delta"] == "I will remember marmalade."
    assert "event: end\n" in stream


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
@pytest.mark.parametrize("last_id", ["", "0-0", "nonsense", "-", "9" * 40 + "-1", "1-" + "9" * 40])
def test_the_events_of_a_stopped_turn_end_whatever_the_last_event_id(api, alice, conversation, last_id):
    turn = posted_turn(alice, conversation["id"])
    send(api, "POST", f"/turns/{turn.id}/stop")

    response = api.get(f"/api/v1/turns/{turn.id}/events", headers={"Last-Event-ID": last_id})

    assert _data(_read(response))[-1] == {"type": "end", "status": "cancelled"}


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_a_message_is_accepted_while_redis_is_gone(api, conversation, monkeypatch, caplog):
    nowhere = Celery(
        broker="redis://127.0.0.1:1/0",
        set_as_current=False,
        broker_transport_options=app.conf.broker_transport_options,
    )
    monkeypatch.setattr(nudges, "current_app", nowhere)

    response = post(api, conversation)

    assert response.status_code == 202
    assert Turn.objects.get().status == "queued"
    assert "was not sent" in caplog.text


def _read(response) -> str:
    async def whole() -> bytes:
        return b"".join([chunk async for chunk in response.streaming_content])

    return asyncio.run(whole()).decode()


def _data(stream: str) -> list[dict[str, object]]:
    return [
        json.loads(line.removeprefix("data: ")) for line in stream.splitlines() if line.startswith("data: ")
    ]
