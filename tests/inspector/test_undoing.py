"""What notices and lists of what can be undone say it is about: read when they are shown, and kept nowhere else."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from uuid6 import uuid7

from memoryapp.longterm import forgettings, lifetimes, queries
from memoryapp.longterm.models import Forgetting, LifetimeChange, Memory
from memoryapp.transcript.models import Conversation, Turn
from tests.inspector.reading import words_of
from tests.inspector.test_experiences import learn
from tests.longterm.saying import live, message, remember, remember_from
from tests.personas import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nudges")]
FACTS, ACTIVITY = reverse("inspector:facts"), reverse("inspector:activity")


def page_of(memory: Memory) -> str:
    return reverse("inspector:fact", args=[memory.id])


def forget(browser, *memories: Memory):
    picked = [f"{memory.id}.{memory.version}" for memory in memories]
    return browser.post(reverse("inspector:facts_bulk"), {"do": "forget", "fact": picked})


def keep(browser, memory: Memory, *, back: str = FACTS):
    return browser.post(f"{page_of(memory)}lifetime", {"span": "keep", "next": back})


def notice(browser, url: str = FACTS) -> str:
    """What stands between the tabs and the heading of a page."""
    html = browser.get(url).content.decode()
    return html.partition('class="undo"')[2].partition("<h1")[0]


class TestNotice:
    def test_what_is_forgotten_is_known_by_its_kind_and_the_day_and_not_said(self, browser, alice):
        figs = remember(alice, "I like figs", kind="preference").memory
        Memory.objects.filter(id=figs.id).update(recorded_at=datetime(2026, 5, 3, 12, tzinfo=UTC))

        forget(browser, figs)

        said = notice(browser)
        assert "Likes and dislikes, learned 3 May 2026, 12:00" in said
        assert "figs" not in said
        assert "figs" not in str(dict(browser.session))

    def test_of_many_the_first_are_named(self, browser, alice):
        many = [remember(alice, f"Invoice {number} was paid").memory for number in range(5)]

        forget(browser, *many)

        said = notice(browser)
        assert said.count(", learned ") == 3
        assert "…" in said
        assert "Invoice" not in said

    def test_former_values_that_go_along_are_not_named(self, browser, alice):
        remember(alice, "I live in Lisbon", kind="identity", key="home")
        porto = remember(alice, "I live in Porto", kind="identity", key="home").memory

        forget(browser, porto)

        assert notice(browser).count(", learned ") == 1

    def test_once_it_is_deleted_for_good_there_are_no_words(self, browser, alice):
        figs = remember(alice, "I like figs").memory
        forget(browser, figs)
        act = Forgetting.objects.get()

        browser.post(reverse("inspector:forgetting_finish", args=[act.id]))

        said = words_of(browser.get(FACTS))
        assert "Deleted for good." in said
        assert "figs" not in said

    def test_after_its_time_there_are_no_words_although_no_sweep_ran(self, browser, alice):
        figs = remember(alice, "I like figs").memory
        forget(browser, figs)

        Forgetting.objects.update(undo_until=timezone.now() - timedelta(seconds=1))

        assert "figs" not in browser.get(FACTS).content.decode()

    def test_an_admin_who_has_the_memory_open_does_not_read_what_was_forgotten(self, staff, alice):
        figs = remember(alice, "I like figs").memory
        staff.post(reverse("policies:people_open", args=[alice.id]), {"reason": "Ticket 7"})

        staff.post(f"{page_of(figs)}forget", {"person": alice.id})

        said = words_of(staff.get(FACTS))
        assert "Forgotten." in said
        assert "figs" not in said
        assert "figs" not in words_of(staff.get(ACTIVITY))

    def test_a_lifetime_names_its_fact_where_that_does_not_stand_anyway(self, browser, alice):
        figs = remember(alice, "I like figs").memory

        keep(browser, figs)
        elsewhere = notice(browser)
        keep(browser, remember(alice, "I like tea").memory, back="")
        own_page = notice(browser, page_of(Memory.objects.get(statement="I like tea")))

        assert "I like figs" in elsewhere
        assert "Kept for ever" in own_page
        assert "I like tea" not in own_page

    def test_an_undo_says_what_is_back(self, browser, alice):
        figs = remember(alice, "I like figs").memory
        act = forgettings.forget(alice.id, [figs.id], now=timezone.now())

        browser.post(reverse("inspector:forgetting_undo", args=[act.id]))
        back = notice(browser)
        lifetimes.keep(alice.id, [figs.id], undo_id=(change_id := uuid7()))
        browser.post(reverse("inspector:lifetimes_undo"), {"change": change_id})
        as_before = notice(browser)

        assert "It is back." in back
        assert "I like figs" in back
        assert "It is as it was." in as_before
        assert "I like figs" in as_before

    def test_what_is_back_leads_to_its_page(self, browser, alice):
        figs, lesson = remember(alice, "I like figs").memory, learn(alice)
        now = timezone.now()
        acts = [
            forgettings.forget(alice.id, [figs.id], now=now),
            forgettings.forget_experiences(alice.id, [lesson.id], now=now),
        ]

        for act in acts:
            browser.post(reverse("inspector:forgetting_undo", args=[act.id]))

        said = notice(browser)
        assert f'<a href="{page_of(figs)}">I like figs</a>' in said
        assert f'<a href="{reverse("inspector:experience", args=[lesson.id])}">' in said

    def test_what_is_forgotten_leads_to_the_chat_while_that_is_there(self, browser, alice):
        source = message(alice, "By the way, figs are the best")
        figs = remember_from(alice, source, "I like figs").memory
        turn = Turn.objects.get(messages=source.message_id)
        place = reverse("chat:turn", args=[turn.id])
        chats = Conversation.objects.filter(id=turn.conversation_id)

        forget(browser, figs)

        chats.update(title="Dinner on Sunday")
        elsewhere = browser.get(ACTIVITY)
        chats.update(title="Figs, and what goes with them")
        telling = browser.get(ACTIVITY)
        chats.update(deleted_at=timezone.now())
        gone = browser.get(ACTIVITY)

        assert place in elsewhere.content.decode()
        assert "in the chat “Dinner on Sunday”" in words_of(elsewhere)
        assert place in telling.content.decode()
        assert telling.context["undoable"][0].marks[0].chat == ""
        assert place not in gone.content.decode()

    def test_nor_is_an_experience_said(self, browser, alice):
        lesson = learn(alice)

        browser.post(reverse("inspector:experience_forget", args=[lesson.id]))

        said = notice(browser, reverse("inspector:experiences"))
        assert ", learned " in said
        assert lesson.goal not in said


class TestActivity:
    def test_it_says_which_memory_it_was(self, browser, alice):
        figs = remember(alice, "I like figs").memory
        forgettings.forget(alice.id, [figs.id], now=timezone.now())

        (told,) = browser.get(ACTIVITY).context["undoable"]
        assert (told.offer.text, list(told.words)) == ("Forgot 1 fact", [])
        assert [mark.learned_at for mark in told.marks] == [figs.recorded_at]

    def test_a_lifetime_can_be_given_back_here(self, browser, alice):
        figs = remember(alice, "I like figs").memory
        keep(browser, figs)

        (told,) = browser.get(ACTIVITY).context["undoable"]
        browser.post(told.offer.url, {**told.offer.fields, "next": ACTIVITY})

        assert [said.text for said in told.words] == ["I like figs"]
        assert not queries.get_memory(alice.id, figs.id).is_kept
        assert browser.get(ACTIVITY).context["undoable"] == []

    def test_what_was_changed_again_since_is_not_offered(self, browser, alice):
        figs = remember(alice, "I like figs").memory
        keep(browser, figs)
        browser.post(f"{page_of(figs)}lifetime", {"span": "follow"})

        offers = [told.offer.fields["change"] for told in browser.get(ACTIVITY).context["undoable"]]

        assert offers == [str(LifetimeChange.objects.order_by("-made_at").values_list("id", flat=True)[0])]

    def test_nothing_of_alice_is_offered_to_bob(self, alice, bob):
        figs, tea = (remember(alice, f"I like {what}").memory for what in ("figs", "tea"))
        forgettings.forget(alice.id, [figs.id], now=timezone.now())
        lifetimes.keep(alice.id, [tea.id], undo_id=uuid7())

        assert signed_in(bob).get(ACTIVITY).context["undoable"] == []

    def test_many_take_no_more_queries_than_few(self, browser, alice):
        def count() -> int:
            with CaptureQueriesContext(connection) as captured:
                browser.get(ACTIVITY)
            return len(captured)

        def do(number: int) -> None:
            gone, kept = (remember(alice, f"{what} {number} was paid").memory for what in ("Bill", "Rent"))
            forgettings.forget(alice.id, [gone.id], now=timezone.now())
            lifetimes.keep(alice.id, [kept.id], undo_id=uuid7())

        do(0)
        few = count()
        for number in range(1, 10):
            do(number)

        assert len(browser.get(ACTIVITY).context["undoable"]) == 20
        assert count() == few


class TestPageOfTheFact:
    def test_the_history_offers_to_undo_a_change_of_its_lifetime(self, browser, alice):
        figs = remember(alice, "I like figs").memory
        keep(browser, figs)
        browser.get(FACTS)  # where the notice was

        way_back = browser.get(page_of(figs)).context["way_back"]
        browser.post(way_back.url, {**way_back.fields, "next": page_of(figs)})
        browser.get(FACTS)

        assert not queries.get_memory(alice.id, figs.id).is_kept
        assert browser.get(page_of(figs)).context["way_back"] is None

    def test_not_beside_the_notice_that_says_so(self, browser, alice):
        figs = remember(alice, "I like figs").memory
        keep(browser, figs, back="")

        page = browser.get(page_of(figs)).content.decode()

        assert page.count(reverse("inspector:lifetimes_undo")) == 1

    def test_beside_a_notice_of_something_else(self, browser, alice):
        figs, tea = (remember(alice, f"I like {what}").memory for what in ("figs", "tea"))
        keep(browser, figs)
        browser.get(FACTS)  # where the notice was
        keep(browser, tea)

        way_back = browser.get(page_of(figs)).context["way_back"]

        made = LifetimeChange.objects.earliest("made_at")
        assert way_back.fields == {"change": str(made.id)}

    def test_not_of_another_fact_nor_after_an_hour(self, browser, alice):
        figs, tea = (remember(alice, f"I like {what}").memory for what in ("figs", "tea"))
        lifetimes.keep(alice.id, [figs.id], undo_id=uuid7())

        other = browser.get(page_of(tea)).context["way_back"]
        LifetimeChange.objects.update(made_at=timezone.now() - lifetimes.UNDO_FOR)

        assert other is None
        assert browser.get(page_of(figs)).context["way_back"] is None

    def test_of_a_forgotten_fact_it_leads_to_the_undo(self, browser, alice, bob):
        figs = remember(alice, "I like figs").memory
        forgettings.forget(alice.id, [figs.id], now=timezone.now())

        own, others = browser.get(page_of(figs)), signed_in(bob).get(page_of(figs))

        assert (own.status_code, others.status_code) == (404, 404)
        assert "That can still be undone." in words_of(own)
        assert ACTIVITY in own.content.decode()
        assert "That can still be undone." not in words_of(others)
        assert live(alice) == []


class TestForgottenLately:
    def test_the_overview_says_it_as_the_list_does(self, browser, alice):
        forgettings.forget(alice.id, [remember(alice, "I like figs").memory.id], now=timezone.now())

        for url in (FACTS, reverse("inspector:overview")):
            assert re.search(r"Forgotten lately: 1 fact\..{0,60} See and undo", words_of(browser.get(url)))

    def test_it_is_said_beside_a_notice_of_something_else(self, browser, alice):
        figs, tea = (remember(alice, f"I like {what}").memory for what in ("figs", "tea"))
        forget(browser, figs)
        browser.get(FACTS)  # where the notice was
        keep(browser, tea)

        said = words_of(browser.get(FACTS))

        assert "Kept for ever" in said
        assert "Forgotten lately: 1 fact." in said

    def test_it_counts_the_forgettings_of_which_no_notice_tells(self, browser, alice):
        figs, tea, plums = (remember(alice, f"I like {what}").memory for what in ("figs", "tea", "plums"))
        forget(browser, figs, plums)
        alone = words_of(browser.get(FACTS))
        forget(browser, tea)

        beside = words_of(browser.get(FACTS))

        assert "Forgotten lately" not in alone
        assert "Forgotten lately: 2 facts." in beside
        assert "Forgotten lately: 3 facts." in words_of(browser.get(FACTS))
