"""Conversations held elsewhere become turns that were said and answered long ago."""

from datetime import UTC, datetime, timedelta

from memoryapp.policies.trust import Origin
from memoryapp.transcript import queries
from memoryapp.transcript.importing import Said, import_conversation
from memoryapp.transcript.models import MessageKey, Turn

BEGAN_AT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def said(*lines):
    """``u: …`` by the user, ``a: …`` by the other side, a minute apart."""
    return [
        Said(
            line[3:],
            line.startswith("a"),
            BEGAN_AT + timedelta(minutes=place),
            speaker="Ben" * line.startswith("a"),
        )
        for place, line in enumerate(lines)
    ]


def exchanges(user):
    [conversation] = queries.conversations(user.id)
    return [
        [message.text for message in turn.messages.order_by("id")]
        for turn in queries.turns(user.id, conversation.id).order_by("seq")
    ]


def test_an_answer_right_after_a_message_is_of_the_same_turn(alice):
    import_conversation(alice, said("u: Hello.", "a: Hi.", "u: A parrot!", "a: Whose?"))

    assert exchanges(alice) == [["Hello.", "Hi."], ["A parrot!", "Whose?"]]


def test_messages_that_do_not_alternate_are_turns_of_their_own(alice):
    import_conversation(alice, said("a: Hi.", "u: One.", "u: Two.", "a: Three.", "a: Four."))

    assert exchanges(alice) == [["Hi."], ["One."], ["Two.", "Three."], ["Four."]]


def test_all_of_it_keeps_its_moment_and_its_speaker(alice):
    ids = import_conversation(alice, said("u: Hello.", "a: Hi."))

    [conversation] = queries.conversations(alice.id)
    [turn] = queries.turns(alice.id, conversation.id)
    assert (turn.status, turn.created_at, conversation.created_at) == (
        Turn.Status.COMPLETED,
        BEGAN_AT,
        BEGAN_AT,
    )
    assert conversation.last_seq == 1
    messages = {message.id: (message.speaker, message.created_at) for message in turn.messages.all()}
    assert messages == {ids[0]: ("", BEGAN_AT), ids[1]: ("Ben", BEGAN_AT + timedelta(minutes=1))}


def test_it_can_be_found_at_once(alice):
    ids = import_conversation(alice, said("u: Hello.", "a: I adopted a parrot."))

    assert set(MessageKey.objects.filter(user=alice).values_list("message_id", flat=True)) == set(ids)


def test_nothing_of_it_is_answered_by_anyone(alice, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks() as after_commit:
        import_conversation(alice, said("u: Hello."))

    assert [turn for turn in Turn.objects.filter(user=alice) if turn.status in Turn.LIVE] == []
    assert not any("run" in str(callback) for callback in after_commit)


def test_what_was_imported_is_as_trusted_as_an_import(alice):
    import_conversation(alice, said("u: Hello.", "a: Hi."))

    assert [turn.taint for turn in Turn.objects.all()] == [Origin.IMPORTED]
