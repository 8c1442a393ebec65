"""Posting a message: numbered without gaps, once per idempotency key, refused when it cannot be kept."""

import pytest
from django.utils import timezone

from memoryapp.errors import NotFoundError
from memoryapp.llm.base import Usage
from memoryapp.nudges import RUN_TURN
from memoryapp.transcript import claims, queries
from memoryapp.transcript import operations as transcript
from memoryapp.transcript.models import Message, Turn
from tests.turns import COMMITTED, NOW, at_once, claim, fresh, post, reply_to, start


@COMMITTED
def test_concurrent_senders_get_dense_numbers(alice, nudges):
    conversation = start(alice)

    at_once(8, lambda sender: [post(alice, f"{sender}.{n}", conversation) for n in range(5)])

    turns = list(queries.turns(alice.id, conversation.id))
    assert [turn.seq for turn in turns] == list(range(1, 41))
    assert {queries.text_of(turn, Message.Role.USER) for turn in turns} == {
        f"{sender}.{n}" for sender in range(8) for n in range(5)
    }


@COMMITTED
def test_the_same_request_sent_eight_times_at_once_is_one_turn(alice, nudges):
    conversation = start(alice)

    made = at_once(8, lambda _: transcript.post_turn(
        alice, conversation.id, text="hello", idempotency_key="k", now=NOW
    ))  # fmt: skip

    assert len({turn.id for turn, _ in made}) == 1
    assert [is_new for _, is_new in made].count(True) == 1
    assert queries.get_conversation(alice.id, conversation.id).last_seq == 1
    assert nudges == [(RUN_TURN, made[0][0].id)]


@pytest.mark.django_db
def test_the_same_key_with_another_text_is_a_conflict(alice):
    conversation = start(alice)
    post(alice, "hello", conversation, key="k")

    with pytest.raises(transcript.IdempotencyConflictError):
        post(alice, "goodbye", conversation, key="k")

    assert Turn.objects.count() == 1


@pytest.mark.django_db
def test_the_same_key_in_another_conversation_is_a_conflict(alice):
    post(alice, "hello", key="k")

    with pytest.raises(transcript.IdempotencyConflictError):
        post(alice, "hello", key="k")


@pytest.mark.django_db
def test_two_people_may_use_the_same_key(alice, bob):
    hers, his = post(alice, "hello", key="k"), post(bob, "hello", key="k")

    assert hers.id != his.id


@pytest.mark.django_db
def test_bob_cannot_post_into_alices_conversation(alice, bob):
    conversation = start(alice)

    with pytest.raises(NotFoundError):
        post(bob, "hello", conversation)

    assert queries.get_conversation(alice.id, conversation.id).last_seq == 0


@pytest.mark.django_db
def test_a_message_moves_its_conversation_to_the_top(alice):
    first, second = start(alice), start(alice)
    transcript.post_turn(
        alice, first.id, text="hello", idempotency_key="k", now=NOW.replace(hour=NOW.hour + 1)
    )

    listed = queries.conversation_list(alice.id)

    assert [conversation.id for conversation in listed] == [first.id, second.id]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("hello", "hello"),
        ("\n\n  hello\r\nworld\r!  \n", "hello\nworld\n!"),
        ("naïve 茶 👩‍👩‍👧", "naïve 茶 👩‍👩‍👧"),
    ],
)
def test_a_message_is_kept_as_it_was_typed(text, kept):
    assert transcript.clean_message(text) == kept


@pytest.mark.parametrize("text", ["", "  \n\t", "\u200b\u200b", "\u2060 \ufeff", "\u00a0"])
def test_a_message_of_nothing_visible_is_refused(text):
    with pytest.raises(transcript.EmptyMessageError):
        transcript.clean_message(text)


@pytest.mark.parametrize("text", ["a\x00b", "half a pair \ud83d", "\udc00!"])
def test_text_that_cannot_be_stored_is_refused(text):
    with pytest.raises(transcript.MalformedTextError):
        transcript.clean_message(text)


def test_a_message_over_the_limit_is_refused_with_both_numbers(configure):
    configure(STRATA_MESSAGE_MAX_CHARS="1000")

    with pytest.raises(transcript.MessageTooLongError) as refused:
        transcript.clean_message("x" * 1001)

    assert refused.value.details == {"chars": 1001, "limit_chars": 1000}
    assert transcript.clean_message("x" * 1000)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Plan a trip to Lisbon", "Plan a trip to Lisbon"),
        ("One\n\n  two\tthree", "One two three"),
        ("word " * 40, "word word word word word word word word word word word word…"),
        ("x" * 100, "x" * 60 + "…"),
        ("# Plan\n- **one** `two`\n> three", "Plan one two three"),
        ("#1 costs 2 * 3 ** 4", "#1 costs 2 * 3 ** 4"),
        ("`", "`"),
        ("Please remember, above all, that the meeting room is taken, so", None),
    ],
)
def test_a_title_is_made_of_the_first_words(text, title):
    made = transcript.title_from(text)

    assert len(made) <= 61
    assert title is None or made == title
    assert not made.endswith((",…", " …"))


@pytest.mark.django_db
def test_the_first_message_names_the_conversation_and_later_ones_do_not(alice):
    conversation = start(alice)

    post(alice, "Plan a trip to Lisbon", conversation)
    post(alice, "By train, please", conversation)

    assert queries.get_conversation(alice.id, conversation.id).title == "Plan a trip to Lisbon"


@COMMITTED
def test_a_first_message_clicked_eight_times_opens_one_conversation(alice, nudges):
    opened = at_once(
        8,
        lambda _: transcript.open_conversation(
            alice, text="Hello", idempotency_key="form", now=timezone.now()
        ),
    )

    assert len({turn.id for turn in opened}) == 1
    assert [row.title for row in queries.conversation_list(alice.id)] == ["Hello"]


def test_a_first_message_that_is_refused_leaves_no_conversation(alice):
    with pytest.raises(transcript.EmptyMessageError):
        transcript.open_conversation(alice, text="  ", idempotency_key="form", now=timezone.now())

    assert not queries.conversation_list(alice.id).exists()


def test_a_reply_of_more_different_words_than_an_index_holds_is_stored(alice):
    reply = " ".join(f"word{number}-part{number}" for number in range(60_000))
    turn = post(alice, "Hello")

    claims.finish_turn(claim(turn), reply=reply, model="m", usage=Usage())

    assert reply_to(fresh(turn)) == reply
