"""The journal of erasures, and its replay over a database as it was before them."""

import json
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.db import connection, transaction
from django.utils import timezone

from memoryapp.accounts.models import User
from memoryapp.forgetting import erasures, operations, stages
from memoryapp.forgetting.scopes import Asked
from memoryapp.llm.base import Usage
from memoryapp.longterm import forgettings, tombstones
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.models import Memory, Tombstone
from memoryapp.longterm.reconciling import ForgottenError
from memoryapp.receipts import operations as receipts
from memoryapp.receipts.models import Receipt, Scope
from memoryapp.transcript import branches, claims, conversations, deletions, queries, redaction
from memoryapp.transcript.models import Conversation, Message, Turn
from tests.longterm.saying import live, message, remember, remember_from
from tests.turns import COMMITTED
from tests.world import finished_turn

STATEMENT = "My boat is called Zephyrine"


@pytest.fixture
def journal(tmp_path):
    """``journal()``: the lines of all that was forgotten so far."""
    path = tmp_path / "erasures.jsonl"

    def lines():
        erasures.write_journal(path)
        return path.read_bytes().splitlines(keepends=True)

    lines.path = path
    return lines


class Backup:
    """All rows as they are now, to be put back as a restored backup has them."""

    def __init__(self) -> None:
        with connection.cursor() as cursor:
            self._tables = [
                table
                for table in connection.introspection.table_names(cursor)
                if not table.startswith("django_m")
            ]
            cursor.execute("DROP SCHEMA IF EXISTS kept CASCADE")
            cursor.execute("CREATE SCHEMA kept")
            for table in self._tables:
                cursor.execute(f'CREATE TABLE kept."{table}" AS TABLE public."{table}"')

    def restore(self) -> None:
        with connection.cursor() as cursor:
            # As pg_restore does: no trigger and no foreign key is asked.
            cursor.execute("SET session_replication_role = replica")
            for table in self._tables:
                cursor.execute(f'DELETE FROM public."{table}"')
                cursor.execute(
                    "SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns WHERE "
                    "table_schema = 'public' AND table_name = %s AND is_generated = 'NEVER' AND is_identity = 'NO' "
                    "OR table_schema = 'public' AND table_name = %s AND is_identity = 'YES'",
                    [table, table],
                )
                columns = cursor.fetchone()[0]
                cursor.execute(
                    f'INSERT INTO public."{table}" ({columns}) OVERRIDING SYSTEM VALUE '
                    f'SELECT {columns} FROM kept."{table}"'
                )
            cursor.execute("SET session_replication_role = DEFAULT")
            cursor.execute("DROP SCHEMA kept CASCADE")


@COMMITTED
def test_a_fact_that_was_forgotten_after_the_backup_is_forgotten_again_and_its_neighbours_are_not(
    alice, bob, journal
):
    said = message(alice, STATEMENT)
    memory = remember_from(alice, said, STATEMENT).memory
    remember(alice, "I like tea")
    remember(bob, STATEMENT)
    backup = Backup()
    longterm.forget(alice.id, memory.id, now=timezone.now())
    lines = journal()
    backup.restore()
    assert live(alice) == ["I like tea", STATEMENT]

    done = erasures.replay(lines)

    assert (done.repeated, done.known, done.undone) == (1, 0, 0)
    assert live(alice) == ["I like tea"]
    assert live(bob) == [STATEMENT]


@COMMITTED
def test_what_is_forgotten_again_is_not_learned_again_from_the_restored_conversation(alice, journal):
    said = message(alice, STATEMENT)
    memory = remember_from(alice, said, STATEMENT).memory
    backup = Backup()
    longterm.forget(alice.id, memory.id, now=timezone.now())
    lines = journal()
    backup.restore()

    erasures.replay(lines)

    with pytest.raises(ForgottenError):
        remember_from(alice, said, STATEMENT, said_at=memory.said_at)


@COMMITTED
def test_tombstones_come_back_for_a_fact_that_the_backup_never_held(alice, journal):
    backup = Backup()
    memory = remember(alice, STATEMENT).memory
    longterm.forget(alice.id, memory.id, now=timezone.now())
    stones = sorted(Tombstone.objects.values_list("digest", "created_at"))
    lines = journal()
    backup.restore()
    assert not Tombstone.objects.exists()

    erasures.replay(lines)

    assert sorted(Tombstone.objects.values_list("digest", "created_at")) == stones


