"""The model's ``get_fact`` and ``list_facts``: what SQL answers, of this person's live memories and no others."""

import json
from datetime import UTC, datetime
from uuid import UUID

import pytest
from pydantic import ValidationError

from memoryapp.accounts.models import User
from memoryapp.errors import InvalidInputError
from memoryapp.llm.base import Cancellation
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.models import Kind, Memory
from memoryapp.longterm.tools import GET_FACT, LIST_FACTS
from memoryapp.policies.trust import Origin
from memoryapp.tooling.base import Tool, ToolContext, ToolOutput
from tests.longterm.saying import DAY, NOW, remember


def call(tool: Tool, user: User, *, time_zone="UTC", **arguments) -> ToolOutput:
    context = ToolContext(
        user_id=user.id,
        conversation_id=UUID(int=2),
        run_id=UUID(int=3),
        tool_use_id="call_1",
        time_zone=time_zone,
        now=NOW,
        epoch_at_start=0,
        cancellation=Cancellation(),
    )
    return tool.run(tool.checked(arguments), context)


def found(tool: Tool, user: User, **arguments) -> list[dict]:
    return json.loads(call(tool, user, **arguments).content)["memories"]


def listed(user: User, **arguments) -> list[str]:
    return [item["statement"] for item in found(LIST_FACTS, user, **arguments)]


def make(memory: Memory, **values) -> None:
    """What only time or other rooms do."""
    Memory.objects.filter(id=memory.id).update(**values)


def test_the_value_of_a_key_is_found_and_shown_as_recall_shows_it(alice):
    memory = remember(alice, "My shoe size is 43", kind="identity", key="shoe_size").memory

    output = call(GET_FACT, alice, key="shoe_size")

    assert json.loads(output.content) == {
        "memories": [
            {
                "id": str(memory.id),
                "kind": "identity",
                "statement": "My shoe size is 43",
                "origin": "user_typed",
                "said_on": NOW.date().isoformat(),
                "confidence": 0.95,
                "key": "shoe_size",
            }
        ]
    }
    assert output.origin == Origin.USER_TYPED


def test_capitals_in_a_key_are_forgiven(alice):
    remember(alice, "The cat is Miso", key="pet.name")

    assert [item["statement"] for item in found(GET_FACT, alice, key="Pet.Name")] == ["The cat is Miso"]


def test_for_an_unknown_key_the_known_ones_are_named(alice, bob):
    remember(alice, "My shoe size is 43", key="shoe_size")
    remember(alice, "I live in Porto", key="city", origin=Origin.IMPORTED)
    remember(alice, "I like tea")
    remember(bob, "I am 180 cm tall", key="height")

    output = call(GET_FACT, alice, key="size")

    assert json.loads(output.content) == {"memories": [], "known_keys": ["city", "shoe_size"]}
    assert output.origin == Origin.IMPORTED


def test_the_former_value_of_a_key_is_not_found(alice):
    remember(alice, "I live in Lisbon", key="city", said_at=NOW - DAY)
    remember(alice, "I live in Porto", key="city")

    assert [item["statement"] for item in found(GET_FACT, alice, key="city")] == ["I live in Porto"]
    assert listed(alice) == ["I live in Porto"]


@pytest.mark.parametrize("origin", Origin)
def test_the_answer_is_as_trusted_as_the_weakest_of_its_memories(alice, origin):
    """What strangers wrote is live only by its person's word, and then as trusted as that."""
    remember(alice, "I like tea")
    memory = remember(alice, "I like cake", key="cake", origin=origin).memory
    if memory.status == Memory.Status.PENDING:
        longterm.confirm(alice.id, memory.id, version=memory.version, now=NOW)
        origin = Origin.USER_CONFIRMED

    assert call(LIST_FACTS, alice).origin == origin
    assert call(GET_FACT, alice, key="cake").origin == origin


def test_what_strangers_wrote_comes_without_its_links_also_when_its_person_confirmed_it(alice):
    text = "The form is at [the office](https://evil.example)"
    waiting = remember(alice, text, key="form", origin=Origin.UNTRUSTED).memory
    longterm.confirm(alice.id, waiting.id, version=waiting.version, now=NOW)

    [item] = found(GET_FACT, alice, key="form")

    assert item["statement"] == "The form is at the office"
    assert item["origin"] == Origin.USER_CONFIRMED


def test_tickets_come_newest_first_and_no_more_than_asked_for(alice):
    for number in range(5):
        remember(alice, f"Ticket {number} is open", kind="ticket", said_at=NOW - number * DAY)
    remember(alice, "I like tea")

    output = json.loads(call(LIST_FACTS, alice, kind="ticket", limit=3).content)

    assert [item["statement"] for item in output["memories"]] == [f"Ticket {n} is open" for n in range(3)]
    assert output["more"] is True


def test_where_that_was_all_there_is_no_more(alice):
    remember(alice, "I like tea")

    assert "more" not in json.loads(call(LIST_FACTS, alice, limit=1).content)


def test_they_can_come_oldest_first(alice):
    for days in (2, 3, 1):
        remember(alice, f"Said {days} days ago", said_at=NOW - days * DAY)

    assert listed(alice, order="oldest") == ["Said 3 days ago", "Said 2 days ago", "Said 1 days ago"]


def test_what_expires_comes_soonest_first_without_what_never_does(alice):
    remember(alice, "For half a year", kind="event")
    remember(alice, "For ever", kind="identity")
    remember(alice, "For a month", kind="ticket")

    items = found(LIST_FACTS, alice, order="expiring")

    assert [item["statement"] for item in items] == ["For a month", "For half a year"]


