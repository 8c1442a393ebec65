"""The tools that need no memory, and how a call is told from another."""

import json
from datetime import UTC, datetime

import pytest

from chat.everyday_tools import CALCULATE, CURRENT_TIME
from chat.tools import Ready, Toolbox, describe, judge, perform, toolbox
from memoryapp.llm.base import ToolUse
from memoryapp.scratchpad.models import Step
from memoryapp.scratchpad.pad import Pad
from memoryapp.scratchpad.tools import UPDATE_PLAN
from tests.tool_contexts import tool_context

PAD = Pad(goal="Test")
TOOLS = Toolbox((UPDATE_PLAN, CURRENT_TIME, CALCULATE))
# Half an hour after the clocks went forward there.
CONTEXT = tool_context(time_zone="Europe/Berlin", now=datetime(2026, 3, 29, 1, 30, tzinfo=UTC))


def run(call, pad=PAD, *, tools=TOOLS, steps=()):
    judged = judge(call, tools, pad=pad, steps=steps)
    return perform(judged, CONTEXT, pad=pad, number=1) if isinstance(judged, Ready) else judged


def use(name, pad=PAD, **arguments):
    return run(ToolUse("t", name, arguments), pad)


def test_the_time_is_the_users():
    outcome = use("current_time")

    assert json.loads(outcome.content) == {
        "iso": "2026-03-29T03:30:00+02:00",
        "text": "Sunday, 29 March 2026, 03:30 (Europe/Berlin)",
    }
    assert [fact.source for fact in outcome.pad.facts] == ["current_time"]


def test_a_calculation_is_exact_and_becomes_a_fact():
    outcome = use("calculate", expression="0.1 + 0.2")

    assert json.loads(outcome.content)["result"] == "0.3"
    assert [(fact.key, fact.value) for fact in outcome.pad.facts] == [("0.1 + 0.2", "0.3")]


@pytest.mark.parametrize("expression", ["9 ** 9 ** 9", "__import__('os')", "1 +", "a", "1 / 0", "(((("])
def test_what_cannot_be_calculated_is_an_error_that_is_not_tried_again(expression):
    first = use("calculate", expression=expression)
    second = use("calculate", first.pad, expression=expression)

    assert (first.status, second.status) == (Step.Status.ERROR, Step.Status.REFUSED)
    assert second.pad == first.pad


def test_a_plan_replaces_the_one_before():
    first = use("update_plan", todo=["a", "b"], open_questions=["c?"])
    second = use("update_plan", first.pad, todo=["b"])

    assert (second.pad.todo, second.pad.open_questions) == (("b",), ())


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"todo": "a"},
        {"todo": [1]},
        {"todo": [""]},
        {"todo": ["x" * 301]},
        {"todo": ["a"] * 21},
        {"todo": [], "goal": "b"},
    ],
)
def test_arguments_beyond_the_schema_are_refused_with_the_reason(arguments):
    outcome = use("update_plan", **arguments)

    assert outcome.is_error
    assert json.loads(outcome.content)["error"] == "invalid_arguments"
    assert outcome.pad.todo == ()


def test_a_defect_of_a_tool_is_an_error_and_logged(monkeypatch, caplog):
    monkeypatch.setattr("chat.everyday_tools.calculate", lambda _: 1 // 0)

    outcome = use("calculate", expression="1 + 1")

    assert json.loads(outcome.content)["error"] == "tool_failed"
    assert "ZeroDivisionError" not in outcome.content
    assert "Tool calculate failed" in caplog.text


def test_equal_calls_are_described_alike_and_others_are_not():
    long = "x" * 400
    described = {
        describe(ToolUse("t", name, arguments))
        for name, arguments in [
            ("calculate", {"expression": "1  + 1"}),
            ("calculate", {"expression": "1 + 1"}),
            ("calculate", {"expression": long}),
            ("calculate", {"expression": long + "y"}),
            ("recall", {"expression": "1 + 1"}),
        ]
    }

    assert len(described) == 5
    assert describe(ToolUse("a", "n", {"a": 1, "b": 2})) == describe(ToolUse("b", "n", {"b": 2, "a": 1}))


def test_the_pad_keeps_every_description_as_it_is():
    call = ToolUse("t", "calculate", {"expression": "(" + "1 +\n " * 100})
    failed = run(call)

    assert [failure.call for failure in failed.pad.failed] == [describe(call)]


@pytest.mark.django_db
def test_what_a_conversation_may_not_do_is_neither_offered_nor_done():
    shut = toolbox(use_memory=False, save_memory=False)

    outcomes = [
        run(ToolUse("t", "recall", {"query": "tea"}), tools=shut),
        run(ToolUse("t", "remember", {"statement": "a", "kind": "preference", "quote": "a"}), tools=shut),
    ]

    names = {tool.name for tool in shut.tools}
    assert names == {"search_conversations", "update_plan", "current_time", "calculate"}
    assert all("There is no tool" in outcome.content for outcome in outcomes)
