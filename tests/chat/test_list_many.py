"""What is done to many chats at once on the page of all chats, and its undo."""

from html import unescape

import pytest
from django.urls import reverse

from memoryapp.transcript import conversations
from memoryapp.transcript.models import Turn
from tests.chat.listing import LIST, act, chat, listed, now_of, shown, undo
from tests.turns import COMMITTED, claim, post, published, start

pytestmark = pytest.mark.django_db


class TestManyAtOnce:
    def test_those_chosen_are_deleted_and_one_notice_says_how_many(self, browser, alice, chats):
        response = act(browser, "delete_many", *chats[:3], show="all", q="Chat")

        assert (response.status_code, response["Location"]) == (303, f"{LIST}?q=Chat")
        html = shown(browser, q="Chat")
        assert "3 chats deleted" in html
        assert listed(browser) == ["Chat 4", "Chat 3"]
        assert "3 chats deleted" not in shown(browser)

    def test_undo_brings_back_exactly_those(self, browser, alice, chats):
        conversations.delete_conversation(alice.id, chats[4].id)
        act(browser, "delete_many", *chats[:2])

        response = undo(browser, browser.get(LIST).content.decode())

        assert response.status_code == 303
        assert "2 chats brought back" in shown(browser)
        assert listed(browser) == ["Chat 3", "Chat 2", "Chat 1", "Chat 0"]

    def test_an_undo_of_the_first_of_two_deletions_leaves_the_second(self, browser, chats):
        act(browser, "delete_many", chats[0])
        first = browser.get(LIST).content.decode()
        act(browser, "delete_many", chats[1])

        undo(browser, first)

        assert listed(browser, show="deleted") == ["Chat 1"]

    def test_archiving_and_its_undo(self, browser, alice, chats):
        conversations.change_conversation(alice.id, chats[0].id, is_archived=True)
        act(browser, "archive_many", *chats[:3])
        html = browser.get(LIST).content.decode()

        undo(browser, html)

        assert "2 chats archived" in html
        assert listed(browser, show="archived") == ["Chat 0"]

    def test_archived_chats_are_brought_back(self, browser, alice, chats):
        act(browser, "archive_many", *chats[:3])

        response = act(browser, "unarchive_many", *chats[:2], show="archived")

        assert response["Location"] == f"{LIST}?show=archived"
        assert "2 chats brought back" in shown(browser, show="archived")
        assert listed(browser, show="archived") == ["Chat 2"]

    def test_the_button_of_a_row_is_about_that_row_whatever_is_ticked(self, browser, chats):
        act(browser, "delete_many", *chats[:3])

        act(browser, "restore_many", *chats[:2], only=str(chats[2].id), show="deleted")

        assert listed(browser, show="deleted") == ["Chat 1", "Chat 0"]

    def test_choosing_none_says_so_and_changes_nothing(self, browser, chats):
        for name in ("archive_many", "unarchive_many", "delete_many", "restore_many"):
            assert act(browser, name).status_code == 303
            assert "Choose the chats first." in shown(browser)

        assert len(listed(browser)) == 5

    def test_what_somebody_did_already_is_not_counted(self, browser, alice, chats):
        conversations.delete_conversation(alice.id, chats[0].id)

        act(browser, "delete_many", *chats[:2])
        once = shown(browser)
        act(browser, "delete_many", *chats[:2])

        assert "1 chat deleted" in once
        assert "Nothing was changed." in shown(browser)

    def test_chats_of_others_and_temporary_ones_are_left_alone(self, browser, alice, bob):
        theirs, passing = start(bob, title="Bob's"), start(alice, is_temporary=True)

        for name in ("archive_many", "delete_many"):
            act(browser, name, theirs, passing)

        assert [(row.archived_at, row.deleted_at) for row in map(now_of, (theirs, passing))] == [
            (None, None)
        ] * 2

    def test_bob_cannot_bring_back_what_alice_deleted(self, client, alice, bob, chats):
        conversations.delete_conversations(alice.id, [chats[0].id])
        client.force_login(bob)

        act(client, "restore_many", chats[0])

        assert now_of(chats[0]).deleted_at is not None

    def test_deleting_stops_the_reply_that_is_being_written(self, browser, alice, chats):
        running, waiting = post(alice, "hello", chats[0]), post(alice, "hello", chats[1])
        claim(running)

        act(browser, "delete_many", *chats[:2])

        stopped, cancelled = Turn.objects.get(id=running.id), Turn.objects.get(id=waiting.id)
        assert stopped.stop_requested_at is not None
        assert cancelled.status == "cancelled"

    def test_an_id_that_is_none_is_refused(self, browser):
        assert browser.post(reverse("chat:delete_many"), {"id": "1 OR 1"}).status_code == 422

    @pytest.mark.parametrize("name", ["archive_many", "unarchive_many", "delete_many", "restore_many"])
    def test_reading_changes_nothing(self, browser, chats, name):
        response = browser.get(reverse(f"chat:{name}"), {"id": str(chats[0].id)})

        assert (response.status_code, response["Location"]) == (302, LIST)
        assert len(listed(browser)) == 5


class TestConfirmation:
    @pytest.fixture
    def many(self, alice):
        return [chat(alice, f"Chat {number}") for number in range(21)]

    def test_more_than_twenty_are_asked_about_first(self, browser, many):
        html = unescape(act(browser, "delete_many", *many, show="pinned", q="Chat").content.decode())

        assert "Delete 21 chats?" in html
        assert "and 11 more" in html
        assert f'href="{LIST}?show=pinned&q=Chat">Cancel' in html
        assert len(listed(browser)) == 21

    def test_the_answer_deletes_them_and_can_be_undone(self, browser, many):
        act(browser, "delete_many", *many, confirmed="21")
        html = browser.get(LIST).content.decode()
        assert "21 chats deleted" in html
        assert listed(browser) == []

        undo(browser, html)

        assert len(listed(browser)) == 21

    @pytest.mark.parametrize("confirmed", ["", "yes", "20", "1"])
    def test_an_answer_about_another_number_is_asked_again(self, browser, many, confirmed):
        response = act(browser, "delete_many", *many, confirmed=confirmed)

        assert response.status_code == 200
        assert len(listed(browser)) == 21

    def test_twenty_are_not_asked_about(self, browser, many):
        act(browser, "delete_many", *many[:20])

        assert len(listed(browser)) == 1

    def test_it_counts_what_is_there(self, browser, alice, bob, many):
        strangers = [start(bob, title="Bob's") for _ in range(3)]

        html = act(browser, "delete_many", *many, *strangers).content.decode()

        assert "Delete 21 chats?" in html
        assert "Bob" not in html


@COMMITTED
def test_the_readers_of_a_queued_reply_hear_of_its_end_when_its_chat_is_deleted_with_others(
    alice, client, nudges
):
    turn = post(alice, "Hello")
    client.force_login(alice)

    client.post(reverse("chat:delete_many"), {"id": [str(turn.conversation_id)]})

    assert published(turn)[-1] == {"type": "end", "status": "cancelled"}
