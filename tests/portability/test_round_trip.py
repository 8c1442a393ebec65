"""What is exported and restored is what was there: byte for byte, in whatever account it is restored."""

import json

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryapp.longterm import operations as longterm
from memoryapp.longterm.models import Memory
from memoryapp.longterm.operations import Candidate
from memoryapp.policies.trust import Origin
from memoryapp.portability.models import ImportBatch
from memoryapp.transcript import branches, conversations, deletions
from memoryapp.transcript.models import Turn
from tests.portability.archives import archive_of, data, data_text, member
from tests.portability.bringing import brought
from tests.world import everything_of, failed_turn, finished_turn, posted_turn


def candidate(statement, **values):
    return Candidate(
        kind="preference",
        statement=statement,
        origin=Origin.USER_TYPED,
        channel=Memory.Channel.API,
        said_at=timezone.now(),
        **values,
    )


def restored(user, archive):
    batch = brought(user, archive)
    assert batch.status == ImportBatch.Status.DONE, batch.error_message
    assert batch.is_restore
    return data_text(user)


def test_everything_comes_back_byte_for_byte(alice, bob):
    everything_of(alice)
    archive = archive_of(alice)

    again = restored(bob, archive)

    assert again == member(archive, "strata.json")


def test_a_restored_account_can_be_restored_once_more(alice, bob, carol):
    everything_of(alice)
    first = archive_of(alice)
    restored(bob, first)

    again = restored(carol, archive_of(bob))

    assert again == member(first, "strata.json")


def test_the_same_account_gives_the_same_data_twice(alice):
    everything_of(alice)

    assert data_text(alice) == data_text(alice)


def test_every_branch_copy_and_former_value_keeps_its_place(alice, bob):
    conversation = conversations.start_conversation(alice, now=timezone.now(), title="Trips")
    first = finished_turn(alice, conversation.id, text="Where to?", reply="Lisbon.")
    second = finished_turn(alice, conversation.id, text="When?", reply="In May.")
    finished_turn(alice, conversation.id, text="How?", reply="By train.")
    failed_turn(alice, conversation.id)
    branches.ask_anew(alice, second.id, text="When exactly?", idempotency_key="e", now=timezone.now())
    conversations.fork_conversation(alice, first.id, idempotency_key="f", now=timezone.now())
    longterm.remember(alice.id, candidate("I live in Lisbon", key="home.city"))
    longterm.remember(alice.id, candidate("I live in Porto", key="home.city"))
    archive = archive_of(alice)

    again = restored(bob, archive)

    found = json.loads(again)
    assert again == member(archive, "strata.json")
    assert len(found["conversations"]) == 2
    assert {memory["status"] for memory in found["memories"]} == {"active", "superseded"}
    assert Memory.objects.get(user=bob, status="superseded").superseded_by.statement == "I live in Porto"


def test_a_deleted_message_that_others_follow_leaves_a_bare_place(alice, bob):
    conversation = conversations.start_conversation(alice, now=timezone.now(), title="Trips")
    first = finished_turn(alice, conversation.id, text="My secret plan.", reply="Noted.")
    finished_turn(alice, conversation.id, text="And then?", reply="Home.")
    deletions.delete_turns(alice.id, first.id, following=False, now=timezone.now())
    archive = archive_of(alice)

    again = restored(bob, archive)

    assert again == member(archive, "strata.json")
    assert "secret plan" not in again
    assert Turn.objects.get(user=bob).seq == 2


def test_a_reply_that_is_being_written_is_interrupted_where_it_is_restored(alice, bob):
    conversation = conversations.start_conversation(alice, now=timezone.now(), title="Trips")
    posted_turn(alice, conversation.id, "Hello")

    restored(bob, archive_of(alice))

    assert Turn.objects.get(user=bob).status == Turn.Status.INTERRUPTED


def test_ids_inside_what_a_tool_answered_lead_to_the_restored_rows(alice, bob):
    world = everything_of(alice)

    restored(bob, archive_of(alice))

    (turn,) = data(bob)["conversations"][0]["turns"]
    assert turn["snapshots"][0]["recalled"][0]["memory_id"] == "⟦memory:1⟧"
    recalled = Turn.objects.get(user=bob).context_snapshots.get().recalled
    assert recalled[0]["memory_id"] == str(Memory.objects.get(user=bob).id) != str(world.memory_id)


TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=60
).filter(lambda text: any(c.isalnum() for c in text))


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(said=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=4), title=TEXTS)
def test_any_words_come_back_as_they_were(said, title):
    from memoryapp.accounts.models import User

    alice = User.objects.create(username=f"a{User.objects.count()}")
    bob = User.objects.create(username=f"b{User.objects.count()}")
    conversation = conversations.start_conversation(alice, now=timezone.now(), title=title)
    for text, reply in said:
        if text.strip():
            finished_turn(alice, conversation.id, text=text, reply=reply)
    archive = archive_of(alice)

    again = restored(bob, archive)

    assert again == member(archive, "strata.json")


def test_a_conversation_in_which_nothing_was_said_comes_back(alice, bob):
    conversations.start_conversation(alice, now=timezone.now(), title="Empty")
    archive = archive_of(alice)

    assert restored(bob, archive) == member(archive, "strata.json")
