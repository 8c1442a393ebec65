"""The pages of the conversations: what was said, what it was rolled up into, what was learned."""

import pytest
from django.urls import reverse
from django.utils import timezone

from memoryapp.longterm.operations import Source
from memoryapp.transcript import conversations, queries, summaries
from memoryapp.transcript.models import Summary
from memoryapp.transcript.summaries import NewSummary
from tests.longterm.saying import remember_from
from tests.talking import say
from tests.world import everything_of

CONVERSATIONS = reverse("inspector:conversations")


@pytest.fixture
def conversation(alice):
    return conversations.start_conversation(alice, now=timezone.now(), title="Figs")


def test_conversations_are_listed_with_what_came_of_them(browser, alice, conversation):
    turn = say(conversation, "I like figs.", "Noted.")
    source = transcript_source(turn)
    remember_from(alice, source, "I like figs.")
    summarise(conversation)

    rows = browser.get(CONVERSATIONS).context["conversations"]

    assert [(row.title, row.turn_count, row.summary_count, row.memory_count) for row in rows] == [
        ("Figs", 1, 1, 1)
    ]


def test_a_conversation_shows_its_words_its_summary_and_what_was_learned(browser, alice, conversation):
    turn = say(conversation, "I like figs.", "Noted.")
    remember_from(alice, transcript_source(turn), "I like figs.")
    summarise(conversation)

    response = browser.get(reverse("inspector:conversation", args=[conversation.id]))

    context = response.context
    assert [(row.user_text, row.reply_text) for row in context["turns"]] == [("I like figs.", "Noted.")]
    assert [(row.version, row.first_seq, row.last_seq) for row in context["summaries"]] == [(1, 1, 1)]
    assert [row.statement for row in context["memories"]] == ["I like figs."]


def test_another_persons_conversation_does_not_exist(client, alice, bob):
    world = everything_of(alice)
    client.force_login(bob)

    response = client.get(reverse("inspector:conversation", args=[world.conversation_id]))

    assert response.status_code == 404


def transcript_source(turn):
    """The turn's own message, as a place where something was said."""
    asked = queries.user_message(turn)
    return Source(asked.id, asked.text)


def summarise(conversation) -> None:
    new = NewSummary(
        last_turn_id=queries.turns(conversation.user_id, conversation.id).get(seq=1).id,
        last_seq=1,
        text="The user likes figs.",
        method=Summary.Method.EXTRACTIVE,
        trigger=Summary.Trigger.AFTER_TURN,
        tokens_before=100,
    )
    summaries.add_summary(conversation, new, replaces=None)