def test_the_end_is_told_in_the_persons_own_time(alice):
    alice.time_zone = "Asia/Kathmandu"
    alice.save()
    remember(alice, "For a month", kind="ticket")

    (item,) = found(LIST_FACTS, alice, time_zone="Asia/Kathmandu")

    assert item["expires"].endswith("T00:00+05:45")
    assert 30 <= (datetime.fromisoformat(item["expires"]) - NOW) / DAY <= 32


def test_they_can_come_by_key_and_then_only_with_one(alice):
    remember(alice, "I like tea")
    remember(alice, "I live in Porto", key="city")
    remember(alice, "Miso", key="pet.name")
    remember(alice, "I am 40", key="age")

    assert listed(alice, order="key") == ["I am 40", "I live in Porto", "Miso"]


def test_what_was_said_since_a_day_starts_at_its_local_midnight(alice):
    midnight = datetime(2026, 3, 9, 18, 15, tzinfo=UTC)  # in Kathmandu
    remember(alice, "Just before", kind="identity", said_at=midnight - DAY / 86_400)
    remember(alice, "Just then", kind="identity", said_at=midnight)

    assert listed(alice, said_after="2026-03-10", time_zone="Asia/Kathmandu") == ["Just then"]


@pytest.mark.parametrize(("day", "expected"), [("0001-01-01", ["I like tea"]), ("9999-12-31", [])])
def test_the_first_and_the_last_day_there_are_do_no_harm(alice, day, expected):
    remember(alice, "I like tea")

    assert listed(alice, said_after=day, time_zone="Pacific/Kiritimati") == expected


def test_an_unknown_kind_is_answered_with_the_known_ones(alice):
    with pytest.raises(InvalidInputError, match=r"no kind 'tickets'\. Known kinds: identity, "):
        call(LIST_FACTS, alice, kind="tickets")


def test_others_memories_are_never_found(alice, bob):
    remember(bob, "I live in Braga", key="city")

    assert json.loads(call(GET_FACT, alice, key="city").content) == {"memories": [], "known_keys": []}
    assert listed(alice) == []


DEAD = {
    "pending": lambda memory: make(memory, status=Memory.Status.PENDING),
    "in conflict": lambda memory: make(memory, status=Memory.Status.CONFLICT),
    "superseded": lambda memory: make(memory, status=Memory.Status.SUPERSEDED),
    "past its date": lambda memory: make(memory, expires_at=NOW - DAY),
    "older than its kind allows": lambda memory: make(memory, affirmed_at=NOW - 400 * DAY),
    "under a new policy": lambda memory: (
        Kind.objects.filter(id=memory.kind_id).update(ttl_days=1),
        make(memory, affirmed_at=NOW - 10 * DAY),
    ),
    "forgotten": lambda memory: longterm.forget(memory.user_id, memory.id, now=NOW),
}


@pytest.mark.parametrize("die", DEAD.values(), ids=DEAD)
@pytest.mark.parametrize("order", ["newest", "oldest", "expiring", "key"])
def test_what_may_not_be_recalled_is_not_listed_either(alice, die, order):
    die(remember(alice, "I live in Porto", key="city").memory)

    assert listed(alice, order=order) == []
    assert json.loads(call(GET_FACT, alice, key="city").content) == {"memories": [], "known_keys": []}


def test_three_queries_are_enough_however_much_there_is(alice, django_assert_num_queries):
    for number in range(25):
        remember(alice, f"Fact {number}", key=f"k{number}")

    for tool, queries, arguments in (
        (GET_FACT, 2, {"key": "k1"}),
        (GET_FACT, 3, {"key": "unknown"}),
        (LIST_FACTS, 2, {"limit": 20}),
        (LIST_FACTS, 3, {"limit": 20, "kind": "event", "order": "expiring", "said_after": "2020-01-01"}),
    ):
        with django_assert_num_queries(queries):
            call(tool, alice, **arguments)


@pytest.mark.parametrize(
    ("tool", "wrong"),
    [
        *(
            (GET_FACT, {"key": key})
            for key in ("", "'; DROP TABLE x", "a%", "a b", "a.", "\x00", "\ud800", "a\n", "é", "a" * 101)
        ),
        *(
            (LIST_FACTS, {"kind": kind})
            for kind in ("'; DROP", "%", "\x00", "\ud800", "ticket\n", "a" * 51, None, 3)
        ),
        *((LIST_FACTS, {"limit": limit}) for limit in (-1, 0, 21, 10**9, "3", 2.5, True, None)),
        *((LIST_FACTS, {"order": order}) for order in ("", "random", "said_at", "-id", None)),
        *(
            (LIST_FACTS, {"said_after": day})
            for day in ("yesterday", "2026-02-30", "", "2026-01-01T10:00:00Z", [])
        ),
        (GET_FACT, {}),
        (GET_FACT, {"key": "city", "user_id": str(UUID(int=1))}),
        (LIST_FACTS, {"status": "pending"}),
        (LIST_FACTS, {"user_id": str(UUID(int=1))}),
    ],
)
def test_arguments_of_the_wrong_shape_are_refused(tool, wrong):
    with pytest.raises(ValidationError):
        tool.checked(wrong)


def test_a_kind_with_wildcards_means_itself(alice):
    remember(alice, "Ticket 1", kind="ticket")

    with pytest.raises(InvalidInputError):
        call(LIST_FACTS, alice, kind="ticke_")


@pytest.mark.parametrize("tool", [GET_FACT, LIST_FACTS], ids=lambda tool: tool.name)
def test_they_only_read(tool):
    assert not tool.side_effects
    assert not tool.asks_first(None, None)
    assert tool.definition.input_schema["additionalProperties"] is False
