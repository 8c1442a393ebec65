"""Correcting and redacting what was said: from then on the words before are nowhere."""

import pytest
from django.core import serializers
from django.utils import timezone

from memoryapp.activity.models import Entry
from memoryapp.errors import InvalidInputError, NotFoundError
from memoryapp.lifecycle import extraction
from memoryapp.longterm import forgettings
from memoryapp.longterm.models import MemorySource
from memoryapp.longterm.operations import Source
from memoryapp.nudges import EXTRACT_CONVERSATION, REBUILD_SUMMARY
from memoryapp.policies.secrets import SecretRefusedError
from memoryapp.scratchpad.models import Run, Step
from memoryapp.transcript import conversations, deletions, queries, redaction, search, sources, summaries
from memoryapp.transcript.conversations import ReplyInProgressError
from memoryapp.transcript.models import (
    Conversation,
    Message,
    MessageKey,
    PinnedLine,
    Summary,
    Turn,
)
from memoryapp.transcript.redaction import MARK, NotInMessageError
from memoryapp.transcript.summaries import NewSummary
from tests.longterm.saying import remember_from
from tests.transcript.branching import edited, said, summarised, talk
from tests.turns import post, start
from tests.world import everything_of, finished_turn

HOLDING = (Conversation, Turn, Message, MessageKey, Summary, PinnedLine, Run, Step)


def message_of(turn, role="user"):
    return Message.objects.get(turn=turn, role=role)


def text_of(turn, role="user"):
    return message_of(turn, role).text


def stored() -> str:
    """All that the transcript and the scratchpad hold, as text."""
    return "".join(serializers.serialize("json", model._base_manager.all()) for model in HOLDING)


@pytest.fixture(autouse=True)
def quiet(nudges):
    """No worker is woken."""


def test_a_correction_stands_in_place_of_the_words_and_says_so(alice):
    (turn,) = talk(alice, "The code is 4711")

    redaction.correct_message(alice.id, message_of(turn).id, text="The code is secret")

    message = message_of(turn)
    assert (message.text, message.change) == ("The code is secret", "corrected")
    assert message.changed_at is not None


def test_the_words_before_a_correction_are_stored_nowhere(alice):
    turn = finished_turn(alice, start(alice).id, text="zanzibar is home", reply="Noted.")
    summaries.pin_line(alice.id, turn.id, text="zanzibar is home")
    summarised(turn, "Lives in zanzibar.")
    assert stored().count("zanzibar") > 4

    redaction.correct_message(alice.id, message_of(turn).id, text="Porto is home")

    assert "zanzibar" not in stored()


def test_redacted_words_are_stored_nowhere_and_leave_a_mark(alice):
    turn = finished_turn(
        alice, start(alice).id, text="My pin is zanzibar.", reply="So it is Zanzibar, noted."
    )
    summaries.pin_line(alice.id, turn.id, text="My pin is zanzibar.")
    summarised(turn, "The pin is zanzibar.")

    redaction.redact_message(alice.id, message_of(turn).id, words="zanzibar")

    assert text_of(turn) == f"My pin is {MARK}."
    assert text_of(turn, "assistant") == f"So it is {MARK}, noted."
    assert "zanzibar" not in stored().lower()


def test_the_same_words_in_other_characters_go_with_them(alice):
    conversation = start(alice, title="ＺÜRICH trip")
    told = "Zu\u0308rich it is"
    turn = finished_turn(alice, conversation.id, text="I live in Zürich", reply=told)
    summaries.pin_line(alice.id, turn.id, text=told)
    Step.objects.filter(run__turn=turn).update(observation="wide: ｚｕ\u0308ｒｉｃｈ")
    summarised(turn, "Z\u200bürich.")

    redaction.redact_message(alice.id, message_of(turn).id, words="zürich")

    assert text_of(turn, "assistant") == f"{MARK} it is"
    assert queries.get_conversation(alice.id, conversation.id).title == f"{MARK} trip"
    assert "rich" not in stored().lower()


def test_without_words_all_of_the_message_is_redacted(alice):
    (turn,) = talk(alice, "Figs")

    redaction.redact_message(alice.id, message_of(turn, "assistant").id)

    assert (text_of(turn), text_of(turn, "assistant")) == ("Figs", MARK)