@COMMITTED
def test_what_was_being_forgotten_when_the_backup_was_made_is_gone_for_good(alice, journal):
    memory = remember(alice, STATEMENT).memory
    forgettings.forget(alice.id, [memory.id], now=timezone.now())
    backup = Backup()
    lines = journal()
    backup.restore()

    erasures.replay(lines)

    assert not Memory.everything.filter(id=memory.id).exists()


@COMMITTED
def test_a_forgetting_that_was_undone_is_not_repeated(alice, journal):
    memory = remember(alice, STATEMENT).memory
    backup = Backup()
    act = forgettings.forget(alice.id, [memory.id], now=timezone.now())
    journal()
    forgettings.undo(alice.id, act.id, now=timezone.now())
    lines = journal()
    backup.restore()

    done = erasures.replay(lines)

    assert (done.repeated, done.undone) == (0, 1)
    assert live(alice) == [STATEMENT]


@COMMITTED
def test_an_undo_after_the_backup_is_repeated_so_that_the_sweep_takes_nothing(alice, journal):
    memory = remember(alice, STATEMENT).memory
    act = forgettings.forget(alice.id, [memory.id], now=timezone.now())
    backup = Backup()
    forgettings.undo(alice.id, act.id, now=timezone.now())
    lines = journal()
    backup.restore()
    assert live(alice) == []

    erasures.replay(lines)

    assert live(alice) == [STATEMENT]
    assert Receipt.objects.get().undone_at is not None


@COMMITTED
def test_a_deleted_conversation_is_deleted_again(alice, journal):
    source = message(alice, STATEMENT)
    conversation = Message.objects.get(id=source.message_id).turn.conversation
    backup = Backup()
    conversations.delete_conversation(alice.id, conversation.id)
    lines = journal()
    backup.restore()

    erasures.replay(lines)

    assert not Conversation.objects.filter(id=conversation.id).exists()
    assert not Message.objects.filter(id=source.message_id).exists()


@COMMITTED
def test_a_deleted_turn_is_deleted_again_and_what_follows_keeps_its_number(alice, journal):
    first, second = _two_turns(alice)
    backup = Backup()
    deletions.delete_turns(alice.id, first.id, following=False, now=timezone.now())
    lines = journal()
    backup.restore()

    erasures.replay(lines)

    assert not Message.objects.filter(turn=first.id).exists()
    assert list(Turn.objects.values_list("id", "seq")) == [(second.id, 2)]


@COMMITTED
def test_a_redacted_message_says_nothing_any_more_for_its_words_are_not_kept(alice, journal):
    first, _ = _two_turns(alice)
    said = first.messages.get(role="user")
    backup = Backup()
    redaction.redact_message(alice.id, said.id, words="Zephyrine")
    lines = journal()
    assert not any(b"Zephyrine" in line for line in lines)
    backup.restore()

    erasures.replay(lines)

    said.refresh_from_db()
    assert said.text == redaction.MARK


@COMMITTED
def test_an_account_that_was_deleted_is_deleted_again(alice, bob, client, journal):
    client.force_login(alice)
    remember(alice, STATEMENT)
    remember(bob, STATEMENT)
    backup = Backup()
    with transaction.atomic():
        receipts.issue(alice.id, Scope.ACCOUNT, items={}, now=timezone.now())
    User.objects.filter(id=alice.id).delete()
    lines = journal()
    backup.restore()

    erasures.replay(lines)

    assert not User.objects.filter(id=alice.id).exists()
    assert not Session.objects.exists()
    assert live(bob) == [STATEMENT]
    assert Receipt.objects.get().scope == Scope.ACCOUNT


@COMMITTED
def test_what_everything_buried_is_buried_again_after_a_restore(alice, journal):
    backup = Backup()
    memory = remember(alice, STATEMENT).memory
    operations.forget(alice.id, Asked(Scope.EVERYTHING), now=timezone.now())
    lines = journal()
    backup.restore()

    erasures.replay(lines)

    with pytest.raises(ForgottenError):
        remember_from(alice, message(alice, STATEMENT), STATEMENT, said_at=memory.said_at)


@COMMITTED
def test_everything_takes_also_what_the_backup_alone_held(alice, journal):
    remember(alice, STATEMENT)
    message(alice, STATEMENT)
    backup = Backup()
    Memory.everything.all().delete()
    Conversation.objects.all().delete()
    with transaction.atomic():
        receipts.issue(alice.id, Scope.EVERYTHING, items={}, now=timezone.now())
    lines = journal()
    backup.restore()

    erasures.replay(lines)

    assert not Memory.everything.exists()
    assert not Conversation.objects.exists()


