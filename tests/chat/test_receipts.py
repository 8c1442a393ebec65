"""The receipt of a reply: what the model was given, why, what became of it, and what a person says to it."""

import re
from uuid import uuid4

import pytest
from django.urls import reverse
from django.utils import timezone

from chat.receipt_presentation import WHY, WHY_NOT, given_text, likely_text, why_used
from memoryapp.context import considered
from memoryapp.longterm import experiences
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.models import Feedback
from memoryapp.policies.routing import Period
from memoryapp.transcript import conversations, queries
from memoryapp.transcript.models import Message, Turn
from tests.inspector.reading import words_of
from tests.inspector.test_experiences import learn
from tests.longterm.saying import DAY, NOW, live, message, remember, remember_from
from tests.snapshots import snapshot
from tests.talking import say
from tests.turns import start

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


def traced(row, **values) -> dict[str, object]:
    """An entry of a snapshot, for whatever was recalled."""
    name = {"Memory": "memory_id", "Message": "message_id", "Experience": "experience_id"}[type(row).__name__]
    return {
        name: str(row.id),
        "arms": {"cosine": 0.7, "overlap": 0.0},
        "confidence": 0.72,
        "score": 0.72,
        "included": True,
        "reason": considered.RELEVANT,
        **values,
    }


def replied(user, *recalled: dict[str, object]) -> Turn:
    """A finished turn whose model was given this."""
    turn = say(start(user), "What do you know?", "This.")
    snapshot(turn, *recalled)
    return turn


def receipt_url(turn) -> str:
    return reverse("chat:used", args=[turn.id])


def chat_page(browser, turn) -> str:
    return words_of(browser.get(reverse("chat:conversation", args=[turn.conversation_id])))


def test_each_memory_says_where_it_comes_from_why_it_was_used_and_how_likely_it_matters(browser, alice):
    source = message(alice, "I only drink green tea.")
    memory = remember_from(alice, source, "I only drink green tea.", kind="preference").memory
    turn = replied(alice, traced(memory))

    response = browser.get(receipt_url(turn), headers=HTMX)

    shown, html = words_of(response), response.content.decode()
    assert "I only drink green tea." in shown
    assert memory.kind.label in shown
    assert "Why: similar in meaning · likely to matter (72 %)" in shown
    said_in = queries.past_messages(alice.id, [source.message_id])[source.message_id].turn_id
    assert f'href="{reverse("chat:turn", args=[said_in])}"' in html
    assert f'href="{reverse("inspector:fact", args=[memory.id])}"' in html
    assert "Used 1 memory" in chat_page(browser, turn)


def test_what_every_reply_is_given_does_not_count_as_used_and_stands_apart(browser, alice):
    name, figs = (remember(alice, said).memory for said in ("My name is Ana", "I like figs"))
    always = traced(name, reason=considered.ALWAYS_USED, arms={}, confidence=None)
    asked, hello = replied(alice, always, traced(figs)), replied(alice, always)

    used = browser.get(receipt_url(asked))
    in_chat, unasked = chat_page(browser, asked), chat_page(browser, hello)

    assert [item.text for item in used.context["receipt"].used] == ["I like figs"]
    assert [item.text for item in used.context["receipt"].at_hand] == ["My name is Ana"]
    assert words_of(used).index("I like figs") < words_of(used).index("My name is Ana")
    assert "This one did not ask for it. My name is Ana" in words_of(used)
    assert "Used 1 memory 1 always at hand" in in_chat
    assert "1 always at hand" in unasked
    assert "Used" not in unasked


def test_what_was_looked_up_has_no_likelihood_and_says_what_was_asked_for(browser, alice):
    memory = remember(alice, "I live in Lisbon").memory
    turn = replied(alice, traced(memory, reason=considered.BY_KEY, arms={}, confidence=1.0))

    shown = words_of(browser.get(receipt_url(turn)))

    assert "Why: you asked for exactly this" in shown
    assert "likely" not in shown
    assert "%" not in shown


def test_what_had_no_room_says_that_the_limit_was_reached(browser, alice):
    memory = remember(alice, "I like figs").memory
    turn = replied(alice, traced(memory, included=False, reason=considered.OVER_BUDGET))

    assert "Left out: the limit for recalled memories was reached" in words_of(browser.get(receipt_url(turn)))


def test_an_earlier_message_is_shown_with_who_said_it_and_the_way_to_it(browser, alice):
    before = say(start(alice), "My flight is on the 12th.", "Noted.")
    row = before.messages.get(role=Message.Role.USER)
    turn = replied(alice, traced(row))

    response = browser.get(receipt_url(turn), headers=HTMX)

    assert "My flight is on the 12th." in words_of(response)
    assert "You said" in words_of(response)
    assert f'href="{reverse("chat:turn", args=[before.id])}"' in response.content.decode()
    assert "Used 1 earlier message" in chat_page(browser, turn)


