"""How far a forgetting is gone: noted when it was seen, and foretold until then."""

import base64
import json
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from chat.events import stream_key
from memoryapp.forgetting import stages, tasks, verifying
from memoryapp.forgetting.models import Purge
from memoryapp.forgetting.stages import Place, Progress
from memoryapp.longterm import forgettings
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.models import Tombstone
from memoryapp.receipts.models import Receipt
from memoryapp.redis_client import redis_client
from memoryapp.transcript import conversations, redaction
from memoryapp.transcript.models import Message, Summary
from tests.longterm.saying import message, remember
from tests.turns import configure
from tests.world import everything_of, finished_turn

__all__ = ["configure"]

STATEMENT = "My boat is called Zephyrine"


@pytest.fixture(autouse=True)
def _empty_redis():
    redis_client().flushdb()
    yield
    redis_client().flushdb()


def forgotten(user, *, is_final=True) -> Receipt:
    memory = remember(user, STATEMENT).memory
    forgettings.forget(user.id, [memory.id], now=timezone.now(), is_final=is_final)
    return Receipt.objects.get()


def advanced(receipt: Receipt, *, at=None) -> Receipt:
    stages.advance(at or timezone.now())
    receipt.refresh_from_db()
    return receipt


def test_what_can_still_be_undone_is_not_finished(alice):
    receipt = advanced(forgotten(alice, is_final=False))

    assert receipt.finished_at is None


def test_what_the_sweep_has_not_deleted_yet_is_not_finished_however_late_it_is(alice):
    receipt = forgotten(alice, is_final=False)

    late = advanced(receipt, at=receipt.undo_until + timedelta(hours=1))

    assert late.finished_at is None


def test_with_its_last_row_it_is_finished_and_with_nothing_made_of_it_through_all_but_the_files(alice):
    receipt = advanced(forgotten(alice))

    assert receipt.finished_at is not None
    assert receipt.derived_at is not None
    assert receipt.stored_at is not None
    assert receipt.purged_at is None


def test_only_a_purge_that_began_after_everything_else_takes_it_from_the_files(alice):
    receipt = advanced(forgotten(alice))
    earlier = receipt.stored_at - timedelta(minutes=1)
    Purge.objects.create(started_at=earlier, finished_at=timezone.now())
    assert advanced(receipt).purged_at is None

    ended_at = timezone.now() + timedelta(seconds=5)
    Purge.objects.create(started_at=receipt.stored_at + timedelta(seconds=1), finished_at=ended_at)

    assert advanced(receipt).purged_at == ended_at


def test_a_purge_that_may_have_left_something_does_not_count(alice):
    receipt = advanced(forgotten(alice))
    Purge.objects.create(
        started_at=receipt.stored_at + timedelta(seconds=1), finished_at=timezone.now(), error="In use."
    )

    assert advanced(receipt).purged_at is None


def test_a_stale_summary_that_still_says_it_keeps_it_from_being_derived_from_nothing(alice):
    conversation = conversations.start_conversation(alice, now=timezone.now())
    turn = finished_turn(alice, conversation.id, text=STATEMENT, reply="Noted.")
    redaction.redact_message(alice.id, turn.messages.get(role="user").id, words="Zephyrine")
    summary = Summary.objects.create(
        user=alice, conversation=conversation, version=1, last_seq=1, last_turn=turn, text="Zephyrine",
        method="model", tokens_before=1, tokens_after=1, is_stale=True,
    )  # fmt: skip
    receipt = advanced(Receipt.objects.get())
    assert receipt.finished_at is not None
    assert receipt.derived_at is None

    summary.delete()

    assert advanced(receipt).derived_at is not None


def test_what_was_streamed_of_a_turn_that_is_gone_is_dropped(alice):
    source = message(alice, STATEMENT)
    turn = Message.objects.get(id=source.message_id).turn
    redis_client().xadd(stream_key(turn.id), {"event": '{"type": "text"}', "attempt": 1})
    forgotten(alice)
    conversations.erase_conversations(alice.id, [turn.conversation_id])

    stages.advance(timezone.now())

    assert not redis_client().exists(stream_key(turn.id))


def test_a_stream_that_told_of_the_memory_is_dropped_and_another_is_not(alice):
    conversation = conversations.start_conversation(alice, now=timezone.now())
    told = finished_turn(alice, conversation.id, text=STATEMENT, reply="Noted.")
    other = finished_turn(alice, conversation.id, text="Hello", reply="Hello.")
    receipt = forgotten(alice)
    memory_id = receipt.items["memory"][0]
    event = f'{{"type": "memory", "memory_id": "{memory_id}", "statement": "{STATEMENT}"}}'
    redis_client().xadd(stream_key(told.id), {"event": event, "attempt": 1})
    redis_client().xadd(stream_key(other.id), {"event": '{"type": "text"}', "attempt": 1})

    stages.advance(timezone.now())

    assert not redis_client().exists(stream_key(told.id))
    assert redis_client().exists(stream_key(other.id))


