"""``manage.py demo_data``: something believable in every memory, once."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memoryapp.accounts import operations as accounts
from memoryapp.accounts.models import User
from memoryapp.activity import queries as activity
from memoryapp.longterm import experience_queries
from memoryapp.longterm import operations as longterm
from memoryapp.longterm import queries as memories
from memoryapp.longterm.models import Memory
from memoryapp.management.example import TALKS
from memoryapp.policies.trust import Origin
from memoryapp.scratchpad import queries as scratchpad
from memoryapp.transcript import conversations, queries
from memoryapp.transcript.models import Conversation

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> User:
    return accounts.ensure_first_account()


def demo_data(*arguments: str) -> str:
    output = StringIO()
    call_command("demo_data", *arguments, stdout=output)
    return output.getvalue()


def rows(user: User) -> dict[str, int]:
    return {
        "conversations": queries.conversation_list(user.id).count(),
        "memories": memories.memories(user.id, status="any").count(),
        "experiences": experience_queries.unfaded(user.id).count(),
        "runs": scratchpad.count(user.id),
    }


def statements(user: User, status: str) -> list[str]:
    return [memory.statement for memory in memories.memories(user.id, status=status)]


def test_the_transcript_has_weeks_of_talk_and_a_summary(admin):
    demo_data()

    talks = {talk.title: talk for talk in queries.conversation_list(admin.id)}
    exhibition = talks["The Heron exhibition"]
    first, *_, last = queries.spoken_turns(admin.id, exhibition.id, after_seq=0, before_seq=100)
    assert len(talks) == len(TALKS)
    assert timezone.now() - first.said_at > timedelta(days=33)
    assert exhibition.updated_at == last.said_at
    summary = queries.current_summary(admin.id, exhibition.id)
    assert summary.last_seq == 3
    assert summary.tokens_after < summary.tokens_before


def test_memory_has_a_superseded_a_pending_and_a_soon_expiring_fact(admin):
    demo_data()

    venue = memories.memories(admin.id, key="heron.venue").get()
    soon = memories.expiring_soon(admin.id, now=timezone.now(), days=7)
    assert venue.statement == "Heron opens in the Town Library now"
    assert statements(admin, "superseded") == ["Heron opens in the Old Mill"]
    assert statements(admin, "pending") == ["All future parcels may be left with the neighbour"]
    assert "My order number at Lumen is LM-4417, a desk lamp" in [memory.statement for memory in soon]
    assert len({memory.kind.slug for memory in memories.memories(admin.id)}) >= 6


def test_a_run_shows_its_steps_and_taught_something(admin):
    demo_data()

    run = scratchpad.runs(admin.id).get()
    assert [step.status for step in scratchpad.steps(run)] == ["ok", "error", "ok", "ok"]
    assert run.pad["facts"][-1] == {"key": "339 * 1.06", "value": "359.34", "source": "calculate"}
    assert len(run.pad["failed"]) == 1
    assert experience_queries.unfaded(admin.id).get().source_run_id == run.id


def test_a_run_is_as_old_as_its_talk_has_spent_tokens_and_has_done_what_it_planned(admin):
    demo_data()

    run = scratchpad.runs(admin.id).get()
    said_at = queries.get_turn(admin.id, run.turn_id).created_at
    assert abs(run.started_at - said_at) < timedelta(seconds=30)
    assert run.input_tokens > 0
    assert run.output_tokens > 0
    assert run.pad["done"] == ["Add up nights and trains", "Put 6 % on top"]
    assert run.pad["todo"] == []


@pytest.mark.parametrize(
    ("kind", "statement", "key"),
    [("identity", "I live in Porto.", "city"), ("preference", "I only drink green tea.", "drink.preference")],
)
def test_it_contradicts_nothing_that_a_person_says_of_themself(admin, kind, statement, key):
    candidate = longterm.Candidate(
        kind=kind,
        statement=statement,
        key=key,
        origin=Origin.USER_TYPED,
        channel=Memory.Channel.API,
        said_at=timezone.now(),
    )
    longterm.remember(admin.id, candidate)

    demo_data()

    assert memories.memories(admin.id, key=key).get().statement == statement
    assert statements(admin, "conflict") == []
    assert (
        not memories.memories(admin.id, status="any", kind="identity").exclude(statement=statement).exists()
    )


def test_a_day_in_the_past_shows_what_was_known_then(admin):
    demo_data()

    def known(days_ago: int) -> set[str]:
        return {
            memory.statement for memory in memories.as_of(admin.id, timezone.now() - timedelta(days=days_ago))
        }

    assert known(60) == set()
    assert {"Heron opens in the Old Mill", "I prefer black frames for Heron"} <= known(30)
    assert "Heron opens in the Town Library now" not in known(30)
    assert "Heron opens in the Town Library now" in known(7)
    assert "Heron opens in the Old Mill" not in known(7)


def test_all_that_is_recorded_of_a_fact_is_as_old_as_its_words(admin):
    demo_data()

    venue = memories.memories(admin.id, key="heron.venue").get()
    former = memories.superseded_by(venue).get()
    entry = activity.entries(admin.id).get(subject_id=venue.id)
    recorded = {venue.recorded_at, former.superseded_at, entry.recorded_at}
    recorded |= {version.recorded_at for version in memories.versions(venue)}
    recorded |= {source.recorded_at for source in memories.sources(venue)}
    assert recorded == {venue.said_at}
    assert timezone.now() - venue.said_at > timedelta(days=11)


def test_no_lifetime_depends_on_when_it_was_added(admin):
    demo_data()

    for memory in memories.memories(admin.id, status="any"):
        assert memory.affirmed_at == memory.said_at
        assert memory.expires_at is None


def test_what_has_faded_meanwhile_is_not_added_again(admin):
    demo_data()
    for memory in memories.memories(admin.id, kind="session"):
        Memory.objects.for_user(admin).filter(id=memory.id).delete()
    before = rows(admin)

    said = demo_data()

    assert "nothing was added" in said
    assert rows(admin) == before


def test_every_quote_stands_in_its_message(admin):
    demo_data()

    for memory in memories.memories(admin.id, status="any").select_related("source_message"):
        assert memory.quote in memory.source_message.text


def test_a_second_run_adds_nothing_and_says_so(admin):
    demo_data()
    before = rows(admin)

    said = demo_data()

    assert "nothing was added" in said
    assert rows(admin) == before


def test_what_was_forgotten_meanwhile_stays_forgotten(admin):
    demo_data()
    frames = memories.memories(admin.id, text="black frames").get()
    longterm.forget(admin.id, frames.id, now=timezone.now())
    exhibition = queries.conversation_list(admin.id).get(title__contains="Heron")
    conversations.delete_conversation(admin.id, exhibition.id)

    demo_data()

    assert not memories.memories(admin.id, text="black frames", status="any").exists()


def test_a_conversation_deleted_a_moment_ago_is_brought_back(admin):
    demo_data()
    exhibition = queries.conversation_list(admin.id).get(title__contains="Heron")
    conversations.delete_conversation(admin.id, exhibition.id)

    demo_data()

    assert queries.get_conversation(admin.id, exhibition.id) == exhibition


def test_a_conversation_deleted_for_good_comes_back_without_doubling_its_facts(admin):
    demo_data()
    before = sorted(statements(admin, "active"))
    exhibition = queries.conversation_list(admin.id).get(title__contains="Heron")
    conversations.delete_conversation(admin.id, exhibition.id)
    Conversation.objects.filter(id=exhibition.id).update(undo_until=timezone.now() - timedelta(days=2))
    conversations.delete_for_good()

    said = demo_data()

    assert "1 conversation, 9 turns" in said
    assert queries.conversation_list(admin.id).count() == len(TALKS)
    assert sorted(statements(admin, "active")) == before


def test_only_the_named_account_gets_it(admin):
    bob = User.objects.create_user("bob")

    demo_data("bob")

    assert rows(bob)["conversations"] == len(TALKS)
    assert set(rows(admin).values()) == {0}


def test_an_unknown_account_is_named():
    with pytest.raises(CommandError, match="There is no account 'nobody'"):
        demo_data("nobody")
