"""Temporary chats, and deleting with an undo, on the page."""

import pytest
from django.urls import reverse

from chat import events, sending
from memoryapp.context.models import ContextSnapshot
from memoryapp.redis_client import redis_client
from memoryapp.scratchpad.models import Run
from memoryapp.transcript import queries, search
from memoryapp.transcript.models import Conversation, Message, Turn
from tests.snapshots import snapshot
from tests.transcript.branching import said
from tests.turns import claim, post, start
from tests.world import finished_turn

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


def delete(browser, conversation_id):
    return browser.post(reverse("chat:delete", args=[conversation_id]))


def test_a_chat_is_begun_as_temporary_by_a_switch_that_is_an_address(browser):
    off = browser.get("/").content.decode()
    on = browser.get("/?temporary=yes").content.decode()

    assert 'role="switch"' in off
    assert 'aria-checked="false"' in off
    assert 'aria-checked="true"' in on
    assert "Nothing from this chat is saved to memory" in on
    assert "after 24 hours without a message" in on
    assert (
        on.count('<input type="hidden" name="temporary" value="yes">') == 2
    )  # the starters and the message box
    assert 'type="hidden" name="temporary"' not in off


def test_the_hours_are_those_that_are_configured(browser, configure):
    configure(STRATA_TEMPORARY_HOURS="1")

    assert "after 1 hour without a message" in browser.get("/?temporary=yes").content.decode()


def test_a_temporary_chat_says_what_it_is_and_is_in_no_list(browser, alice):
    response = browser.post(reverse("chat:start"), {"text": "secret aardvark", "temporary": "yes"})

    conversation = Conversation.objects.get()
    html = browser.get(response["Location"]).content.decode()
    assert (conversation.is_temporary, conversation.use_memory, conversation.save_memory) == (
        True,
        False,
        False,
    )
    for words in ("Temporary chat.", "Close and delete", "Uses no memory", "Saves nothing"):
        assert words in html
    assert "aardvark" not in browser.get("/").content.decode()
    assert not search.search_conversations(alice.id, "aardvark")[0].exists()


def test_a_refused_first_message_stays_temporary(browser):
    response = browser.post(reverse("chat:start"), {"text": " ", "temporary": "yes"})

    assert response.status_code == 422
    assert 'aria-checked="true"' in response.content.decode()


def test_an_ordinary_chat_offers_no_closing(browser, alice):
    turn = said(alice, "hello")

    html = browser.get(reverse("chat:conversation", args=[turn.conversation_id])).content.decode()

    assert "Close and delete" not in html


def test_closing_leaves_nothing_of_it(browser, alice):
    conversation = start(alice, is_temporary=True)
    turn = finished_turn(alice, conversation.id, text="secret", reply="yes")
    snapshot(turn)
    kept = said(alice, "other")
    for streamed in (turn, kept):
        events.publish(streamed.id, {"type": "start", "attempt": 1}, attempt=1)

    response = delete(browser, conversation.id)

    assert (response.status_code, response["Location"]) == (303, "/")
    assert "is deleted" in browser.get("/").content.decode()
    assert list(Conversation.objects.all()) == [kept.conversation]
    assert not Message.objects.filter(text="secret").exists()
    assert not ContextSnapshot.objects.exists()
    assert not Run.objects.filter(turn=turn).exists()
    assert not redis_client().exists(events.stream_key(turn.id))
    assert redis_client().exists(events.stream_key(kept.id))


def test_closing_during_a_reply_leaves_nothing_either(browser, alice):
    turn = post(alice, "secret", start(alice, is_temporary=True))
    held = claim(turn)
    events.publish(turn.id, {"type": "start", "attempt": held.attempt}, attempt=held.attempt)

    delete(browser, turn.conversation_id)
    events.publish(turn.id, {"type": "text", "delta": "late"}, attempt=held.attempt)

    assert not Turn.objects.exists()
    assert not redis_client().exists(events.stream_key(turn.id))


def test_saving_cannot_be_switched_on_and_using_can(browser, alice):
    conversation = start(alice, is_temporary=True)
    switch = reverse("chat:memory", args=[conversation.id])

    refused = browser.post(switch, {"save_memory": "on"})
    browser.post(switch, {"use_memory": "on"})

    html = browser.get(reverse("chat:conversation", args=[conversation.id])).content.decode()
    conversation.refresh_from_db()
    assert refused.status_code == 422
    assert "A temporary chat saves nothing" in refused.content.decode()
    assert (conversation.use_memory, conversation.save_memory) == (True, False)
    assert 'name="save_memory"' not in html


def test_a_deleted_chat_can_be_brought_back_where_one_lands(browser, alice):
    turn = said(alice, "hello")

    deleted = delete(browser, turn.conversation_id)
    page = browser.get(deleted["Location"]).content.decode()
    undone = browser.post(reverse("chat:restore", args=[turn.conversation_id]))
    back = browser.get(undone["Location"])

    assert deleted.status_code == undone.status_code == 303
    assert "The chat is deleted." in page
    assert f'action="{reverse("chat:restore", args=[turn.conversation_id])}"' in page
    assert "The chat is back." in back.content.decode()
    assert "hello" in back.content.decode()


def test_two_clicks_on_delete_or_undo_are_one(browser, alice):
    turn = said(alice, "hello")

    deleted = [delete(browser, turn.conversation_id) for _ in range(2)]
    undone = [browser.post(reverse("chat:restore", args=[turn.conversation_id])) for _ in range(2)]

    assert deleted[0]["Location"] == deleted[1]["Location"]
    assert undone[0]["Location"] == undone[1]["Location"]
    assert queries.get_conversation(alice.id, turn.conversation_id)


@pytest.mark.parametrize("deleted", ["nonsense", "00000000-0000-7000-8000-000000000000"])
def test_an_undo_that_there_is_not_is_not_offered(browser, deleted):
    assert "The chat is deleted." not in browser.get("/", {"deleted": deleted}).content.decode()


def test_deleting_ends_the_streams_of_what_had_not_begun(alice):
    running = post(alice, "one")
    held = claim(running)
    queued = post(alice, "two", running.conversation)
    events.publish(running.id, {"type": "start", "attempt": held.attempt}, attempt=held.attempt)

    sending.delete(alice, running.conversation_id)

    assert queries.is_stop_requested([running.id]) == {running.id}
    (entry,) = redis_client().xrange(events.stream_key(queued.id))
    assert '"cancelled"' in entry[1]["event"]


def test_bob_deletes_and_brings_back_nothing_of_alice(client, alice, bob):
    turn = said(alice, "hello")
    client.force_login(bob)

    refused = [delete(client, turn.conversation_id)]
    sending.delete(alice, turn.conversation_id)
    refused.append(client.post(reverse("chat:restore", args=[turn.conversation_id])))
    page = client.get("/", {"deleted": turn.conversation_id}).content.decode()

    assert [response.status_code for response in refused] == [404, 404]
    assert "Undo" not in page
    assert queries.is_restorable(alice.id, turn.conversation_id)
