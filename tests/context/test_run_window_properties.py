"""Whatever a run is like: what is sent of it keeps the rules, fits, and is settled once."""

import copy
import itertools
import json

from hypothesis import example, given, settings
from hypothesis import strategies as st

from memoryapp.context.run_window import compress_results, drop_rounds, holds_thinking
from memoryapp.llm.base import (
    Image,
    ModelMessage,
    ModelRequest,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from memoryapp.llm.messages_wire import encode_prompt
from memoryapp.llm.tokens import estimate_message
from tests.context.running import A_NOTE, PAD, fitted_to, results_of, retold_to, rounds_of, size
from tests.modelserver import thinking
from tests.modelserver.models import find_model
from tests.modelserver.rules import IssuedThinking, check_request

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
huge_texts = st.builds(
    lambda word, times: word * times, st.text(min_size=1, max_size=6), st.integers(0, 1_500)
)
json_values = st.recursive(
    scalars | huge_texts,
    lambda inner: (
        st.lists(inner, max_size=9)
        | st.dictionaries(
            st.sampled_from(("error", "message", "items", "omitted")) | st.text(max_size=4), inner
        )
    ),
    max_leaves=20,
)
contents = (
    huge_texts | json_values.map(json.dumps) | st.sampled_from(("", "ok", "1e999", "[NaN]", "[" * 5_000))
)
words = st.sampled_from(("Find it.", A_NOTE, "")) | st.text(max_size=20)


@st.composite
def runs(draw, max_rounds: int = 6, *, thinks: bool | None = None) -> list[ModelMessage]:
    """What an agent's run may look like, with parallel tools, thinking (or not), pictures and empty texts."""
    ids = (f"toolu_{number}" for number in itertools.count(1))
    opening = (
        *draw(st.sampled_from([(), (Text("<recalled-memories>[]</recalled-memories>"),)])),
        *draw(st.sampled_from([(), (Image("image/png", PIXEL),)])),
        Text(draw(words) + "!"),
    )
    run = [ModelMessage("user", opening)]
    may_think = draw(st.booleans()) if thinks is None else thinks
    for _ in range(draw(st.integers(0, max_rounds))):
        calls = [
            ToolUse(next(ids), draw(st.sampled_from(("recall", "fetch"))), {"q": draw(st.text(max_size=5))})
            for _ in range(draw(st.integers(1, 3)))
        ]
        run.append(ModelMessage("assistant", (*draw(before_calls(may_think=may_think)), *calls)))
        results = [ToolResult(call.id, draw(contents), is_error=draw(st.booleans())) for call in calls]
        run.append(ModelMessage("user", (*results, *draw(st.sampled_from([(), (Text(PAD),)])))))
    return run


@st.composite
def before_calls(draw, *, may_think: bool):
    thought = draw(st.sampled_from(["", "Where could it be?"]))
    thoughts = [
        (Thinking(thought, thinking.sign(thought, prefix="then")), Text("I will look.")),
        (RedactedThinking("b3BhcXVl"),),
    ]
    return draw(st.sampled_from([(), (Text(""),), (Text("I will look."),), *(thoughts if may_think else ())]))


def failing_with_controls(rounds: int) -> list[ModelMessage]:
    """Parallel calls, of which one fails with characters that take six each in JSON."""
    run = [ModelMessage("user", (Text("Find it.!"),))]
    for number in range(rounds):
        calls = [ToolUse(f"toolu_{number}_{place}", "recall", {"q": ""}) for place in range(2)]
        results = (
            ToolResult(calls[0].id, ""),
            ToolResult(calls[1].id, chr(number + 1) * 200, is_error=True),
        )
        run += [ModelMessage("assistant", tuple(calls)), ModelMessage("user", results)]
    return run


allowances = st.integers(0, 6_000)
keeps = st.integers(0, 4)
some = settings(max_examples=60, deadline=None)


def every_way(run, keep: int, allowance: int):
    """The run after each of the functions."""
    return (
        compress_results(run, keep_rounds=keep),
        drop_rounds(run, keep_rounds=max(keep, 1)),
        fitted_to(run, allowance),
        retold_to(run, allowance),
    )


@some
@given(runs(), keeps, allowances)
def test_what_is_sent_keeps_every_rule_of_the_api(run, keep, allowance):
    model = find_model("tiny-900k")

    for changed in every_way(run, keep, allowance):
        request = ModelRequest("tiny-900k", "You help.", changed, (), max_tokens=100)
        check_request({**encode_prompt(request), "max_tokens": 100}, model, IssuedThinking())


@some
@given(runs(), allowances)
@example(failing_with_controls(6), 7)
def test_it_fits_or_nothing_is_left_that_could_go(run, allowance):
    changed = fitted_to(run, allowance)

    if size(changed) > allowance:
        assert rounds_of(changed) <= (0 if holds_thinking(run) else 1)
        assert all(len(result.content) <= 256 for m in changed for result in results_of(m))
        assert all(len(block.text) < 2_500 for block in changed[0].blocks[len(run[0].blocks) :])


@some
@given(runs(), keeps, allowances)
def test_doing_it_twice_is_doing_it_once(run, keep, allowance):
    short, dropped, fit, told = every_way(run, keep, allowance)

    assert compress_results(short, keep_rounds=keep) == short
    assert drop_rounds(dropped, keep_rounds=max(keep, 1)) == dropped
    assert fitted_to(fit, allowance) == fit
    assert retold_to(told, allowance) == fitted_to(told, allowance) == told


@some
@given(runs(), keeps, allowances)
def test_calls_and_their_results_stay_together_parallel_ones_in_one_message(run, keep, allowance):
    for changed in every_way(run, keep, allowance):
        for asked, answered in itertools.pairwise(changed):
            calls = [block.id for block in asked.blocks if isinstance(block, ToolUse)]
            assert [result.tool_use_id for result in results_of(answered)] == calls


@some
@given(runs(), keeps, allowances)
def test_the_users_words_and_pictures_stay_verbatim(run, keep, allowance):
    opening = run[0].blocks

    for changed in every_way(run, keep, allowance):
        assert changed[0].blocks[: len(opening)] == opening
        assert len(changed[0].blocks) <= len(opening) + 2


@some
@given(runs(thinks=False), keeps, allowances)
def test_calls_pads_and_errors_of_what_stays_are_untouched(run, keep, allowance):
    for changed in every_way(run, keep, allowance)[:3]:
        for before, after in zip(run[len(run) - len(changed) + 1 :], changed[1:], strict=True):
            assert [type(block) for block in after.blocks] == [type(block) for block in before.blocks]
            for old, new in zip(before.blocks, after.blocks, strict=True):
                assert new == old or (new.tool_use_id, new.is_error) == (old.tool_use_id, old.is_error)


@some
@given(runs(), keeps, allowances)
def test_the_run_itself_is_left_alone(run, keep, allowance):
    before = copy.deepcopy(run)

    every_way(run, keep, allowance)

    assert run == before


@some
@given(runs(), st.integers(0, 6), allowances)
def test_of_a_run_that_is_retold_no_thinking_is_left_and_retelling_in_parts_tells_the_same(
    run, part, allowance
):
    told = retold_to(run, allowance)

    assert not holds_thinking(told)
    assert rounds_of(told) == 0
    assert retold_to([*retold_to(run[: 2 * part + 1], allowance), *run[2 * part + 1 :]], allowance) == told


@some
@given(runs(thinks=True), allowances)
def test_a_run_with_thinking_is_sent_as_it_is_or_without_any(run, allowance):
    changed = fitted_to(run, allowance)

    assert changed == tuple(run) or not holds_thinking(changed)


@some
@given(runs(), allowances)
def test_once_settled_there_is_room_for_the_next_steps(run, allowance):
    changed = fitted_to(run, allowance)

    if size(run) > allowance >= size(changed) > 0.8 * allowance:
        assert rounds_of(changed) <= 1  # the newest results and the user's words are worth more than room


@some
@given(runs(), allowances)
def test_a_run_whose_calls_are_unanswered_is_left_alone(run, allowance):
    unanswered = (
        run[:-1] if rounds_of(run) else [*run, ModelMessage("assistant", (ToolUse("toolu_x", "recall", {}),))]
    )

    assert fitted_to(unanswered, allowance) == retold_to(unanswered, allowance) == tuple(unanswered)


@some
@given(runs(), runs(max_rounds=1))
def test_while_it_fits_it_is_only_appended_to(run, more):
    grown = [*run, *more[1:]]

    changed = fitted_to(grown, size(grown))

    assert changed == tuple(grown)
    assert changed[: len(run)] == fitted_to(run, size(grown))


@some
@given(runs(), keeps)
def test_no_short_form_is_longer_and_the_newest_rounds_stay_whole(run, keep):
    changed = compress_results(run, keep_rounds=keep)

    newest = len(run) - 2 * min(keep, rounds_of(run))
    assert changed[newest:] == tuple(run[newest:])
    for before, after in zip(run, changed, strict=True):
        assert estimate_message(after) <= estimate_message(before)
        for old, new in zip(results_of(before), results_of(after), strict=True):
            assert len(new.content) <= len(old.content)


@some
@given(st.lists(json_values, min_size=1, max_size=3).map(json.dumps), st.booleans())
def test_what_is_json_stays_json(content, is_error):
    run = [
        ModelMessage("user", (Text("Find it."),)),
        ModelMessage("assistant", (ToolUse("toolu_1", "recall", {}),)),
        ModelMessage("user", (ToolResult("toolu_1", content, is_error=is_error),)),
    ]

    changed = results_of(compress_results(run, keep_rounds=0)[2])[0].content

    # NaN and infinity are no JSON, whatever Python writes.
    if "NaN" not in content and "Infinity" not in content:
        assert type(json.loads(changed)) is list
    changed.encode()


@some
@given(runs(), keeps, keeps)
def test_dropping_bit_by_bit_says_the_same_as_dropping_at_once(run, keep, more):
    at_once = drop_rounds(run, keep_rounds=keep)

    assert drop_rounds(drop_rounds(run, keep_rounds=keep + more), keep_rounds=keep) == at_once
