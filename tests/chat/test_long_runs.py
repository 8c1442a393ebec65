"""A run of many large results in a small window: it goes on to its end, whatever the server's rules for thinking."""

import json
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest

from chat import tools, turn
from chat.reaper import reap_turns
from memoryapp.errors import InvalidInputError
from memoryapp.lifecycle.compaction import compact
from memoryapp.policies.trust import Origin
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.scratchpad import queries as runs
from memoryapp.tooling.base import ToolOutput
from memoryapp.transcript.models import Summary, Turn
from tests.modelserver import calls, fails, redacted, reply, thinks
from tests.modelserver.counting import count_prompt, without_marks
from tests.modelserver.models import find_model
from tests.talking import say
from tests.turns import COMMITTED, answer, ask, claim, expire_lease, post, reply_to, start

pytestmark = [COMMITTED, pytest.mark.usefixtures("nudges")]

ROUNDS = 30
EARLY = (2, 3)  # rounds whose call fails
ASKED = "Find out where the parcel is, and say nothing but the truth."
MODELS = ["thinking-12k", "tiny-12k", "legacy-12k"]


@pytest.fixture(autouse=True)
def library(monkeypatch):
    """A tool with large results: the searched pages, of about 800 tokens each; a few are missing."""

    def read_page(arguments, _context):
        page = arguments.query
        if page.startswith("missing"):
            raise InvalidInputError(f"There is no {page}.")
        found = [
            {"page": page, "line": number, "text": f"{page} says: " + "word " * 60} for number in range(12)
        ]
        return ToolOutput(json.dumps(found), origin=Origin.USER_TYPED, done=f"read {page}")

    library = replace(tools.SEARCH_CONVERSATIONS, run=read_page)
    monkeypatch.setattr(tools, "SEARCH_CONVERSATIONS", library)


@pytest.fixture
def small(configure, model):
    """``small("thinking-12k")``: the strict server as that model, of which every request must fit the window."""

    def small(name):
        configure(STRATA_CHAT_MODEL=name, STRATA_RUN_MAX_STEPS="60")
        return model

    return small


def read(page: str):
    return calls("search_conversations", query=page)


def rounds(name: str, count: int = ROUNDS):
    """What the model says: each time it thinks, where it can, and reads two pages at once; in the end it answers."""
    for number in range(1, count + 1):
        thoughts = [thinks(f"Page {number}?"), *([redacted("b3BhcXVl")] if number % 5 == 0 else [])]
        pages = [f"missing page {number}" if number in EARLY else f"page {number}", f"note {number}"]
        yield reply(*(thoughts if name.startswith("thinking") else ()), *map(read, pages), model=name)
    yield reply("It is in Porto.", model=name)


def bodies(model):
    return [json.loads(json.dumps(call.body)) for call in model.calls]


def blocks(body, kind):
    return [block for message in body["messages"] for block in message["content"] if block["type"] == kind]


def told(body) -> dict:
    """What the note in place of earlier steps says; empty without one."""
    notes = [block["text"] for block in blocks(body, "text") if block["text"].startswith("<steps-so-far>")]
    assert len(notes) <= 1
    return json.loads(notes[0].split("\n")[1]) if notes else {}


def is_rewritten(before, after) -> bool:
    shorter, longer = (without_marks(body["messages"]) for body in (before, after))
    return longer[: len(shorter)] != shorter


@dataclass(frozen=True, slots=True)
class Ended:
    """What is left of a run, and the requests that it made."""

    status: str
    reply: str
    steps: int
    answers: list[int]
    bodies: list[dict]


_ENDED: dict[str, Ended] = {}


@pytest.fixture
def thirty_rounds(alice, small):
    """``thirty_rounds("thinking-12k")``: such a run, which is taken once for all who look at its requests."""

    def taken(name) -> Ended:
        model = small(name)
        if name not in _ENDED:
            model.script(*rounds(name))
            turn = ask(alice, ASKED)
            steps = runs.steps(runs.run_of_turn(alice.id, turn.id)).count()
            answers = [call.status for call in model.calls]
            _ENDED[name] = Ended(turn.status, reply_to(turn), steps, answers, bodies(model))
        return _ENDED[name]

    return taken


@pytest.mark.parametrize("name", MODELS)
def test_thirty_rounds_of_large_results_are_answered_within_the_window(thirty_rounds, name):
    ended = thirty_rounds(name)

    assert (ended.status, ended.reply) == ("completed", "It is in Porto.")
    assert ended.answers == [200] * (ROUNDS + 1)
    window_tokens = find_model(name).window_tokens
    for body in ended.bodies:
        assert count_prompt(body) + body["max_tokens"] <= window_tokens
        assert ASKED in [block["text"] for block in body["messages"][0]["content"]]
    assert ended.steps == 2 * ROUNDS


@pytest.mark.parametrize("name", MODELS)
def test_what_failed_early_is_still_told_in_the_last_request(thirty_rounds, name):
    ended = thirty_rounds(name)

    failed = told(ended.bodies[-1])["failed"]
    for number, line in zip(EARLY, failed, strict=True):
        assert line.startswith(f'search_conversations {{"query": "missing page {number}"}}: ')
        assert line.endswith(f"There is no missing page {number}.")


