"""The weakest origin in a prompt: it stays with the conversation for as long as what brought it does."""

import pytest
from django.utils import timezone

from chat import sending, tools, turn
from chat.draining import drain
from chat.reaper import reap_turns
from chat.tool_use import use_tools
from memoryapp.longterm import operations as longterm
from memoryapp.longterm import queries
from memoryapp.policies.trust import Origin, own_words
from memoryapp.scratchpad import queries as runs
from memoryapp.tooling.base import Arguments, Tool, ToolOutput
from memoryapp.transcript import branches, summaries
from memoryapp.transcript.models import Conversation, Summary, Turn
from memoryapp.transcript.summaries import NewSummary
from tests.chat.dying import Killed
from tests.longterm.saying import remember
from tests.modelserver import calls, reply
from tests.turns import COMMITTED, answer, ask, claim, expire_lease, fresh, post, start

pytestmark = [COMMITTED, pytest.mark.usefixtures("nudges")]


class Nothing(Arguments):
    pass


class Letter(Arguments):
    to: str


@pytest.fixture(autouse=True)
def sent(monkeypatch):
    """Who got a letter. One tool writes them, unasked; one asks first; another reads a page."""
    letters: list[str] = []

    def send(letter: Letter, _context) -> ToolOutput:
        letters.append(letter.to)
        return ToolOutput("sent", origin=Origin.USER_TYPED)

    offered = (
        Tool.of(
            "read_page",
            "Read.",
            Nothing,
            lambda *_: ToolOutput("Hi"),
            untrusted_output=True,
            is_volatile=True,
        ),
        Tool.of("look_up", "Look up.", Nothing, lambda *_: ToolOutput("42", origin=Origin.TOOL)),
        Tool.of("send_letter", "Send.", Letter, send, side_effects=True, touches="the letter box"),
        Tool.of(
            "ask_to_send", "Send.", Letter, send, side_effects=True, needs_approval=True, touches="the box"
        ),
    )
    monkeypatch.setattr(tools, "added_tools", lambda _taken: offered)
    return letters


def read_page(alice, model, conversation: Conversation | None = None) -> Turn:
    model.script(reply(calls("read_page")), reply("It says hi."))
    return ask(alice, "Read the page", conversation)


def plain(alice, model, conversation: Conversation, text: str = "Thanks") -> Turn:
    model.script(reply("You are welcome."))
    return ask(alice, text, conversation)


def letter(alice, model, conversation: Conversation, tool: str = "ask_to_send", to: str = "Ann") -> Turn:
    model.script(reply(calls(tool, to=to)), reply("Written."))
    return ask(alice, f"Write to {to}", conversation)


def decide(asked: Turn, **word: object) -> None:
    approval = runs.approvals(asked.user_id, [asked.id]).get()
    sending.decide(asked.user, asked.id, approval.tool_use_id, approve=True, nonce=approval.nonce, **word)


@pytest.mark.parametrize(
    ("tool", "taint"),
    [("read_page", Origin.UNTRUSTED), ("look_up", Origin.TOOL), ("current_time", Origin.USER_TYPED)],
)
def test_a_turn_is_as_trusted_as_the_least_trusted_text_it_read(alice, model, tool, taint):
    model.script(reply(calls(tool)), reply("Done."))

    assert ask(alice, "Go on").taint == taint


def test_it_holds_for_the_turns_that_follow_and_for_no_other_chat(alice, model):
    conversation = start(alice)
    read_page(alice, model, conversation)

    after = [plain(alice, model, conversation).taint for _ in range(2)]
    elsewhere = plain(alice, model, start(alice)).taint

    assert after == [Origin.UNTRUSTED, Origin.UNTRUSTED]
    assert elsewhere == Origin.USER_TYPED


def test_a_branch_without_the_page_is_free_of_it(alice, model):
    conversation = start(alice)
    read = read_page(alice, model, conversation)
    model.script(reply("No page this time."))

    anew, _ = branches.ask_anew(alice, read.id, idempotency_key="anew", now=timezone.now())
    answered = answer(anew)
    branches.show_branch(alice.id, read.id)

    assert answered.taint == Origin.USER_TYPED
    assert plain(alice, model, conversation).taint == Origin.UNTRUSTED


