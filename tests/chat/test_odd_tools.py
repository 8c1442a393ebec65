"""Tools that break, or answer what no tool should: the turn goes on."""

import pytest

from chat import tools
from memoryapp.errors import InvalidInputError
from memoryapp.scratchpad import queries as runs
from memoryapp.tooling.base import Arguments, Tool, ToolOutput
from tests.modelserver import calls, reply
from tests.turns import COMMITTED, ask, reply_to

pytestmark = [COMMITTED, pytest.mark.usefixtures("nudges")]


def test_true_is_not_one(alice, model, monkeypatch):
    class Setting(Arguments):
        to: bool | int

    made = []
    tool = Tool.of(
        "set_value",
        "Set it.",
        Setting,
        lambda setting, _context: made.append(setting.to) or ToolOutput("set"),
        side_effects=True,
    )
    monkeypatch.setattr(tools, "added_tools", lambda _taken: (tool,))
    model.script(reply(calls("set_value", to=True)), reply(calls("set_value", to=1)), reply("Set."))

    ask(alice, "Set it")

    assert made == [True, 1]
    assert [type(value) for value in made] == [bool, int]


def test_what_a_failed_effect_may_have_changed_is_read_again(alice, model, monkeypatch):
    rows = []

    def add(_arguments, _context):
        rows.append(1)
        raise InvalidInputError("Lost the connection.")

    count = Tool.of(
        "count_rows", "Count.", Arguments, lambda _arguments, _context: ToolOutput(str(len(rows)))
    )
    change = Tool.of("add_row", "Add.", Arguments, add, side_effects=True)
    monkeypatch.setattr(tools, "added_tools", lambda _taken: (count, change))
    model.script(
        reply(calls("count_rows")), reply(calls("add_row")), reply(calls("count_rows")), reply("One.")
    )

    turn = ask(alice, "Add one")

    assert [step.observation for step in runs.steps(turn.run)][::2] == ["0", "1"]


@pytest.mark.parametrize(
    "output",
    [None, "text", ToolOutput(content={"a": 1}), ToolOutput("a", event={"type": {1}})],
    ids=["nothing", "text", "not text inside", "an event that is no JSON"],
)
def test_a_tool_that_answers_wrongly_does_not_end_the_turn(alice, model, monkeypatch, output):
    tool = Tool.of("odd", "Odd.", Arguments, lambda _arguments, _context: output)
    monkeypatch.setattr(tools, "added_tools", lambda _taken: (tool,))
    model.script(reply(calls("odd")), reply("It failed."))

    turn = ask(alice, "Try it")

    assert (turn.status, reply_to(turn)) == ("completed", "It failed.")


def test_a_tool_that_cannot_say_whether_it_asks_asks(alice, model, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError

    tool = Tool.of(
        "odd", "Odd.", Arguments, lambda *_: ToolOutput("done"), needs_approval=broken, touches=broken
    )
    monkeypatch.setattr(tools, "added_tools", lambda _taken: (tool,))
    model.script(reply(calls("odd")))

    assert ask(alice, "Try it").status == "waiting"


def test_numbers_that_are_no_json_end_nothing(alice, model):
    model.script(reply(calls("calculate", partial_json='{"expression": 1e999}')), reply("I cannot."))

    turn = ask(alice, "Add")

    assert (turn.status, reply_to(turn)) == ("completed", "I cannot.")


def test_ids_that_a_server_uses_twice_are_told_apart(alice, model, monkeypatch):
    class Letter(Arguments):
        to: str

    sent = []
    tool = Tool.of(
        "send_letter",
        "Send a letter.",
        Letter,
        lambda letter, _context: sent.append(letter.to) or ToolOutput("sent"),
        side_effects=True,
    )
    monkeypatch.setattr(tools, "added_tools", lambda _taken: (tool,))
    one, other = ({**calls("send_letter", to=name), "id": "call_0"} for name in ("Ann", "Bea"))
    model.script(reply(one), reply(other), reply("Written."))

    turn = ask(alice, "Write to both")

    assert (turn.status, sent) == ("completed", ["Ann", "Bea"])