def test_a_message_of_a_deleted_chat_is_not_quoted(browser, alice):
    before = say(start(alice), "My flight is on the 12th.", "Noted.")
    turn = replied(alice, traced(before.messages.get(role=Message.Role.USER)))
    conversations.delete_conversation(alice.id, before.conversation_id)

    shown = words_of(browser.get(receipt_url(turn)))

    assert "flight" not in shown
    assert "1 forgotten since" in shown


def test_an_experience_is_a_task_like_this_one(browser, alice):
    learned = learn(alice, "Sum up the invoices")
    turn = replied(alice, traced(learned, reason=considered.SIMILAR_GOAL))

    response = browser.get(receipt_url(turn))

    assert "Solved before" in words_of(response)
    assert "Why: a task like this one before" in words_of(response)
    assert f'href="{reverse("inspector:experience", args=[learned.id])}"' in response.content.decode()


def test_what_was_left_out_stands_apart_with_the_reason(browser, alice):
    used, close = (remember(alice, said).memory for said in ("I like figs", "I like dates"))
    turn = replied(
        alice,
        traced(used),
        traced(close, included=False, reason=considered.BELOW_CUTOFF, confidence=0.1),
    )

    shown = words_of(browser.get(receipt_url(turn)))

    assert shown.index("I like figs") < shown.index("Also considered") < shown.index("I like dates")
    assert "Left out: not close enough · unlikely to matter (10 %)" in shown
    assert "Used 1 memory" in chat_page(browser, turn)


def test_a_receipt_keeps_what_was_given_when_it_is_replaced_or_forgotten_later(browser, alice):
    lisbon = remember(alice, "I live in Lisbon", key="city", said_at=NOW - DAY).memory
    secret = remember(alice, "I collect stamps").memory
    lesson = learn(alice, "Write the minutes")
    turn = replied(alice, traced(lisbon), traced(secret), traced(lesson))
    before = words_of(browser.get(receipt_url(turn)))

    remember(alice, "I live in Porto", key="city")
    longterm.forget(alice.id, secret.id, now=timezone.now())
    experiences.forget(alice.id, lesson.id)
    after = words_of(browser.get(receipt_url(turn), headers=HTMX))

    assert "replaced since" not in before
    assert "I live in Lisbon" in after
    assert "replaced since" in after
    assert "2 forgotten since" in after
    assert "stamps" not in after
    assert "minutes" not in after
    assert "Used 3 memories" in chat_page(browser, turn)


def test_a_reply_without_memory_says_that_memory_was_unavailable(browser, alice):
    away = {"included": False, "reason": considered.UNAVAILABLE, "arms": {}, "confidence": None, "score": 0}

    turn = replied(alice, away)

    assert "Memory was unavailable" in chat_page(browser, turn)
    assert "Memory was unavailable" not in chat_page(browser, replied(alice))
    assert "No memory was used" in words_of(browser.get(receipt_url(turn)))


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        ("wrong", "You said that this is wrong"),
        ("not_relevant", "You said that this had nothing to do with it"),
    ],
)
def test_a_verdict_is_kept_for_this_reply_and_shown(browser, alice, verdict, said):
    memory = remember(alice, "I like figs").memory
    turn, other = replied(alice, traced(memory)), replied(alice, traced(memory))
    url = reverse("chat:judge", args=[turn.id, memory.id])

    in_place = browser.post(url, {"verdict": verdict}, headers=HTMX)

    assert said in words_of(in_place)
    assert said not in words_of(browser.get(receipt_url(other)))
    kept = Feedback.objects.get(user=alice)
    assert (kept.memory_id, kept.turn_id, kept.verdict) == (memory.id, turn.id, verdict)


def test_without_scripts_a_verdict_leads_back_to_the_receipt(browser, alice):
    memory = remember(alice, "I like figs").memory
    turn = replied(alice, traced(memory))

    response = browser.post(reverse("chat:judge", args=[turn.id, memory.id]), {"verdict": "wrong"})

    assert (response.status_code, response["Location"]) == (303, receipt_url(turn))
    assert "Set aside as wrong." in words_of(browser.get(receipt_url(turn)))


def test_what_was_set_aside_as_wrong_can_be_right_after_all(browser, alice):
    memory = remember(alice, "I like figs").memory
    turn = replied(alice, traced(memory))
    url = reverse("chat:judge", args=[turn.id, memory.id])

    set_aside = browser.post(url, {"verdict": "wrong"}, headers=HTMX)
    gone = live(alice)
    back = browser.post(url, {"verdict": "confirmed"}, headers=HTMX)

    assert gone == []
    assert "Right after all" in words_of(set_aside)
    assert live(alice) == ["I like figs"]
    assert "You said that this is right" in words_of(back)