def test_while_a_job_about_it_waits_it_is_not_out_of_the_queues(alice):
    receipt = forgotten(alice)
    body = base64.b64encode(json.dumps([[receipt.items["memory"][0]], {}, {}]).encode()).decode()
    redis_client().lpush("celery:memory", json.dumps({"body": body}))
    assert advanced(receipt).stored_at is None

    redis_client().delete("celery:memory")

    assert advanced(receipt).stored_at is not None


def test_an_undone_one_is_followed_no_further(alice):
    memory = remember(alice, STATEMENT).memory
    act = forgettings.forget(alice.id, [memory.id], now=timezone.now())
    forgettings.undo(alice.id, act.id, now=timezone.now())

    receipt = advanced(Receipt.objects.get(), at=timezone.now() + timedelta(days=1))

    assert receipt.finished_at is None
    assert [each.progress for each in stages.outlook(receipt, now=timezone.now())] == [Progress.BACK]


def test_the_outlook_says_what_is_gone_what_goes_when_and_what_is_out_of_reach(alice, configure):
    configure(STRATA_BACKUP_DAYS="7", STRATA_PROVIDER_RETENTION_DAYS="30")
    receipt = advanced(forgotten(alice))
    ended = receipt.finished_at

    found = {each.where: (each.progress, each.at) for each in stages.outlook(receipt, now=timezone.now())}

    assert found[Place.ROWS] == (Progress.GONE, ended)
    assert found[Place.FILES] == (Progress.PENDING, ended + timedelta(hours=24))
    assert found[Place.BACKUPS] == (Progress.PENDING, ended + timedelta(days=7))
    assert found[Place.EXPORTS] == (Progress.OUT_OF_REACH, None)
    assert found[Place.PROVIDER] == (Progress.OUT_OF_REACH, receipt.forgotten_at + timedelta(days=30))


def test_where_nobody_says_what_the_provider_keeps_no_day_is_named(alice):
    (provider,) = [
        each for each in stages.outlook(forgotten(alice), now=timezone.now()) if each.where == Place.PROVIDER
    ]

    assert provider.at is None


def test_the_journal_is_written_and_receipts_are_followed_each_minute(alice, configure, tmp_path):
    configure(STRATA_ERASURES_FILE=str(tmp_path / "erasures.jsonl"))
    receipt = forgotten(alice)

    tasks.advance()

    receipt.refresh_from_db()
    assert receipt.finished_at is not None
    assert str(receipt.id) in (tmp_path / "erasures.jsonl").read_text()


def test_following_many_takes_a_fixed_number_of_looks(alice, django_assert_max_num_queries):
    for number in range(12):
        memory = remember(alice, f"I own boat number {number}").memory
        longterm.forget(alice.id, memory.id, now=timezone.now())

    with django_assert_max_num_queries(24):
        stages.advance(timezone.now())

    assert not Receipt.objects.filter(finished_at=None).exists()


def test_a_receipt_of_what_is_gone_is_verified(alice):
    verdict = verifying.verify(advanced(forgotten(alice)), text=STATEMENT)

    assert verdict.is_right
    assert {check.name: check.said for check in verdict.checks} == {
        "signature": "valid",
        "rows": "none left",
        "tombstones": "1 of 1 memories",
        "text": "is what was forgotten",
        "elsewhere": "nowhere",
    }


@pytest.mark.parametrize("broken", ["signature", "rows", "tombstones", "text", "elsewhere"])
def test_each_check_of_a_receipt_can_fail(alice, broken):
    receipt = advanced(forgotten(alice))
    match broken:
        case "signature":
            receipt.counts = {"records": 3}
        case "rows":
            receipt.items["memory"].append(str(remember(alice, "I like tea").memory.id))
        case "tombstones":
            Tombstone.objects.all().delete()
        case "elsewhere":
            message(alice, f"By the way: {STATEMENT.upper()}!")
    text = "I like tea" if broken == "text" else STATEMENT

    verdict = verifying.verify(receipt, text=text)

    assert broken in [check.name for check in verdict.checks if not check.is_right]


def test_the_look_for_a_text_reaches_every_table_with_rows_of_a_person(alice, bob):
    everything_of(alice)

    found = {place.split(".")[0] for place in verifying.places(alice.id, "marmalade")}

    assert {
        "longterm_memory", "transcript_message", "transcript_summary", "transcript_conversation",
        "transcript_pinnedline", "scratchpad_run", "scratchpad_step",
    } <= found  # fmt: skip
    assert verifying.places(bob.id, "marmalade") == []


def test_the_command_ends_with_status_1_when_something_is_not_as_a_receipt_says(alice, capsys):
    receipt = advanced(forgotten(alice))
    call_command("verify_receipt", str(receipt.id))
    assert "1 looked at, 0 not as they say." in capsys.readouterr().out
    Receipt.objects.update(counts={"records": 5})

    with pytest.raises(SystemExit) as ended:
        call_command("verify_receipt", "--all", "--json")

    assert ended.value.code == 1
    assert json.loads(capsys.readouterr().out)["checks"]["signature"]["ok"] is False


def test_a_receipt_that_is_not_there_is_an_error(alice):
    with pytest.raises(CommandError, match="no such receipt"):
        call_command("verify_receipt", "01a22ecb-da8e-7670-8ee4-f4adb6d15ebf")