@pytest.mark.parametrize("name", MODELS)
def test_the_newest_results_are_in_every_request_those_of_parallel_calls_together(thirty_rounds, name):
    ended = thirty_rounds(name)

    for number, body in enumerate(ended.bodies[1:], start=1):
        results = [block for block in body["messages"][-1]["content"] if block["type"] == "tool_result"]
        if results:
            newest = [result["content"] for result in results]
        else:
            newest = [one["result"] for one in told(body)["results"][-2:]]
        assert len(newest) == 2
        assert f"note {number}" in newest[1]


@pytest.mark.parametrize("name", MODELS)
def test_most_steps_are_appended_and_the_prompt_is_rewritten_now_and_then(alice, small, name):
    name = name.replace("12k", "24k")
    model = small(name)
    model.script(*rounds(name))

    ask(alice, ASKED)

    rewritten = [is_rewritten(before, after) for before, after in pairwise(bodies(model))]
    assert 0 < sum(rewritten) <= ROUNDS // 2


def test_a_run_that_was_retold_has_no_thinking_of_before_and_keeps_what_came_since(thirty_rounds):
    ended = thirty_rounds("thinking-12k")

    for before, after in pairwise(ended.bodies):
        kept = len(blocks(after, "thinking"))
        assert kept == (0 if is_rewritten(before, after) else len(blocks(before, "thinking")) + 1)


class Killed(BaseException):
    """Nothing catches it, and nothing is written after it: like SIGKILL."""


def lose_worker(posted: Turn, monkeypatch, *, after_checkpoint: int) -> None:
    with monkeypatch.context() as patched:
        write = scratchpad.checkpoint

        def dying(*args, **options):
            written = write(*args, **options)
            if options["number"] == after_checkpoint:
                raise Killed
            return written

        patched.setattr(scratchpad, "checkpoint", dying)
        with pytest.raises(Killed):
            turn.run_turn(claim(posted))
    expire_lease(posted)
    reap_turns()


# Of 12 rounds: what was asked for has the odd numbers, the results the even ones.
@pytest.mark.parametrize("number", [0, 1, 2, 9, 10, 15, 16, 24])
@pytest.mark.parametrize("name", MODELS)
def test_a_long_run_goes_on_after_its_worker_was_lost(alice, small, monkeypatch, name, number):
    model = small(name)
    conversation = start(alice)
    say(conversation, "Hello " + "word " * 200, "Hello. " + "word " * 200)
    model.script(*rounds(name, 12))
    posted = post(alice, ASKED, conversation)

    lose_worker(posted, monkeypatch, after_checkpoint=number)
    ended = answer(posted)

    assert (ended.status, reply_to(ended)) == ("completed", "It is in Porto.")
    assert len(model.calls) == 13
    assert runs.steps(runs.run_of_turn(alice.id, posted.id)).count() == 24
    for body in bodies(model):
        assert count_prompt(body) + body["max_tokens"] <= find_model(name).window_tokens
        assert body["messages"][0]["content"][0]["text"].startswith("Hello")


@pytest.mark.parametrize("number", [3, 4])
def test_a_run_goes_on_although_the_conversation_was_compacted_meanwhile(
    alice, small, configure, monkeypatch, number
):
    model = small("thinking-24k")
    configure(STRATA_COMPACTION_KEEP_TURNS="2")
    conversation = start(alice)
    for part in range(12):
        say(conversation, f"Part {part} " + "word " * 100, "Fine. " + "word " * 100)
    model.script(*rounds("thinking-24k", 3))
    posted = post(alice, ASKED, conversation)
    lose_worker(posted, monkeypatch, after_checkpoint=number)
    model.script(fails(529, "overloaded_error"))  # the summarising model

    compacted = compact(alice.id, conversation.id, trigger=Summary.Trigger.MANUAL)
    ended = answer(posted)

    assert compacted.versions == 1
    assert (ended.status, reply_to(ended)) == ("completed", "It is in Porto.")
    after = bodies(model)[-2]
    assert after["messages"][0]["content"][0]["text"].startswith("<kept-word-for-word>")
    assert told(after)["failed"][0].endswith("There is no missing page 2.")
    assert blocks(after, "thinking") == []


def test_a_run_that_the_provider_finds_too_long_is_retold_and_goes_on(alice, small):
    model = small("thinking-24k")
    model.script(*list(rounds("thinking-24k", 3))[:-1])
    model.script(fails(400, "invalid_request_error", "input is too long"))
    model.script(reply(thinks("One more."), read("page 9")), reply("It is in Porto."))
    conversation = start(alice)
    say(conversation, "Hello", "Hello.")

    ended = ask(alice, ASKED, conversation)

    refused, again, last = bodies(model)[3:]
    assert (ended.status, reply_to(ended)) == ("completed", "It is in Porto.")
    assert count_prompt(again) < count_prompt(refused)
    assert [len(blocks(body, "thinking")) for body in (refused, again, last)] == [3, 0, 1]
    model.reset()  # it was told to refuse


def test_the_next_turn_knows_nothing_of_the_steps(alice, small):
    model = small("thinking-12k")
    conversation = start(alice)
    model.script(*rounds("thinking-12k", 8))
    ask(alice, ASKED, conversation)

    ask(alice, "Thanks", conversation)

    said = [block["text"] for block in blocks(bodies(model)[-1], "text")]
    assert said == [ASKED, "It is in Porto.", "Thanks"]
