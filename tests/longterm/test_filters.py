"""What a list of memories can be narrowed to, each filter by itself and all of them together."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memoryapp.context import uses
from memoryapp.longterm import forgettings, lifetimes, queries
from memoryapp.longterm.models import Memory
from memoryapp.policies.trust import Origin
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.transcript.models import Message
from tests.longterm.saying import DAY, NOW, message, remember, remember_from
from tests.turns import post


def found(user, **filters) -> list[str]:
    return sorted(queries.memories(user.id, **filters).values_list("statement", flat=True))


@pytest.fixture
def figs(alice) -> Memory:
    """Unlike the boat in everything that can be asked for; bob has the same."""
    turn = post(alice, "I like figs")
    run = scratchpad.open_run(user_id=alice.id, turn_id=turn.id, goal="I like figs", attempt=1)
    memory = remember(
        alice,
        "I like figs",
        kind="preference",
        origin=Origin.MODEL_INFERRED,
        channel="extraction",
        run_id=run.id,
        said_at=NOW - 10 * DAY,
    ).memory
    uses.note_looked_up(turn, [memory.id])
    Memory.objects.filter(id=memory.id).update(confidence=0.5)
    return memory


@pytest.fixture
def boat(alice) -> Memory:
    memory = remember(alice, "I own a boat", kind="identity", said_at=NOW - DAY).memory
    Memory.objects.filter(id=memory.id).update(confidence=0.9)
    return memory


@pytest.mark.parametrize(
    "filters",
    [
        {"text": "FIGS"},
        {"kind": "preference"},
        {"origin": "model_inferred"},
        {"channel": "extraction"},
        {"max_confidence": 0.5},
        {"max_confidence": 0.6, "min_confidence": 0.4},
        {"said_before": NOW - 2 * DAY},
        {"said_before": NOW - 10 * DAY + timedelta(seconds=1), "said_after": NOW - 10 * DAY},
        {"usage": "used"},
        {"expires_before": NOW + 400 * DAY},
    ],
    ids=" and ".join,
)
def test_one_of_two_is_found(alice, bob, figs, boat, filters):
    remember(bob, "I like figs", kind="preference")

    assert found(alice, **filters) == ["I like figs"]


@pytest.mark.parametrize(
    "filters",
    [
        {"min_confidence": 0.6},
        {"said_after": NOW - 2 * DAY},
        {"usage": "never"},
        {"channel": "api"},
    ],
    ids=" and ".join,
)
def test_or_the_other(alice, figs, boat, filters):
    assert found(alice, **filters) == ["I own a boat"]


def test_of_a_run(alice, figs, boat):
    assert found(alice, run_id=figs.source_run_id) == ["I like figs"]


def test_of_a_conversation_in_which_it_was_said_once_of_several_times(alice, bob, figs, boat):
    source = message(alice, "I own a boat")
    remember_from(alice, source, "I own a boat", kind="identity")
    conversation_id = Message.objects.get(id=source.message_id).turn.conversation_id

    assert found(alice, conversation_id=conversation_id) == ["I own a boat"]
    assert found(bob, conversation_id=conversation_id) == []


def test_what_is_kept_or_has_a_date_of_its_own(alice, figs, boat):
    lifetimes.keep(alice.id, [figs.id])
    lifetimes.end_at(alice.id, [boat.id], at=NOW + DAY)

    assert found(alice, lifetime="kept") == ["I like figs"]
    assert found(alice, lifetime="dated") == ["I own a boat"]
    assert len(found(alice)) == 2


def test_nothing_asked_for_is_everything_and_all_of_it_together_is_one(alice, figs, boat):
    assert found(alice) == ["I like figs", "I own a boat"]
    assert found(
        alice, text="figs", kind="preference", origin="model_inferred", channel="extraction", min_confidence=0.0,
        max_confidence=0.5, run_id=figs.source_run_id, said_after=NOW - 11 * DAY, said_before=NOW, usage="used",
        expires_before=NOW + 999 * DAY,
    ) == ["I like figs"]  # fmt: skip


def test_by_status(alice, figs):
    remember(alice, "order 77", kind="ticket", said_at=NOW - 60 * DAY)
    remember(alice, "I keep bees", origin=Origin.UNTRUSTED)
    remember(alice, "I live in Lisbon", key="city", said_at=NOW - DAY)
    remember(alice, "I live in Porto", key="city")

    assert found(alice, status="waiting") == ["I keep bees"]
    assert found(alice, status="expired") == ["order 77"]
    assert found(alice, status="superseded") == ["I live in Lisbon"]
    assert len(found(alice, status="any")) == 5


def test_uses_are_counted_per_reply_and_sorted_by(alice, figs, boat):
    for number in range(2):
        uses.note_looked_up(post(alice, f"And {number}?"), [figs.id])

    rows = queries.with_uses(queries.memories(alice.id)).order_by("-use_count", "-id")

    assert [(row.statement, row.use_count) for row in rows] == [("I like figs", 3), ("I own a boat", 0)]
    assert [row.last_used_at is None for row in rows] == [False, True]


def test_all_that_match_are_named_up_to_a_limit(alice, figs, boat):
    rows = queries.with_uses(queries.memories(alice.id)).order_by("-use_count", "-id")

    assert queries.ids_of(rows) == sorted([figs.id, boat.id])
    assert queries.ids_of(rows, limit=1) == [min(figs.id, boat.id)]


def test_kinds_are_counted_in_their_order(alice, bob, figs, boat):
    remember(alice, "I like plums", kind="preference")
    remember(bob, "I moved", kind="event")
    forgettings.forget(alice.id, [remember(alice, "I moved", kind="event").memory.id], now=timezone.now())

    counted = queries.counts_by_kind(alice.id, queries.memories(alice.id))

    assert [(kind.slug, rows) for kind, rows in counted] == [("identity", 1), ("preference", 2)]
    assert queries.counts_by_kind(bob.id, queries.memories(alice.id)) == []