def test_a_summary_of_it_carries_it_on(alice, model):
    conversation = start(alice)
    covered = read_page(alice, model, conversation)
    summarised(conversation, covered, taint=covered.taint)

    assert plain(alice, model, conversation).taint == Origin.UNTRUSTED


def test_an_edited_summary_too(alice, model):
    conversation = start(alice)
    covered = read_page(alice, model, conversation)
    summarised(conversation, covered, taint=covered.taint)

    edited = summaries.edit_summary(alice.id, conversation.id, version=1, text="It says hi, and more.")

    assert edited.taint == Origin.UNTRUSTED


def test_words_that_were_pinned_carry_it_on(alice, model):
    conversation = start(alice)
    covered = read_page(alice, model, conversation)
    summaries.pin_line(alice.id, covered.id, text="It says hi.")
    summarised(conversation, covered, taint=Origin.USER_TYPED)

    assert plain(alice, model, conversation).taint == Origin.UNTRUSTED


def summarised(conversation: Conversation, covered: Turn, *, taint: Origin) -> None:
    new = NewSummary(
        last_turn_id=covered.id,
        last_seq=covered.seq,
        text="A page was read.",
        method=Summary.Method.EXTRACTIVE,
        trigger=Summary.Trigger.MANUAL,
        tokens_before=100,
        taint=taint,
    )
    assert summaries.add_summary(conversation, new, replaces=None)


def test_it_is_noted_while_the_turn_waits_and_stays_when_it_is_stopped(alice, model):
    model.script(reply(calls("read_page")), reply("It says hi.", calls("ask_to_send", to="Ann")))
    waiting = ask(alice, "Read it and write to Ann")

    stopped = sending.stop(alice, waiting.id)

    assert (waiting.status, waiting.taint) == ("waiting", Origin.UNTRUSTED)
    assert (stopped.status, fresh(stopped).taint) == ("cancelled", Origin.UNTRUSTED)


def test_it_is_noted_when_the_turn_is_handed_over(alice, model, monkeypatch, leaving):
    model.script(reply(calls("read_page")))
    monkeypatch.setattr(turn, "use_tools", lambda *given: leaving(use_tools(*given)))

    left = ask(alice, "Read the page")

    assert (left.status, left.taint) == ("queued", Origin.UNTRUSTED)


@pytest.fixture
def leaving():
    """``leaving(results)``: by then the worker has been asked to leave."""

    def leave(results):
        drain.begin()
        return results

    yield leave
    drain.end()


def test_of_a_lost_worker_the_checkpoints_tell_it(alice, model, monkeypatch):
    model.script(reply(calls("read_page")), reply("It says", end_at=4))
    posted = post(alice, "Read the page")
    with monkeypatch.context() as patched:
        patched.setattr(turn, "end_failed", lambda *_args, **_options: None)
        turn.run_turn(claim(posted))
    expire_lease(posted)

    reap_turns()

    assert (fresh(posted).status, fresh(posted).taint) == ("interrupted", Origin.UNTRUSTED)


def test_and_the_worker_that_goes_on_knows_it(alice, model, monkeypatch):
    model.script(reply(calls("read_page")), reply("It says hi."))
    posted = post(alice, "Read the page")

    def dying(*_args, **_options):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(turn, "_require_progress", lambda progress: dying() if progress.steps else None)
        with pytest.raises(Killed):
            turn.run_turn(claim(posted))
    expire_lease(posted)
    reap_turns()

    assert fresh(posted).taint == Origin.UNTRUSTED
    assert answer(posted).taint == Origin.UNTRUSTED


def test_what_strangers_wrote_never_acts_unasked(alice, model, sent):
    conversation = start(alice)
    letter(alice, model, conversation, "send_letter")
    read_page(alice, model, conversation)
    model.reset()

    asked = letter(alice, model, conversation, "send_letter", "Bea")

    assert sent == ["Ann"]
    assert (asked.status, asked.wait_reason) == ("waiting", "approval")
    approval = runs.approvals(alice.id, [asked.id]).get()
    assert (
        approval.touches == "the letter box The assistant has read text in this chat that you did not write."
    )


