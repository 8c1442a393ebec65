"""What replies were given, memory by memory: noted once per turn, and counted."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from django.utils import timezone

from memoryapp.context import considered, queries, uses
from memoryapp.context.considered import Considered
from memoryapp.context.models import Use
from memoryapp.context.recall import Recall
from memoryapp.longterm import operations as longterm
from memoryapp.transcript import branches, conversations, deletions
from tests.context.saying import talk
from tests.longterm.saying import remember
from tests.modelserver import calls, reply
from tests.talking import say
from tests.turns import COMMITTED, ask, start

pytestmark = pytest.mark.usefixtures("nudges")


def given(*memories, is_in=True) -> Recall:
    return Recall(
        [
            Considered(memory, {}, 0.9, 0.9 - number / 10, included=is_in, reason="relevant")
            for number, memory in enumerate(memories)
        ]
    )


@COMMITTED
def test_what_the_prompt_began_with_is_noted_once_with_its_rank(alice, model):
    rule = remember(alice, "Always answer in French", kind="constraint").memory
    model.script(reply(calls("current_time")), reply("Bonjour."))

    turn = ask(alice, "Hello")

    assert list(Use.objects.values_list("turn_id", "memory_id", "rank", "score")) == [
        (turn.id, rule.id, 1, Use.AT_HAND)
    ]


@COMMITTED
def test_what_a_tool_answered_with_is_noted_too(alice, model):
    memory = remember(alice, "My order is AB-1", kind="ticket").memory
    model.script(reply(calls("list_facts")), reply("AB-1."))

    turn = ask(alice, "Hello")

    assert [(use.memory_id, use.rank) for use in queries.looked_up_in(alice.id, turn.id)] == [(memory.id, 1)]
    assert [use.turn_id for use in queries.uses_of(alice.id, memory.id)] == [turn.id]


@pytest.mark.django_db
class TestNoted:
    def test_a_second_attempt_changes_nothing(self, alice):
        first, second = (remember(alice, said).memory for said in ("I like figs", "I live in Lisbon"))
        turn = talk(alice, "Hello")
        uses.note_recalled(turn, given(first, second))

        uses.note_recalled(turn, given(second, first))

        found = queries.uses(alice.id).order_by("rank").values_list("memory_id", "rank")
        assert list(found) == [(first.id, 1), (second.id, 2)]

    def test_what_was_left_out_is_not_noted(self, alice):
        memory = remember(alice, "I like figs").memory

        uses.note_recalled(talk(alice, "Hello"), given(memory, is_in=False))

        assert not queries.uses(alice.id).exists()

    def test_what_was_recalled_stays_so_when_a_tool_answers_with_it_again(self, alice):
        memory = remember(alice, "I like figs").memory
        turn = talk(alice, "Hello")
        uses.note_recalled(turn, given(memory))

        uses.note_looked_up(turn, [memory.id])

        assert list(queries.uses_of(alice.id, memory.id).values_list("score", flat=True)) == [0.9]
        assert not queries.looked_up_in(alice.id, turn.id).exists()

    def test_another_persons_memory_is_not_noted(self, alice, bob):
        memory = remember(bob, "I like figs").memory

        uses.note_looked_up(talk(alice, "Hello"), [memory.id])

        assert not Use.objects.exists()

    def test_nothing_is_kept_of_what_is_forgotten(self, alice):
        memory = remember(alice, "I like figs").memory
        uses.note_recalled(talk(alice, "Hello"), given(memory))

        longterm.forget(alice.id, memory.id, now=timezone.now())

        assert not queries.uses_of(alice.id, memory.id).exists()


@pytest.mark.django_db
class TestCounted:
    def test_uses_are_newest_first_and_lead_to_their_conversations(self, alice, django_assert_num_queries):
        memory = remember(alice, "I like figs").memory
        turns = [talk(alice, f"Question {number}") for number in range(3)]
        for turn in turns:
            uses.note_recalled(turn, given(memory))

        with django_assert_num_queries(1):
            found = [
                (use.turn_id, use.turn.conversation.title) for use in queries.uses_of(alice.id, memory.id)
            ]

        assert [turn_id for turn_id, _ in found] == [turn.id for turn in reversed(turns)]

    def test_what_every_prompt_holds_is_used_only_where_the_question_called_for_it(self, alice):
        memory = remember(alice, "I may not eat nuts", kind="constraint").memory
        always = Considered(memory, {}, None, 1.0, included=True, reason=considered.ALWAYS_USED)
        hello, asked = talk(alice, "Hello"), talk(alice, "What may I not eat?")
        uses.note_recalled(hello, Recall([always]))
        uses.note_recalled(asked, Recall([replace(always, arms={"cosine": 0.8}, confidence=0.9)]))

        called_for, at_hand = (
            queries.called_for_in(alice.id, memory.id),
            queries.at_hand_in(alice.id, memory.id),
        )

        assert [use.turn_id for use in called_for] == [asked.id]
        assert [use.turn_id for use in at_hand] == [hello.id]

    def test_other_people_have_no_uses_of_it(self, alice, bob):
        memory = remember(alice, "I like figs").memory
        uses.note_recalled(talk(alice, "Hello"), given(memory))

        assert not queries.uses_of(bob.id, memory.id).exists()
        assert queries.recalled_in_share(bob.id) == {}

    def test_what_is_not_shown_any_more_does_not_count(self, alice):
        memory = remember(alice, "I like figs").memory
        answered_again, deleted = talk(alice, "Hello"), talk(alice, "Hello")
        taken_out = talk(alice, "Hello")
        say(taken_out.conversation, "And then?")
        for turn in (answered_again, deleted, taken_out):
            uses.note_recalled(turn, given(memory))

        branches.ask_anew(alice, answered_again.id, idempotency_key="again", now=timezone.now())
        conversations.delete_conversation(alice.id, deleted.conversation_id)
        deletions.delete_turns(alice.id, taken_out.id, following=False, now=timezone.now())

        assert not queries.uses_of(alice.id, memory.id).exists()

    def test_weeks_begin_on_the_persons_monday_and_those_without_recalls_are_there(self, alice):
        alice.time_zone = "Pacific/Auckland"
        alice.save()
        memory = remember(alice, "I like figs").memory
        now = datetime(2026, 11, 30, 11, 0, tzinfo=UTC)
        for hours in (1, 25, 24 * 8 + 2):  # Monday 23:00 in Auckland; Sunday; the week before
            turn = talk(alice, f"Question {hours}")
            uses.note_recalled(turn, given(memory))
            Use.objects.filter(turn=turn).update(used_at=now - timedelta(hours=hours))

        found = queries.recalls_per_week(alice.id, weeks=3, now=now)

        assert found == [(date(2026, 11, 16), 1), (date(2026, 11, 23), 1), (date(2026, 11, 30), 1)]

    def test_the_share_is_of_the_newest_replies(self, alice):
        figs, tea = (remember(alice, said).memory for said in ("I like figs", "I drink tea"))
        old, *newest = [talk(alice, f"Question {number}") for number in range(5)]
        uses.note_recalled(old, given(tea))
        for turn in newest[:3]:
            uses.note_recalled(turn, given(figs))

        assert queries.recalled_in_share(alice.id, turns=4) == {figs.id: 0.75}

    def test_a_conversation_that_uses_no_memory_notes_nothing(self, alice):
        uses.note_recalled(talk(alice, "Hello", conversation=start(alice, use_memory=False)), Recall(()))

        assert not queries.uses(alice.id).exists()
