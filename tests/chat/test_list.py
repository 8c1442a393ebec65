"""The lists of chats: all of them on a page, with what can be done to many at once, and those beside every page."""

import re
from datetime import timedelta
from html import unescape

import pytest
from django.urls import reverse
from django.utils import timezone

from chat import list_views
from chat.list_presentation import gone_text, sidebar_groups
from memoryapp.transcript import conversations
from memoryapp.transcript.models import Conversation, Turn
from tests.talking import say
from tests.turns import COMMITTED, NOW, claim, post, published, start

pytestmark = pytest.mark.django_db

LIST = "/conversations/"


@pytest.fixture
def chats(alice):
    """Five, the last one the newest."""
    return [chat(alice, f"Chat {number}", age=5 - number) for number in range(5)]


def chat(user, title, *, age=0, **options) -> Conversation:
    made = start(user, title=title, **options)
    Conversation.objects.filter(id=made.id).update(updated_at=NOW - timedelta(days=age))
    return made


def listed(browser, **query) -> list[str]:
    return [row.title for row in browser.get(LIST, query).context["chats"]]


def shown(browser, **query) -> str:
    return " ".join(unescape(browser.get(LIST, query).content.decode()).split())


def act(browser, name, *chosen, **fields):
    return browser.post(reverse(f"chat:{name}"), {"id": [str(each.id) for each in chosen], **fields})


def undo(browser, html: str):
    """Send the form that the notice holds."""
    form = re.search(r'<form class="notice[^>]*action="([^"]+)".*?</form>', html, re.DOTALL)
    fields: dict[str, list[str]] = {}
    for name, value in re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form[0]):
        fields.setdefault(name, []).append(value)
    return browser.post(form[1], fields)


def now_of(each: Conversation) -> Conversation:
    return Conversation.objects.get(id=each.id)


