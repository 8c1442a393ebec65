"""Receipts: what was forgotten without a word of it, how far it is gone, and what can still be done."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memoryapp.forgetting.operations import forget
from memoryapp.forgetting.scopes import Asked
from memoryapp.longterm import forgettings
from memoryapp.longterm.models import Memory
from memoryapp.longterm.operations import Source
from memoryapp.receipts.models import Receipt, Scope
from memoryapp.transcript import queries as transcript
from tests.inspector.reading import words_of
from tests.longterm.saying import live, remember, remember_from
from tests.talking import say
from tests.turns import fresh, start

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nudges")]
RECEIPTS = "/memory/receipts/"


def forgotten(user, statement="I like figs", **options) -> Receipt:
    remember(user, statement, kind="preference")
    return forget(user.id, Asked(Scope.KIND, "preference"), now=timezone.now(), **options)


def page(receipt: Receipt) -> str:
    return reverse("inspector:receipt", args=[receipt.id])


def post(browser, act: str, receipt: Receipt):
    return browser.post(reverse(f"inspector:receipt_{act}", args=[receipt.id]))


class TestOne:
    def test_it_says_what_was_asked_for_and_how_much_it_was_and_none_of_its_words(self, browser, alice):
        shown = words_of(browser.get(page(forgotten(alice))))

        assert "All of the kind “Likes and dislikes”" in shown
        assert "1 fact" in shown
        assert "figs" not in shown

    def test_it_says_what_is_gone_from_where_and_what_goes_when(self, browser, alice):
        answer = browser.get(page(forgotten(alice, at_once=True)))

        states = {stage.where: stage.progress for stage in answer.context["stages"]}
        assert list(states.values()) == ["gone", *["pending"] * 5, "out_of_reach", "out_of_reach"]
        assert "Backups" in words_of(answer)
        assert "Delete them where you keep them." in words_of(answer)

    def test_what_the_operator_says_of_the_provider_is_repeated(self, browser, alice, configure):
        receipt = forgotten(alice)
        unsaid = words_of(browser.get(page(receipt)))

        configure(STRATA_PROVIDER_RETENTION_DAYS="30")
        said = words_of(browser.get(page(receipt)))

        assert "has not said how long it keeps" in unsaid
        assert "Out of reach; kept there until" in said

    def test_times_are_in_the_zone_of_their_person(self, browser, alice):
        receipt = forgotten(alice)
        Receipt.objects.filter(id=receipt.id).update(
            forgotten_at=timezone.now().replace(month=1, day=15, hour=12, minute=0)
        )
        alice.time_zone = "Asia/Tokyo"
        alice.save()

        assert "15 Jan" in words_of(browser.get(page(receipt)))
        assert "21:00" in words_of(browser.get(page(receipt)))

    def test_undo_brings_it_back_and_the_receipt_says_so(self, browser, alice):
        receipt = forgotten(alice)
        assert "Undo" in words_of(browser.get(page(receipt)))

        answer = post(browser, "undo", receipt)
        shown = words_of(browser.get(answer["Location"]))

        assert live(alice) == ["I like figs"]
        assert "It is back." in shown
        assert "Forgotten, and brought back" in shown
        assert "receipt_undo" not in shown

    def test_forget_now_ends_the_time_to_undo(self, browser, alice):
        receipt = forgotten(alice)

        post(browser, "finish", receipt)
        shown = browser.get(page(receipt))

        assert not Memory.everything.filter(user=alice).exists()
        assert reverse("inspector:receipt_undo", args=[receipt.id]) not in shown.content.decode()
        assert "Deleted for good." in words_of(shown)

    def test_too_late_is_said(self, browser, alice):
        receipt = forgotten(alice, at_once=True)

        answer = post(browser, "undo", receipt)

        assert "It is gone for good." in words_of(browser.get(answer["Location"]))

    def test_bob_finds_none_of_alices(self, client, alice, bob):
        receipt = forgotten(alice)
        client.force_login(bob)

        answers = [client.get(page(receipt)), post(client, "undo", receipt), post(client, "finish", receipt)]

        assert [answer.status_code for answer in answers] == [404, 404, 404]
        assert "All of the kind" not in words_of(client.get(RECEIPTS))
        assert Memory.everything.filter(user=alice).exists()


class TestAll:
    def test_the_newest_comes_first_and_each_says_how_it_stands(self, browser, alice):
        forgotten(alice, at_once=True)
        post(browser, "undo", forgotten(alice, "I like plums"))

        rows = browser.get(RECEIPTS).context["receipts"]

        assert [row.state for row in rows] == ["back", "pending"]

    def test_none_yet_says_what_will_be_there(self, browser):
        assert "Nothing was forgotten yet" in words_of(browser.get(RECEIPTS))

    def test_more_takes_no_more_queries_and_pages_on(self, browser, alice, django_assert_num_queries):
        first = forgotten(alice)
        with CaptureQueriesContext(connection) as with_one:
            browser.get(RECEIPTS)
        for number in range(60):
            first.pk = None
            first.id = Receipt._meta.pk.default()
            first.forgotten_at -= timedelta(minutes=number)
            first.save(force_insert=True)

        with django_assert_num_queries(len(with_one)):
            shown = browser.get(RECEIPTS)

        assert len(shown.context["receipts"]) == 50
        assert len(shown.content) < 100_000
        assert len(browser.get(RECEIPTS + shown.context["next_url"]).context["receipts"]) == 11


class TestLinked:
    def test_activity_leads_to_it_from_what_can_be_undone(self, browser, alice):
        memory = remember(alice, "I like figs").memory
        forgettings.forget(alice.id, [memory.id], now=timezone.now())

        shown = browser.get(reverse("inspector:activity")).content.decode()

        assert page(Receipt.objects.get()) in shown

    def test_activity_brings_back_all_that_went_with_the_facts(self, browser, alice):
        turn = say(start(alice), "I like figs", "I see.")
        message = transcript.user_message(fresh(turn))
        remember_from(alice, Source(message.id, message.text), "I like figs")
        asked = Asked(Scope.CONVERSATION, str(turn.conversation_id))
        receipt = forget(alice.id, asked, now=timezone.now())

        listed = browser.get(reverse("inspector:activity"))
        [told] = listed.context["undoable"]
        browser.post(told.offer.url)

        assert "Conversations" in told.offer.text
        assert told.offer.finish_url == reverse("inspector:receipt_finish", args=[receipt.id])
        assert live(alice) == ["I like figs"]
        assert browser.get(reverse("chat:conversation", args=[turn.conversation_id])).status_code == 200

    def test_activity_leads_to_it_from_the_entry_long_after(self, browser, alice):
        memory = remember(alice, "I like figs").memory
        forgettings.forget(alice.id, [memory.id], now=timezone.now(), is_final=True)
        remember(alice, "I like plums")

        entries = browser.get(reverse("inspector:activity")).context["entries"]

        urls = {entry.did: entry.receipt_url for entry in entries}
        assert urls == {"Forgot": page(Receipt.objects.get()), "Added": ""}

    def test_the_notice_after_forgetting_a_fact_leads_to_it(self, browser, alice):
        memory = remember(alice, "I like figs").memory

        answer = browser.post(reverse("inspector:fact_delete", args=[memory.id]))

        assert page(Receipt.objects.get()) in browser.get(answer["Location"]).content.decode()
