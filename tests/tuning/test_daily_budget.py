"""What a person may use in a day: refused when it is spent, counted also when its chat is gone, new at midnight."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.urls import reverse
from django.utils import timezone

from chat import sending
from memoryapp.lifecycle import compaction, daily_budget, extraction, titling
from memoryapp.lifecycle import operations as lifecycle
from memoryapp.lifecycle.daily_budget import DailyBudgetSpentError
from memoryapp.lifecycle.models import LifecycleRun
from memoryapp.llm.base import Usage
from memoryapp.transcript import conversations, queries
from memoryapp.transcript.models import Summary, Turn
from memoryapp.tuning import operations as tuning
from memoryapp.tuning.models import DayUsage
from tests.api.conftest import program_of
from tests.turns import COMMITTED, answer, ask, at_once, post, start

LISBON_EVENING = datetime(2026, 7, 1, 22, 30, tzinfo=UTC)  # 23:30 there


@pytest.fixture
def limited(configure):
    configure(STRATA_DAILY_TOKENS="1000")


def spend(user, tokens: int = 1_000) -> None:
    tuning.spend(user.id, Usage(input_tokens=tokens - 1, output_tokens=1))


def used(user) -> int:
    return daily_budget.budget_of(user.id, now=timezone.now()).tokens


def test_nothing_is_refused_or_asked_for_without_a_budget(alice, django_assert_num_queries):
    spend(alice, 10**9)

    with django_assert_num_queries(0):
        daily_budget.require_left(alice.id, now=timezone.now())
        assert not daily_budget.is_spent(alice.id)


@pytest.mark.usefixtures("limited")
def test_a_spent_budget_says_which_and_when_there_is_a_new_one(alice):
    alice.time_zone = "Europe/Lisbon"
    alice.save()
    DayUsage.objects.create(user=alice, day="2026-07-01", input_tokens=900, output_tokens=100)

    with pytest.raises(DailyBudgetSpentError) as refusal:
        daily_budget.require_left(alice.id, now=LISBON_EVENING)

    assert str(refusal.value) == (
        "Today’s budget of 1,000 tokens is spent. There is a new one at midnight, "
        "on 2 July at 00:00 (Europe/Lisbon)."
    )
    assert refusal.value.details == {
        "budget": "tokens",
        "resets_at": "2026-07-02T00:00:00+01:00",
        "retry_after_s": 1800,
    }


@pytest.mark.usefixtures("limited")
def test_a_new_day_of_the_person_has_a_new_budget(alice):
    alice.time_zone = "Europe/Lisbon"
    alice.save()
    DayUsage.objects.create(user=alice, day="2026-07-01", input_tokens=1_000)

    daily_budget.require_left(alice.id, now=LISBON_EVENING + timedelta(minutes=30))

    with pytest.raises(DailyBudgetSpentError):
        daily_budget.require_left(alice.id, now=LISBON_EVENING)


@pytest.mark.usefixtures("limited")
def test_what_bob_used_is_not_alices(alice, bob):
    spend(bob)

    daily_budget.require_left(alice.id, now=timezone.now())


def test_dollars_are_counted_where_prices_are_known(alice, configure):
    configure(
        STRATA_DAILY_USD="0.01",
        STRATA_CHAT_MODEL="priced",
        STRATA_MODEL_SETTINGS='{"priced": {"usd_per_million_input": 2, "usd_per_million_output": 10}}',
    )
    tuning.spend(alice.id, Usage(input_tokens=10**6, output_tokens=0), in_background=True)
    daily_budget.require_left(alice.id, now=timezone.now())

    tuning.spend(alice.id, Usage(input_tokens=4_000, output_tokens=200))

    with pytest.raises(DailyBudgetSpentError, match=r"budget of \$0\.01 is spent"):
        daily_budget.require_left(alice.id, now=timezone.now())


@pytest.mark.usefixtures("limited", "nudges")
def test_a_message_is_refused_with_the_time(alice):
    conversation = start(alice)
    spend(alice)

    response = program_of(alice).post(
        f"/api/v1/conversations/{conversation.id}/turns",
        {"text": "Hello"},
        content_type="application/json",
    )

    problem = response.json()
    assert response.status_code == 429
    assert (problem["code"], problem["budget"]) == ("daily_budget_spent", "tokens")
    assert "There is a new one at midnight" in problem["detail"]
    assert 0 < int(response["Retry-After"]) <= 25 * 3600
    assert not Turn.objects.exists()


@pytest.mark.usefixtures("limited", "nudges")
def test_a_repeated_request_gets_its_turn_though_the_budget_is_spent_by_now(alice):
    conversation, key = start(alice), str(uuid4())
    asked = {"text": "Hello", "idempotency_key": key, "now": timezone.now()}
    first, _ = sending.post(alice, conversation.id, **asked)
    spend(alice)

    again, is_new = sending.post(alice, conversation.id, **asked)

    assert (again.id, is_new) == (first.id, False)


@pytest.mark.usefixtures("limited", "nudges")
def test_the_composer_keeps_what_was_written(browser, alice):
    conversation = start(alice)
    spend(alice)

    response = browser.post(
        reverse("chat:send", args=[conversation.id]),
        {"text": "My long message", "idempotency_key": str(uuid4())},
    )
    new_chat = browser.post(reverse("chat:start"), {"text": "Another one", "idempotency_key": str(uuid4())})

    assert (response.status_code, new_chat.status_code) == (429, 429)
    assert "My long message" in response.content.decode()
    assert "Today’s budget of 1,000 tokens is spent." in response.content.decode()
    assert not Turn.objects.exists()


@COMMITTED
def test_a_queued_message_of_a_spent_budget_fails_with_the_same_words(alice, model, nudges, configure):
    turn = post(alice, "Hello")
    configure(STRATA_DAILY_TOKENS="1000")
    spend(alice)

    ended = answer(turn)

    assert (ended.status, ended.error_code) == (Turn.Status.FAILED, "daily_budget_spent")
    assert "Today’s budget of 1,000 tokens is spent." in ended.error_message
    assert model.calls == []
    with pytest.raises(DailyBudgetSpentError):
        sending.retry(alice, turn.id)


@COMMITTED
def test_two_messages_at_the_edge_are_let_in_and_the_day_ends_above_by_one_reply(
    alice, model, nudges, configure
):
    """Both come while there is something left. The first reply is finished whatever it takes; the second fails."""
    configure(STRATA_DAILY_TOKENS="1000")
    spend(alice, 999)
    chats = [start(alice), start(alice)]

    first, second = at_once(
        2,
        lambda number: sending.post(
            alice, chats[number].id, text="Hello", idempotency_key=str(uuid4()), now=timezone.now()
        )[0],
    )

    assert answer(first).status == Turn.Status.COMPLETED
    assert used(alice) > 1_000
    assert answer(second).error_code == "daily_budget_spent"
    with pytest.raises(DailyBudgetSpentError):
        sending.post(alice, chats[0].id, text="Three", idempotency_key=str(uuid4()), now=timezone.now())


@COMMITTED
def test_replies_are_counted_and_stay_counted_when_their_chat_is_gone(alice, model, nudges):
    turn = ask(alice, "Hello")
    spent = turn.input_tokens + turn.cache_read_tokens + turn.cache_creation_tokens + turn.output_tokens

    assert used(alice) == spent > 0

    conversations.delete_conversation(alice.id, turn.conversation_id)
    Turn.objects.all().delete()
    assert used(alice) == spent


def test_jobs_are_counted(alice):
    conversation = start(alice)

    lifecycle.compacted(
        conversation,
        lambda: compaction.Compacted(versions=1, usage=Usage(input_tokens=70, output_tokens=30)),
    )

    assert used(alice) == 100
    assert LifecycleRun.objects.get().input_tokens == 70


@COMMITTED
def test_a_summary_is_made_without_the_model_when_the_budget_is_spent(alice, model, nudges, configure):
    conversation = start(alice)
    for text in ("I live in Porto and work as a potter. " * 30, "My order number is 4711. " * 30):
        ask(alice, text, conversation)
    configure(STRATA_DAILY_TOKENS="1000", STRATA_COMPACTION_KEEP_TURNS="1", STRATA_WINDOW_TOKENS="4000")
    spend(alice)
    asked = len(model.calls)

    compaction.compact(alice.id, conversation.id, trigger=Summary.Trigger.MANUAL)

    summary = queries.current_summary(alice.id, conversation.id)
    assert summary
    assert (summary.method, summary.fallback_reason) == (Summary.Method.EXTRACTIVE, "daily_budget_spent")
    assert len(model.calls) == asked


@COMMITTED
def test_titles_and_facts_are_found_without_the_model_when_the_budget_is_spent(
    alice, model, nudges, configure
):
    turn = ask(alice, "I live in Porto.")
    configure(STRATA_DAILY_TOKENS="1000")
    spend(alice)
    asked = len(model.calls)

    title = titling.give_title_if_due(turn)
    extracted = extraction.extract(turn.conversation)

    assert title is None
    assert (extracted.messages, extracted.memories) == (1, 1)
    assert len(model.calls) == asked


@pytest.mark.usefixtures("limited")
def test_the_person_sees_how_much_is_left(browser, alice):
    spend(alice, 250)

    page = browser.get(reverse("accounts:settings")).content.decode()

    assert "250 of 1,000 tokens used today" in page
    assert '<progress id="budget-tokens"' in page


def test_without_a_budget_the_person_sees_what_was_used(browser, alice):
    spend(alice, 250)

    assert (
        "250 tokens used today. There is no limit."
        in browser.get(reverse("accounts:settings")).content.decode()
    )
