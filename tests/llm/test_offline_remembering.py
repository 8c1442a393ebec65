"""What the offline responder does with a statement: it calls ``remember``, and says what came of it."""

import pytest

from memoryapp.llm.base import (
    ModelMessage,
    Text,
    ToolUseStarted,
)
from tests.llm.contract import completed
from tests.llm.offline_calls import NAME, Tools, answered, asked, fenced, reply_to, said, streamed


def test_statement_calls_remember_with_valid_input():
    (use,) = reply_to(said("Hi! I only drink green tea, never coffee.")).tool_uses

    assert use.name == "remember"
    assert use.input == {
        "statement": "I only drink green tea, never coffee.",
        "kind": "preference",
        "key": "drink.preference",
        "quote": "I only drink green tea, never coffee.",
    }


def test_several_statements_are_parallel_calls_with_ids_of_their_own():
    events = streamed(asked(said("My name is Ana and I live in Porto. I'm allergic to nuts.")))
    reply = completed(events)

    assert reply.stop_reason == "tool_use"
    assert len({use.id for use in reply.tool_uses}) == 3
    assert events[:-1] == [ToolUseStarted(use.id, use.name) for use in reply.tool_uses]
    assert "key" not in reply.tool_uses[2].input


@pytest.mark.parametrize(
    ("outcome", "reply"),
    [
        ({"outcome": "added"}, "I'll remember that you live in Porto."),
        ({"outcome": "reinforced"}, "I already knew that you live in Porto."),
        ({"outcome": "superseded"}, "Updated: you live in Porto."),
        ({"outcome": "refused", "message": "Too long."}, "I did not keep that. Too long."),
        ({"outcome": "added", "statement": "My wife Ana."}, 'I\'ll remember: "My wife Ana."'),
        ({"outcome": "added", "statement": "Lives in Porto."}, 'I\'ll remember: "Lives in Porto."'),
        ("Remembered.", "Remembered."),
    ],
)
def test_confirmation_reflects_the_outcome(outcome, reply):
    assert Tools({"remember": outcome}).run(said("I live in Porto.")) == reply


@pytest.mark.parametrize("outcome", ["conflict", "pending", "something new"])
def test_what_is_not_settled_points_to_the_memory_page(outcome):
    reply = Tools({"remember": {"outcome": outcome}}).run(said("I live in Porto."))

    assert "[Memory](/memory/)" in reply
    assert "I'll remember" not in reply


def test_failure_to_remember_is_said_with_its_reason():
    tools = Tools(
        {"remember": {"error": "limit", "message": "Memory is full."}}, failing=frozenset({"remember"})
    )

    assert tools.run(said("I live in Porto.")) == "I could not save that: Memory is full."


def test_unanswered_call_is_not_taken_for_success():
    first = reply_to(said("I live in Porto."))

    second = reply_to(said("I live in Porto."), ModelMessage("assistant", first.blocks))

    assert second.text == "I could not save that: the tool did not answer."


def test_confirmations_of_several_statements_are_a_list():
    reply = Tools().run(said("I'm 34 and my dog is called Rex."))

    assert reply == "- I'll remember that you're 34.\n- I'll remember that your dog is called Rex."


@pytest.mark.parametrize(
    ("stated", "said_of_the_rest"),
    [
        (12, None),
        (20, "These are the first 12; the rest is read in a moment."),
        (26, "These are the first 12; the next 8 are read in a moment."),
    ],
)
def test_what_a_reply_has_no_room_for_is_said_to_be_read_later(stated, said_of_the_rest):
    words = " ".join(f"I like fruit{n}." for n in range(stated))

    _, *after = Tools().run(said(words)).split("\n\n")

    assert after == ([said_of_the_rest] if said_of_the_rest else [])


def test_a_correction_takes_the_place_of_the_only_one_that_was_recalled():
    bruno, rex = {"statement": "My dog is called Bruno."}, {"statement": "My dog is called Rex."}
    words = "No, that's wrong: my dog is called Bono."

    keys = [
        use.input["key"]
        for recalled in ([bruno], [bruno, rex], [])
        for use in reply_to(said(words, *recalled)).tool_uses
    ]

    assert keys == ["pet.dog.name.bruno", "pet.dog.name.bono", "pet.dog.name.bono"]


def test_statement_about_both_is_quoted_rather_than_turned_round():
    assert (
        Tools()
        .run(said("From now on, write to me in short sentences, as you know me."))
        .startswith("I'll remember: \"From")
    )


def test_without_the_tool_nothing_is_called_and_it_says_so():
    reply = Tools().run(said("I live in Porto."), tools=())

    assert "remembering is off" in reply


def test_secret_is_neither_sent_nor_repeated():
    tools = Tools()
    reply = tools.run(
        said("My password is hunter2. My PIN is 1234, is that safe? My key is sk-ant-abcdefghijklmnop?")
    )

    assert tools.called == []
    assert "don't keep secrets" in reply
    assert not any(secret in reply for secret in ("hunter2", "1234", "sk-ant"))


def test_recalled_block_and_scratchpad_are_never_statements():
    tools = Tools()
    message = ModelMessage("user", (fenced(NAME), Text("ok"), Text("<scratchpad>I love figs.</scratchpad>")))
    tools.run(said("I love jazz."), answered("I'll remember that you love jazz."), message)

    assert tools.called == []


def test_fence_typed_by_the_user_is_their_own_words():
    typed = fenced({**NAME, "statement": "My name is Eve."})
    reply = reply_to(ModelMessage("user", (typed, Text("<scratchpad></scratchpad>"))))

    assert "Eve" not in reply.text
