"""The lists of chats: all of them on a page, with what can be done to many at once, and those beside every page."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from chat import list_views
from chat.list_presentation import gone_text, sidebar_groups
from memoryapp.transcript import conversations
from memoryapp.transcript.models import Conversation, Turn
from tests.chat.listing import LIST, act, listed, now_of, shown
from tests.talking import say
from tests.turns import NOW, start

pytestmark = pytest.mark.django_db


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


class TestDeletedView:
    def test_it_says_until_when_a_chat_can_be_brought_back(self, browser, alice, chats):
        conversations.delete_conversation(alice.id, chats[0].id)
        moment = timezone.now() + timedelta(minutes=43, seconds=30)
        Conversation.objects.filter(id=chats[0].id).update(undo_until=moment)

        html = shown(browser, show="deleted")

        assert "Deleted for good in 44 minutes" in html
        assert f'href="/c/{chats[0].id}/"' not in html

    @pytest.mark.parametrize(
        ("minutes", "words"),
        [
            (24 * 60 - 5, "in 24 hours"),
            (60, "in 60 minutes"),
            (43.5, "in 44 minutes"),
            (0.5, "in a minute"),
            (0, "any moment now"),
            (-15, "any moment now"),
        ],
    )
    def test_the_time_left_is_said_as_people_say_it(self, minutes, words):
        assert gone_text(NOW + timedelta(minutes=minutes), now=NOW) == f"Deleted for good {words}"

    def test_what_is_gone_for_good_is_not_brought_back(self, browser, alice, chats):
        conversations.delete_conversation(alice.id, chats[0].id)
        Conversation.objects.filter(id=chats[0].id).update(undo_until=NOW - timedelta(days=365))
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