class TestShowing:
    def test_all_chats_are_listed_newest_first_with_what_they_hold(self, browser, alice, chats):
        say(chats[2], "hello", "hi")

        html = shown(browser)

        assert listed(browser) == ["Chat 2", "Chat 4", "Chat 3", "Chat 1", "Chat 0"]
        assert "2 messages" in html
        assert "0 messages" in html
        assert f'href="/c/{chats[0].id}/"' in html

    def test_only_the_shown_branch_is_counted(self, browser, alice):
        talk = start(alice, title="Edited")
        say(talk, "hello", "hi")
        turn = say(talk, "and?", "so")
        Turn.objects.filter(id=turn.id).update(is_current=False)

        assert browser.get(LIST).context["chats"][0].message_count == 2

    def test_each_filter_shows_its_own(self, browser, alice, chats):
        conversations.change_conversation(alice.id, chats[0].id, is_pinned=True)
        conversations.change_conversation(alice.id, chats[1].id, is_archived=True)
        conversations.delete_conversation(alice.id, chats[2].id)

        assert listed(browser) == ["Chat 4", "Chat 3", "Chat 0"]
        assert listed(browser, show="pinned") == ["Chat 0"]
        assert listed(browser, show="archived") == ["Chat 1"]
        assert listed(browser, show="deleted") == ["Chat 2"]
        assert listed(browser, show="nonsense") == ["Chat 4", "Chat 3", "Chat 0"]

    def test_temporary_chats_and_those_of_others_are_in_none(self, browser, alice, bob):
        start(alice, title="Passing", is_temporary=True)
        theirs = [start(bob, title=f"Bob {number}") for number in range(4)]
        conversations.change_conversation(bob.id, theirs[1].id, is_pinned=True)
        conversations.change_conversation(bob.id, theirs[2].id, is_archived=True)
        conversations.delete_conversation(bob.id, theirs[3].id)

        for show in ("all", "pinned", "archived", "deleted"):
            assert listed(browser, show=show) == []
            assert listed(browser, show=show, q="Bob") == []

    def test_pages_follow_each_other_without_loss_and_keep_the_filter(self, browser, chats, monkeypatch):
        monkeypatch.setattr(list_views, "PAGE", 2)
        found, url = [], f"{LIST}?q=Chat"
        while url:
            page = browser.get(url)
            found += [row.title for row in page.context["chats"]]
            url = page.context["next_url"]

        assert found == ["Chat 4", "Chat 3", "Chat 2", "Chat 1", "Chat 0"]

    def test_a_page_whose_chats_are_gone_leads_to_the_first(self, browser, alice, chats, monkeypatch):
        monkeypatch.setattr(list_views, "PAGE", 4)
        second = browser.get(LIST).context["next_url"]
        conversations.delete_conversation(alice.id, chats[0].id)

        response = browser.get(second)

        assert (response.status_code, response["Location"]) == (302, LIST)

    def test_a_cursor_that_is_none_of_ours_is_refused(self, browser):
        assert browser.get(LIST, {"after": "x"}).status_code == 422

    def test_the_queries_do_not_grow_with_the_chats(
        self, browser, alice, chats, django_assert_max_num_queries
    ):
        for each in chats:
            say(each, "hello", "hi")
        browser.get(LIST)

        with django_assert_max_num_queries(9):
            browser.get(LIST)

    def test_an_address_opens_the_same_view_again(self, browser, chats):
        html = shown(browser, show="pinned", q="tea & <b>milk</b>")

        assert 'name="show" value="pinned"' in html
        assert 'value="tea & <b>milk</b>"' in html
        assert '?show=pinned&q=tea+%26+%3Cb%3Emilk%3C%2Fb%3E" aria-current="page"' in html

    @pytest.mark.parametrize(
        ("query", "words"),
        [
            ({}, "No chats here"),
            ({"show": "pinned"}, "Nothing pinned"),
            ({"show": "archived"}, "Nothing archived"),
            ({"show": "deleted"}, "A deleted chat waits here for 60 minutes."),
            ({"q": "yak"}, "Nothing matches “<bdi>yak</bdi>”"),
            ({"q": "yak", "show": "archived"}, "No archived chat has it in its title"),
            ({"q": "yak", "show": "deleted"}, "No deleted chat has it in its title"),
        ],
    )
    def test_nothing_to_show_says_why(self, browser, query, words):
        html = shown(browser, **query)

        assert words in html
        assert 'id="chats"' not in html

    def test_no_match_leads_back_to_the_filter(self, browser):
        assert 'href="/conversations/?show=archived">Clear the search' in shown(
            browser, q="yak", show="archived"
        )


class TestSearching:
    def test_a_search_marks_what_was_said_and_the_title(self, browser, alice):
        say(start(alice, title="The aardvark"), "Do you know an <i>aardvark</i>?", "I do.")

        html = browser.get(LIST, {"q": "aardvark"}).content.decode()

        assert "The <mark>aardvark</mark>" in html
        assert "Do you know an &lt;i&gt;<mark>aardvark</mark>&lt;/i&gt;?" in html

    def test_archived_chats_are_found_among_all_and_say_so(self, browser, alice):
        away = start(alice, title="Holiday")
        say(away, "I saw an aardvark", "Where?")
        conversations.change_conversation(alice.id, away.id, is_archived=True)

        html = shown(browser, q="aardvark")

        assert listed(browser, q="aardvark") == listed(browser, q="aardvark", show="archived") == ["Holiday"]
        assert "</svg> Archived" in html

    def test_a_filter_narrows_the_search(self, browser, alice, chats):
        for each in chats[:2]:
            say(each, "I saw an aardvark", "Where?")
        conversations.change_conversation(alice.id, chats[1].id, is_pinned=True)

        assert listed(browser, q="aardvark", show="pinned") == ["Chat 1"]

    def test_deleted_chats_are_found_by_their_title_alone(self, browser, alice):
        gone = start(alice, title="Holiday")
        say(gone, "I saw an aardvark", "Where?")
        conversations.delete_conversation(alice.id, gone.id)

        assert listed(browser, q="aardvark", show="deleted") == []
        assert listed(browser, q="HOLI", show="deleted") == ["Holiday"]
        assert listed(browser, q="Holiday") == []

    @pytest.mark.parametrize("q", ["%", "a\x00b", '"', "-", "()*", "\\", "x" * 5_000, " "])
    def test_no_search_is_an_error(self, browser, chats, q):
        assert browser.get(LIST, {"q": q}).status_code == 200


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


