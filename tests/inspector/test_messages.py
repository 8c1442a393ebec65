"""The page of one message, and deleting turns from the page of their conversation."""

import re

import pytest
from django.urls import reverse
from django.utils import timezone

from memoryapp.longterm.models import Memory
from memoryapp.longterm.operations import Source
from memoryapp.scratchpad.models import Run
from memoryapp.transcript import conversations, queries
from memoryapp.transcript.models import Message
from memoryapp.transcript.redaction import MARK
from tests.inspector.reading import words_of
from tests.inspector.working import Working
from tests.longterm.saying import live, remember_from
from tests.transcript.branching import said, talk
from tests.turns import post

SURE = {"confirmed": "1"}


@pytest.fixture
def turns(alice, nudges):
    return talk(alice, "I live in zanzibar.", "dates", "apples")


@pytest.fixture
def asked(turns):
    return queries.user_message(turns[0])


def to(name: str, *ids) -> str:
    return reverse(f"inspector:{name}", args=ids)


def shown_on(page) -> str:
    return page.context["shown"]


def seen(turn) -> list[str]:
    return [
        queries.text_of(row, Message.Role.USER) for row in queries.turns(turn.user_id, turn.conversation_id)
    ]


def test_words_are_redacted_and_the_page_says_where(browser, asked):
    response = browser.post(
        to("message_redact", asked.id), {"words": "zanzibar", "everywhere": "1", **SURE}, follow=True
    )

    assert response.redirect_chain == [(to("message", asked.id), 302)]
    assert "Redacted in 2 messages. This cannot be undone." in words_of(response)
    assert f"I live in {MARK}." in words_of(response)
    assert "Redacted by you" in words_of(browser.get(to("conversation", asked.turn.conversation_id)))


@pytest.mark.parametrize(
    ("ticked", "of_the_memory"),
    [({"forget": "1"}, "1 memory is forgotten"), ({}, "1 memory that says these words stays")],
)
def test_before_anything_is_redacted_the_page_says_what_would_go(browser, alice, ticked, of_the_memory):
    work = Working(alice, "I live in zanzibar.")
    work.step(observation="zanzibar")
    asked = queries.user_message(work.end().turn)
    remember_from(alice, Source(asked.id, asked.text), "Lives in zanzibar")

    page = browser.post(to("message_redact", asked.id), {"words": "zanzibar", "everywhere": "1", **ticked})

    assert page.status_code == 200
    assert (
        f"1 message of this chat {of_the_memory} 1 run record (the steps behind a reply) is deleted"
        in words_of(page)
    )
    assert "Redact for good Cancel" in words_of(page)
    assert Message.objects.get(id=asked.id).text == "I live in zanzibar."
    assert live(alice) == ["Lives in zanzibar"]
    assert Run.objects.count() == 1


def test_a_record_that_is_still_written_is_not_said_to_go(browser, alice, asked):
    Working(alice, "zanzibar").step(observation="zanzibar")

    page = browser.post(to("message_redact", asked.id), {"words": "zanzibar"})

    assert "1 message of this chat Redact for good" in words_of(page)


def test_what_was_asked_for_is_what_is_confirmed(browser, asked):
    page = browser.post(to("message_redact", asked.id), {"all": "1", "words": "zanzibar"})
    form = page.content.decode().partition('id="redact-confirm"')[2].partition("</form>")[0]
    kept = dict(
        re.findall(r'<input type="hidden" name="(words|all|everywhere|forget)" value="([^"]*)">', form)
    )

    browser.post(to("message_redact", asked.id), {**kept, **SURE})

    assert kept == {"words": "zanzibar", "all": "1"}
    assert Message.objects.get(id=asked.id).text == MARK


def test_words_that_are_not_there_are_kept_in_the_form(browser, asked):
    response = browser.post(to("message_redact", asked.id), {"words": "lisbon"})

    assert response.status_code == 422
    assert response.context["words"] == "lisbon"
    assert "These words are not in the message." in words_of(response)


def test_nothing_to_redact_is_refused(browser, asked):
    response = browser.post(to("message_redact", asked.id), {"words": " "})

    assert response.status_code == 422
    assert Message.objects.get(id=asked.id).text == "I live in zanzibar."


def test_a_correction_is_made(browser, asked):
    browser.post(to("message_correct", asked.id), {"text": "I live in Porto."})

    assert Message.objects.get(id=asked.id).text == "I live in Porto."


