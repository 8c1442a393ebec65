"""The property: whenever a worker is killed, the run ends like one that nothing disturbed, and no tool acts twice.

The suite kills at one point of each kind and around every tool; ``make faults`` kills at every point.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import count

import pytest

from chat import tools
from memoryapp.accounts.models import User
from memoryapp.tooling.base import Arguments, Tool, ToolOutput
from tests.chat.dying import (
    DIFFERENT_WHERE_UNKNOWN,
    Death,
    Picture,
    carry_on,
    differences,
    effect_is_unknown,
    ids_masked,
    picture,
)
from tests.modelserver import Step, calls, fails, reply, thinks
from tests.modelserver.personas import PERSONAS
from tests.turns import COMMITTED, post

pytestmark = [COMMITTED, pytest.mark.usefixtures("nudges", "ids_of_one_token")]

TEA = "I only drink green tea."
ROUNDS = {
    "memory and plan": (
        reply(
            thinks("Two things."),
            calls("calculate", tool_use_id="toolu_1", expression="1 / 0"),
            calls("calculate", tool_use_id="toolu_2", expression="6 * 7"),
        ),
        reply(
            calls("remember", tool_use_id="toolu_3", statement=TEA, quote=TEA, kind="preference"),
            calls("update_plan", tool_use_id="toolu_4", todo=["answer"]),
        ),
        reply(calls("calculate", tool_use_id="toolu_5", expression="6 * 7")),
        reply("Noted: green tea."),
    ),
    "effects and waits": (
        reply("First the books.", calls("book", tool_use_id="toolu_1", text="a day")),
        reply("Then the letter.", calls("send_letter", tool_use_id="toolu_2", text="Dear Anna")),
        reply("All done."),
    ),
}
END = {"type": "end", "status": "completed"}
POINTS_AT_LEAST = 100  # of each of the two
ACTS = ("book", "send_letter")
SAVEPOINT = re.compile(r"\bs\d+_x\d+")
FIRST_OVERLOADED = 2  # the third call of the model in each run is not answered at first


class TextArguments(Arguments):
    text: str


@dataclass(slots=True)
class Town:
    """What is outside: a model that may be overloaded, and tools whose effects outlive a worker."""

    rounds: tuple[Step, ...]
    is_overloaded: bool = False
    effects: Counter = field(default_factory=Counter)
    keys: set = field(default_factory=set)

    def say(self, body) -> Step:
        """By the request alone: a call that is made again is answered alike."""
        number = sum(message["role"] == "assistant" for message in body["messages"])
        if self.is_overloaded and number == FIRST_OVERLOADED:
            return fails(529, "overloaded_error", retry_after="2")
        return self.rounds[number]

    def begin(self) -> None:
        self.is_overloaded = self.rounds is ROUNDS["effects and waits"]
        self.effects.clear()

    def end_outage(self) -> None:
        self.is_overloaded = False

    def book(self, _arguments, context) -> ToolOutput:
        if context.idempotency_key not in self.keys:
            self.keys.add(context.idempotency_key)
            self.effects["book"] += 1
        return ToolOutput("booked")

    def send_letter(self, _arguments, _context) -> ToolOutput:
        self.effects["send_letter"] += 1
        return ToolOutput("sent")

    def tools(self, _taken) -> tuple[Tool, ...]:
        book, send = (
            Tool.of(name, name, TextArguments, getattr(self, name), side_effects=True) for name in ACTS
        )
        return replace(book, is_idempotent=True), replace(
            send, needs_approval=True, touches="A letter to Anna."
        )


@dataclass(frozen=True, slots=True)
class Ended:
    """A run as it ended.

    ``effects``: of its tools, outside. ``died_at``: the point, "" when it was not reached; ``passed``: those before it.
    """

    picture: Picture
    effects: Counter
    died_at: str
    passed: list[str]
    is_effect_unknown: bool


@pytest.fixture(params=list(ROUNDS))
def town(request, model, configure, monkeypatch):
    configure(STRATA_MODEL_MAX_RETRIES="3")
    town = Town(ROUNDS[request.param])
    monkeypatch.setitem(PERSONAS, "town", town.say)
    model.use_persona("town")
    if request.param == "effects and waits":
        monkeypatch.setattr(tools, "added_tools", town.tools)
    return town


@pytest.fixture
def live(town, model):
    """``live(at)``: a message of a new person, answered whatever happens; its worker dies at that point."""
    names = (f"person-{number}" for number in count())

    def live(at=None):
        model.reset()
        town.begin()
        death = Death(at)
        posted = post(User.objects.create(username=next(names)), TEA)
        spent = carry_on(posted, death, end_outage=town.end_outage)
        left = picture(posted, retried_at=spent)
        left["last request"] = ids_masked(model.calls[-1].body)
        if death.was_late:  # no Redis is part of a transaction: a reader whose stream falls silent asks again
            left["last event"] = END
        return Ended(left, Counter(town.effects), death.name, death.passed, effect_is_unknown(posted))

    return live


def test_a_run_killed_at_any_point_ends_like_an_undisturbed_one(live, has_all_faults):
    undisturbed = live()
    assert (undisturbed.picture["turn"][0], undisturbed.picture["last event"]) == ("completed", END)
    assert len(undisturbed.passed) >= POINTS_AT_LEAST
    unknown = None
    broken = {}

    for point in range(len(undisturbed.passed)) if has_all_faults else of_each_kind(undisturbed.passed):
        ended = live(point)
        assert ended.died_at
        if ended.is_effect_unknown:
            unknown = unknown or ended
            wanted = unknown
            assert ended.effects["send_letter"] <= 1
        else:
            wanted = undisturbed
            assert ended.effects == undisturbed.effects, f"{point}: {ended.died_at}"
        if differing := differences(ended.picture, wanted.picture):
            broken[f"{point}: {ended.died_at}"] = differing

    assert broken == {}
    assert bool(unknown) == bool(undisturbed.effects)
    if unknown:
        assert_differs_in_one_step_alone(unknown.picture, undisturbed.picture)


def of_each_kind(points):
    """Where in them each kind is passed for the first time, and each tool whenever it works."""
    seen = set()
    for place, name in enumerate(points):
        kind = SAVEPOINT.sub("", name)
        if kind not in seen or name.endswith("a tool"):
            yield place
        seen.add(kind)


def assert_differs_in_one_step_alone(unknown, undisturbed):
    [(step, usual)] = [
        pair for pair in zip(unknown["steps"], undisturbed["steps"], strict=True) if pair[0] != pair[1]
    ]
    assert (step["action"], step["status"]) == ("send_letter", "error")
    assert json.loads(step["observation"])["error"] == "effect_unknown"
    assert (usual["status"], usual["observation"]) == ("ok", "sent")
    assert differences(unknown, undisturbed) == {*DIFFERENT_WHERE_UNKNOWN, "last request"}