class TestDeletedView:
    def test_it_says_until_when_a_chat_can_be_brought_back(self, browser, alice, chats):
        conversations.delete_conversation(alice.id, chats[0].id)
        moment = timezone.now() - timedelta(minutes=16, seconds=30)
        Conversation.objects.filter(id=chats[0].id).update(deleted_at=moment)

        html = shown(browser, show="deleted")

        assert "Deleted for good in 44 minutes" in html
        assert f'href="/c/{chats[0].id}/"' not in html

    @pytest.mark.parametrize(
        ("minutes_ago", "words"),
        [
            (0, "in 60 minutes"),
            (16.5, "in 44 minutes"),
            (59.5, "in a minute"),
            (60, "any moment now"),
            (75, "any moment now"),
        ],
    )
    def test_the_time_left_is_said_as_people_say_it(self, minutes_ago, words):
        assert gone_text(NOW - timedelta(minutes=minutes_ago), now=NOW) == f"Deleted for good {words}"

    def test_many_minutes_are_hours(self, configure):
        configure(STRATA_DELETED_CONVERSATION_MINUTES="1440")

        assert gone_text(NOW - timedelta(minutes=5), now=NOW) == "Deleted for good in 24 hours"

    def test_what_is_gone_for_good_is_not_brought_back(self, browser, alice, chats):
        conversations.delete_conversation(alice.id, chats[0].id)
        Conversation.objects.filter(id=chats[0].id).update(deleted_at=NOW - timedelta(days=365))
        conversations.delete_for_good()

        act(browser, "restore_many", chats[0])

        assert "Nothing was changed." in shown(browser)


class TestMenu:
    def test_a_chat_is_pinned_and_unpinned(self, browser, alice, chats):
        url = reverse("chat:pin", args=[chats[0].id])

        browser.post(url, {"pinned": "yes"})
        pinned = now_of(chats[0]).pinned_at
        browser.post(url)

        assert pinned is not None
        assert now_of(chats[0]).pinned_at is None

    def test_a_chat_is_archived_and_brought_back(self, browser, alice, chats):
        url = reverse("chat:archive", args=[chats[0].id])

        browser.post(url, {"archived": "yes"})
        archived = now_of(chats[0]).archived_at
        browser.post(url)

        assert archived is not None
        assert now_of(chats[0]).archived_at is None

    @pytest.mark.parametrize("name", ["pin", "archive"])
    def test_bob_cannot(self, client, bob, chats, name):
        client.force_login(bob)

        response = client.post(reverse(f"chat:{name}", args=[chats[0].id]), {"pinned": "y", "archived": "y"})

        assert response.status_code == 404
        assert (now_of(chats[0]).pinned_at, now_of(chats[0]).archived_at) == (None, None)

    def test_the_menu_offers_what_is_not_so_yet(self, browser, alice, chats):
        url = reverse("chat:conversation", args=[chats[0].id])
        before = browser.get(url).content.decode()
        conversations.change_conversation(alice.id, chats[0].id, is_pinned=True, is_archived=True)

        after = browser.get(url).content.decode()

        assert 'name="pinned"' in before
        assert 'name="archived"' in before
        assert "Unpin" in after
        assert "Bring back to the list" in after

    def test_a_temporary_chat_is_neither_pinned_nor_archived_nor_made_to_save(self, browser, alice):
        passing = start(alice, is_temporary=True)

        html = browser.get(reverse("chat:conversation", args=[passing.id])).content.decode()

        assert reverse("chat:pin", args=[passing.id]) not in html
        assert reverse("chat:archive", args=[passing.id]) not in html
        assert 'name="use_memory"' in html
        assert 'name="save_memory"' not in html