@pytest.mark.parametrize("verdict", ["", "corrected", "splendid"])
def test_a_verdict_that_a_receipt_does_not_offer_is_refused(browser, alice, verdict):
    memory = remember(alice, "I like figs").memory
    turn = replied(alice, traced(memory))

    response = browser.post(reverse("chat:judge", args=[turn.id, memory.id]), {"verdict": verdict})

    assert response.status_code == 422
    assert not Feedback.objects.exists()


def test_a_memory_is_forgotten_from_the_receipt(browser, alice):
    memory = remember(alice, "I like figs").memory
    turn = replied(alice, traced(memory))

    response = browser.post(reverse("chat:forget", args=[turn.id, memory.id]), headers=HTMX)

    assert live(alice) == []
    assert "1 forgotten since" in words_of(response)
    assert "figs" not in words_of(response)


@pytest.mark.parametrize("action", ["judge", "forget"])
def test_bob_says_nothing_about_what_is_alices(client, alice, bob, action):
    memory = remember(alice, "I like figs").memory
    turn = replied(alice, traced(memory))
    own = replied(bob)
    client.force_login(bob)

    answers = [
        client.post(reverse(f"chat:{action}", args=[place.id, memory.id]), {"verdict": "wrong"})
        for place in (turn, own)
    ]

    assert [answer.status_code for answer in answers] == [404, 404]
    assert client.get(receipt_url(turn)).status_code == 404
    assert live(alice) == ["I like figs"]
    assert not Feedback.objects.exists()


def test_a_receipt_takes_as_many_queries_whatever_its_length(browser, alice, django_assert_max_num_queries):
    sources = [message(alice, f"Invoice {number} was paid") for number in range(20)]
    known = [remember_from(alice, source, source.text).memory for source in sources]
    turn = replied(alice, *map(traced, known))

    with django_assert_max_num_queries(14):
        response = browser.get(receipt_url(turn), headers=HTMX)

    assert len(response.context["receipt"].used) == 20


@pytest.mark.parametrize(
    ("known", "said", "text"),
    [
        (0, 0, ""),
        (1, 0, "Used 1 memory"),
        (2, 1, "Used 2 memories and 1 earlier message"),
        (0, 3, "Used 3 earlier messages"),
    ],
)
def test_a_receipt_is_named_by_what_the_model_was_given(known, said, text):
    entries = [{"memory_id": str(uuid4()), "included": True} for _ in range(known)]
    entries += [{"message_id": str(uuid4()), "included": True} for _ in range(said)]
    entries += entries[-1:]  # the same one, found in two ways

    entries += [{"memory_id": str(uuid4()), "included": True, "reason": considered.ALWAYS_USED}]
    assert given_text([*entries, {"memory_id": str(uuid4()), "included": False}]) == text


@pytest.mark.parametrize(
    ("reason", "arms", "why"),
    [
        (considered.BY_KEY, {}, "you asked for exactly this"),
        ("the last", {}, "you asked for exactly this"),
        ("the last 20", {}, "you asked for the list"),
        ("the next to expire 3 of kind order", {}, "you asked for the list"),
        ("said this week", {}, "said this week"),
        (
            considered.RELEVANT,
            {"cosine": 0.7, "overlap": 0.6},
            "matches your words, similar in meaning",
        ),
        (considered.RELEVANT, {"cosine": None, "overlap": 0.1}, "matches your words"),
        (considered.RELEVANT, {"cosine": 0.2, "overlap": 0.0}, "similar in meaning"),
        (considered.RELEVANT, {"lexical": 0.9}, "matches your words"),
    ],
)
def test_the_reason_is_told_in_words(reason, arms, why):
    assert why_used({"reason": reason, "arms": arms}) == why


def test_every_reason_of_recall_has_words_of_its_own():
    verdicts = {value for name, value in vars(considered).items() if name.isupper()}

    used = {considered.ALWAYS_USED, considered.BY_KEY, considered.SIMILAR_GOAL}
    by_arms_or_said_beside = {considered.RELEVANT, considered.UNAVAILABLE}
    assert set(WHY_NOT) == verdicts - used - by_arms_or_said_beside
    assert used | {f"said {period}" for period in Period} <= set(WHY)


def test_correcting_leads_to_the_form_for_its_words(browser, alice):
    memory = remember(alice, "I like figs").memory
    turn = replied(alice, traced(memory))

    [link] = re.findall(r'<a href="([^"]*)">Correct it', browser.get(receipt_url(turn)).content.decode())

    assert 'id="statement"' in browser.get(link).content.decode()


@pytest.mark.parametrize(
    ("confidence", "text"),
    [
        (None, ""),
        (0.91, "very likely to matter (91\u00a0%)"),
        (0.5, "likely to matter (50\u00a0%)"),
        (0.2, "may matter (20\u00a0%)"),
        (0.1, "unlikely to matter (10\u00a0%)"),
        (-0.1, "unlikely to matter (-10\u00a0%)"),
    ],
)
def test_a_confidence_is_told_in_words_with_its_number(confidence, text):
    assert likely_text(confidence) == text
