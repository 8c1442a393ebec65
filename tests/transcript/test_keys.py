"""Keys: by which recall finds what was said, at once by its words, and never what is not to be found."""

from datetime import UTC, datetime, timedelta
from time import process_time

import numpy as np
import pytest

from memoryapp.accounts import operations as accounts
from memoryapp.accounts.models import User
from memoryapp.llm.base import Usage
from memoryapp.policies import dialogue
from memoryapp.policies.terms import term_hash, terms
from memoryapp.transcript import branches, claims, conversations, keys, passages
from memoryapp.transcript import operations as transcript
from memoryapp.transcript.importing import Said, import_conversation
from memoryapp.transcript.models import Conversation, Message, MessageKey, Turn
from memoryapp.transcript.passages import Found
from memoryapp.transcript.queries import InPrompt
from tests.talking import say
from tests.turns import claim, post, start

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
MODEL = "small"


def found(user: User, **values) -> Found:
    return passages.passages(user.id, **{"embedding": None, "model_id": MODEL, **values})


def texts(user: User, **values) -> list[str]:
    """What recall reads of, in its order."""
    by_id = dict(Message.objects.values_list("id", "text"))
    return [by_id[message_id] for message_id in found(user, **values).message_ids]


def embed(text: str, vector: list[float], *, model_id: str = MODEL) -> None:
    (waiting,) = keys.to_embed(MessageKey.objects.filter(message__text=text), max_chars=1_000)
    keys.store_embedding(waiting, vector, model_id)


def conversation_of(user: User, **values) -> Conversation:
    return conversations.start_conversation(user, now=NOW, **values)


# --- what a key holds


def test_what_was_said_is_found_as_soon_as_its_turn_has_ended(alice):
    say(start(alice), "I like tea", "Noted")

    assert texts(alice) == ["I like tea", "Noted"]


def test_a_message_is_described_by_its_key(alice):
    imported = [
        Said("Where is my green umbrella?", is_assistant=False, said_at=NOW, speaker="Anna"),
        Said("It is here", is_assistant=True, said_at=NOW + timedelta(minutes=1)),
    ]
    import_conversation(alice, imported)

    read = found(alice).passages

    assert read.session.tolist() == [1, 1]
    assert read.position.tolist() == [2, 3]
    assert read.is_assistant.tolist() == [False, True]
    assert read.said_at.tolist() == [NOW.timestamp(), NOW.timestamp() + 60]
    assert read.speaker.tolist() == [dialogue.speaker_key("Anna"), 0]
    assert read.traits.tolist() == [dialogue.traits(imported[0].text), dialogue.traits(imported[1].text)]
    assert read.words.tolist() == [5, 3]
    assert np.isnan(read.cosine).all()


def test_each_message_has_its_own_terms(alice):
    say(start(alice), "umbrella", "green umbrella")

    read = found(alice).passages

    own, reply = np.split(read.terms, np.cumsum(read.counts)[:-1])
    assert term_hash("umbrella") in own
    assert term_hash("green") not in own
    assert {term_hash("umbrella"), term_hash("green")} <= set(reply.tolist())


def test_the_day_of_a_message_is_the_persons(alice):
    accounts.change_preferences(alice, time_zone="Asia/Tokyo", theme="dark")
    alice.refresh_from_db()
    late = datetime(2026, 11, 19, 20, tzinfo=UTC)  # in Tokyo it is the 20th

    transcript.record_turn(
        alice, conversation_of(alice).id, text="tea", reply="", idempotency_key="1", said_at=late
    )

    assert term_hash("20") in found(alice).passages.terms
    assert term_hash("19") not in found(alice).passages.terms


