"""The chips under a reply: what a message taught, from the committed rows, and taking it back."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from chat import memory_presentation
from chat.memory_presentation import ASKS_AFTER_S, LEARNS_WITHIN, asking, learned_from
from memoryapp.longterm import forgettings
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.models import Kind, Memory
from memoryapp.longterm.operations import Source
from memoryapp.policies.trust import Origin
from memoryapp.transcript import conversations, queries
from memoryapp.transcript.models import Message, Turn
from tests.inspector.reading import words_of
from tests.longterm.saying import DAY, NOW, live, remember, remember_from
from tests.talking import say
from tests.turns import fresh, start

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


def told(user, text: str) -> Turn:
    return say(start(user), text, "I see.")


def source_of(turn: Turn) -> Source:
    message = queries.user_message(fresh(turn))
    return Source(message.id, message.text)


def taught(user, text: str, **values) -> tuple[Turn, Memory]:
    """A message, and what was remembered from it."""
    turn = told(user, text)
    return turn, remember_from(user, source_of(turn), text, **values).memory


def chips(turn: Turn):
    turn = fresh(turn)
    return learned_from(turn.conversation, [turn]).get(turn.id, [])


def page_of(browser, turn: Turn) -> str:
    return words_of(browser.get(reverse("chat:conversation", args=[turn.conversation_id])))


def take_back(browser, turn: Turn, memory: Memory, **options):
    return browser.post(reverse("chat:take_back", args=[turn.id, memory.id]), **options)


def test_a_chip_says_what_was_remembered_from_where_and_until_when(browser, alice):
    turn, memory = taught(alice, "I only drink green tea.", kind="preference")
    Memory.objects.filter(id=memory.id).update(expires_at=timezone.now() + timedelta(days=400))

    [chip] = chips(turn)

    year = (timezone.now() + timedelta(days=400)).year
    assert re.fullmatch(rf"expires \d+ \w+ {year}", chip.expires_text)
    shown = page_of(browser, turn)
    assert "Remembered: I only drink green tea. · from your message" in shown
    assert f"· {chip.expires_text}" in shown
    assert "Undo" in shown
    assert "Edit" in shown


def test_what_was_typed_in_a_chat_that_read_strangers_text_says_why_it_waits(browser, alice):
    turn, _ = taught(alice, "I love skiing.", origin=Origin.UNTRUSTED)

    shown = page_of(browser, turn)

    assert "I love skiing. · because this chat has read text you did not write" in shown
    assert "from text you did not write" not in shown


def test_what_is_kept_for_ever_says_so(alice):
    Kind.objects.filter(slug="identity").update(ttl_days=None)

    turn, _ = taught(alice, "My name is Ana.", kind="identity")

    assert [chip.expires_text for chip in chips(turn)] == ["kept until you forget it"]


def test_an_update_says_what_was_before_and_the_first_one_that_it_was_replaced(alice):
    first, _ = taught(alice, "I live in Lisbon", key="city", said_at=NOW - 2 * DAY)
    second, _ = taught(alice, "I live in Porto", key="city", said_at=NOW - DAY)
    third, _ = taught(alice, "I live in Faro", key="city", said_at=NOW)

    [lisbon], [porto], [faro] = (chips(turn) for turn in (first, second, third))

    assert (porto.told, porto.was, porto.ended) == ("Updated:", "I live in Lisbon", "replaced since")
    assert (faro.told, faro.was, faro.ended) == ("Updated:", "I live in Porto", "")
    assert (lisbon.was, lisbon.ended, lisbon.undo_url) == ("", "replaced since", "")


def test_what_another_message_says_too_stays_when_one_of_them_is_taken_back(browser, alice):
    turn, memory = taught(alice, "I like figs")
    taught(alice, "I like figs")

    response = take_back(browser, turn, memory, headers=HTMX)

    assert live(alice) == ["I like figs"]
    assert "Another message says it too, so it stays" in words_of(response)


def test_what_was_forgotten_and_is_said_again_is_remembered_with_a_notice(browser, alice):
    _, forgotten = taught(alice, "I like figs")
    forgettings.forget(alice.id, [forgotten.id], now=timezone.now())
    again, memory = taught(alice, "I like figs", said_at=timezone.now())

    [chip] = chips(again)
    history = words_of(browser.get(reverse("inspector:fact", args=[memory.id])))

    assert (chip.told, chip.statement) == ("Remembered again, after you had it forgotten:", "I like figs")
    assert "said again after you had it forgotten, through" in history


def test_what_is_said_again_is_already_known_and_has_nothing_to_undo(alice):
    taught(alice, "I like figs")
    again, _ = taught(alice, "I like figs")

    [chip] = chips(again)

    assert (chip.told, chip.undo_url) == ("Already known:", "")


@pytest.mark.parametrize(
    ("values", "words_of_it", "action"),
    [
        ({"origin": Origin.UNTRUSTED}, "Waiting for your word:", "Review"),
        ({"origin": Origin.MODEL_INFERRED}, "Doesn’t fit what you said before:", "Decide"),
    ],
)
def test_what_waits_says_so_and_leads_to_the_decision(alice, values, words_of_it, action):
    remember(alice, "I live in Lisbon", key="city")
    turn, memory = taught(alice, "I live in Porto", key="city", **values)

    [chip] = chips(turn)

    assert (chip.told, chip.action, chip.undo_url, chip.expires_text) == (words_of_it, action, "", "")
    assert chip.memory_url == reverse("inspector:fact", args=[memory.id])


def test_what_waited_is_remembered_once_its_person_has_said_so(alice):
    turn, memory = taught(alice, "The invoice is due in May", origin=Origin.UNTRUSTED)

    longterm.confirm(alice.id, memory.id, version=1, now=timezone.now())

    assert [(chip.told, chip.action) for chip in chips(turn)] == [("Remembered:", "Edit")]


def test_a_secret_is_said_not_to_be_kept_unless_nothing_is(browser, alice):
    turn = told(alice, "My password is hunter2hunter2")
    silent = say(start(alice, save_memory=False), "My password is hunter2hunter2", "I see.")

    shown = page_of(browser, turn)

    assert "Not kept: looks like a password" in shown
    assert chips(silent) == []


def test_no_words_that_can_be_found_are_looked_through_for_a_secret(alice, monkeypatch):
    secret = told(alice, "My password is hunter2hunter2")

    monkeypatch.setattr(memory_presentation, "find_secret", lambda _text: "a secret")

    assert [chip.statement for chip in chips(secret)] == ["looks like a secret"]
    assert chips(told(alice, "I like figs")) == []


def test_what_was_learned_is_taken_back_where_it_stands(browser, alice):
    turn, memory = taught(alice, "I like figs")

    response = take_back(browser, turn, memory, headers=HTMX)

    assert live(alice) == []
    assert "Taken back. It is not remembered any more." in words_of(response)
    assert "figs" not in words_of(response)


@pytest.mark.parametrize("way", ["taken back", "forgotten"])
def test_a_reply_that_promised_to_remember_says_later_that_it_is_no_longer_so(browser, alice, way):
    turn, memory = taught(alice, "I like figs")
    other, _ = taught(alice, "I like dates")

    if way == "forgotten":
        longterm.forget(alice.id, memory.id, now=timezone.now())
    else:
        take_back(browser, turn, memory)

    [chip] = chips(turn)
    assert (chip.told, chip.memory_id, chip.undo_url) == ("Taken back or forgotten:", None, "")
    assert "Taken back or forgotten: something that this message taught" in page_of(browser, turn)
    assert [chip.told for chip in chips(other)] == ["Remembered:"]


def test_taking_back_an_update_brings_back_what_was_before_and_says_so(browser, alice):
    taught(alice, "I live in Lisbon", key="city", said_at=NOW - DAY)
    turn, memory = taught(alice, "I live in Porto", key="city")

    response = take_back(browser, turn, memory, headers=HTMX)

    assert live(alice) == ["I live in Lisbon"]
    assert "Taken back. In use again: I live in Lisbon" in words_of(response)


def test_without_scripts_taking_back_leads_to_the_chat_and_says_so(browser, alice):
    turn, memory = taught(alice, "I like figs")

    response = take_back(browser, turn, memory)

    assert response.status_code == 303
    assert response["Location"] == f"/c/{turn.conversation_id}/#turn-{turn.id}"
    assert "Taken back." in page_of(browser, turn)


def test_what_was_not_kept_does_not_look_like_what_was(browser, alice):
    refused = told(alice, "My card is 4111 1111 1111 1111")
    kept, _ = taught(alice, "I like figs")

    pages = [
        browser.get(reverse("chat:conversation", args=[turn.conversation_id])).content.decode()
        for turn in (refused, kept)
    ]

    classes = [re.search(r'<li class="([^"]*)"\s+data-outcome', page)[1].split() for page in pages]
    assert classes == [["remembered--soft"], ["tier-longterm"]]


def test_what_a_person_has_corrected_is_theirs_and_not_undone(alice):
    turn, memory = taught(alice, "I like figs")

    longterm.edit(alice.id, memory.id, version=1, now=timezone.now(), statement="I like dates")

    assert [(chip.statement, chip.undo_url) for chip in chips(turn)] == [("I like dates", "")]


def test_bob_takes_nothing_back_of_alices(client, alice, bob):
    turn, memory = taught(alice, "I like figs")
    own = told(bob, "hello")
    client.force_login(bob)

    answers = [take_back(client, place, memory) for place in (turn, own)]

    assert [answer.status_code for answer in answers] == [404, 404]
    assert live(alice) == ["I like figs"]


def ask_again(browser, turn: Turn, *, seen: int = 0, tries: int = 1):
    url = reverse("chat:learned", args=[turn.id])
    return browser.get(url, {"seen": seen, "tries": tries}, headers=HTMX)


def test_what_the_background_learns_after_the_reply_appears_under_it(browser, alice):
    turn = told(alice, "I like figs")
    before = ask_again(browser, turn).content.decode()

    remember_from(alice, source_of(turn), "I like figs", channel=Memory.Channel.EXTRACTION)
    Message.objects.filter(turn=turn).update(extracted_at=timezone.now())
    after = ask_again(browser, turn).content.decode()

    assert "hx-partial" not in before
    assert "seen=0&amp;tries=2" in before
    assert f'hx-target="#turn-{turn.id}-learned"' in after
    assert "I like figs" in after
    assert "tries=" not in after


def test_the_background_does_not_replace_the_line_that_says_taken_back(browser, alice):
    turn, memory = taught(alice, "I like figs")
    take_back(browser, turn, memory, headers=HTMX)

    assert "hx-partial" not in ask_again(browser, turn, seen=1).content.decode()


def test_a_page_asks_for_more_only_while_the_message_is_still_to_be_read(alice):
    turn = fresh(told(alice, "I like figs"))
    later = Turn.objects.get(id=turn.id)
    later.finished_at -= LEARNS_WITHIN
    quiet = say(start(alice, save_memory=False), "I like figs", "I see.")

    assert asking(turn, turn.conversation, seen=0).after_s == ASKS_AFTER_S[0]
    assert asking(turn, turn.conversation, seen=0, tries=len(ASKS_AFTER_S)) is None
    assert asking(later, turn.conversation, seen=0) is None
    assert asking(quiet, quiet.conversation, seen=0) is None
    Message.objects.filter(turn=turn).update(extracted_at=timezone.now())
    assert asking(fresh(turn), turn.conversation, seen=0) is None


def test_chips_take_as_many_queries_whatever_their_number(alice, django_assert_max_num_queries):
    conversation = start(alice)
    turns = [say(conversation, f"I live in town {number}", "I see.") for number in range(10)]
    for number, turn in enumerate(turns):
        at = NOW - (10 - number) * DAY
        remember_from(alice, source_of(turn), f"I live in town {number}", key="city", said_at=at)
    shown = list(queries.turns(alice.id, conversation.id))
    conversation = queries.get_conversation(alice.id, conversation.id)

    with django_assert_max_num_queries(9):
        found = learned_from(conversation, shown)

    assert [chip.was for turn in shown[1:] for chip in found[turn.id]] == [
        f"I live in town {number}" for number in range(9)
    ]


def test_of_a_deleted_chat_nothing_is_asked(browser, alice):
    turn = told(alice, "I like figs")
    conversations.delete_conversation(alice.id, turn.conversation_id)

    assert ask_again(browser, turn).status_code == 404
