"""A turn from the message to the reply, against the strict server through the official SDK."""

import json
from itertools import pairwise
from types import SimpleNamespace

import pytest
from django.utils import timezone

from memoryapp.context import queries as contexts
from memoryapp.longterm import operations
from memoryapp.longterm import queries as longterm
from memoryapp.nudges import AFTER_TURN
from memoryapp.scratchpad import queries as runs
from memoryapp.transcript import conversations
from memoryapp.transcript.models import Message, Turn
from tests.modelserver import calls, redacted, reply, thinks
from tests.turns import COMMITTED, answering, ask, fresh, post, published, reply_to, start, streamed

pytestmark = [COMMITTED, pytest.mark.usefixtures("nudges")]

TEA = "I only drink green tea."


def remembers(statement=TEA, quote=TEA, **options):
    return calls("remember", statement=statement, quote=quote, kind="preference", **options)


def blocks(body, message, kind=None):
    return [block for block in body["messages"][message]["content"] if kind in (None, block["type"])]


def steps(turn):
    return list(runs.steps(runs.run_of_turn(turn.user_id, turn.id)))


def results(body, message=-1):
    return [json.loads(block["content"]) for block in blocks(body, message, "tool_result")]


def test_a_plain_reply_is_stored_streamed_and_counted(alice, model, nudges):
    model.script(reply("Good morning.", chunk_chars=3))

    turn = ask(alice, "Hello")

    assert (turn.status, reply_to(turn)) == ("completed", "Good morning.")
    assert turn.model == "claude-sonnet-5-5"
    assert turn.input_tokens + turn.cache_creation_tokens > 100
    assert turn.output_tokens > 0
    assert [event["type"] for event in published(turn)] == ["start", *["text"] * 5, "end"]
    assert streamed(turn) == "Good morning."
    assert (AFTER_TURN, turn.id) in nudges


def test_the_request_holds_static_system_text_tools_and_the_message(alice, model):
    turn = ask(alice, "Hello")

    [call] = model.calls
    assert call.body["messages"] == [
        {
            "role": "user",
            "content": [{"type": "text", "text": "Hello", "cache_control": {"type": "ephemeral"}}],
        }
    ]
    assert [tool["name"] for tool in call.body["tools"]] == [
        "remember", "recall", "get_fact", "list_facts", "search_conversations", "update_plan", "current_time",
        "calculate",
    ]  # fmt: skip
    assert turn.user_id.hex not in json.dumps(call.body)


def test_the_next_turn_repeats_what_was_said_and_reads_the_cached_prefix(alice, model):
    conversation = start(alice)
    ask(alice, "Hello", conversation)

    second = ask(alice, "And again", conversation)

    roles = [message["role"] for message in model.calls[1].body["messages"]]
    assert roles == ["user", "assistant", "user"]
    assert blocks(model.calls[1].body, 1)[0]["text"] == "You said: Hello"
    assert model.calls[0].body["system"] == model.calls[1].body["system"]
    assert model.calls[0].body["tools"] == model.calls[1].body["tools"]
    assert second.cache_read_tokens > 0


def test_a_remembered_fact_is_committed_with_its_source_step_and_context(alice, model):
    model.script(reply("Noted, ", remembers()), reply("green tea it is."))

    turn = ask(alice, TEA)

    [memory] = longterm.memories(alice.id)
    assert (memory.statement, memory.origin, memory.status) == (TEA, "user_typed", "active")
    assert [source.message_id for source in longterm.sources(memory)] == [
        Message.objects.get(turn=turn, role="user").id
    ]
    [step] = steps(turn)
    assert (step.action, step.status) == ("remember", "ok")
    assert json.loads(step.observation)["outcome"] == "added"
    assert contexts.newest_snapshot(alice.id, turn.id).call == 2
    run = runs.run_of_turn(alice.id, turn.id)
    assert (run.status, run.model_calls) == ("completed", 2)
    assert reply_to(turn) == streamed(turn) == "Noted, \n\ngreen tea it is."
    [event] = [event for event in published(turn) if event["type"] == "memory"]
    assert (event["outcome"], event["memory_id"]) == ("added", str(memory.id))


