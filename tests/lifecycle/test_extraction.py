"""What people say is learned once the talk pauses: from their own words alone, once, and nothing is lost on the way."""

import json
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from memoryapp.lifecycle import findings, operations, tasks
from memoryapp.lifecycle.extraction import extract
from memoryapp.lifecycle.models import LifecycleRun
from memoryapp.lifecycle.tasks import after_turn, extract_again, extract_conversation, sweep
from memoryapp.llm.base import ModelReply, ToolUse, Usage
from memoryapp.longterm import operations as longterm
from memoryapp.longterm import refusals
from memoryapp.longterm.models import Memory, MemorySource
from memoryapp.nudges import EXTRACT_CONVERSATION
from memoryapp.transcript import branches, claims, conversations, queries
from memoryapp.transcript.models import Conversation, Message, Turn
from tests.longterm.saying import Source, live, remember, remember_from
from tests.modelserver import calls, fails, reply
from tests.talking import say
from tests.turns import COMMITTED, NOW, at_once, claim, fresh, post, start

SAID = "I live in Porto."


@pytest.fixture(autouse=True)
def _at_once(configure):
    configure(STRATA_EXTRACTION_DELAY_S="0")


@pytest.fixture
def conversation(alice) -> Conversation:
    return start(alice)


def read(conversation: Conversation) -> None:
    extract_conversation(str(conversation.id))


def noted(*statements: dict) -> object:
    """A step of the model server: the model notes these."""
    return reply(calls("note_statements", statements=list(statements)))


def statement(quote: str, *, message: int = 1, **values: object) -> dict:
    return {"message": message, "quote": quote, "statement": quote, "kind": "identity", **values}


def answer_with(monkeypatch, *statements: dict, meanwhile=lambda: None) -> None:
    """The model notes these; ``meanwhile`` happens while it thinks."""

    def whole_reply(*_: object, **__: object) -> ModelReply:
        meanwhile()
        call = ToolUse("toolu_1", "note_statements", {"statements": list(statements)})
        return ModelReply("m", "m", (call,), "tool_use", Usage(input_tokens=1))

    monkeypatch.setattr(findings, "whole_reply", whole_reply)
    monkeypatch.setattr("memoryapp.lifecycle.extraction._asks_the_model", lambda _: True)


def last_run() -> LifecycleRun:
    return LifecycleRun.objects.filter(job="extraction").latest("finished_at", "id")


def unread() -> int:
    return Message.objects.filter(role="user", extracted_at=None).count()


def source_of(turn: Turn) -> Source:
    message = queries.user_message(turn)
    return Source(message.id, message.text)


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


class TestWhen:
    """After some seconds of quiet; a new turn moves it, and a lost nudge loses nothing."""

    def test_a_finished_turn_asks_for_it_after_the_delay(self, conversation, configure, monkeypatch):
        configure(STRATA_EXTRACTION_DELAY_S="20")
        sent = []
        monkeypatch.setattr(
            tasks, "nudge", lambda name, row_id, delay_s: sent.append((name, row_id, delay_s))
        )
        turn = say(conversation, SAID)

        after_turn(str(turn.id))

        assert sent == [(EXTRACT_CONVERSATION, conversation.id, 20.0)]
        assert Memory.objects.count() == 0

    def test_a_newer_turn_moves_it(self, conversation, configure):
        configure(STRATA_EXTRACTION_DELAY_S="20")
        ended(say(conversation, SAID), seconds_ago=25)
        newest = ended(say(conversation, "And I love jazz."), seconds_ago=5)

        read(conversation)
        early = live(conversation.user)
        ended(newest, seconds_ago=21)
        read(conversation)

        assert early == []
        assert live(conversation.user) == ["I live in Porto.", "I love jazz."]

    def test_a_reply_under_way_moves_it(self, conversation):
        ended(say(conversation, SAID), seconds_ago=60)
        post(conversation.user, "And?", conversation)

        read(conversation)

        assert Memory.objects.count() == 0

    def test_a_talk_that_never_pauses_is_read_all_the_same(self, conversation):
        ended(say(conversation, SAID), seconds_ago=200)
        post(conversation.user, "And?", conversation)

        read(conversation)

        assert live(conversation.user) == [SAID]

    def test_the_sweep_wakes_what_a_lost_nudge_left(self, conversation, monkeypatch):
        sent = []
        monkeypatch.setattr(tasks, "nudge", lambda name, row_id: sent.append((name, row_id)))
        ended(say(conversation, SAID), seconds_ago=200)
        recent(conversation)
        fresh_one, old = start(conversation.user), start(conversation.user)
        say(fresh_one, SAID)
        recent(fresh_one)
        ended(say(old, SAID), seconds_ago=200)
        Conversation.objects.filter(id=old.id).update(updated_at=timezone.now() - timedelta(days=8))

        sweep()

        assert sent == [(EXTRACT_CONVERSATION, conversation.id)]

    def test_what_was_read_is_not_woken(self, conversation, monkeypatch):
        sent = []
        monkeypatch.setattr(tasks, "nudge", lambda *args: sent.append(args))
        ended(say(conversation, SAID), seconds_ago=200)
        recent(conversation)
        read(conversation)

        sweep()

        assert sent == []

    def test_turns_are_read_before_they_leave_the_window(self, conversation, configure, monkeypatch):
        configure(STRATA_WINDOW_TOKENS="8000", STRATA_EXTRACTION_DELAY_S="3600")
        turn = say(conversation, SAID)
        Turn.objects.filter(id=turn.id).update(next_prompt_tokens=100_000)
        seen = []
        monkeypatch.setattr(
            "memoryapp.lifecycle.compaction.compact", lambda *_, **__: seen.append(live(conversation.user))
        )
        monkeypatch.setattr(operations, "compacted", lambda _, work: work())

        after_turn(str(turn.id))

        assert seen == [[SAID]]


