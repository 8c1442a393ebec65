"""What is always used has room of its own: it takes no answer's place, and one rule decides what of it stays."""

import pytest
from django.utils import timezone

from memoryapp.context import recall as recalls
from memoryapp.context.recall import Recall, prompt_items, trace
from memoryapp.llm.tokens import estimate_text
from memoryapp.longterm.feedback import give_feedback
from memoryapp.longterm.models import Memory
from memoryapp.policies.feedback import Verdict
from memoryapp.policies.fencing import as_data
from tests.longterm.saying import DAY, NOW, remember

TEA = "I only drink green tea, never coffee."
QUESTION = "Which green tea do I drink?"
RULES = ["Answer in French, please", "Never touch the production database", "I am allergic to peanuts"]
OVER = "over the limit of what is always used"


def facts(user, count: int) -> list[Memory]:
    """The first was affirmed last, and was recorded first."""
    return [
        remember(
            user, f"My shelf {number} holds volume {number}.", kind="identity", said_at=NOW - number * DAY
        ).memory
        for number in range(count)
    ]


def rules(user) -> list[Memory]:
    """Affirmed long before any of ``facts``."""
    return [remember(user, rule, kind="constraint", said_at=NOW - 300 * DAY).memory for rule in RULES]


def asked(user, question: str = QUESTION, **options) -> Recall:
    return recalls.recall(user.id, question, now=timezone.now(), **options)


def given(found: Recall, reason: str) -> list[str]:
    return [item.text for item in found.included if item.reason == reason]


def test_forty_facts_that_are_always_used_leave_the_answer_and_the_rules_their_room(alice):
    known = facts(alice, 40)
    rules(alice)
    remember(alice, TEA, kind="preference")

    found = asked(alice)

    always = given(found, "always used")
    assert given(found, "relevant") == [TEA]
    assert always[-3:] == RULES
    assert always[:-3] == [memory.statement for memory in known[: len(always) - 3]]
    assert len(always) > 10


def test_what_is_over_the_limit_is_named_with_its_reason(alice, configure):
    configure(STRATA_STANDING_MAX_TOKENS="500")
    facts(alice, 20)

    found = asked(alice, "Why is the sky blue?")

    assert estimate_text(as_data(prompt_items(found))) <= 500
    assert {entry["reason"] for entry in trace(found)} == {"always used", OVER}
    assert {entry["included"] for entry in trace(found) if entry["reason"] == OVER} == {False}


def test_affirming_a_fact_keeps_it(alice, configure):
    configure(STRATA_STANDING_MAX_TOKENS="500")
    known = facts(alice, 20)
    assert known[-1].statement not in given(asked(alice), "always used")

    give_feedback(alice.id, known[-1].id, Verdict.CONFIRMED, now=timezone.now())

    assert known[-1].statement in given(asked(alice), "always used")


def test_what_finds_no_room_among_them_is_recalled_when_it_is_asked_for(alice):
    known = facts(alice, 40)

    found = asked(alice, "What does my shelf 39 hold? Volume 39?")

    assert known[39].statement in given(found, "relevant")
    assert [item.what.id for item in found.considered].count(known[39].id) == 1


@pytest.mark.parametrize("question", [QUESTION, "What does my shelf 3 hold? Volume 3?", "Thanks!"])
def test_prompts_begin_with_the_same_facts_whatever_is_asked(alice, question):
    known = facts(alice, 5)
    remember(alice, TEA, kind="preference")

    items = prompt_items(asked(alice, question))

    assert [item.get("id") for item in items[:5]] == [str(memory.id) for memory in known]


def test_a_fact_that_is_looked_up_by_its_key_makes_room_for_another(alice):
    remember(alice, "I am Ana.", kind="identity", key="name", said_at=NOW - DAY)
    remember(alice, "I live in Porto.", kind="identity", key="city")
    room = {"standing_max_tokens": 110}
    assert given(asked(alice, "Thanks!", **room), "always used") == ["I live in Porto."]

    found = asked(alice, "Where do I live?", **room)

    assert [(item.text, item.reason) for item in found.included] == [
        ("I am Ana.", "always used"),
        ("I live in Porto.", "asked by key"),
    ]


def test_what_is_always_used_says_how_the_question_called_for_it(alice):
    known = facts(alice, 5)

    found = asked(alice, "What does my shelf 3 hold? Volume 3?")

    called_for = [item.what.id for item in found.given("fact") if item.confidence is not None]
    assert called_for[:1] == [known[3].id]
    assert {item.reason for item in found.given("fact")} == {"always used"}
