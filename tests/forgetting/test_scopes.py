"""What a person asks to be forgotten is forgotten in every tier at once, with one receipt, and no more than that."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memoryapp.acting import Actor, acting_as
from memoryapp.context.models import Use
from memoryapp.errors import InvalidInputError, NotFoundError
from memoryapp.forgetting import operations
from memoryapp.forgetting.operations import NothingToForgetError, NotUndoneError
from memoryapp.forgetting.preview import preview
from memoryapp.forgetting.scopes import Asked, RunInProgressError
from memoryapp.llm.base import Usage
from memoryapp.longterm import operations as longterm
from memoryapp.longterm import queries as memories
from memoryapp.longterm.models import Experience, Memory, MemorySource, MemoryVersion, Tombstone
from memoryapp.longterm.operations import ForgottenError, Source
from memoryapp.portability.models import ImportBatch, ImportFile
from memoryapp.receipts import queries as receipts
from memoryapp.receipts.models import Receipt, Scope
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.scratchpad import queries as runs
from memoryapp.transcript import branches, claims, conversations, deletions
from memoryapp.transcript import queries as transcript
from memoryapp.transcript.models import Conversation, Message, Turn
from tests.longterm.saying import candidate, remember
from tests.world import everything_of, finished_turn, posted_turn

SAID = "I keep a heron called Wotan"


def talk(user, *texts: str) -> list[Turn]:
    conversation = conversations.start_conversation(user, now=timezone.now())
    return [finished_turn(user, conversation.id, text=text, reply="Noted.") for text in texts]


def learn(turn: Turn, statement: str = SAID, *, quote: str = SAID, **values) -> Memory:
    message = transcript.user_message(turn)
    said = candidate(
        statement, source=Source(message.id, message.text), quote=quote, channel="extraction", **values
    )
    return longterm.remember(turn.user_id, said).memory


def known(user) -> set[str]:
    return {memory.statement for memory in memories.memories(user.id)}


def said_now(turn: Turn) -> str:
    return Message.objects.get(turn=turn, role=Message.Role.USER).text


def forget(user, scope: Scope, subject: object = "", **options) -> Receipt:
    return operations.forget(user.id, Asked(scope, str(subject)), now=timezone.now(), **options)


def test_a_fact_alone_leaves_what_was_said_and_the_preview_tells_where_it_still_stands(alice):
    (turn,) = talk(alice, SAID)
    memory = learn(turn)

    seen = preview(alice.id, Asked(Scope.MEMORY, str(memory.id)), now=timezone.now())
    forget(alice, Scope.MEMORY, memory.id)

    message = transcript.user_message(turn)
    assert [(place.message_id, place.conversation_id) for place in seen.still_says] == [
        (message.id, turn.conversation_id)
    ]
    assert seen.undo_minutes > 0
    assert known(alice) == set()
    assert message.text == SAID


def test_a_fact_and_where_it_was_said_takes_the_words_out_of_every_message(alice):
    turn, other = talk(alice, f"{SAID}. He is grey.", f"As I said: {SAID}!")
    memory = learn(turn)
    learn(other)

    receipt = forget(alice, Scope.MEMORY_AND_SOURCE, memory.id)

    ids = [transcript.user_message(said).id for said in (turn, other)]
    texts = transcript.texts_of(alice.id, ids)
    assert all("Wotan" not in text for text in texts.values())
    assert "He is grey." in texts[ids[0]]
    assert known(alice) == set()
    assert receipt.undo_until is None
    assert set(receipt.items) == {"memory", "message"}


def test_a_fact_that_nobody_said_in_a_chat_can_be_undone_even_so(alice):
    memory = remember(alice, SAID).memory

    assert forget(alice, Scope.MEMORY_AND_SOURCE, memory.id).undo_until is not None


def test_a_conversation_takes_what_was_learned_from_it_alone(alice):
    (turn,) = talk(alice, f"{SAID}. My sister is Ada.")
    (other,) = talk(alice, "My sister is Ada.")
    learn(turn)
    shared = learn(turn, "My sister is Ada.", quote="My sister is Ada.")
    learn(other, "My sister is Ada.", quote="My sister is Ada.")

    seen = preview(alice.id, Asked(Scope.CONVERSATION, str(turn.conversation_id)), now=timezone.now())
    receipt = forget(alice, Scope.CONVERSATION, turn.conversation_id)

    assert seen.counts == {"memories": 1, "conversations": 1, "records": 1}
    assert seen.stays == {shared.id}
    assert known(alice) == {"My sister is Ada."}
    assert not transcript.conversations(alice.id).filter(id=turn.conversation_id)
    assert set(receipt.items) >= {"memory", "conversation"}


def test_what_its_person_corrected_outlives_the_conversation(alice):
    (turn,) = talk(alice, SAID)
    memory = learn(turn)
    longterm.edit(alice.id, memory.id, version=1, now=timezone.now(), statement=f"{SAID} II")

    forget(alice, Scope.CONVERSATION, turn.conversation_id)

    assert known(alice) == {f"{SAID} II"}


def test_all_of_it_comes_back_by_one_undo(alice):
    (turn,) = talk(alice, SAID)
    learn(turn)
    receipt = forget(alice, Scope.CONVERSATION, turn.conversation_id)

    undone = operations.undo(alice.id, receipt.id, now=timezone.now())

    assert known(alice) == {SAID}
    assert transcript.conversations(alice.id).filter(id=turn.conversation_id)
    assert undone.undone_at is not None
    with pytest.raises(NotUndoneError):
        operations.undo(alice.id, receipt.id, now=timezone.now())


def test_forgotten_at_once_there_is_nothing_to_undo(alice):
    (turn,) = talk(alice, SAID)
    learn(turn)

    receipt = forget(alice, Scope.CONVERSATION, turn.conversation_id, at_once=True)
    conversations.delete_for_good()

    assert receipt.undo_until is None
    assert not Conversation.objects.filter(user=alice).exists()
    assert not Memory.everything.filter(user=alice).exists()
    with pytest.raises(NotUndoneError):
        operations.undo(alice.id, receipt.id, now=timezone.now())


def test_what_can_be_undone_can_be_finished(alice):
    (turn,) = talk(alice, SAID)
    learn(turn)
    receipt = forget(alice, Scope.CONVERSATION, turn.conversation_id)

    operations.finish(alice.id, receipt.id)
    conversations.delete_for_good()

    assert not Conversation.objects.filter(user=alice).exists()
    assert not Memory.everything.filter(user=alice).exists()
    with pytest.raises(NotUndoneError):
        operations.undo(alice.id, receipt.id, now=timezone.now())


def test_a_run_takes_its_record_and_what_was_remembered_in_it(alice):
    (turn,) = talk(alice, SAID)
    run_id = runs.run_ids_of_turns(alice.id, [turn.id])[turn.id]
    learn(turn, run_id=run_id)

    receipt = forget(alice, Scope.RUN, run_id)

    assert known(alice) == set()
    assert not runs.recorded(alice.id, [run_id])
    assert receipt.undo_until is None


def test_a_program_takes_what_it_wrote_and_nothing_of_another(alice):
    for name in ("notebook", "calendar"):
        with acting_as(Actor.PROGRAM, name):
            longterm.remember(alice.id, candidate(f"{SAID} of the {name}", channel="api"))

    forget(alice, Scope.SOURCE, "program:notebook")

    assert known(alice) == {f"{SAID} of the calendar"}


def test_a_way_takes_what_came_by_it(alice):
    longterm.remember(alice.id, candidate(SAID, channel="api"))
    longterm.remember(alice.id, candidate("My sister is Ada.", channel="inspector"))

    forget(alice, Scope.SOURCE, "api")

    assert known(alice) == {"My sister is Ada."}


def test_the_last_hour_takes_what_was_said_and_learned_in_it(alice):
    old, new = talk(alice, "My sister is Ada.", SAID)
    Conversation.objects.filter(id=old.conversation_id).update(created_at=timezone.now() - timedelta(days=3))
    Turn.objects.filter(id=old.id).update(created_at=timezone.now() - timedelta(days=3))
    kept = learn(old, "My sister is Ada.", quote="My sister is Ada.")
    Memory.objects.filter(id=kept.id).update(recorded_at=timezone.now() - timedelta(days=3))
    learn(new)
    (begun,) = talk(alice, "Another matter")

    receipt = forget(alice, Scope.RECENT, "hour")

    shown = transcript.turns(alice.id, old.conversation_id)
    assert [turn.id for turn in shown] == [old.id]
    assert known(alice) == {"My sister is Ada."}
    assert not transcript.conversations(alice.id).filter(id=begun.conversation_id)
    assert operations.undo(alice.id, receipt.id, now=timezone.now()).undone_at is not None
    assert known(alice) == {"My sister is Ada.", SAID}


def test_a_kind_takes_all_of_it_and_nothing_else(alice):
    remember(alice, SAID, kind="preference")
    remember(alice, "My sister is Ada.", kind="identity")

    forget(alice, Scope.KIND, "preference")

    assert known(alice) == {"My sister is Ada."}


def test_everything_leaves_nothing_and_is_not_learned_again(alice, bob):
    (turn,) = talk(alice, SAID)
    memory = learn(turn)
    longterm.edit(alice.id, memory.id, version=1, now=timezone.now(), statement=f"{SAID} II")
    remember(bob, SAID)
    (theirs,) = talk(bob, SAID)

    receipt = forget(alice, Scope.EVERYTHING)

    assert receipt.counts == {"memories": 1, "conversations": 1, "messages": 2, "records": 1}
    assert not Memory.everything.filter(user=alice).exists()
    assert not Conversation.objects.filter(user=alice).exists()
    for statement in (SAID, f"{SAID} II"):
        with pytest.raises(ForgottenError):
            longterm.remember(
                alice.id,
                candidate(statement, channel="extraction", said_at=timezone.now() - timedelta(days=1)),
            )
    assert known(bob) == {SAID}
    assert transcript.conversations(bob.id).filter(id=theirs.conversation_id)


def test_everything_takes_what_could_still_be_undone(alice):
    memory = remember(alice, SAID).memory
    earlier = forget(alice, Scope.MEMORY, memory.id)

    forget(alice, Scope.EVERYTHING)

    with pytest.raises(NotUndoneError):
        operations.undo(alice.id, earlier.id, now=timezone.now())
    assert not Memory.everything.filter(user=alice).exists()


def test_an_account_takes_its_person_and_key_and_leaves_a_receipt(alice, client):
    client.force_login(alice)
    remember(alice, SAID)

    receipt = forget(alice, Scope.ACCOUNT)

    assert not type(alice).objects.filter(id=alice.id).exists()
    assert not Tombstone.objects.filter(user_id=alice.id).exists()
    assert Receipt.objects.get().id == receipt.id
    assert client.get("/memory/").status_code == 302
    assert not client.session.get("_auth_user_id")


def test_a_worker_that_records_beside_it_does_not_keep_it_alive(alice, monkeypatch):
    talk(alice, SAID)
    tries = []
    delete = operations.conversations.delete_everything_within

    def delete_late(user_id):
        if not tries:
            tries.append(1)
            raise operations.IntegrityError
        return delete(user_id)

    monkeypatch.setattr(operations.conversations, "delete_everything_within", delete_late)

    forget(alice, Scope.EVERYTHING)

    assert not Conversation.objects.filter(user=alice).exists()
    assert Receipt.objects.count() == 1


@pytest.mark.parametrize(
    ("scope", "subject", "error"),
    [
        (Scope.MEMORY, "", NotFoundError),
        (Scope.MEMORY, "no-id", NotFoundError),
        (Scope.SOURCE, "the moon", InvalidInputError),
        (Scope.RECENT, "year", InvalidInputError),
        (Scope.KIND, "weather", InvalidInputError),
        (Scope.KIND, "preference", NothingToForgetError),
        (Scope.TURNS, "", InvalidInputError),
    ],
)
def test_what_is_no_such_thing_is_said_and_nothing_goes(alice, scope, subject, error):
    remember(alice, SAID, kind="identity")

    with pytest.raises(error):
        forget(alice, scope, subject)

    assert known(alice) == {SAID}
    assert not receipts.receipts(alice.id)


@pytest.mark.parametrize("scope", [Scope.MEMORY, Scope.MEMORY_AND_SOURCE])
def test_a_strangers_fact_is_not_there(alice, bob, scope):
    memory = remember(alice, SAID).memory

    with pytest.raises(NotFoundError):
        forget(bob, scope, memory.id)

    assert known(alice) == {SAID}


def test_a_strangers_receipt_is_not_there(alice, bob):
    memory = remember(alice, SAID).memory
    receipt = forget(alice, Scope.MEMORY, memory.id)

    for act in (operations.finish, lambda *ids: operations.undo(*ids, now=timezone.now())):
        with pytest.raises(NotFoundError):
            act(bob.id, receipt.id)


def test_a_receipt_that_was_undone_has_no_say_over_what_is_forgotten_since(alice):
    memory = remember(alice, SAID, kind="preference").memory
    first = forget(alice, Scope.MEMORY, memory.id)
    operations.undo(alice.id, first.id, now=timezone.now())
    remember(alice, "I like figs", kind="preference")
    second = forget(alice, Scope.KIND, "preference")

    operations.finish(alice.id, first.id)
    with pytest.raises(NotUndoneError):
        operations.undo(alice.id, first.id, now=timezone.now())

    assert known(alice) == set()
    operations.undo(alice.id, second.id, now=timezone.now())
    assert known(alice) == {SAID, "I like figs"}


def test_a_conversation_that_came_back_and_was_deleted_again_is_the_newer_receipts(alice):
    (turn,) = talk(alice, SAID)
    learn(turn)
    first = forget(alice, Scope.CONVERSATION, turn.conversation_id)
    conversations.restore_conversation(alice.id, turn.conversation_id)
    conversations.delete_conversation(alice.id, turn.conversation_id)

    operations.undo(alice.id, first.id, now=timezone.now())

    assert known(alice) == {SAID}
    assert not transcript.conversations(alice.id).filter(id=turn.conversation_id)


def test_what_can_come_back_does_although_a_part_is_gone_with_something_else(alice):
    old, new = talk(alice, "My sister is Ada.", SAID)
    Conversation.objects.filter(id=old.conversation_id).update(created_at=timezone.now() - timedelta(days=3))
    Turn.objects.filter(id=old.id).update(created_at=timezone.now() - timedelta(days=3))
    learn(new)
    receipt = forget(alice, Scope.RECENT, "hour")
    conversations.delete_conversation(alice.id, old.conversation_id)

    operations.undo(alice.id, receipt.id, now=timezone.now())

    assert known(alice) == {SAID}


def test_finishing_twice_moves_nothing(alice):
    receipt = forget(alice, Scope.MEMORY, remember(alice, SAID).memory.id)
    first = operations.finish(alice.id, receipt.id).undo_until

    assert operations.finish(alice.id, receipt.id).undo_until == first


def test_quotes_that_overlap_leave_nothing_of_either(alice):
    (turn,) = talk(alice, "My heron is called Wotan, no wait: called Freya. He is grey.")
    former = learn(turn, "My heron is called Wotan", quote="My heron is called Wotan, no wait", key="heron")
    learn(turn, "My heron is called Freya", quote="Wotan, no wait: called Freya", key="heron")
    current = Memory.objects.get(statement="My heron is called Freya")
    Memory.objects.filter(id=former.id).update(superseded_by=current)

    forget(alice, Scope.MEMORY_AND_SOURCE, current.id)

    (text,) = transcript.texts_of(alice.id, [transcript.user_message(turn).id]).values()
    assert "Wotan" not in text
    assert "Freya" not in text
    assert "He is grey." in text


def test_everything_takes_the_imports_that_wait(alice):
    batch = ImportBatch.objects.create(
        user=alice, created_at=timezone.now(), status=ImportBatch.Status.READY, samples={"new": [SAID]}
    )
    ImportFile.objects.create(user=alice, batch=batch, number=0, data=SAID.encode())

    forget(alice, Scope.EVERYTHING)

    assert not ImportBatch.objects.filter(user=alice).exists()
    assert not ImportFile.objects.filter(user=alice).exists()


def test_a_receipt_of_everything_keeps_no_words(alice):
    assert forget(alice, Scope.EVERYTHING, "my heron Wotan").subject == ""


def said_before(turn: Turn, **ago: int) -> None:
    moment = timezone.now() - timedelta(**ago)
    Turn.objects.filter(id=turn.id).update(created_at=moment)
    Message.objects.filter(turn=turn.id).update(created_at=moment)
    Conversation.objects.filter(id=turn.conversation_id).update(created_at=moment)


def edited(user, turn: Turn, text: str) -> Turn:
    sibling, _ = branches.ask_anew(
        user, turn.id, idempotency_key=f"edit:{text}", now=timezone.now(), text=text
    )
    claim = claims.claim_turn(sibling.id)
    assert claim
    claims.finish_turn(claim, reply="Noted.", model="offline", usage=Usage())
    return transcript.get_turn(user.id, sibling.id)


def shown(user, turn: Turn) -> list[str]:
    rows = transcript.turns(user.id, turn.conversation_id)
    return [transcript.user_message(row).text for row in rows]


def test_the_last_hour_takes_an_edit_and_shows_the_older_version_again(alice):
    first, second = talk(alice, "My sister is Ada.", "She lives in Kyiv.")
    for turn in (first, second):
        said_before(turn, days=3)
    edited(alice, first, SAID)

    receipt = forget(alice, Scope.RECENT, "hour")

    assert shown(alice, first) == ["My sister is Ada.", "She lives in Kyiv."]
    assert transcript.get_conversation(alice.id, first.conversation_id).last_seq == 2
    assert operations.undo(alice.id, receipt.id, now=timezone.now()).undone_at is not None
    assert shown(alice, first) == [SAID]


def test_the_last_hour_takes_what_was_said_on_a_branch_that_is_not_shown(alice):
    (first,) = talk(alice, "My sister is Ada.")
    said_before(first, days=3)
    other = edited(alice, first, SAID)
    branches.show_branch(alice.id, first.id)

    seen = preview(alice.id, Asked(Scope.RECENT, "hour"), now=timezone.now())
    receipt = forget(alice, Scope.RECENT, "hour")

    assert seen.counts == {"exchanges": 1}
    assert receipt.items == {"turn": [str(other.id)]}
    assert shown(alice, first) == ["My sister is Ada."]
    with pytest.raises(NotFoundError):
        transcript.get_turn(alice.id, other.id)


def test_an_undo_does_not_take_the_shown_branch_from_what_was_said_since(alice):
    (first,) = talk(alice, "My sister is Ada.")
    said_before(first, days=3)
    edited(alice, first, SAID)
    receipt = forget(alice, Scope.RECENT, "hour")
    finished_turn(alice, first.conversation_id, text="She lives in Kyiv.", reply="Noted.")

    operations.undo(alice.id, receipt.id, now=timezone.now())

    assert shown(alice, first) == ["My sister is Ada.", "She lives in Kyiv."]


def test_the_last_hour_leaves_a_copy_of_what_was_said_before(alice):
    (first,) = talk(alice, "My sister is Ada.")
    said_before(first, days=3)
    copy = conversations.fork_conversation(alice, first.id, idempotency_key="copy", now=timezone.now())
    finished_turn(alice, copy.id, text=SAID, reply="Noted.")

    forget(alice, Scope.RECENT, "hour")

    rows = transcript.turns(alice.id, copy.id)
    assert [transcript.user_message(row).text for row in rows] == ["My sister is Ada."]


def test_older_turns_shown_again_survive_the_sweep(alice):
    (first,) = talk(alice, "My sister is Ada.")
    said_before(first, days=3)
    edited(alice, first, SAID)

    forget(alice, Scope.RECENT, "hour", at_once=True)
    deletions.delete_turns_for_good()

    assert shown(alice, first) == ["My sister is Ada."]
    assert not Message.objects.filter(user=alice, text=SAID).exists()


@pytest.mark.parametrize("scope", [Scope.CONVERSATION, Scope.RECENT])
def test_a_temporary_chat_is_said_to_be_gone_for_good(alice, scope):
    conversation = conversations.start_conversation(alice, now=timezone.now(), is_temporary=True)
    finished_turn(alice, conversation.id, text=SAID, reply="Noted.")
    subject = "hour" if scope == Scope.RECENT else str(conversation.id)

    seen = preview(alice.id, Asked(scope, subject), now=timezone.now())
    receipt = forget(alice, scope, subject)

    assert seen.undo_minutes == 0
    assert receipt.undo_until is None
    with pytest.raises(NotUndoneError):
        operations.undo(alice.id, receipt.id, now=timezone.now())


def test_a_run_that_goes_on_is_refused_and_nothing_of_it_goes(alice):
    conversation = conversations.start_conversation(alice, now=timezone.now())
    turn = posted_turn(alice, conversation.id, SAID)
    claim = claims.claim_turn(turn.id)
    assert claim
    run_id = scratchpad.open_run(user_id=alice.id, turn_id=turn.id, goal=SAID, attempt=claim.attempt).id
    learn(turn, run_id=run_id)

    with pytest.raises(RunInProgressError):
        preview(alice.id, Asked(Scope.RUN, str(run_id)), now=timezone.now())
    with pytest.raises(RunInProgressError):
        forget(alice, Scope.RUN, run_id)

    assert known(alice) == {SAID}
    assert not receipts.receipts(alice.id)


def test_a_run_that_begins_again_beside_it_keeps_all(alice, monkeypatch):
    (turn,) = talk(alice, SAID)
    run_id = runs.run_ids_of_turns(alice.id, [turn.id])[turn.id]
    learn(turn, run_id=run_id)
    monkeypatch.setattr(operations.records, "delete_within", lambda *ids: 0)

    with pytest.raises(RunInProgressError):
        forget(alice, Scope.RUN, run_id)

    assert known(alice) == {SAID}


def test_a_conversation_names_its_copies_and_takes_them_along_where_that_is_asked_for(alice):
    (turn,) = talk(alice, SAID)
    learn(turn)
    copy = conversations.fork_conversation(alice, turn.id, idempotency_key="copy", now=timezone.now())
    (other,) = talk(alice, SAID)

    alone = preview(alice.id, Asked(Scope.CONVERSATION, str(turn.conversation_id)), now=timezone.now())
    asked = Asked(Scope.CONVERSATION, str(turn.conversation_id), with_copies=True)
    with_copies = preview(alice.id, asked, now=timezone.now())
    operations.forget(alice.id, asked, now=timezone.now())

    assert alone.copies == {copy.id}
    assert (with_copies.copies, with_copies.counts["conversations"]) == (frozenset(), 2)
    assert set(transcript.conversations(alice.id).values_list("id", flat=True)) == {other.conversation_id}


def test_a_fact_and_where_it_was_said_is_found_in_copies_whose_original_is_gone(alice):
    turn, later = talk(alice, f"{SAID}. He is grey.", "And another thing.")
    memory = learn(turn, said_at=transcript.user_message(turn).created_at)
    copy = conversations.fork_conversation(alice, later.id, idempotency_key="copy", now=timezone.now())
    conversations.delete_conversation(alice.id, turn.conversation_id)
    Conversation.objects.filter(id=turn.conversation_id).delete()

    seen = preview(alice.id, Asked(Scope.MEMORY, str(memory.id)), now=timezone.now())
    forget(alice, Scope.MEMORY_AND_SOURCE, memory.id)

    said = [transcript.user_message(row) for row in transcript.turns(alice.id, copy.id)]
    assert [place.message_id for place in seen.still_says] == [said[0].id]
    assert [message.text for message in said] == ["[▇ redacted]. He is grey.", "And another thing."]


def test_a_fact_and_where_it_was_said_takes_replies_that_repeat_it(alice):
    (turn,) = talk(alice, SAID)
    memory = learn(turn)
    repeated = finished_turn(
        alice,
        turn.conversation_id,
        text="What do I keep?",
        reply="You keep a heron called Wotan. Anything else?",
    )
    elsewhere, untouched = talk(alice, "And what is his name?", "What eats fish?")
    for other, reply in ((elsewhere, "The heron you keep is called Wotan!"), (untouched, "A heron.")):
        Message.objects.filter(turn=other, role=Message.Role.ASSISTANT).update(text=reply)
    Use.objects.create(user=alice, turn=elsewhere, memory=memory, rank=1, score=1, used_at=timezone.now())

    seen = preview(alice.id, Asked(Scope.MEMORY, str(memory.id)), now=timezone.now())
    forget(alice, Scope.MEMORY_AND_SOURCE, memory.id)

    replies = [
        transcript.text_of(transcript.get_turn(alice.id, each.id), Message.Role.ASSISTANT)
        for each in (turn, repeated, elsewhere, untouched)
    ]
    assert replies == ["Noted.", "[▇ redacted] Anything else?", "[▇ redacted]", "A heron."]
    assert len(seen.still_says) == 3


@pytest.mark.parametrize("scope", [Scope.RECENT, Scope.CONVERSATION, Scope.RUN])
@pytest.mark.parametrize("at_once", [False, True])
def test_a_lesson_goes_with_a_fact_of_its_run(alice, scope, at_once):
    world = everything_of(alice)
    MemorySource.objects.filter(user=alice, message=None).delete()
    MemoryVersion.objects.filter(user=alice, version__gt=1).delete()
    Memory.objects.filter(id=world.memory_id).update(source_run=world.run_id)
    subject = {Scope.RECENT: "hour", Scope.CONVERSATION: world.conversation_id, Scope.RUN: world.run_id}

    receipt = forget(alice, scope, subject[scope], at_once=at_once)

    assert set(receipt.items) >= {"memory", "experience"}
    assert not Memory.objects.filter(id=world.memory_id)
    assert not Experience.objects.filter(user=alice)


def test_a_preview_counts_lessons_and_records_that_go_along(alice):
    world = everything_of(alice)

    seen = preview(alice.id, Asked(Scope.MEMORY, str(world.memory_id)), now=timezone.now())
    receipt = forget(alice, Scope.MEMORY, world.memory_id)

    assert seen.counts == {
        "memories": len(receipt.items["memory"]),
        "experiences": len(receipt.items["experience"]),
        "records": receipt.counts["records"],
    }


def test_a_preview_of_everything_counts_what_its_receipt_does(alice):
    world = everything_of(alice)
    forget(alice, Scope.MEMORY, world.memory_id)

    seen = preview(alice.id, Asked(Scope.EVERYTHING), now=timezone.now())

    counts = forget(alice, Scope.EVERYTHING).counts
    assert seen.counts == {name: number for name, number in counts.items() if number}


def test_a_preview_counts_what_the_fact_replaced(alice):
    former = remember(alice, "I live in Lisbon", key="home").memory
    Memory.objects.filter(id=former.id).update(recorded_at=timezone.now() - timedelta(days=300))
    remember(alice, "I live in Porto", key="home")

    seen = preview(alice.id, Asked(Scope.RECENT, "hour"), now=timezone.now())
    receipt = forget(alice, Scope.RECENT, "hour")

    assert seen.counts == {"memories": 2}
    assert len(receipt.items["memory"]) == 2


def test_the_last_hour_takes_what_was_corrected_in_it(alice):
    days_ago = timezone.now() - timedelta(days=300)
    for statement in ("I live in Lisbon", "My sister is Ada."):
        memory = remember(alice, statement).memory
        Memory.objects.filter(id=memory.id).update(recorded_at=days_ago)
        MemoryVersion.objects.filter(memory=memory).update(recorded_at=days_ago)
        words = "I live in Porto" if "live" in statement else None
        longterm.edit(alice.id, memory.id, version=1, now=timezone.now(), statement=words, confidence=0.7)

    receipt = forget(alice, Scope.RECENT, "hour")

    assert known(alice) == {"My sister is Ada."}
    operations.undo(alice.id, receipt.id, now=timezone.now())
    assert known(alice) == {"My sister is Ada.", "I live in Porto"}


def test_what_waits_in_a_former_wording_goes_along(alice):
    memory = remember(alice, "I live in Lisbon").memory
    longterm.edit(alice.id, memory.id, version=1, now=timezone.now(), statement="I live in Porto")
    waiting = remember(alice, "I keep bees").memory
    Memory.objects.filter(id=waiting.id).update(
        status=Memory.Status.CONFLICT, statement="I live in Lisbon", digest=memory.digest
    )

    forget(alice, Scope.MEMORY, memory.id)

    assert not Memory.objects.filter(user=alice)


def test_a_fact_and_where_it_was_said_is_not_cut_out_of_longer_words(alice):
    first, second, third = talk(
        alice, "I have a cat.", "Please concatenate this catalogue.", "The Cat sleeps."
    )
    memory = learn(first, "Has a cat", quote="cat")

    seen = preview(alice.id, Asked(Scope.MEMORY_AND_SOURCE, str(memory.id)), now=timezone.now())
    receipt = forget(alice, Scope.MEMORY_AND_SOURCE, memory.id)

    assert [said_now(turn) for turn in (first, second, third)] == [
        "I have a [▇ redacted].",
        "Please concatenate this catalogue.",
        "The [▇ redacted] sleeps.",
    ]
    assert seen.counts["redacted messages"] == len(receipt.items["message"]) == 2


def test_a_quote_that_ends_within_a_word_is_taken_even_so(alice):
    (turn,) = talk(alice, "I like herons.")
    memory = learn(turn, "Likes herons", quote="I like heron")

    forget(alice, Scope.MEMORY_AND_SOURCE, memory.id)

    assert said_now(turn) == "[▇ redacted]s."


def test_words_of_a_script_without_blanks_are_found_among_others(alice):
    first, second = talk(alice, "我养了一只苍鹭。", "他说我养了一只苍鹭吗")
    memory = learn(first, "养了一只苍鹭", quote="养了一只苍鹭")

    forget(alice, Scope.MEMORY_AND_SOURCE, memory.id)

    assert all("苍鹭" not in said_now(turn) for turn in (first, second))