def test_of_a_pasted_document_the_beginning_counts(alice):
    say(start(alice), "umbrella " + "word " * (keys.KEYED_CHARS // 5) + "last")

    read = found(alice).passages

    assert term_hash("umbrella") in read.terms
    assert term_hash("last") not in read.terms


@pytest.mark.parametrize("letters", ["今天天气很好", "a", "1", ".a"])
def test_a_key_takes_no_longer_for_a_text_without_spaces(letters):
    """Such a text took the square of its length: seconds, inside the transaction that keeps the message."""
    unspaced = letters * (keys.KEYED_CHARS // len(letters))

    began = process_time()
    terms(unspaced)
    dialogue.traits(unspaced)

    assert process_time() - began < 1  # of some 20 ms; it was 5 s


def test_another_answer_to_the_same_turn_takes_the_place_of_the_first(alice):
    turn = post(alice, "What is there?")
    claims.fail_turn(claim(turn), status=Turn.Status.FAILED, partial_text="Cof")
    transcript.retry_turn(alice.id, turn.id)

    claims.finish_turn(claim(turn), reply="Tea", model="m", usage=Usage())

    assert texts(alice) == ["What is there?", "Tea"]
    assert term_hash("tea") in found(alice).passages.terms


def test_passages_stand_in_order_of_conversation_and_position(alice):
    first, second = start(alice), start(alice)
    for conversation in (second, first, second, first):
        say(conversation, f"{conversation.id} asks", f"{conversation.id} hears")

    read = found(alice).passages

    assert read.session.tolist() == [1, 1, 1, 1, 2, 2, 2, 2]
    assert read.position.tolist() == [2, 3, 4, 5, 2, 3, 4, 5]
    assert all(str(first.id) in text for text in texts(alice)[:4])
    own_terms = np.split(read.terms, np.cumsum(read.counts)[:-1])
    assert {len(own) for own in own_terms} == {read.counts[0]}


# --- what is never found


def test_nobody_else_finds_it(alice, bob):
    say(start(alice), "I like tea", "Noted")

    assert texts(bob) == []


def test_a_turn_is_found_when_it_has_ended_and_not_before(alice):
    turn = post(alice, "I like tea")
    assert texts(alice) == []

    held = claim(turn)
    assert texts(alice) == []

    claims.fail_turn(held, status=Turn.Status.FAILED, partial_text="Yes, te")
    assert texts(alice) == ["I like tea", "Yes, te"]


def test_what_was_asked_anew_is_found_in_its_last_version_only(alice):
    turn = say(start(alice), "I like tea", "Noted")

    sibling, _ = branches.ask_anew(alice, turn.id, idempotency_key="1", now=NOW, text="I like coffee")
    claims.finish_turn(claim(sibling), reply="Fine", model="m", usage=Usage())
    assert texts(alice) == ["I like coffee", "Fine"]

    branches.show_branch(alice.id, turn.id)
    assert texts(alice) == ["I like tea", "Noted"]


def test_a_deleted_conversation_is_found_again_when_it_is_brought_back(alice):
    turn = say(start(alice), "I like tea", "Noted")

    conversations.delete_conversation(alice.id, turn.conversation_id)
    assert texts(alice) == []

    conversations.restore_conversation(alice.id, turn.conversation_id)
    assert texts(alice) == ["I like tea", "Noted"]


def test_a_temporary_chat_leaves_no_key(alice):
    temporary = conversation_of(alice, is_temporary=True)

    say(temporary, "I like tea", "Noted")
    keys.keep_missing(limit=10)

    assert not MessageKey.objects.exists()


def test_what_a_chat_does_not_keep_is_found_in_that_chat_alone(alice):
    private = conversation_of(alice, save_memory=False)
    say(private, "I like tea", "Noted")
    say(private, "And cake")

    assert texts(alice) == []
    assert texts(alice, leave_out=InPrompt(private.id, after_seq=1)) == ["I like tea", "Noted"]


def test_what_the_prompt_holds_is_left_out_and_the_rest_of_that_conversation_is_not(alice):
    here, elsewhere = start(alice), start(alice)
    for word in ("one", "two", "three"):
        say(here, word, f"{word}!")
    say(elsewhere, "other", "other!")

    read = texts(alice, leave_out=InPrompt(here.id, after_seq=2))

    assert read == ["one", "one!", "two", "two!", "other", "other!"]


# --- vectors


def test_similarity_is_the_inner_product_with_the_question(alice):
    say(start(alice), "I like tea", "Noted")
    embed("I like tea", [0.6, 0.8])

    (similarity, unknown) = found(alice, embedding=[1.0, 0.5]).passages.cosine

    assert similarity == pytest.approx(1.0, abs=1e-3)
    assert np.isnan(unknown)


@pytest.mark.parametrize(
    "asked", [{"embedding": [1.0, 0.0], "model_id": "large"}, {"embedding": [1.0, 0.0, 0.0]}]
)
def test_vectors_of_another_model_or_length_are_not_compared(alice, asked):
    say(start(alice), "I like tea")
    embed("I like tea", [1.0, 0.0])

    assert np.isnan(found(alice, **asked).passages.cosine).all()


def test_a_vector_of_words_that_were_changed_meanwhile_is_not_kept(alice):
    say(start(alice), "I like tea")
    (waiting,) = keys.to_embed(MessageKey.objects.all(), max_chars=1_000)
    message = Message.objects.get(text="I like tea")
    Message.objects.filter(id=message.id).update(text="I like coffee")
    keys.keep_key(message)

    is_kept = keys.store_embedding(waiting, [1.0, 0.0], MODEL)

    assert not is_kept
    assert np.isnan(found(alice, embedding=[1.0, 0.0]).passages.cosine).all()


def test_new_words_lose_the_vector_of_the_old_ones(alice):
    say(start(alice), "I like tea")
    embed("I like tea", [1.0, 0.0])
    message = Message.objects.get(text="I like tea")
    Message.objects.filter(id=message.id).update(text="I like coffee")

    keys.keep_key(message)

    assert list(keys.not_embedded(MODEL)) == [MessageKey.objects.get()]


def test_a_message_that_holds_a_secret_is_found_by_nothing(alice):
    say(start(alice), "My password is hunter2-Kestrel", "I will not keep that")

    assert texts(alice) == ["I will not keep that"]
    assert [key.message.text for key in keys.not_embedded(MODEL)] == ["I will not keep that"]
    assert keys.keep_missing(limit=10) == 0


# --- the backlog


def test_messages_without_a_key_get_theirs_oldest_first(alice):
    conversation = start(alice)
    for word in ("one", "two", "three"):
        say(conversation, word)
    MessageKey.objects.all().delete()

    made = keys.keep_missing(limit=2)

    assert made == 2
    assert texts(alice) == ["one", "two"]
    assert keys.keep_missing(limit=2) == 1
    assert keys.keep_missing(limit=2) == 0


def test_a_copied_conversation_is_found_after_the_next_sweep(alice):
    turn = say(start(alice), "I like tea", "Noted")
    conversations.fork_conversation(alice, turn.id, idempotency_key="fork", now=NOW)

    keys.keep_missing(limit=10)

    assert sorted(texts(alice)) == ["I like tea", "I like tea", "Noted", "Noted"]
