"""Nothing brings back what is forgotten but its person's own word; each attempt succeeds where nothing was forgotten.

docs/forgetting.md names all attempts; those that belong to one room are shown there.
"""

import pytest
from django.utils import timezone

from memoryapp.errors import NotFoundError, StaleVersionError
from memoryapp.forgetting import operations
from memoryapp.forgetting.operations import NothingToForgetError
from memoryapp.forgetting.scopes import Asked
from memoryapp.lifecycle import embedding
from memoryapp.lifecycle.tasks import embed_memories, extract_conversation
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.models import Memory, Tombstone
from memoryapp.longterm.operations import ForgottenError
from memoryapp.policies.reconciliation import Outcome
from memoryapp.receipts.models import Scope
from memoryapp.transcript.models import Message
from tests.longterm.saying import live, remember
from tests.talking import say
from tests.turns import COMMITTED, at_once, configure, nudges, start

__all__ = ["configure", "nudges"]

FORGOTTEN, NEIGHBOUR = "I live in Porto.", "I love jazz."


@pytest.fixture
def conversation(alice, configure, nudges):
    """Read by rules as soon as it is asked for."""
    configure(STRATA_EXTRACTION_DELAY_S="0", STRATA_MODEL_EXTRACTION="false", STRATA_MODEL_TITLES="false")
    return start(alice)


def read(conversation) -> None:
    extract_conversation(str(conversation.id))


def forget(memory: Memory, *, at_once: bool = False) -> None:
    asked = Asked(Scope.MEMORY, str(memory.id))
    operations.forget(memory.user_id, asked, now=timezone.now(), at_once=at_once)


def named(user, statement: str) -> Memory:
    return Memory.objects.get(user=user, statement=statement)


@pytest.mark.parametrize("is_final", [True, False])
@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_the_whole_transcript_read_again_teaches_all_but_what_was_forgotten(alice, conversation, is_final):
    for said in (FORGOTTEN, NEIGHBOUR):
        say(conversation, said, "Noted.")
    read(conversation)
    learned = live(alice)
    forget(named(alice, FORGOTTEN), at_once=is_final)
    Memory.objects.filter(user=alice, statement=NEIGHBOUR).delete()
    Message.objects.update(extracted_at=None)

    read(conversation)

    assert learned == [FORGOTTEN, NEIGHBOUR]
    assert live(alice) == [NEIGHBOUR]


@pytest.mark.parametrize("is_forgotten", [True, False])
@COMMITTED
def test_a_job_that_was_queued_before_and_runs_after_learns_what_was_not_forgotten(
    alice, conversation, is_forgotten
):
    memory = remember(alice, FORGOTTEN, kind="identity").memory
    say(conversation, f"{FORGOTTEN} {NEIGHBOUR}", "Noted.")
    say(conversation, "My dog is called Rex.", "Noted.")
    if is_forgotten:
        forget(memory)
    else:
        memory.delete()

    read(conversation)  # the queue holds the conversation's id alone, whenever it was put there

    assert "My dog is called Rex." in live(alice)
    assert (FORGOTTEN in live(alice)) is not is_forgotten


def test_no_backfill_of_vectors_touches_what_is_being_forgotten(alice):
    gone, stays = (remember(alice, text).memory for text in (FORGOTTEN, NEIGHBOUR))
    forget(gone)

    list(embedding.SORTS["memories"].embed())
    embed_memories(str(gone.id))

    vectors = dict(Memory.everything.values_list("id", "embedding_model"))
    assert vectors[gone.id] == ""
    assert vectors[stays.id] != ""


@COMMITTED
def test_two_forgettings_and_an_edit_at_once_leave_it_forgotten_with_its_new_words(alice):
    memory = remember(alice, FORGOTTEN).memory

    def work(number: int) -> str:
        try:
            if number == 2:
                longterm.edit(
                    alice.id, memory.id, version=1, now=timezone.now(), statement="I live in Braga."
                )
                return "edited"
            forget(memory)
        except (NotFoundError, StaleVersionError, NothingToForgetError):
            return "too late"
        return "forgotten"

    done = at_once(3, work)

    assert done.count("forgotten") == 1
    assert live(alice) == []
    assert old_news_of(alice, FORGOTTEN) == "forgotten"
    assert old_news_of(alice, "I live in Braga.") == ("forgotten" if "edited" in done else Outcome.ADDED)


def old_news_of(user, statement: str) -> str:
    try:
        return remember(user, statement, origin="imported", channel="import").outcome
    except ForgottenError as error:
        return error.code


@COMMITTED
def test_said_again_it_is_learned_again(alice, conversation):
    say(conversation, FORGOTTEN, "Noted.")
    read(conversation)
    forget(named(alice, FORGOTTEN), at_once=True)
    buried = Tombstone.objects.count()

    again = say(conversation, FORGOTTEN, "Noted.")
    Message.objects.filter(turn=again).update(created_at=timezone.now())
    read(conversation)

    assert buried > 0
    assert live(alice) == [FORGOTTEN]


@COMMITTED
def test_what_is_learned_again_takes_every_later_write_as_if_it_had_never_been_forgotten(alice):
    forget(remember(alice, FORGOTTEN).memory, at_once=True)
    later = timezone.now()

    again = remember(alice, FORGOTTEN, said_at=later)
    reinforced = remember(alice, "I'm living in Porto.", said_at=timezone.now())
    longterm.edit(alice.id, again.memory.id, version=1, now=timezone.now(), statement="I live in Porto now.")

    assert (again.outcome, reinforced.outcome) == (Outcome.ADDED, Outcome.REINFORCED)
    assert live(alice) == ["I live in Porto now."]