def test_a_correction_says_which_replies_repeat_the_words_and_redacts_them_there(browser, asked):
    page = browser.post(to("message_correct", asked.id), {"text": "I live in Porto."})
    ((words, replies),) = page.context["repeated"]
    form = {"words": words, "everywhere": "1"}

    foreseen = browser.post(to("message_redact", replies[0]), form)
    browser.post(to("message_redact", replies[0]), {**form, **SURE})

    assert words == "zanzibar"
    assert "Replies still say what you corrected" in words_of(page)
    assert "Corrected. The words before are kept nowhere in it." in words_of(page)
    assert f'action="{to("message_redact", replies[0])}"' in " ".join(page.content.decode().split())
    assert "Redact “zanzibar”?" in words_of(foreseen)
    assert not Message.objects.filter(text__contains="zanzibar").exists()


def test_a_correction_that_no_reply_repeats_leads_back_to_the_message(browser, turns):
    said = queries.user_message(turns[1])
    Message.objects.filter(turn=turns[1], role=Message.Role.ASSISTANT).update(text="Noted.")

    response = browser.post(to("message_correct", said.id), {"text": "figs"})

    assert (response.status_code, response.url) == (302, to("message", said.id))


def test_a_refused_correction_keeps_what_was_written(browser, asked, alice):
    post(alice, "figs", asked.turn.conversation)

    response = browser.post(to("message_correct", asked.id), {"text": "I live in Porto."})

    assert response.status_code == 409
    assert response.context["draft"] == "I live in Porto."
    assert "Wait until the reply is finished, or stop it first." in words_of(response)


@pytest.mark.parametrize(("ticked", "left"), [({}, ["Lives in zanzibar"]), ({"forget": "1"}, [])])
def test_memories_taken_from_it_are_forgotten_only_when_asked(browser, alice, asked, ticked, left):
    remember_from(alice, Source(asked.id, asked.text), "Lives in zanzibar")
    assert "Also forget the 1 memory taken from it" in words_of(browser.get(to("message", asked.id)))

    browser.post(to("message_redact", asked.id), {"words": "zanzibar", **SURE, **ticked})

    assert live(alice) == left


@pytest.mark.parametrize(
    ("ticked", "left"), [({}, ["Likes figs", "Likes zanzibar"]), ({"forget": "1"}, ["Likes figs"])]
)
def test_memories_of_other_messages_that_say_the_words_are_forgotten_or_named(
    browser, alice, asked, ticked, left
):
    again = queries.user_message(said(alice, "Figs, and Zanzibar!", asked.turn.conversation))
    for statement, quote in (("Likes figs", "Figs"), ("Likes zanzibar", "Zanzibar")):
        remember_from(alice, Source(again.id, again.text), statement, quote=quote)

    page = browser.post(
        to("message_redact", asked.id),
        {"words": "Zanzibar", "everywhere": "1", **SURE, **ticked},
        follow=True,
    )

    assert sorted(live(alice)) == left
    assert ("1 memory still says these words." in words_of(page)) is not bool(ticked)


def test_only_memories_with_words_that_are_gone_are_named_and_forgotten(browser, alice, asked):
    for statement in ("Lives in zanzibar", "Prefers figs"):
        remember_from(alice, Source(asked.id, asked.text), statement, quote="I live in zanzibar")
    before = browser.get(to("message", asked.id))

    after = browser.post(to("message_correct", asked.id), {"text": "I live in Porto."}, follow=True)
    browser.post(to("message_correct", asked.id), {"text": "I live in figs.", "forget": "1"})
    browser.post(to("message_redact", asked.id), {"words": "figs", "forget": "1", **SURE})

    assert "1 memory says words of this message" in words_of(before)
    assert 'id="redact-forget" name="forget" value="1" checked' in " ".join(before.content.decode().split())
    assert "Corrected. The words before are kept nowhere in it. 1 memory still says these words." in words_of(
        after
    )
    assert live(alice) == ["Lives in zanzibar"]


def test_an_exchange_is_deleted_and_the_page_offers_to_undo_it(browser, turns):
    page = browser.post(to("turn_delete", turns[1].id), follow=True)

    assert "Deleted: 1 exchange. You can undo this until" in words_of(page)
    assert seen(turns[0]) == ["I live in zanzibar.", "apples"]


def test_undoing_a_deletion_brings_the_exchange_back(browser, turns):
    browser.post(to("turn_delete", turns[1].id))
    (offer,) = browser.session["undo_offers"]

    browser.post(offer["url"], offer["fields"])

    assert seen(turns[0]) == ["I live in zanzibar.", "dates", "apples"]


