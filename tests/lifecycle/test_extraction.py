"""What people say is learned once the talk pauses: from their own words alone, and once."""

from contextlib import suppress
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from memoryapp.lifecycle.extraction import candidates_in, extract
from memoryapp.lifecycle.findings import UnreadableAnswerError
from memoryapp.lifecycle.models import LifecycleRun
from memoryapp.llm.base import Usage
from memoryapp.longterm import refusals
from memoryapp.longterm.models import Memory, MemorySource
from memoryapp.transcript import branches, claims, conversations, queries
from memoryapp.transcript.models import Message, Turn
from memoryapp.tuning import queries as tuning
from tests.lifecycle.extracting import SAID, answer_with, last_run, noted, read, source_of, statement, unread
from tests.longterm.saying import live, remember, remember_from
from tests.modelserver import reply
from tests.talking import say
from tests.turns import COMMITTED, NOW, at_once, claim, post, start

pytestmark = pytest.mark.usefixtures("read_at_once")


def test_what_was_said_is_learned_in_the_persons_words(conversation):
    turn = say(conversation, f"Hello! {SAID} What is the weather like?", "Sunny.")

    read(conversation)

    memory = Memory.objects.get()
    assert (memory.statement, memory.key, memory.kind.slug) == (SAID, "city", "identity")
    assert (memory.origin, memory.channel, memory.quote) == ("user_typed", "extraction", SAID)
    assert memory.source_message == queries.user_message(turn)
    assert memory.said_at == queries.user_message(turn).created_at
    assert (last_run().rows, last_run().subject_id, last_run().error_code) == (1, conversation.id, "")


def test_reading_twice_changes_nothing(conversation):
    say(conversation, SAID)
    read(conversation)
    first = list(Memory.objects.values())

    read(conversation)
    extract(conversation)

    assert list(Memory.objects.values()) == first
    assert MemorySource.objects.count() == 1
    assert LifecycleRun.objects.filter(job="extraction").count() == 1


@COMMITTED
def test_two_workers_at_once_learn_it_once(conversation):
    say(conversation, f"{SAID} I love jazz.")

    at_once(2, lambda _: read(conversation))

    assert live(conversation.user) == ["I live in Porto.", "I love jazz."]
    assert MemorySource.objects.count() == 2


def test_what_the_assistant_kept_already_is_not_kept_again(conversation):
    turn = say(conversation, f"By the way, {SAID}", "Noted.")
    remember_from(conversation.user, source_of(turn), SAID, kind="identity", key="city", quote=SAID)

    read(conversation)

    assert Memory.objects.count() == MemorySource.objects.count() == 1
    assert unread() == 0


def test_a_model_that_words_differently_what_the_assistant_kept_adds_nothing(conversation, monkeypatch):
    turn = say(conversation, SAID, "Noted.")
    remember_from(conversation.user, source_of(turn), SAID, kind="identity")
    answer_with(monkeypatch, statement(SAID, statement="The user's home is in Porto"))

    read(conversation)

    assert live(conversation.user) == [SAID]


def test_an_old_value_read_after_the_new_one_was_kept_makes_no_conflict(conversation):
    for place in ("Porto", "Lisbon"):
        turn = say(conversation, f"I live in {place}.")
        values = {"kind": "identity", "key": "city", "said_at": turn.created_at}
        remember_from(conversation.user, source_of(turn), f"I live in {place}.", **values)

    read(conversation)

    assert sorted(Memory.objects.values_list("statement", "status")) == [
        ("I live in Lisbon.", "active"),
        ("I live in Porto.", "superseded"),
    ]