def test_the_reader_sees_each_tool_begin_and_end(alice, model):
    model.script(reply(calls("current_time")), reply("It is late."))

    turn = ask(alice, "What time is it?")

    seen = [(event["name"], event["status"]) for event in published(turn) if event["type"] == "tool"]
    assert seen == [("current_time", "running"), ("current_time", "done")]


def test_parallel_calls_are_answered_together_in_order(alice, model):
    model.script(
        reply(calls("calculate", expression="6 * 7"), remembers(), calls("calculate", expression="1 / 0")),
        reply("Done."),
    )

    turn = ask(alice, TEA)

    last = model.calls[1].body
    asked = [block["id"] for block in blocks(last, -2, "tool_use")]
    answered = [
        (block["tool_use_id"], block.get("is_error", False)) for block in blocks(last, -1, "tool_result")
    ]
    assert answered == list(zip(asked, [False, False, True], strict=True))
    assert [step.number for step in steps(turn)] == [1, 2, 3]


def test_an_unknown_tool_and_bad_arguments_are_errors_that_the_model_reads(alice, model):
    model.script(
        reply(
            calls("delete_everything"),
            calls("calculate", expression=7),
            calls(
                "remember", statement=TEA, quote=TEA, kind="preference", origin="user_typed", user_id="bob"
            ),
            calls("current_time", zone="UTC"),
        ),
        reply("Sorry."),
    )

    turn = ask(alice, TEA)

    assert [result["error"] for result in results(model.calls[1].body)] == [
        "invalid_input", "invalid_arguments", "invalid_arguments", "invalid_arguments",
    ]  # fmt: skip
    assert {step.status for step in steps(turn)} == {"error"}
    assert list(longterm.memories(alice.id)) == []
    assert turn.status == "completed"


def test_a_quote_that_was_not_said_is_refused(alice, model):
    model.script(reply(remembers("I love coffee.", quote="I love coffee.")), reply("Sorry."))

    ask(alice, TEA)

    assert results(model.calls[1].body)[0]["error"] == "quote_not_found"
    assert list(longterm.memories(alice.id)) == []


@pytest.mark.parametrize("expression", ["1 / 0", "(" + "1 + " * 90 + "1) / 0", "1   /   0"])
def test_a_call_that_failed_is_not_run_a_second_time(alice, model, expression):
    model.script(
        reply(calls("calculate", expression=expression)),
        reply(calls("calculate", expression=expression)),
        reply(calls("calculate", expression=expression + " + 1")),
        reply("I give up."),
    )

    turn = ask(alice, "Divide")

    assert [step.status for step in steps(turn)] == ["error", "refused", "error"]
    assert results(model.calls[2].body)[0]["error"] == "do_not_retry"


def test_the_pad_comes_last_and_an_unchanged_one_is_not_repeated(alice, model):
    plan = {"todo": ["ask for the date"], "open_questions": ["Which year?"]}
    model.script(
        reply(calls("update_plan", **plan)),
        reply(calls("update_plan", **plan)),
        reply(calls("update_plan", todo=[], open_questions=["Which year?"])),
        reply("Which year?"),
    )

    ask(alice, "Plan a trip")

    pads = [block["text"] for block in blocks(model.calls[1].body, 2, "text")]
    assert blocks(model.calls[1].body, 2)[-1]["type"] == "text"
    assert json.loads(pads[0].removeprefix("<scratchpad>\n").removesuffix("\n</scratchpad>")) == {
        "goal": "Plan a trip",
        **plan,
    }
    last = model.calls[3].body
    assert [len(blocks(last, message, "text")) for message in (2, 4, 6)] == [1, 0, 1]


def test_a_run_only_appends_to_its_request(alice, model):
    model.script(
        reply(calls("calculate", expression="1 + 1")),
        reply(remembers()),
        reply(calls("current_time")),
        reply("Done."),
    )

    ask(alice, TEA)

    bodies = [json.loads(json.dumps(call.body)) for call in model.calls]
    for body in bodies:
        for message in body["messages"]:
            for block in message["content"]:
                block.pop("cache_control", None)
    for shorter, longer in pairwise(bodies):
        assert longer["messages"][: len(shorter["messages"])] == shorter["messages"]


