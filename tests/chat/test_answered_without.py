"""The counterfactual: another answer beside the one that there is, made without something that it was given."""

import json

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chat.receipt_presentation import given_text, scores_text
from memoryapp.context import exclusions, uses
from memoryapp.context.models import Exclusion
from memoryapp.longterm import forgettings
from memoryapp.longterm import operations as longterm
from memoryapp.transcript import branches
from memoryapp.transcript.models import Turn
from tests.chat.test_receipts import HTMX, chat_page, receipt_url, replied, traced
from tests.inspector.reading import words_of
from tests.longterm.saying import live, message, remember, remember_from
from tests.modelserver import calls, reply
from tests.snapshots import snapshot
from tests.talking import say
from tests.turns import COMMITTED, answer, ask, start

pytestmark = pytest.mark.usefixtures("nudges")


def without_url(turn, item) -> str:
    return reverse("chat:without", args=[turn.id, item.id])


def sibling_of(turn) -> Turn:
    return Turn.objects.exclude(id=turn.id).get(conversation_id=turn.conversation_id)


def forget_url(turn, memory) -> str:
    return reverse("chat:forget", args=[turn.id, memory.id])


@COMMITTED
class TestAnswered:
    def test_the_memory_is_in_no_prompt_of_the_new_answer(self, browser, alice, model):
        memory = remember(alice, "Always answer in French", kind="constraint").memory
        turn = ask(alice, "Hello")
        assert "French" in json.dumps(model.calls[-1].body)

        browser.post(without_url(turn, memory))
        again = answer(sibling_of(turn))

        assert again.status == "completed"
        assert "French" not in json.dumps(model.calls[-1].body)
        assert live(alice) == ["Always answer in French"]

    def test_no_tool_brings_it_back(self, browser, alice, model):
        memory = remember(alice, "I like figs", key="fruit").memory
        remember(alice, "I drink tea")
        turn = ask(alice, "Hello")
        model.script(
            reply(calls("list_facts"), calls("get_fact", key="fruit"), calls("recall", query="figs?")),
            reply("Tea."),
        )

        browser.post(without_url(turn, memory))
        answer(sibling_of(turn))

        told = json.dumps(model.calls[-1].body)
        assert "I like figs" not in told
        assert "I drink tea" in told

    def test_nor_does_the_message_that_it_was_taken_from(self, alice):
        source = message(alice, "I like figs very much.")
        memory = remember_from(alice, source, "I like figs very much.").memory
        turn = replied(alice, traced(memory))

        exclusions.exclude(turn, [memory.id])

        assert exclusions.left_out(alice.id, turn.id) == {memory.id, source.message_id}

    def test_a_second_attempt_does_without_it_too(self, browser, alice, model):
        memory = remember(alice, "Always answer in French", kind="constraint").memory
        turn = ask(alice, "Hello")
        browser.post(without_url(turn, memory))
        again = sibling_of(turn)
        Turn.objects.filter(id=again.id).update(status=Turn.Status.FAILED, attempt=1)

        browser.post(reverse("chat:retry", args=[again.id]))
        answer(Turn.objects.get(id=again.id))

        assert "French" not in json.dumps(model.calls[-1].body)


@pytest.mark.django_db
class TestAsked:
    def test_the_new_reply_says_what_it_is_without(self, browser, alice):
        memory = remember(alice, "I like figs").memory
        turn = replied(alice, traced(memory))

        browser.post(without_url(turn, memory))
        again = sibling_of(turn)
        Turn.objects.filter(id=again.id).update(status=Turn.Status.COMPLETED, finished_at=timezone.now())

        assert "Without, because you asked for it: I like figs" in words_of(browser.get(receipt_url(again)))
        assert "Without 1 that you left out" in chat_page(browser, again)

    def test_what_it_is_without_already_stays_out(self, browser, alice):
        figs, tea = (remember(alice, said).memory for said in ("I like figs", "I drink tea"))
        turn = replied(alice, traced(figs), traced(tea))
        browser.post(without_url(turn, figs))
        second = sibling_of(turn)
        Turn.objects.filter(id=second.id).update(status=Turn.Status.COMPLETED)

        browser.post(without_url(second, tea))

        third = Turn.objects.exclude(id__in=[turn.id, second.id]).get(conversation_id=turn.conversation_id)
        assert exclusions.asked_for(alice.id, third.id) == [figs.id, tea.id]

    def test_an_answer_again_by_itself_has_everything(self, alice):
        turn = replied(alice)
        exclusions.exclude(turn, [turn.id])

        again, _ = branches.ask_anew(alice, turn.id, idempotency_key="again", now=timezone.now())

        assert exclusions.asked_for(alice.id, again.id) == []

    def test_the_same_form_twice_makes_one_answer(self, browser, alice):
        memory = remember(alice, "I like figs").memory
        turn = replied(alice, traced(memory))

        for _ in range(2):
            browser.post(without_url(turn, memory), {"idempotency_key": "once"})

        assert Exclusion.objects.count() == 1

    def test_it_is_offered_where_another_answer_can_stand(self, browser, alice):
        memory = remember(alice, "I like figs").memory
        turn = replied(alice, traced(memory))

        offered = words_of(browser.get(receipt_url(turn)))
        branches.ask_anew(alice, turn.id, idempotency_key="again", now=timezone.now())
        gone = words_of(browser.get(receipt_url(turn)))

        assert "Answer again without this" in offered
        assert "Answer again without this" not in gone

    def test_bob_asks_nothing_of_alice(self, alice, bob):
        memory = remember(alice, "I like figs").memory
        turn = replied(alice, traced(memory))
        bobs = Client()
        bobs.force_login(bob)

        assert bobs.post(without_url(turn, memory)).status_code == 404
        assert not Exclusion.objects.exists()