class TestSources:
    """User messages of finished turns on the shown branch, where saving is on; nothing else."""

    def test_a_recalled_memory_is_not_learned_again(self, conversation, monkeypatch):
        remember(conversation.user, "I like tea.")
        say(conversation, "ok", "As you told me: I like tea.")
        answer_with(monkeypatch, statement("I like tea."), statement("ok", statement="I like tea."))

        read(conversation)

        assert Memory.objects.count() == 1
        assert MemorySource.objects.count() == 2  # the second "I like tea." quotes words that were said

    def test_neither_rules_nor_the_model_see_what_the_assistant_said(self, conversation, model):
        remember(conversation.user, "I like tea.")
        say(conversation, "ok", "You told me: I live in Rome.")
        model.script(noted())

        read(conversation)

        assert "Rome" not in str(model.calls[0].body)
        assert Memory.objects.count() == 1

    @pytest.mark.parametrize(
        "options", [{"is_temporary": True}, {"save_memory": False}], ids=["temporary", "saves nothing"]
    )
    def test_where_nothing_is_saved_nothing_is_learned(self, alice, options):
        silent = start(alice, **options)
        say(silent, SAID)

        read(silent)
        extract(silent)

        assert Memory.objects.count() == 0

    def test_what_was_said_while_saving_was_off_stays_unlearned(self, alice):
        silent = start(alice, save_memory=False)
        say(silent, SAID)

        conversations.change_conversation(alice.id, silent.id, save_memory=True)
        say(silent, "I love jazz.")
        read(silent)

        assert live(alice) == ["I love jazz."]

    def test_switching_on_what_is_on_loses_nothing(self, conversation):
        say(conversation, SAID)

        conversations.change_conversation(conversation.user_id, conversation.id, save_memory=True)
        read(conversation)

        assert live(conversation.user) == [SAID]

    def test_a_deleted_conversation_teaches_nothing(self, conversation):
        say(conversation, SAID)
        conversations.delete_conversation(conversation.user_id, conversation.id)

        read(conversation)
        extract(conversation)

        assert Memory.objects.count() == 0

    def test_a_version_that_was_edited_away_teaches_nothing(self, conversation):
        turn = say(conversation, "I live in Rome.")
        edited, _ = branches.ask_anew(conversation.user, turn.id, idempotency_key="e", now=NOW, text=SAID)
        held = claim(edited)
        finish(held)

        read(conversation)

        assert live(conversation.user) == [SAID]

    def test_a_turn_that_is_not_finished_is_not_read(self, conversation):
        claim(post(conversation.user, SAID, conversation))

        extract(conversation)

        assert Memory.objects.count() == 0
        assert unread() == 1

    @pytest.mark.parametrize("status", [Turn.Status.FAILED, Turn.Status.CANCELLED, Turn.Status.INTERRUPTED])
    def test_what_was_said_counts_though_no_answer_came(self, conversation, status):
        say(conversation, SAID, status=status)

        read(conversation)

        assert live(conversation.user) == [SAID]

    def test_somebody_else_in_an_imported_chat_is_no_source(self, conversation):
        say(conversation, SAID)
        Message.objects.update(speaker="Bob")

        read(conversation)

        assert Memory.objects.count() == 0

    def test_another_answer_to_the_same_words_teaches_them_once(self, conversation):
        turn = say(conversation, SAID)
        read(conversation)
        again, _ = branches.ask_anew(conversation.user, turn.id, idempotency_key="a", now=NOW)
        finish(claim(again))

        read(conversation)

        assert MemorySource.objects.count() == 1
        assert unread() == 0

    def test_a_copy_of_a_conversation_is_not_read_again(self, conversation):
        turn = say(conversation, SAID)
        read(conversation)

        copy = conversations.fork_conversation(conversation.user, turn.id, idempotency_key="f", now=NOW)
        read(copy)

        assert MemorySource.objects.count() == 1


def finish(held) -> None:
    claims.finish_turn(held, reply="ok", model="m", usage=Usage())


class TestOrigin:
    """Code says who says so, by the turn and by the words."""

    def test_the_models_own_words_are_inferred(self, conversation, monkeypatch):
        say(conversation, SAID)
        answer_with(monkeypatch, statement(SAID, statement="The user's home is Porto"))

        read(conversation)

        assert Memory.objects.get().origin == "model_inferred"

    def test_beside_untrusted_text_it_waits(self, conversation):
        turn = say(conversation, SAID)
        Turn.objects.filter(id=turn.id).update(taint="untrusted")

        read(conversation)

        memory = Memory.objects.get()
        assert (memory.origin, memory.status) == ("untrusted", "pending")
        assert live(conversation.user) == []

    def test_an_inference_is_as_weak_as_all_that_was_read_with_it(self, conversation, monkeypatch):
        say(conversation, SAID)
        tainted = say(conversation, "What does this page say?")
        Turn.objects.filter(id=tainted.id).update(taint="tool")
        answer_with(
            monkeypatch,
            statement(SAID),
            statement("Porto", statement="The user's home is Porto", kind="event"),
        )

        read(conversation)

        assert dict(Memory.objects.values_list("statement", "origin")) == {
            SAID: "user_typed",
            "The user's home is Porto": "tool",
        }


def test_what_happened_yesterday_is_dated_from_when_it_was_said(conversation):
    turn = say(conversation, "Yesterday I moved to Porto.")
    turn.messages.update(created_at=datetime(2026, 3, 1, 12, tzinfo=UTC))
    conversation.user.__class__.objects.update(time_zone="Europe/Lisbon")

    read(conversation)

    memory = Memory.objects.get()
    assert memory.said_at == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert memory.happened_at == datetime(2026, 2, 28, tzinfo=UTC)


@pytest.mark.parametrize("answer", [noted(statement(SAID)), reply("What?")], ids=["read", "unreadable"])
def test_what_asking_costs_counts_for_the_persons_day_though_nothing_is_kept(alice, model, answer):
    model.script(answer, answer)

    with suppress(UnreadableAnswerError):
        candidates_in(alice.id, SAID, now=timezone.now())

    used = tuning.usage_of(alice.id, now=timezone.now(), time_zone=ZoneInfo(alice.time_zone))
    assert used.output_tokens > 0
    assert not Memory.objects.exists()


def test_bobs_conversation_teaches_nothing_about_alice(alice, bob):
    theirs = start(bob)
    say(theirs, SAID)

    read(theirs)

    assert live(alice) == []
    assert live(bob) == [SAID]


def test_what_its_person_does_not_want_remembered_is_passed_over_for_good(alice, conversation):
    refusals.refuse(alice.id, "identity")
    say(conversation, SAID)

    read(conversation)

    assert (live(alice), unread(), last_run().error_code) == ([], 0, "")