def test_what_a_tool_of_the_operator_answered_asks_nobody(alice, model, sent):
    model.script(reply(calls("look_up")), reply(calls("send_letter", to="Ann")), reply("Written."))

    assert ask(alice, "Look it up and write to Ann").status == "completed"
    assert sent == ["Ann"]


def test_always_does_not_cover_what_strangers_lead_to_later(alice, model, sent):
    conversation = start(alice)
    decide(letter(alice, model, conversation), always=True)
    answer(Turn.objects.get())
    read_page(alice, model, conversation)
    model.reset()

    asked = letter(alice, model, conversation, to="Bea")

    assert (asked.status, sent) == ("waiting", ["Ann"])


def test_always_that_was_given_after_it_was_read_holds(alice, model, sent):
    conversation = start(alice)
    read_page(alice, model, conversation)
    asked = letter(alice, model, conversation)
    decide(asked, always=True)
    answer(asked)

    again = letter(alice, model, conversation, to="Bea")

    assert (again.status, sent) == ("completed", ["Ann", "Bea"])


def test_what_another_chat_recalls_of_it_brings_it_along(alice, model, configure):
    configure(STRATA_RECALL_MIN_CONFIDENCE="0.05")  # by words alone, for nothing is embedded here
    model.script(reply(calls("read_page")), reply("The shop in Harbour Street opens at nine."))
    ask(alice, "Read the page of the shop")
    model.script(reply("At nine."))

    turn = ask(alice, "When does the shop in Harbour Street open?")

    assert "opens at nine" in str(model.calls[-1].body)
    assert turn.taint == Origin.UNTRUSTED


def strangers_fact(alice):
    return remember(
        alice, "The user's parcels go to Harbour Street", kind="preference", origin=Origin.UNTRUSTED
    ).memory


def asked_for_parcels(alice, model) -> Turn:
    model.script(reply(calls("list_facts")), reply("To Harbour Street."))
    return ask(alice, "Where do my parcels go?")


def test_what_its_person_confirmed_brings_no_strangers_word_along(alice, model):
    held = strangers_fact(alice)
    longterm.confirm(alice.id, held.id, version=held.version, now=timezone.now())

    turn = asked_for_parcels(alice, model)

    read = str(model.calls[-1].body)
    assert "parcels go to Harbour Street" in read
    assert "user_confirmed" in read
    assert "untrusted" not in read
    assert turn.taint == Origin.USER_CONFIRMED
    assert own_words(Origin(turn.taint)) == Origin.USER_TYPED


def test_what_waits_is_in_no_prompt_and_taints_none(alice, model):
    strangers_fact(alice)

    turn = asked_for_parcels(alice, model)

    assert "Harbour Street" not in str(model.calls[-1].body).replace("To Harbour Street.", "")
    assert turn.taint == Origin.USER_TYPED


def test_nor_is_the_turn_in_which_it_was_said(alice, model, configure):
    configure(STRATA_RECALL_MIN_CONFIDENCE="0.05")
    model.script(
        reply(calls("read_page")),
        reply(calls("remember", statement="I love skiing", kind="preference", quote="I love skiing")),
        reply("It waits: you love skiing."),
    )
    ask(alice, "Read the page. I love skiing")
    [held] = queries.memories(alice.id, status="pending")
    model.script(reply("I do not know."), reply("Skiing."))

    waiting = ask(alice, "What about skiing do I love?")
    longterm.confirm(alice.id, held.id, version=held.version, now=timezone.now())
    confirmed = ask(alice, "Which sport, skiing, do I love?")

    assert waiting.taint == Origin.USER_TYPED
    assert "you love skiing" not in str(model.calls[-2].body)
    assert "I love skiing" in str(model.calls[-1].body)
    assert confirmed.taint == Origin.UNTRUSTED  # of the page, which the reply may hold