def ended(turn: Turn, *, seconds_ago: int) -> Turn:
    moment = timezone.now() - timedelta(seconds=seconds_ago)
    Turn.objects.filter(id=turn.id).update(finished_at=moment)
    return fresh(turn)


def recent(conversation: Conversation) -> None:
    Conversation.objects.filter(id=conversation.id).update(updated_at=timezone.now())


class TestFailures:
    """Visible, repeated later, and never taken for "nothing was said"."""

    def test_a_provider_that_fails_is_seen_and_asked_again(self, conversation, model):
        say(conversation, SAID)
        model.script(fails(500, "api_error"))

        read(conversation)
        failed = last_run()
        later(minutes=1)
        model.script(noted(statement(SAID)))
        read(conversation)

        assert (failed.rows, failed.error_code) == (0, "model_provider_failed")
        assert live(conversation.user) == [SAID]
        assert last_run().error_code == ""

    def test_it_is_not_asked_again_at_once(self, conversation, model):
        say(conversation, SAID)
        model.script(fails(500, "api_error"))
        read(conversation)

        read(conversation)

        assert len(model.calls) == 1
        assert unread() == 1

    def test_an_admin_who_asks_does_not_wait_for_the_next_try(self, conversation, model):
        say(conversation, SAID)
        model.script(fails(500, "api_error"), noted(statement(SAID)))
        read(conversation)

        extract_again(str(conversation.id))

        assert live(conversation.user) == [SAID]
        assert last_run().error_code == ""

    @pytest.mark.parametrize("answer", ["", "null", "I noted it.", '{"statements": 3}', "{"])
    def test_an_answer_that_cannot_be_read_is_no_empty_list(self, conversation, model, answer):
        say(conversation, SAID)
        model.script(reply(answer) if answer else reply(), reply(answer) if answer else reply())

        read(conversation)

        assert last_run().error_code == "unreadable_answer"
        assert unread() == 1
        assert len(model.calls) == 2

    def test_an_answer_that_was_cut_is_no_answer(self, conversation, model):
        say(conversation, SAID)
        cut = reply(calls("note_statements", statements=[]), stop_reason="max_tokens")
        model.script(cut, cut)

        read(conversation)

        assert last_run().error_code == "unreadable_answer"

    @pytest.mark.parametrize(
        "form", ["```json\n{}\n```", "```\n{}\n```", "{}"], ids=["fenced", "fenced without a name", "bare"]
    )
    def test_the_same_as_text_is_an_answer(self, conversation, model, form):
        say(conversation, SAID)
        told = json.dumps({"statements": [statement(SAID)]})
        model.script(reply(form.replace("{}", told)))

        read(conversation)

        assert live(conversation.user) == [SAID]

    def test_rules_do_it_where_no_answer_can_ever_be_read(self, conversation, model):
        say(conversation, SAID)
        for _ in range(4):
            model.script(reply("What?"), reply("What?"))
            read(conversation)
            later(minutes=10)

        read(conversation)

        assert len(model.calls) == 8
        assert live(conversation.user) == [SAID]

    def test_a_full_memory_loses_nothing(self, conversation, configure):
        configure(STRATA_EXTRACTION_DELAY_S="0", STRATA_MEMORIES_PER_USER="100")
        Memory.objects.bulk_create(filler(conversation.user, number) for number in range(100))
        say(conversation, SAID)

        read(conversation)
        full = last_run()
        Memory.objects.filter(statement__in=["Filler 1", "Filler 2"]).delete()
        later(minutes=1)
        read(conversation)

        assert (full.error_code, full.rows) == ("memory_full", 0)
        assert SAID in live(conversation.user)

    def test_a_run_that_dies_is_repeated(self, conversation, monkeypatch):
        say(conversation, f"{SAID} I love jazz.")
        remember_within = longterm.remember_within

        def dies_at_jazz(user_id, candidate):
            if "jazz" in candidate.statement:
                raise KeyboardInterrupt
            return remember_within(user_id, candidate)

        monkeypatch.setattr(longterm, "remember_within", dies_at_jazz)
        with pytest.raises(KeyboardInterrupt):
            read(conversation)
        after_death = live(conversation.user)
        monkeypatch.setattr(longterm, "remember_within", remember_within)
        read(conversation)

        assert after_death == []
        assert live(conversation.user) == ["I live in Porto.", "I love jazz."]

    def test_the_parts_before_a_failure_are_kept(self, conversation, model):
        say(conversation, SAID + " " + "Well. " * 8_000)
        say(conversation, "I love jazz.")
        model.script(noted(statement(SAID)), fails(500, "api_error"))

        read(conversation)

        assert live(conversation.user) == [SAID]
        assert (last_run().rows, last_run().error_code) == (1, "model_provider_failed")
        assert unread() == 1


