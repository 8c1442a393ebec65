"""``manage.py demo_data``: something believable in every memory, once."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memoryapp.accounts import operations as accounts
from memoryapp.accounts.models import User
from memoryapp.longterm import operations as longterm
from memoryapp.longterm import queries as memories
from memoryapp.management.example import TALKS
from memoryapp.scratchpad import queries as scratchpad
from memoryapp.transcript import operations as transcript
from memoryapp.transcript import queries

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
        "experiences": memories.experiences(user.id).count(),
        "runs": scratchpad.count(user.id),
    }


def statements(user: User, status: str) -> list[str]:
    return [memory.statement for memory in memories.memories(user.id, status=status)]


def test_the_transcript_has_weeks_of_talk_and_a_summary(admin):
    demo_data()

    talks = {talk.title: talk for talk in queries.conversation_list(admin.id)}
    moving = talks["Moving from Lisbon to Porto"]
    first, *_, last = queries.spoken_turns(admin.id, moving.id, after_seq=0, before_seq=100)
    assert len(talks) == len(TALKS)
    assert timezone.now() - first.said_at > timedelta(days=33)
    assert moving.updated_at == last.said_at
    summary = queries.current_summary(admin.id, moving.id)
    assert summary.last_seq == 3
    assert summary.tokens_after < summary.tokens_before


def test_memory_has_a_superseded_a_pending_and_a_soon_expiring_fact(admin):
    demo_data()

    city = memories.memories(admin.id, key="city").get()
    soon = memories.expiring_soon(admin.id, now=timezone.now(), days=7)
    assert city.statement == "I live in Porto now"
    assert statements(admin, "superseded") == ["I live in Lisbon"]
    assert statements(admin, "pending") == ["All future parcels may be left with the neighbour"]
    assert "My order number at Lumen is LM-4417, a desk lamp" in [memory.statement for memory in soon]
    assert len({memory.kind.slug for memory in memories.memories(admin.id)}) >= 6


def test_a_run_shows_its_steps_and_taught_something(admin):
    demo_data()

    run = scratchpad.runs(admin.id).get()
    assert [step.status for step in scratchpad.steps(run)] == ["ok", "error", "ok", "ok"]
    assert run.pad["facts"][-1] == {"key": "339 * 1.06", "value": "359.34", "source": "calculate"}
    assert len(run.pad["failed"]) == 1
    assert memories.experiences(admin.id).get().source_run_id == run.id


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
    piano = memories.memories(admin.id, text="piano").get()
    longterm.forget(admin.id, piano.id, now=timezone.now())

    demo_data()

    assert not memories.memories(admin.id, text="piano", status="any").exists()


def test_a_deleted_conversation_comes_back_without_doubling_its_facts(admin):
    demo_data()
    before = sorted(statements(admin, "active"))
    moving = queries.conversation_list(admin.id, matching="Porto").get()
    transcript.delete_conversation(admin.id, moving.id)

    demo_data()

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
