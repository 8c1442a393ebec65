"""How long conversations are kept: by their own rule, by the installation's, and as temporary ones."""

from datetime import date, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from memoryapp.activity.models import Entry
from memoryapp.errors import InvalidInputError, NotFoundError
from memoryapp.transcript import browsing, conversations, queries, retention, sources
from memoryapp.transcript.models import Conversation, MessageKey
from memoryapp.tuning import queries as tuning
from tests.transcript.branching import said, talk
from tests.turns import post, start


@pytest.fixture(autouse=True)
def quiet(nudges):
    """No worker is woken."""


@pytest.fixture
def rule(configure):
    """The installation keeps conversations for 30 days."""
    configure(STRATA_TRANSCRIPT_RETENTION_DAYS="30")


def spoken_days_ago(user, days: int) -> Conversation:
    conversation = said(user, "figs", start(user)).conversation
    Conversation.objects.filter(id=conversation.id).update(updated_at=timezone.now() - timedelta(days=days))
    return queries.get_conversation(user.id, conversation.id)


def is_there(conversation) -> bool:
    return Conversation.objects.filter(id=conversation.id, deleted_at=None).exists()


def test_without_a_rule_a_conversation_is_kept_for_ever(alice):
    old = spoken_days_ago(alice, 3_000)

    assert retention.delete_overdue() == 0

    assert (is_there(old), retention.kept_until(old)) == (True, None)


def test_the_rule_of_the_installation_deletes_what_was_silent_for_longer(alice, rule):
    old, new = spoken_days_ago(alice, 31), spoken_days_ago(alice, 29)

    assert retention.delete_overdue() == 1

    assert (is_there(old), is_there(new)) == (False, True)


def test_a_pinned_one_is_exempt_from_the_rule(alice, rule):
    old = spoken_days_ago(alice, 31)
    conversations.change_conversation(alice.id, old.id, is_pinned=True)

    assert retention.delete_overdue() == 0

    assert retention.kept_until(queries.get_conversation(alice.id, old.id)) is None


def test_its_own_days_stand_above_the_rule(alice, rule):
    longer, for_ever, shorter = (spoken_days_ago(alice, 40) for _ in range(3))
    retention.keep_for(alice.id, longer.id, days=50)
    retention.keep_for(alice.id, for_ever.id, days=retention.FOR_EVER)
    retention.keep_for(alice.id, shorter.id, days=2)

    retention.delete_overdue()

    assert [is_there(one) for one in (longer, for_ever, shorter)] == [True, True, False]


def test_its_own_days_count_for_a_pinned_one_too(alice):
    old = spoken_days_ago(alice, 3)
    conversations.change_conversation(alice.id, old.id, is_pinned=True)
    retention.keep_for(alice.id, old.id, days=2)

    assert retention.delete_overdue() == 1


def test_until_when_it_is_kept_is_said_from_its_last_message(alice, rule):
    conversation = spoken_days_ago(alice, 3)

    assert retention.kept_until(conversation) == conversation.updated_at + timedelta(days=30)


def test_what_the_sweep_deletes_can_be_brought_back_for_a_while(alice, rule):
    old = spoken_days_ago(alice, 31)

    retention.delete_overdue()
    conversations.restore_conversation(alice.id, old.id)

    assert is_there(old)


def test_one_that_is_being_answered_is_left(alice, rule):
    old = spoken_days_ago(alice, 31)
    post(alice, "dates", old)
    Conversation.objects.filter(id=old.id).update(updated_at=timezone.now() - timedelta(days=31))

    assert retention.delete_overdue() == 0


@pytest.mark.parametrize("days", [-1, 36_501])
def test_days_out_of_bounds_are_refused(alice, days):
    with pytest.raises(InvalidInputError):
        retention.keep_for(alice.id, start(alice).id, days=days)