@pytest.mark.django_db
class TestReceipt:
    def test_the_numbers_are_shown_as_they_are(self, browser, alice):
        memory = remember(alice, "I like figs").memory
        item = traced(memory, arms={"cosine": 0.71234, "overlap": 0.0}, score=0.65432)
        turn = replied(alice, item)

        assert scores_text(item) == "meaning 0.7123 · words 0 · score 0.6543"
        assert scores_text(item) in words_of(browser.get(receipt_url(turn)))

    def test_what_a_tool_looked_up_is_shown_and_counted(self, browser, alice):
        figs, tea = (remember(alice, said).memory for said in ("I like figs", "I drink tea"))
        turn = replied(alice, traced(figs))
        uses.note_looked_up(turn, [figs.id, tea.id])

        receipt = browser.get(receipt_url(turn))

        assert [item.text for item in receipt.context["receipt"].looked_up] == ["I drink tea"]
        assert "looked up by a tool" in words_of(receipt)

    def test_the_summary_under_a_reply_counts_look_ups_apart(self):
        assert given_text([], looked_up=2) == "Looked up 2"
        assert given_text([], looked_up=0) == ""

    def test_its_page_shows_the_prompt_by_section(self, browser, alice):
        turn = say(start(alice), "What do you know?", "This.")
        snapshot(turn, sections=[{"name": "system", "tokens": 500, "cached": True}])

        shown = words_of(browser.get(receipt_url(turn)))

        assert "What its first prompt held" in shown
        assert "500 of 900 tokens" in shown


@pytest.mark.django_db
class TestForgotten:
    def test_it_is_forgotten_at_once_and_undone_from_the_receipt(self, browser, alice):
        memory = remember(alice, "I like figs").memory
        turn = replied(alice, traced(memory))

        after = browser.post(forget_url(turn, memory), headers=HTMX)
        forgotten = live(alice)
        (act,) = forgettings.open_forgettings(alice.id)
        undone = browser.post(reverse("chat:undo_forget", args=[turn.id, act.id]), headers=HTMX)

        assert forgotten == []
        assert f"You can undo this until {act.undo_until:%H:%M}" in words_of(after)
        assert "Back in memory" in words_of(undone)
        assert live(alice) == ["I like figs"]

    def test_the_undo_is_there_after_a_reload(self, browser, alice):
        memory = remember(alice, "I like figs").memory
        turn = replied(alice, traced(memory))

        response = browser.post(forget_url(turn, memory), follow=True)

        assert "You can undo this until" in words_of(response)
        assert "Undo" in words_of(browser.get(receipt_url(turn)))

    def test_of_what_is_gone_for_good_there_is_no_undo(self, browser, alice):
        memory = remember(alice, "I like figs").memory
        turn = replied(alice, traced(memory))
        longterm.forget(alice.id, memory.id, now=timezone.now())

        shown = words_of(browser.get(receipt_url(turn)))

        assert "1 forgotten since" in shown
        assert "undo" not in shown.lower()

    def test_bob_undoes_nothing_of_alice(self, alice, bob):
        memory = remember(alice, "I like figs").memory
        turn = replied(alice, traced(memory))
        act = forgettings.forget(alice.id, [memory.id], now=timezone.now())
        bobs = Client()
        bobs.force_login(bob)

        assert bobs.post(reverse("chat:undo_forget", args=[turn.id, act.id])).status_code == 404
        assert live(alice) == []
