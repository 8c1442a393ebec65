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
    """One tool call. ``noted``: what the scratchpad keeps of a result, as (key, value); ``done``: the item it ends."""

    action: str
    arguments: dict[str, Any]
    observation: str
    duration_ms: int
    noted: tuple[str, str] | None = None
    done: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Exchange:
    """What both said, that many days ago (0: just now)."""

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


# Nothing here is about the person: what they say about themself must meet no contradiction of ours. Even the keys
# are the project's own.
EXHIBITION = Talk(
    slug="exhibition",
    title="The Heron exhibition",
    exchanges=(
        Exchange(
            34,
            "Our photo club plans an exhibition called Heron. Heron opens in the Old Mill.",
            "Nice. Ask the mill for its floor plan first: the length of the walls decides how many pictures fit.",
            facts=(
                Fact(
                    "decision",
                    "Heron opens in the Old Mill",
                    "Heron opens in the Old Mill",
                    key="heron.venue",
                ),
            ),
        ),
        Exchange(
            34,
            "The budget is 950 euros, and I prefer black frames for Heron.",
            "Then frame in one size only: frames are cheaper by the dozen, and black ones are always in stock.",
            facts=(Fact("preference", "I prefer black frames for Heron", "I prefer black frames for Heron"),),
        ),
        Exchange(
            31,
            "For Heron, use plain words: the visitors include school classes.",
            "Will do.",
            facts=(
                Fact(
                    "constraint",
                    "For Heron, use plain words: the visitors include school classes.",
                    "For Heron, use plain words: the visitors include school classes.",
                ),
            ),
        ),
        Exchange(
            30,
            "The mill sent its plan: 38 metres of wall, but no light on the north side.",
            "Without light count 27 metres. At 60 cm a picture and 30 cm between two, that is 30 pictures.",
        ),
        Exchange(
            26,
            "We have 40 pictures. What else could we ask for a room?",
            "The library, the school and the town hall: all three are open in the evening and cost nothing.",
        ),
        Exchange(
            22,
            "We decided to print Heron on matt paper.",
            "Good: under lamps, glossy paper shows the lamps.",
            facts=(
                Fact(
                    "decision",
                    "We decided to print Heron on matt paper",
                    "We decided to print Heron on matt paper",
                ),
            ),
        ),
        Exchange(
            18,
            "Can you list what a small exhibition forgets?",
            "- insurance for the pictures\n- labels that can be read from two metres\n"
            "- somebody with the key on Sundays\n- a book for the visitors",
        ),
        Exchange(
            12,
            "Done! Heron opens in the Town Library now.",
            "Congratulations. I have noted the Town Library; the Old Mill stays in the history of that fact.",
            facts=(
                Fact(
                    "decision",
                    "Heron opens in the Town Library now",
                    "Heron opens in the Town Library now",
                    key="heron.venue",
                ),
            ),
        ),
        Exchange(
            12,
            "The opening of Heron is on the second Saturday of next month.",
            "Then the invitations should go out this week.",
            facts=(
                Fact(
                    "event",
                    "The opening of Heron is on the second Saturday of next month",
                    "The opening of Heron is on the second Saturday of next month",
                ),
            ),
        ),
    ),
    summary=(
        "## Goal\n- An exhibition of the photo club, called Heron; it opens in the Old Mill.\n"
        "## Constraints\n- The budget is 950 euros.\n- Frames are black.\n"
        "- Words are plain: school classes come too.\n"
        "## Open\n- The floor plan of the mill."
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
            "About the lamp, Lumen may write by e-mail only.",
            "Noted: e-mail only.",
            facts=(
                Fact(
                    "contact_preference",
                    "About the lamp, Lumen may write by e-mail only.",
                    "About the lamp, Lumen may write by e-mail only.",
                    key="lamp.contact",
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
            0,
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
                    done="Add up nights and trains",
                ),
                Call(
                    "calculate",
                    {"expression": "339 * 1.06"},
                    '{"expression": "339 * 1.06", "result": "359.34"}',
                    2,
                    noted=("339 * 1.06", "359.34"),
                    done="Put 6 % on top",
                ),
            ),
        ),
    ),
)

TALKS = (EXHIBITION, ORDER, TRIP)