def test_elsewhere_the_words_stay_when_only_one_message_is_meant(alice):
    first, second = talk(alice, "Figs are fine", "figs again")

    changed = redaction.redact_message(alice.id, message_of(first).id, words="figs", everywhere=False)

    assert text_of(first) == f"{MARK} are fine"
    assert text_of(second) == "figs again"
    assert len(changed.message_ids) == 1


def test_other_versions_of_a_message_lose_the_words_in_any_case(alice):
    (turn,) = talk(alice, "I live in zanzibar")
    newer = edited(turn, "I live in Zanzibar city")

    redaction.redact_message(alice.id, message_of(newer).id, words="zanzibar", everywhere=False)

    assert text_of(turn) == f"I live in {MARK}"


def test_neither_search_nor_a_key_finds_the_words(alice):
    turn, *_ = talk(alice, "zanzibar holidays", "figs")
    before = bytes(MessageKey.objects.get(message=message_of(turn)).terms)
    assert search.search_messages(alice.id, "zanzibar", limit=5)

    redaction.redact_message(alice.id, message_of(turn).id, words="zanzibar")

    assert search.search_messages(alice.id, "zanzibar", limit=5) == []
    key = MessageKey.objects.get(message=message_of(turn))
    assert (bytes(key.terms) != before, key.embedding_model) == (True, "")


def test_a_title_made_of_the_words_is_made_anew(alice):
    (turn,) = talk(alice, "zanzibar holidays")

    redaction.correct_message(alice.id, message_of(turn).id, text="Porto holidays")

    assert queries.get_conversation(alice.id, turn.conversation_id).title == "Porto holidays"


def test_a_name_that_a_person_gave_loses_the_words_alone(alice):
    conversation = start(alice, title="Trip to zanzibar")
    turn = said(alice, "zanzibar holidays", conversation)

    redaction.redact_message(alice.id, message_of(turn).id, words="zanzibar")

    assert queries.get_conversation(alice.id, conversation.id).title == f"Trip to {MARK}"


def test_summaries_made_of_it_are_unused_and_made_anew(alice, nudges, django_capture_on_commit_callbacks):
    first, second, _ = talk(alice, "figs", "zanzibar", "dates")
    kept = summarised(first, "Figs.")
    summarised(second, "Figs and zanzibar.")

    with django_capture_on_commit_callbacks(execute=True):
        redaction.redact_message(alice.id, message_of(second).id)

    current = queries.current_summary(alice.id, first.conversation_id)
    assert current == kept  # it stands for the turns before; those after it are in the prompt as they are
    assert (REBUILD_SUMMARY, first.conversation_id) in nudges


def test_a_compaction_in_flight_cannot_write_the_words_back(alice):
    (turn,) = talk(alice, "zanzibar")
    as_it_was = queries.get_conversation(alice.id, turn.conversation_id)
    made = NewSummary(
        last_turn_id=turn.id,
        last_seq=1,
        text="zanzibar",
        method=Summary.Method.MODEL,
        trigger=Summary.Trigger.AFTER_TURN,
        tokens_before=100,
    )

    redaction.redact_message(alice.id, message_of(turn).id, words="zanzibar")
    added = summaries.add_summary(as_it_was, made, replaces=None)

    assert added is None
    assert "zanzibar" not in stored()


def test_a_title_in_flight_cannot_bring_the_words_back(alice):
    (turn,) = talk(alice, "zanzibar")
    as_it_was = queries.get_conversation(alice.id, turn.conversation_id)

    redaction.redact_message(alice.id, message_of(turn).id, words="zanzibar")

    assert not conversations.give_title(as_it_was, "All about zanzibar")
    assert queries.get_conversation(alice.id, turn.conversation_id).title == MARK


def test_an_extraction_in_flight_learns_nothing_from_the_words(alice):
    (turn,) = talk(alice, "I live in zanzibar.")
    reading = extraction._next_part(turn.conversation)

    redaction.redact_message(alice.id, message_of(turn).id, words="zanzibar")
    done = extraction._extract_part(reading)

    assert (done.memories, done.error_code) == (0, "overtaken_by_forgetting")