def later(*, minutes: int) -> None:
    """As if so much time had passed since the last run."""
    run = last_run()
    moment = run.finished_at - timedelta(minutes=minutes)
    LifecycleRun.objects.filter(id=run.id).update(finished_at=moment)


def filler(user, number: int) -> Memory:
    known = Memory.objects.first() or remember(user, "Filler 0").memory
    return Memory(
        user=user,
        kind=known.kind,
        statement=f"Filler {number}",
        digest=str(uuid4()),
        channel="api",
        origin="user_typed",
        confidence=1,
        said_at=known.said_at,
        valid_from=known.said_at,
        affirmed_at=known.affirmed_at,
    )


class TestMeanwhile:
    """What happens while the model thinks."""

    def test_a_fact_that_a_person_adds_survives(self, conversation, monkeypatch):
        say(conversation, SAID)
        answer_with(
            monkeypatch, statement(SAID), meanwhile=lambda: remember(conversation.user, "I like tea.")
        )

        read(conversation)

        assert live(conversation.user) == ["I like tea.", "I live in Porto."]

    def test_after_a_forgetting_nothing_of_it_is_written_and_it_is_read_again(
        self, conversation, monkeypatch
    ):
        said = say(conversation, f"{SAID} I love jazz.")
        kept = remember_from(conversation.user, source_of(fresh(said)), SAID, kind="identity").memory
        say(conversation, "My dog is called Rex.")
        findings_ = [statement(SAID, statement="The user's home is Porto"), statement("I love jazz.")]
        answer_with(monkeypatch, *findings_, meanwhile=lambda: forget(kept))

        read(conversation)
        overtaken = live(conversation.user), last_run().error_code
        monkeypatch.undo()
        later(minutes=1)
        read(conversation)

        assert overtaken == ([], "overtaken_by_forgetting")
        assert live(conversation.user) == ["My dog is called Rex."]

    def test_a_conversation_that_is_deleted_teaches_nothing(self, conversation, monkeypatch):
        say(conversation, SAID)
        answer_with(
            monkeypatch,
            statement(SAID),
            meanwhile=lambda: conversations.delete_conversation(conversation.user_id, conversation.id),
        )

        read(conversation)

        assert Memory.objects.count() == 0

    def test_a_message_that_is_edited_away_teaches_nothing(self, conversation, monkeypatch):
        turn = say(conversation, SAID)
        answer_with(
            monkeypatch, statement(SAID), meanwhile=lambda: branches.take_off(conversation.user_id, turn.id)
        )

        read(conversation)

        assert Memory.objects.count() == 0


def forget(memory: Memory) -> None:
    longterm.forget(memory.user_id, memory.id, now=timezone.now())


def test_what_was_forgotten_before_it_was_read_does_not_come_back_in_other_words(conversation, monkeypatch):
    turn = say(conversation, SAID)
    forget(remember_from(conversation.user, source_of(turn), SAID, kind="identity").memory)
    answer_with(monkeypatch, statement(SAID, statement="The user's home is Porto"))

    read(conversation)

    assert Memory.objects.count() == 0


def test_what_was_forgotten_after_it_was_read_is_not_read_again(conversation):
    say(conversation, SAID)
    read(conversation)
    forget(Memory.objects.get())

    read(conversation)
    extract(conversation)

    assert Memory.objects.count() == 0


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
