"""What goes wrong while a conversation is read, or happens meanwhile: nothing is lost, nothing comes back."""

import json
from uuid import uuid4

import pytest
from django.utils import timezone

from memoryapp.lifecycle.extraction import extract
from memoryapp.lifecycle.tasks import extract_again
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.models import Memory
from memoryapp.transcript import branches, conversations
from tests.lifecycle.extracting import (
    SAID,
    answer_with,
    last_run,
    later,
    noted,
    read,
    source_of,
    statement,
    unread,
)
from tests.longterm.saying import live, remember, remember_from
from tests.modelserver import calls, fails, reply
from tests.talking import say
from tests.turns import fresh

pytestmark = pytest.mark.usefixtures("read_at_once")


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