def test_all_from_one_on_are_deleted(browser, turns):
    page = browser.post(to("turn_delete", turns[1].id), {"following": "1"}, follow=True)

    assert "Deleted: 2 exchanges." in words_of(page)
    assert seen(turns[0]) == ["I live in zanzibar."]


@pytest.mark.parametrize("is_ticked", [False, True])
def test_what_was_learned_from_deleted_turns_goes_only_when_asked(browser, alice, turns, asked, is_ticked):
    remember_from(alice, Source(asked.id, asked.text), "Lives in zanzibar")
    ticked = {"forget": str(turns[0].id)} if is_ticked else {"forget": str(turns[1].id)}

    browser.post(to("turn_delete", turns[0].id), {"following": "1", **ticked})

    assert Memory.objects.for_user(alice.id).live().exists() is not is_ticked


@pytest.fixture
def eleven(alice, nudges):
    """Exchanges, of each of which something was learned."""
    talked = talk(alice, *(f"Invoice {number} was paid" for number in range(11)))
    for turn in talked:
        said_there = queries.user_message(turn)
        remember_from(alice, Source(said_there.id, said_there.text), said_there.text)
    return talked


def test_many_rows_go_only_after_a_typed_word(browser, alice, eleven):
    form = {"following": "1", "forget": str(eleven[0].id)}

    page = browser.post(to("turn_delete", eleven[0].id), form)
    mistyped = browser.post(to("turn_delete", eleven[0].id), {**form, "typed": "x", "shown": shown_on(page)})
    left = (len(seen(eleven[0])), len(live(alice)))
    browser.post(to("turn_delete", eleven[0].id), {**form, "typed": "Delete", "shown": shown_on(page)})

    assert "Delete 11 exchanges?" in words_of(page)
    assert "11 memories that were learned from them are forgotten, too." in words_of(page)
    assert (mistyped.status_code, left) == (422, (11, 11))
    assert "Type the word “delete” to go on." in words_of(mistyped)
    assert (seen(eleven[0]), live(alice)) == ([], [])


def test_the_page_promises_no_undo_where_there_is_none(browser, eleven, configure):
    configure(STRATA_UNDO_MINUTES="0")

    page = browser.post(to("turn_delete", eleven[0].id), {"following": "1", "forget": str(eleven[0].id)})

    assert "This cannot be undone." in words_of(page)
    assert "0 minutes" not in words_of(page)


def test_a_word_typed_for_some_deletes_no_others(browser, alice, eleven):
    form = {"following": "1", "forget": str(eleven[0].id)}
    page = browser.post(to("turn_delete", eleven[0].id), form)
    said(alice, "One more", eleven[0].conversation)

    again = browser.post(
        to("turn_delete", eleven[0].id), {**form, "typed": "delete", "shown": shown_on(page)}
    )

    assert (again.status_code, len(seen(eleven[0]))) == (422, 12)
    assert "The list changed meanwhile." in words_of(again)


def test_while_a_reply_is_written_the_page_says_that_nothing_was_deleted(browser, alice, turns):
    post(alice, "figs", turns[0].conversation)

    page = browser.post(to("turn_delete", turns[0].id), follow=True)

    assert "Nothing was deleted. Wait until the reply is finished" in words_of(page)


def test_bob_reaches_none_of_it(client, bob, turns, asked):
    client.force_login(bob)

    answers = [
        client.get(to("message", asked.id)),
        client.post(to("message_correct", asked.id), {"text": "x"}),
        client.post(to("message_redact", asked.id), {"all": "1", **SURE}),
        client.post(to("message_redact", asked.id), {"all": "1"}),
        client.post(to("turn_delete", turns[0].id)),
    ]

    assert [answer.status_code for answer in answers] == [404] * 5
    assert Message.objects.get(id=asked.id).text == "I live in zanzibar."


def test_a_stranger_is_sent_to_sign_in(client, asked):
    response = client.get(to("message", asked.id))

    assert response.status_code == 302


def test_the_page_says_in_how_many_chats_the_words_were_redacted(browser, alice, turns, asked):
    conversations.fork_conversation(alice, turns[0].id, idempotency_key="copy", now=timezone.now())

    response = browser.post(to("message_redact", asked.id), {"words": "zanzibar", **SURE}, follow=True)

    assert "of 2 chats. This cannot be undone." in words_of(response)
    said = Message.objects.filter(role=Message.Role.USER, turn__seq=1)
    assert list(said.values_list("text", flat=True)) == [f"I live in {MARK}."] * 2
