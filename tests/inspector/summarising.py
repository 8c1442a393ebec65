"""A conversation about a trip to Lisbon, summarised once and once more."""

import pytest
from django.urls import reverse

from memoryapp.llm.base import Usage
from memoryapp.transcript import queries, summaries
from memoryapp.transcript.models import Summary
from memoryapp.transcript.summaries import NewSummary
from tests.talking import say
from tests.turns import start

GOAL = "Plan a trip to Lisbon in May."
RULE = "Never book before nine in the morning."
ALLERGY = "My sister Irene is allergic to walnuts."
FIRST = "## Goal\n- Plan a trip to Lisbon in May.\n\n## Open questions\n- Which hotel?"
SECOND = "## Goal\n- Plan a trip to Lisbon in May.\n\n## Facts and decisions\n- The hotel is the Miradouro."


@pytest.fixture
def conversation(alice):
    """Four turns."""
    conversation = start(alice, title="Lisbon")
    say(conversation, f"{GOAL} {RULE}", "Gladly. Which hotel do you prefer?")
    say(conversation, ALLERGY, "Noted, thank you.")
    say(conversation, "Take the hotel Miradouro.", "The hotel is the Miradouro.")
    say(conversation, "What about trains?", "There is one at noon.")
    conversation.refresh_from_db()
    return conversation


@pytest.fixture
def first(conversation):
    return summarise(conversation, FIRST, last_seq=2)


@pytest.fixture
def second(conversation, first):
    return summarise(conversation, SECOND, last_seq=3, replaces=first)


def turn_of(conversation, seq: int):
    return queries.turns(conversation.user_id, conversation.id).get(seq=seq)


def summarise(conversation, text: str, *, last_seq: int, replaces=None, lines=(), **changes) -> Summary:
    made = {
        "method": Summary.Method.MODEL,
        "model": "claude-haiku-5-5",
        "trigger": Summary.Trigger.AFTER_TURN,
        "tokens_before": 400,
        "usage": Usage(input_tokens=1_200, output_tokens=300),
    }
    new = NewSummary(
        last_turn_id=turn_of(conversation, last_seq).id, last_seq=last_seq, text=text, **(made | changes)
    )
    added = summaries.add_summary(conversation, new, replaces=replaces, lines=lines)
    assert added is not None
    return added


def page_of(summary: Summary, query: str = "") -> str:
    return reverse("inspector:summary", args=[summary.conversation_id, summary.version]) + query