class TestSidebar:
    def titles(self, groups):
        return [(label, [item.title for item in items]) for label, items in groups]

    def test_pinned_chats_come_first_and_once_and_archived_ones_not_at_all(self, alice):
        now = timezone.now()
        old = start(alice, title="Old")
        Conversation.objects.filter(id=old.id).update(updated_at=now - timedelta(days=300))
        today, away = start(alice, title="Today's"), start(alice, title="Away")
        Conversation.objects.filter(id__in=[today.id, away.id]).update(updated_at=now)
        conversations.change_conversation(alice.id, old.id, is_pinned=True)
        conversations.change_conversation(alice.id, away.id, is_archived=True, is_pinned=True)

        assert self.titles(sidebar_groups(alice.id)) == [("Pinned", ["Old"]), ("Today", ["Today's"])]

    def test_a_pinned_chat_is_there_however_old_it_is(self, alice, chats, monkeypatch):
        monkeypatch.setattr("chat.list_presentation.LISTED", 2)
        conversations.change_conversation(alice.id, chats[0].id, is_pinned=True)

        shown = [item.title for _, items in sidebar_groups(alice.id) for item in items]

        assert shown == ["Chat 0", "Chat 4", "Chat 3"]

    def test_fewer_stand_beside_pages_that_are_no_chat(self, browser, chats, monkeypatch):
        monkeypatch.setattr("chat.context_processors.LISTED_ELSEWHERE", 2)

        beside_facts = browser.get("/memory/facts/").context["conversation_groups"]
        beside_a_chat = browser.get(f"/c/{chats[0].id}/").context["conversation_groups"]

        assert [item.title for _, items in beside_facts for item in items] == ["Chat 4", "Chat 3"]
        assert sum(len(items) for _, items in beside_a_chat) == len(chats)

    def test_a_temporary_chat_is_shown_while_it_is_open(self, alice, bob, chats):
        passing = start(alice, title="Passing", is_temporary=True)

        open_now = sidebar_groups(alice.id, current_id=passing.id)
        elsewhere = sidebar_groups(alice.id, current_id=chats[0].id)
        of_bob = sidebar_groups(bob.id, current_id=passing.id)

        assert self.titles(open_now)[0] == ("Temporary", ["Passing"])
        assert "Temporary" not in dict(elsewhere)
        assert of_bob == []

    def test_a_search_marks_its_words_and_leads_to_all_chats(self, browser, alice):
        say(start(alice, title="Trip"), "I saw an aardvark", "Where?")
        away = start(alice, title="Aardvarks")
        conversations.change_conversation(alice.id, away.id, is_archived=True)

        html = browser.get("/", {"q": "aardvark"}).content.decode()

        assert "I saw an <mark>aardvark</mark>" in html
        assert 'href="/conversations/?q=aardvark"' in html
        assert "Search all chats" in html
        assert "Aardvarks" not in html

    def test_every_page_leads_to_all_chats(self, browser, chats):
        for page in ("/", "/settings/", LIST):
            assert f'href="{LIST}"' in browser.get(page).content.decode()


def test_a_stranger_is_asked_to_sign_in(client):
    assert client.get(LIST)["Location"].startswith("/accounts/login/")


@COMMITTED
def test_the_readers_of_a_queued_reply_hear_of_its_end_when_its_chat_is_deleted_with_others(
    alice, client, nudges
):
    turn = post(alice, "Hello")
    client.force_login(alice)

    client.post(reverse("chat:delete_many"), {"id": [str(turn.conversation_id)]})

    assert published(turn)[-1] == {"type": "end", "status": "cancelled"}
