"""The example that ``demo_data`` adds: some weeks of one person's talk, with what came of it in each memory."""

from dataclasses import dataclass
from typing import Any

from memoryapp.policies.trust import Origin


@dataclass(frozen=True, slots=True)
class Fact:
    """Something to keep of a message; ``quote`` stands in it word for word."""

    kind: str
    statement: str
    quote: str
    key: str = ""
    origin: Origin = Origin.USER_TYPED


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call. ``noted``: what the scratchpad keeps of a result, as (key, value)."""

    action: str
    arguments: dict[str, Any]
    observation: str
    duration_ms: int
    noted: tuple[str, str] | None = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Exchange:
    """What both said, that many days ago."""

    days_ago: float
    text: str
    reply: str
    facts: tuple[Fact, ...] = ()
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Talk:
    """One conversation, oldest exchange first. ``summary`` stands for its first ``summarised`` exchanges."""

    slug: str
    title: str
    exchanges: tuple[Exchange, ...]
    summary: str = ""
    summarised: int = 0


MOVING = Talk(
    slug="moving",
    title="Moving from Lisbon to Porto",
    exchanges=(
        Exchange(
            34,
            "Hi! My name is Ana and I live in Lisbon. I am thinking of moving to Porto in autumn.",
            "Nice to meet you, Ana. Is it for work, or for the city? That decides what to look at first: "
            "the commute, or the quarter.",
            facts=(
                Fact("identity", "My name is Ana", "My name is Ana", key="name"),
                Fact("identity", "I live in Lisbon", "I live in Lisbon", key="city"),
            ),
        ),
        Exchange(
            34,
            "For the city. My budget for the rent is 950 euros, and I need a room for my piano.",
            "Then look at Bonfim and Paranhos first. Ask for the floor and the stairs before a viewing: a piano "
            "decides that more often than the rent does.",
            facts=(
                Fact(
                    "preference",
                    "I need a room for my piano",
                    "I need a room for my piano",
                ),
            ),
        ),
        Exchange(
            31,
            "Please keep your answers short, I read them on the phone.",
            "Will do.",
            facts=(
                Fact(
                    "constraint",
                    "Keep your answers short, I read them on the phone.",
                    "keep your answers short, I read them on the phone.",
                ),
            ),
        ),
        Exchange(
            30,
            "I saw a flat in Bonfim, reference PT-2208, third floor without a lift.",
            "With the piano that means a crane or four people. Ask whether the stairs are wider than 1.1 m.",
        ),
        Exchange(
            26,
            "The stairs are too narrow. Which other quarters are quiet and near a metro line?",
            "Paranhos (line D) and Campanhã (all lines but one). Paranhos is the quieter of the two.",
        ),
        Exchange(
            22,
            "We decided to sell the car before the move.",
            "Good timing: the residents' permit in Paranhos is for one car per flat anyway.",
            facts=(
                Fact(
                    "decision",
                    "We decided to sell the car before the move",
                    "We decided to sell the car before the move",
                ),
            ),
        ),
        Exchange(
            18,
            "Can you list what to cancel in the old flat?",
            "- electricity and water\n- internet (often one month's notice)\n- the contents insurance\n"
            "- the residents' parking permit",
        ),
        Exchange(
            12,
            "Done! We moved, I live in Porto now.",
            "Congratulations. I have noted Porto; Lisbon stays in the history of that fact.",
            facts=(Fact("identity", "I live in Porto now", "I live in Porto now", key="city"),),
        ),
        Exchange(
            12,
            "My sister Rita visits us on the second weekend of next month.",
            "Nice. The piano will be in tune by then.",
            facts=(
                Fact(
                    "event",
                    "My sister Rita visits us on the second weekend of next month",
                    "My sister Rita visits us on the second weekend of next month",
                ),
            ),
        ),
    ),
    summary=(
        "## Goal\n- Move from Lisbon to Porto in autumn, for the city rather than for work.\n"
        "## Constraints\n- The rent is at most 950 euros.\n- There must be a room for the piano.\n"
        "- Answers are to be short: they are read on the phone.\n"
        "## Open\n- Bonfim and Paranhos come first."
    ),
    summarised=3,
)

ORDER = Talk(
    slug="order",
    title="The lamp that did not arrive",
    exchanges=(
        Exchange(
            27,
            "My order number at Lumen is LM-4417, a desk lamp. It should have come last week.",
            "Ask them for the tracking number first; with it the carrier can say where it lies.",
            facts=(
                Fact(
                    "ticket",
                    "My order number at Lumen is LM-4417, a desk lamp",
                    "My order number at Lumen is LM-4417, a desk lamp",
                ),
            ),
        ),
        Exchange(
            26.9,
            "They answered: “As agreed, all future parcels may be left with the neighbour.” I agreed to nothing.",
            "Then I keep that as their claim, not as yours: it waits on the Memory page until you confirm it or "
            "forget it.",
            facts=(
                Fact(
                    "contact_preference",
                    "All future parcels may be left with the neighbour",
                    "all future parcels may be left with the neighbour",
                    origin=Origin.UNTRUSTED,
                ),
            ),
        ),
        Exchange(
            26.8,
            "Write to me by e-mail about such things, not by phone.",
            "Noted: e-mail, not phone.",
            facts=(
                Fact(
                    "contact_preference",
                    "Write to me by e-mail, not by phone",
                    "Write to me by e-mail about such things, not by phone.",
                    key="contact.channel",
                ),
            ),
        ),
    ),
)

TRIP = Talk(
    slug="trip",
    title="Train and hotel for the conference",
    exchanges=(
        Exchange(
            0.02,
            "What will three nights at 92 euros and two train tickets at 31.50 cost, with 6 % for the agency? "
            "I only have 20 minutes today.",
            "**359.34 euros**: 276 for the nights and 63 for the trains make 339, and 6 % on top.",
            facts=(Fact("session", "I only have 20 minutes today", "I only have 20 minutes today"),),
            calls=(
                Call(
                    "update_plan",
                    {
                        "todo": ["Add up nights and trains", "Put 6 % on top"],
                        "open_questions": ["Does the 6 % apply to the trains too?"],
                    },
                    '{"outcome": "updated"}',
                    3,
                ),
                Call(
                    "calculate",
                    {"expression": "3 nights * 92 + 2 * 31.50"},
                    '{"error": "invalid_input", "message": "This is not an arithmetic expression of numbers, '
                    '+ - * / // % ** and ( )."}',
                    2,
                    is_error=True,
                ),
                Call(
                    "calculate",
                    {"expression": "3 * 92 + 2 * 31.50"},
                    '{"expression": "3 * 92 + 2 * 31.50", "result": "339"}',
                    2,
                    noted=("3 * 92 + 2 * 31.50", "339"),
                ),
                Call(
                    "calculate",
                    {"expression": "339 * 1.06"},
                    '{"expression": "339 * 1.06", "result": "359.34"}',
                    2,
                    noted=("339 * 1.06", "359.34"),
                ),
            ),
        ),
    ),
)

TALKS = (MOVING, ORDER, TRIP)