def test_thinking_goes_back_as_it_came_and_is_dropped_when_the_turn_is_over(alice, model):
    conversation = start(alice)
    model.script(
        reply(thinks("They want a sum."), redacted("b3BhcXVl"), calls("calculate", expression="1 + 1")),
        reply(thinks("It is two."), "Two."),
    )

    ask(alice, "What is 1 + 1?", conversation)
    ask(alice, "Thanks", conversation)

    within, after = model.calls[1].body, model.calls[2].body
    assert [block["type"] for block in blocks(within, 1)] == ["thinking", "redacted_thinking", "tool_use"]
    assert {block["type"] for message in after["messages"] for block in message["content"]} == {"text"}


def test_a_reply_cut_at_the_limit_says_so_to_readers_and_in_the_transcript(alice, model, configure):
    configure(STRATA_MAX_OUTPUT_TOKENS="256")
    model.script(reply("word " * 1000))

    turn = ask(alice, "Write")

    assert turn.status == "completed"
    assert reply_to(turn).startswith("word word")
    assert reply_to(turn).endswith("*The reply was cut at the length limit.*")
    assert streamed(turn) == reply_to(turn)


def test_a_tool_call_cut_at_the_limit_is_not_run(alice, model, configure):
    configure(STRATA_MAX_OUTPUT_TOKENS="256")
    model.script(reply("So: ", remembers("tea " * 2000)))

    turn = ask(alice, TEA)

    assert list(longterm.memories(alice.id)) == []
    assert steps(turn) == []
    assert turn.status == "completed"


def test_a_refusal_is_told_as_one(alice, model):
    model.script(reply(stop_reason="refusal"), reply("Well, ", stop_reason="refusal"))

    silent, begun = ask(alice, "Harm"), ask(alice, "Harm")

    assert reply_to(silent) == streamed(silent) == "*The model declined to answer this.*"
    assert reply_to(begun) == "Well, \n\n*The model declined to answer this.*"


def test_an_empty_reply_is_a_failure(alice, model):
    model.script(reply(), reply(" \n"))

    turns = [ask(alice, "Hello"), ask(alice, "Hello")]

    assert [(turn.status, turn.error_code) for turn in turns] == [("failed", "model_empty_reply")] * 2


def test_a_limit_of_steps_ends_the_run_with_a_message(alice, model, configure):
    configure(STRATA_RUN_MAX_STEPS="2")
    model.script(*(reply(f"Step {n}.", calls("calculate", expression=f"{n} + 1")) for n in range(3)))

    turn = ask(alice, "Go on for ever")

    assert (turn.status, turn.error_code) == ("failed", "run_limit_reached")
    assert "the limit of 2 steps" in turn.error_message
    assert reply_to(turn) == "Step 0.\n\nStep 1.\n\n**Found so far**\n\n- 0 + 1: 1\n- 1 + 1: 2"
    assert len(model.calls) == 2


def test_a_limit_of_time_ends_the_run_before_its_next_call(alice, model, monkeypatch):
    model.script(reply(calls("calculate", expression="1 + 1")))
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0], perf_counter=lambda: 0.0)
    monkeypatch.setattr("chat.turn.time", clock)
    monkeypatch.setattr("chat.progress.time", clock)
    monkeypatch.setattr("chat.everyday_tools.calculate", lambda _: now.append(now.pop() + 601.0) or "2")

    turn = ask(alice, "Go on")

    assert turn.error_code == "run_limit_reached"
    assert "600 seconds" in turn.error_message
    assert len(model.calls) == 1


def test_nothing_of_yesterdays_run_enters_todays_prompt(alice, model):
    conversation = start(alice)
    model.script(
        reply(calls("calculate", expression="6 * 7"), calls("calculate", expression="1 / 0")),
        reply(calls("update_plan", todo=["water the figs"], open_questions=["which figs?"])),
        reply("Done."),
    )
    ask(alice, "First task", conversation)
    model.script(reply(calls("calculate", expression="6 * 7")), reply("42."))

    ask(alice, "Second task", conversation)

    opening, going_on = (json.dumps(call.body["messages"]) for call in model.calls[-2:])
    for trace in ("figs", "1 / 0", "6 * 7", "<scratchpad>", "tool_use", "zero"):
        assert trace not in opening
    for trace in ("figs", "1 / 0", "First task\\", "zero"):
        assert trace not in going_on