def test_made_temporary_it_teaches_nothing_more_and_is_found_by_nothing(alice):
    (turn,) = talk(alice, "I live in Porto.")

    retention.make_temporary(alice.id, turn.conversation_id)

    conversation = queries.get_conversation(alice.id, turn.conversation_id)
    assert (conversation.is_temporary, conversation.save_memory) == (True, False)
    assert sources.not_extracted(alice.id, conversation.id, limit=5) == []
    assert not MessageKey.objects.filter(turn=turn).exists()
    assert not browsing.listed(alice.id).filter(id=conversation.id).exists()
    with pytest.raises(InvalidInputError):
        conversations.change_conversation(alice.id, conversation.id, save_memory=True)


def test_made_temporary_it_ends_hours_after_its_last_message(alice):
    conversation = spoken_days_ago(alice, 2)
    retention.make_temporary(alice.id, conversation.id)

    conversations.delete_for_good()

    assert not Conversation.objects.filter(id=conversation.id).exists()
    assert tuning.conf().temporary_hours <= 48


def test_a_temporary_one_takes_no_days_of_its_own(alice):
    conversation = start(alice, is_temporary=True)

    with pytest.raises(InvalidInputError):
        retention.keep_for(alice.id, conversation.id, days=5)


def test_bob_neither_keeps_nor_ends_alices(alice, bob):
    conversation = start(alice)

    with pytest.raises(NotFoundError):
        retention.keep_for(bob.id, conversation.id, days=5)
    with pytest.raises(NotFoundError):
        retention.make_temporary(bob.id, conversation.id)


def test_what_was_done_to_a_conversation_is_noted(alice):
    conversation = start(alice)

    conversations.change_conversation(alice.id, conversation.id, save_memory=False)
    retention.keep_for(alice.id, conversation.id, days=5)
    conversations.delete_conversation(alice.id, conversation.id)
    conversations.restore_conversation(alice.id, conversation.id)

    noted = Entry.objects.filter(user=alice, subject_id=conversation.id).order_by("recorded_at", "id")
    assert list(noted.values_list("verb", "detail")) == [
        ("switched", "save to memory off"),
        ("lifetime", "5 days"),
        ("deleted", ""),
        ("restored", ""),
    ]


@pytest.mark.parametrize("zone", ["Europe/Lisbon", "Pacific/Apia", "America/Los_Angeles"])
def test_until_a_day_is_until_that_day_of_its_person_is_over(alice, zone):
    type(alice).objects.filter(id=alice.id).update(time_zone=zone)
    old = spoken_days_ago(alice, 10)
    now = timezone.now()
    today = now.astimezone(ZoneInfo(zone)).date()

    days = retention.days_to(old, today, now=now)
    kept = retention.keep_for(alice.id, old.id, days=days)

    until = retention.kept_until(kept)
    assert until is not None
    assert now < until
    assert until.astimezone(ZoneInfo(zone)).date() == today + timedelta(days=1)
    assert retention.last_whole_day(kept) == today
    assert retention.delete_overdue() == 0


@pytest.mark.parametrize("day", [date(2020, 1, 1), date.max])
def test_a_day_that_is_over_or_out_of_reach_is_refused(alice, day):
    with pytest.raises(InvalidInputError):
        retention.days_to(start(alice), day, now=timezone.now())


@pytest.mark.parametrize("own_days", [None, 2])
def test_one_that_is_brought_back_is_kept_as_long_again(alice, rule, own_days):
    old = spoken_days_ago(alice, 31)
    retention.keep_for(alice.id, old.id, days=own_days)
    retention.delete_overdue()

    back = conversations.restore_conversation(alice.id, old.id)

    ahead = retention.kept_until(back) - timezone.now()
    assert timedelta(0) <= timedelta(days=own_days or 30) - ahead < timedelta(minutes=5)
    assert (retention.delete_overdue(), is_there(old)) == (0, True)


def test_one_whose_time_is_not_over_comes_back_as_it_was(alice, rule):
    recent = spoken_days_ago(alice, 29)
    conversations.delete_conversation(alice.id, recent.id)

    back = conversations.restore_conversation(alice.id, recent.id)

    assert back.updated_at == recent.updated_at