def test_a_corrected_message_is_read_again(alice, nudges, django_capture_on_commit_callbacks):
    (turn,) = talk(alice, "I live in zanzibar.")
    sources.pass_over(alice.id, conversation_id=turn.conversation_id)

    with django_capture_on_commit_callbacks(execute=True):
        redaction.correct_message(alice.id, message_of(turn).id, text="I live in Porto.")

    unread = sources.not_extracted(alice.id, turn.conversation_id, limit=5)
    assert [message.text for message in unread] == ["I live in Porto."]
    assert (EXTRACT_CONVERSATION, turn.conversation_id) in nudges


def test_memories_taken_from_it_stay_until_they_are_forgotten(alice):
    world = everything_of(alice)
    message = Message.objects.get(turn=world.turn_id, role="user")

    redaction.redact_message(alice.id, message.id)

    assert MemorySource.objects.filter(memory=world.memory_id, message=message).exists()


@pytest.mark.parametrize(
    ("quote", "words", "left"),
    [
        ("live in zanzibar", "Zanzibar", f"live in {MARK}"),
        ("I live", "zanzibar", "I live"),
        ("zanzibar", "in zanzibar", ""),
        ("zanzibar", None, ""),
    ],
)
def test_a_quote_says_what_its_message_says_after_a_redaction(alice, quote, words, left):
    (turn,) = talk(alice, "I live in zanzibar.")
    told = message_of(turn)
    memory = remember_from(alice, Source(told.id, told.text), "Has a home", quote=quote).memory

    redaction.redact_message(alice.id, told.id, words=words)

    memory.refresh_from_db()
    assert (memory.quote, MemorySource.objects.get(memory=memory).quote) == (left, left)


def test_a_quote_that_a_correction_took_away_is_gone_even_while_its_memory_is_being_forgotten(alice):
    (turn,) = talk(alice, "I live in zanzibar.")
    told = message_of(turn)
    memory = remember_from(
        alice, Source(told.id, told.text), "Has a home", quote="I live in zanzibar."
    ).memory
    act = forgettings.forget(alice.id, [memory.id], now=timezone.now())

    redaction.correct_message(alice.id, told.id, text="I live in Porto.")
    forgettings.undo(alice.id, act.id, now=timezone.now())

    memory.refresh_from_db()
    assert (memory.quote, MemorySource.objects.get(memory=memory).quote) == ("", "")


def test_while_a_reply_is_written_nothing_is_changed(alice):
    (turn,) = talk(alice, "zanzibar")
    post(alice, "figs", turn.conversation)

    with pytest.raises(ReplyInProgressError):
        redaction.redact_message(alice.id, message_of(turn).id)

    assert text_of(turn) == "zanzibar"


def test_words_that_are_not_there_are_refused(alice):
    (turn,) = talk(alice, "figs")

    with pytest.raises(NotInMessageError):
        redaction.redact_message(alice.id, message_of(turn).id, words="dates")
    with pytest.raises(InvalidInputError):
        redaction.correct_message(alice.id, message_of(turn).id, text="figs")


def test_a_correction_that_would_keep_a_secret_is_refused_and_says_why(alice):
    (turn,) = talk(alice, "figs")

    with pytest.raises(SecretRefusedError, match="a password"):
        redaction.correct_message(alice.id, message_of(turn).id, text="My password is hunter2")

    assert text_of(turn) == "figs"


def test_a_summary_that_would_keep_a_secret_is_refused_and_says_why(alice):
    (turn,) = talk(alice, "figs")
    made = summarised(turn, "Figs.")

    with pytest.raises(SecretRefusedError, match="a password"):
        summaries.edit_summary(
            alice.id, turn.conversation_id, version=made.version, text="The password is hunter2"
        )

    assert queries.current_summary(alice.id, turn.conversation_id) == made


def test_bob_changes_nothing_of_alices(alice, bob):
    (turn,) = talk(alice, "figs")

    with pytest.raises(NotFoundError):
        redaction.redact_message(bob.id, message_of(turn).id)
    with pytest.raises(NotFoundError):
        redaction.correct_message(bob.id, message_of(turn).id, text="dates")

    assert text_of(turn) == "figs"


def test_a_redaction_is_noted_without_its_words(alice):
    (turn,) = talk(alice, "figs")

    redaction.redact_message(alice.id, message_of(turn).id)

    entry = Entry.objects.get(user=alice, verb="redacted")
    assert (entry.tier, entry.subject_id, entry.detail) == ("transcript", turn.id, "")