@COMMITTED
def test_a_replay_is_harmless_to_repeat(alice, journal):
    memory = remember(alice, STATEMENT).memory
    longterm.forget(alice.id, memory.id, now=timezone.now())
    lines = journal()
    stages.advance(timezone.now())

    again = erasures.replay(lines)

    assert (again.known, again.repeated) == (1, 0)
    assert Receipt.objects.get().finished_at is not None
    assert Receipt.objects.count() == 1


@COMMITTED
def test_a_replay_that_leaves_something_says_so(alice, journal, monkeypatch):
    memory = remember(alice, STATEMENT).memory
    backup = Backup()
    longterm.forget(alice.id, memory.id, now=timezone.now())
    lines = journal()
    backup.restore()
    monkeypatch.setattr(erasures.longterm, "erase", lambda *_, **__: None)

    with pytest.raises(erasures.NotForgottenAgainError) as refused:
        erasures.replay(lines)

    assert len(refused.value.details["receipts"]) == 1


@COMMITTED
def test_who_was_being_answered_when_the_backup_was_made_may_ask_again(alice, journal):
    message(alice, "Hello")
    memory = remember(alice, STATEMENT).memory
    longterm.forget(alice.id, memory.id, now=timezone.now())

    erasures.replay(journal())

    assert set(Turn.objects.values_list("status", flat=True)) == {"interrupted"}


def test_the_journal_holds_each_erasure_once_and_an_undo_as_another_line(alice, journal):
    memory = remember(alice, STATEMENT).memory
    act = forgettings.forget(alice.id, [memory.id], now=timezone.now())
    assert len(journal()) == 1
    assert len(journal()) == 1

    forgettings.undo(alice.id, act.id, now=timezone.now())

    assert [bool(json.loads(line)["receipt"]["undone_at"]) for line in journal()] == [False, True]
    assert journal.path.stat().st_mode & 0o777 == 0o600


def test_the_journal_does_not_say_what_was_forgotten(alice, journal):
    memory = remember(alice, STATEMENT).memory
    longterm.forget(alice.id, memory.id, now=timezone.now())

    (line,) = journal()

    assert b"Zephyrine" not in line
    assert tombstones.statement_digest(alice.forgetting_key, STATEMENT).encode() in line


def test_half_a_line_that_a_crash_left_is_written_over(alice, journal):
    memory = remember(alice, STATEMENT).memory
    longterm.forget(alice.id, memory.id, now=timezone.now())
    journal.path.write_bytes(b'{"receipt": {"id"')

    lines = journal()

    assert [json.loads(line)["receipt"]["scope"] for line in lines] == ["memory"]


def test_what_no_backup_is_old_enough_for_is_dropped_and_not_written_again(alice, journal):
    memory = remember(alice, STATEMENT).memory
    long_ago = timezone.now() - timedelta(days=40)
    longterm.forget(alice.id, memory.id, now=long_ago)
    newer = remember(alice, "I like tea").memory
    longterm.forget(alice.id, newer.id, now=timezone.now())
    assert len(journal()) == 2

    dropped = erasures.trim_journal(journal.path, older_than=timezone.now() - timedelta(days=31))

    assert dropped == 1
    assert sum("receipt" in json.loads(line) for line in journal()) == 1
    assert not erasures.covers(journal.path, made_at=long_ago)
    assert erasures.covers(journal.path, made_at=timezone.now() - timedelta(days=30))


def _two_turns(user: User) -> tuple[Turn, Turn]:

    conversation = conversations.start_conversation(user, now=timezone.now())
    first = finished_turn(user, conversation.id, text=STATEMENT, reply="Noted.")
    second = finished_turn(user, conversation.id, text="Thanks.", reply="You are welcome.")
    return first, second


@COMMITTED
def test_an_edit_that_was_forgotten_is_forgotten_again_and_the_version_before_is_shown(alice, journal):
    conversation = conversations.start_conversation(alice, now=timezone.now())
    before = finished_turn(alice, conversation.id, text="My sister is Ada.", reply="Noted.")
    after, _ = branches.ask_anew(alice, before.id, idempotency_key="edit", now=timezone.now(), text=STATEMENT)
    claim = claims.claim_turn(after.id)
    claims.finish_turn(claim, reply="Noted.", model="offline", usage=Usage())
    backup = Backup()
    with transaction.atomic():
        deletions.delete_these_within(alice.id, [after.id], now=timezone.now(), is_final=True)
    lines = journal()
    backup.restore()

    erasures.replay(lines)

    assert [turn.id for turn in queries.turns(alice.id, conversation.id)] == [before.id]
    assert not Message.objects.filter(text=STATEMENT).exists()