def test_what_postgres_cannot_hold_is_replaced_once_for_all(alice, model):
    model.script(
        reply("bell\x00 ", calls("calculate", partial_json=r'{"expression": "1\u0000+1"}')), reply("end")
    )

    turn = ask(alice, "Hello")

    assert (turn.status, turn.error_message) == ("completed", "")
    assert reply_to(turn) == streamed(turn) == "bell\ufffd \n\nend"
    assert steps(turn)[0].arguments == {"expression": "1\ufffd+1"}


def test_more_memories_than_a_turn_may_hold_are_refused(alice, model, configure):
    configure(STRATA_MEMORIES_PER_TURN="2")
    said = ["I like tea.", "I like rain.", "I like jazz."]
    model.script(reply(*(remembers(fact, quote=fact) for fact in said)), reply("Noted."))

    ask(alice, " ".join(said))

    assert [result.get("outcome", result.get("error")) for result in results(model.calls[1].body)] == [
        "added", "added", "invalid_input",
    ]  # fmt: skip


def test_a_recalled_memory_arrives_fenced_before_the_message_and_is_traced(alice, model):
    model.script(reply(remembers()), reply("Noted."))
    ask(alice, TEA)

    turn = ask(alice, "Which tea do I drink?")

    fence, words = blocks(model.calls[-1].body, -1)
    assert fence["text"].startswith("<recalled-memories id=")
    assert TEA in fence["text"]
    assert words["text"] == "Which tea do I drink?"
    recalled = contexts.newest_snapshot(alice.id, turn.id).recalled
    [item] = [item for item in recalled if item["included"]]
    assert "memory_id" in item
    assert TEA not in json.dumps(recalled)


def test_without_use_of_memory_nothing_is_recalled_offered_or_found(alice, model):
    model.script(reply(remembers()), reply("Noted."))
    ask(alice, TEA)
    model.script(reply(calls("recall", query="tea")), reply("I do not know."))

    ask(alice, "Which tea do I drink?", start(alice, use_memory=False))

    last = model.calls[-1].body
    assert "recall" not in [tool["name"] for tool in last["tools"]]
    assert TEA not in json.dumps(last)
    assert results(last)[0]["error"] == "invalid_input"


def test_without_saving_nothing_is_offered_or_kept(alice, model):
    model.script(reply(remembers()), reply("I may not."))

    ask(alice, TEA, start(alice, save_memory=False))

    last = model.calls[-1].body
    assert "remember" not in [tool["name"] for tool in last["tools"]]
    assert results(last)[0]["error"] == "invalid_input"
    assert list(longterm.memories(alice.id)) == []


def test_bobs_turn_recalls_nothing_of_alices(alice, bob, model):
    model.script(reply(remembers()), reply("Noted."))
    ask(alice, TEA)
    model.script(reply(calls("recall", query="Which tea do I drink?")), reply("I do not know."))

    ask(bob, "Which tea do I drink?")

    assert TEA not in json.dumps(model.calls[-1].body)


def test_what_is_forgotten_while_the_turn_runs_is_not_written_by_it(alice, model):
    model.script(reply(remembers()), reply("Noted."))
    ask(alice, TEA)
    [memory] = longterm.memories(alice.id)
    again = "I only drink green tea. And rain is fine."
    model.script(
        reply(remembers(), remembers("Rain is fine.", quote="rain is fine"), gate="thinking"), reply("Sorry.")
    )
    turn = post(alice, again)

    with answering(turn):
        model.wait_until_held("thinking")
        operations.forget(alice.id, memory.id, now=timezone.now())
        model.release("thinking")

    assert [result["error"] for result in results(model.calls[-1].body)] == ["forgotten", "forgotten"]
    assert list(longterm.memories(alice.id)) == []
    assert fresh(turn).status == "completed"


def test_a_conversation_deleted_while_its_turn_runs_stops_the_turn_quietly(alice, model):
    model.script(reply(calls("calculate", expression="1 + 1"), gate="thinking"))
    turn = post(alice, "Hello")

    with answering(turn):
        model.wait_until_held("thinking")
        conversations.delete_conversation(alice.id, turn.conversation_id)

    assert len(model.calls) == 1
    assert Turn.objects.get(id=turn.id).status == Turn.Status.CANCELLED
    assert list(longterm.memories(alice.id)) == []