def copied(turn):
    """A copy of the conversation up to this turn, under the title that copies get."""
    return conversations.fork_conversation(turn.user, turn.id, idempotency_key="copy", now=timezone.now())


@pytest.mark.parametrize("from_the_copy", [False, True])
def test_redacted_words_are_gone_from_copies_of_the_chat(alice, from_the_copy):
    first, second = talk(alice, "My pin is zanzibar", "Well then")
    summarised(second, "The pin is zanzibar.")
    copy = copied(second)
    conversations.delete_conversation(alice.id, copied_again(second).id)
    turn = queries.turns(alice.id, copy.id)[0] if from_the_copy else first

    changed = redaction.redact_message(alice.id, message_of(turn).id, words="zanzibar")

    assert "zanzibar" not in stored()
    assert changed.chats == 3
    assert Conversation.objects.get(id=copy.id).title == f"My pin is {MARK} (copy)"


def copied_again(turn):
    return conversations.fork_conversation(turn.user, turn.id, idempotency_key="again", now=timezone.now())


def test_a_correction_reaches_the_copies_and_their_titles(alice):
    first, second = talk(alice, "zanzibar is " + "my home and " * 9, "Well then")
    copy = copied(second)

    changed = redaction.correct_message(alice.id, message_of(first).id, text="Porto is home")

    asked = Message.objects.filter(role="user", turn__seq=1)
    assert list(asked.values_list("text", flat=True)) == ["Porto is home"] * 2
    assert changed.chats == 2
    assert queries.get_conversation(alice.id, copy.id).title == "Porto is home (copy)"


def test_what_a_copy_was_told_since_and_what_another_person_says_stays(alice, bob):
    (turn,) = talk(alice, "figs")
    copy = copied(turn)
    later = said(alice, "figs and dates", copy)
    (others,) = talk(bob, "figs")
    Message.objects.filter(turn=others).update(created_at=message_of(turn).created_at)

    redaction.redact_message(alice.id, message_of(turn).id, words="figs")

    assert (text_of(later), text_of(others)) == ("figs and dates", "figs")


def test_copies_wait_until_the_reply_in_one_is_finished(alice):
    (turn,) = talk(alice, "figs")
    post(alice, "dates", copied(turn))

    with pytest.raises(ReplyInProgressError):
        redaction.redact_message(alice.id, message_of(turn).id, words="figs")

    assert text_of(turn) == "figs"


# Longer than a title, which ends within the words.
LONG = "My passport is lost; Falcon, the zanzibar merger with all of Acme, closes on Friday"


@pytest.mark.parametrize(
    ("change", "title"),
    [
        (lambda id_, user: redaction.correct_message(user.id, id_, text="Other words"), "Other words"),
        (lambda id_, user: redaction.redact_message(user.id, id_), MARK),
        (
            lambda id_, user: redaction.redact_message(
                user.id, id_, words="the zanzibar merger with all of Acme"
            ),
            f"My passport is lost; Falcon, {MARK}, closes on Friday",
        ),
    ],
)
def test_a_title_made_of_the_first_message_that_is_left_loses_its_words_too(alice, change, title):
    first, second = talk(alice, "figs", LONG)
    deletions.delete_turns(alice.id, first.id, following=False, now=timezone.now())
    copy = conversations.fork_conversation(alice, second.id, idempotency_key="k", now=timezone.now())

    change(message_of(second).id, alice)

    of_both = [queries.get_conversation(alice.id, id_).title for id_ in (first.conversation_id, copy.id)]
    assert of_both == [title, f"{title} (copy)"]


def test_a_correction_names_the_replies_that_still_say_what_it_took_away(alice):
    conversation = start(alice)
    turn = finished_turn(alice, conversation.id, text="My heron is Wotan.", reply="Wotan! A fine name.")
    later = finished_turn(alice, conversation.id, text="And his food?", reply="Fish, for your heron.")
    again = finished_turn(alice, conversation.id, text="Who is he?", reply="He is wotan.")

    changed = redaction.correct_message(alice.id, message_of(turn).id, text="My heron is Odin.")

    replies = [Message.objects.get(turn=each, role="assistant").id for each in (turn, later, again)]
    assert changed.repeated == {"Wotan": [replies[0], replies[2]]}
