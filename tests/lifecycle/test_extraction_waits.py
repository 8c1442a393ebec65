"""When a conversation is read: after some seconds of quiet, and nothing is lost on the way."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memoryapp.lifecycle import operations, tasks
from memoryapp.lifecycle.tasks import after_turn, sweep
from memoryapp.longterm.models import Memory
from memoryapp.nudges import EXTRACT_CONVERSATION
from memoryapp.transcript.models import Conversation, Turn
from tests.lifecycle.extracting import SAID, read
from tests.longterm.saying import live
from tests.talking import say
from tests.turns import fresh, post, start

pytestmark = pytest.mark.usefixtures("read_at_once")


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
