"""The runs on record: listed, one step by step, live while it goes on, and gone when their time is over."""

import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memoryapp.lifecycle.tasks import sweep
from memoryapp.llm.base import Usage
from memoryapp.longterm import operations as longterm
from memoryapp.longterm import queries
from memoryapp.longterm.models import Kind
from memoryapp.scratchpad import approvals
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.scratchpad.models import Approval, Checkpoint, Run, Step
from memoryapp.scratchpad.operations import Spending, StepRecord
from memoryapp.scratchpad.pad import Fact, Failure, Pad
from memoryapp.transcript import claims
from memoryapp.transcript.models import Turn
from tests.inspector.reading import words_of
from tests.longterm.saying import remember_from
from tests.turns import claim, post
from tests.world import everything_of

RUNS = reverse("inspector:runs")
HTMX = {"HX-Request": "true"}

pytestmark = pytest.mark.usefixtures("nudges")


@pytest.fixture
def browser(client, alice):
    client.force_login(alice)
    return client


class Working:
    """A run that a worker is at."""

    def __init__(self, user, goal="Plan the trip"):
        self.claim = claim(post(user, goal))
        self.attempt = self.claim.attempt
        self.run = scratchpad.open_run(
            user_id=user.id, turn_id=self.claim.turn_id, goal=goal, attempt=self.attempt
        )

    def step(self, status=Step.Status.OK, *, pad=None, **values):
        record = {
            "tool_use_id": str(uuid4()),
            "action": "calculate",
            "arguments": {"expression": "2+2"},
            "observation": "4",
            "status": status,
            "tokens": 7,
            "duration_ms": 3,
            "origin": "tool",
        }
        pad = pad or Pad(goal=self.run.goal)
        return scratchpad.record_step(
            self.run, StepRecord(**(record | values)), pad=pad, attempt=self.attempt
        )

    def keep(self, number, *, usage=None, active_ms=0):
        scratchpad.checkpoint(
            self.run,
            number=number,
            delta=[{"role": "user"}],
            pad=Pad(goal=self.run.goal),
            taint="user_typed",
            attempt=self.attempt,
            spending=Spending(usage=usage, active_ms=active_ms),
        )

    def ask(self, tool_use_id="ask-1"):
        return approvals.ask(
            self.run,
            approvals.Question(
                tool_use_id=tool_use_id,
                action="send_mail",
                arguments={"to": "bob@example.org"},
                why="Shall I tell Bob?",
                touches="your mailbox",
                source="Post",
                fingerprint="",
            ),
            attempt=self.attempt,
        )

    def wait(self, reason=Turn.WaitReason.APPROVAL, message="Strata wants to send a mail."):
        assert claims.wait_turn(
            self.claim, reason=reason, message=message, wait_s=3600, partial_text="So far"
        )

    def end(self, status=Run.Status.COMPLETED):
        if status == Run.Status.COMPLETED:
            claims.finish_turn(self.claim, reply="Done.", model="m", usage=Usage())
        else:
            claims.fail_turn(
                self.claim,
                status=Turn.Status(status),
                partial_text="",
                code="model_unavailable",
                message="The model is away.",
            )
        scratchpad.close_run(self.claim.turn_id, attempt=self.attempt, status=status)
        return self.run

    @property
    def page(self):
        return reverse("inspector:run", args=[self.run.id])

    @property
    def live(self):
        return reverse("inspector:run_live", args=[self.run.id])


def finished_with_steps(user, count):
    at_work = Working(user)
    for _ in range(count):
        at_work.step()
    return at_work.end()


def kept_for(days):
    Kind.objects.filter(subject=Kind.Subject.RUN).update(ttl_days=days)


def listed(browser, **filters):
    return [row.head for row in browser.get(RUNS, filters).context["runs"]]


class TestList:
    def test_a_run_says_how_it_went_and_what_it_used(self, browser, alice, configure):
        configure(STRATA_MODEL_SETTINGS='{"m": {"usd_per_million_input": 1, "usd_per_million_output": 10}}')
        at_work = Working(alice)
        at_work.step()
        at_work.keep(1, usage=Usage(input_tokens=1000, output_tokens=200), active_ms=2_000)
        at_work.end()
        Run.objects.update(finished_at=at_work.run.started_at + timedelta(seconds=65))

        shown = words_of(browser.get(RUNS))

        for words in ("Plan the trip", "Completed", "1 step", "1 model call", "1,200 tokens", "$0.0030"):
            assert words in shown
        assert "2.0 s at work, 1 min 3 s waiting" in shown

    def test_what_a_run_did_not_use_is_not_listed(self, browser, alice):
        Working(alice).end()

        shown = words_of(browser.get(RUNS))

        assert "Plan the trip" in shown
        for words in ("0 step", "0 model call", "0 tokens", "no price set", "—"):
            assert words not in shown

    def test_a_run_leads_to_its_conversation(self, browser, alice):
        run = Working(alice).end()

        shown = browser.get(RUNS).content.decode()

        assert reverse("inspector:conversation", args=[run.turn.conversation_id]) in shown

    def test_each_state_has_an_address(self, browser, alice):
        for status in (Run.Status.COMPLETED, Run.Status.FAILED, Run.Status.CANCELLED):
            Working(alice, status).end(status)
        Working(alice, "running")
        Working(alice, "waiting").wait()

        found = {
            status: [head.goal for head in listed(browser, status=status)]
            for status in ("running", "waiting", "completed", "failed", "cancelled", "unknown")
        }

        assert found == {
            "running": ["running"],
            "waiting": ["waiting"],
            "completed": ["completed"],
            "failed": ["failed"],
            "cancelled": ["cancelled"],
            "unknown": [],
        }

    def test_what_a_run_waits_for_is_said(self, browser, alice):
        Working(alice).wait()

        (head,) = listed(browser)

        assert head.status_label == "Waiting for your word"

    def test_goals_are_searched(self, browser, alice):
        Working(alice, "Plan the trip").end()
        Working(alice, "Write a poem").end()

        assert [head.goal for head in listed(browser, q="POEM")] == ["Write a poem"]

    def test_pages_follow_each_other_and_keep_the_filters(self, browser, alice, monkeypatch):
        monkeypatch.setattr("memoryapp.inspector.run_views.PAGE", 2)
        for number in range(3):
            Working(alice, f"trip {number}").end()
        Working(alice, "poem").end()

        first = browser.get(RUNS, {"q": "trip"}).context
        second = browser.get(RUNS + first["next_url"]).context

        assert [row.head.goal for row in first["runs"]] == ["trip 2", "trip 1"]
        assert [row.head.goal for row in second["runs"]] == ["trip 0"]
        assert second["next_url"] == ""

    def test_no_runs_and_no_matches_are_told_apart(self, browser, alice):
        empty = words_of(browser.get(RUNS))
        Working(alice).end()
        unmatched = words_of(browser.get(RUNS, {"q": "poem"}))

        assert "No runs on record" in empty
        assert "No run matches" in unmatched

    def test_a_sparkline_has_a_bar_for_each_step_and_says_the_same_in_words(self, browser, alice):
        at_work = Working(alice)
        at_work.step(duration_ms=100)
        at_work.step(Step.Status.ERROR, duration_ms=10)
        at_work.end()

        (row,) = browser.get(RUNS).context["runs"]

        assert [(bar.status, bar.height) for bar in row.sparkline.bars] == [("ok", 20), ("error", 6)]
        assert row.sparkline.words == "Steps: 1 done, 1 failed."

    def test_more_runs_take_no_more_queries(self, browser, alice, django_assert_num_queries):
        finished_with_steps(alice, 1)
        with CaptureQueriesContext(connection) as with_one:
            browser.get(RUNS)
        for _ in range(5):
            finished_with_steps(alice, 3)

        with django_assert_num_queries(len(with_one)):
            browser.get(RUNS)

    def test_bob_sees_none_of_alices(self, client, alice, bob):
        Working(alice).end()
        client.force_login(bob)

        assert listed(client) == []


class TestOne:
    def test_every_state_of_a_step_is_told(self, browser, alice):
        at_work = Working(alice)
        at_work.step()
        at_work.step(Step.Status.ERROR, error="There is no such page.")
        at_work.step(Step.Status.REFUSED)
        at_work.step(Step.Status.REPEATED)
        scratchpad.begin_step(
            at_work.run, tool_use_id="x", action="send_mail", arguments={}, round=1, attempt=at_work.attempt
        )

        response = browser.get(at_work.page)

        labels = [step.status_label for step in response.context["run"].steps]
        assert labels == ["Done", "Failed", "Not run", "Answered before", "Running"]
        assert "There is no such page." in words_of(response)

    def test_the_timeline_tells_the_same_in_a_picture_and_in_words(self, browser, alice):
        at_work = Working(alice)
        at_work.step()
        at_work.step(Step.Status.ERROR)
        at_work.end()

        response = browser.get(at_work.page)

        line = response.context["run"].timeline
        assert [(mark.look, mark.label, mark.note) for mark in line.marks] == [
            ("ok", "1 · calculate", "Done"),
            ("error", "2 · calculate", "Failed"),
        ]
        assert line.words in response.content.decode()
        assert "2 · calculate" in words_of(response)

    def test_a_long_wait_is_drawn_short(self, browser, alice):
        at_work = Working(alice)
        at_work.step(duration_ms=1)
        at_work.wait()
        Run.objects.update(started_at=timezone.now() - timedelta(hours=5))
        Step.objects.update(created_at=timezone.now() - timedelta(hours=5) + timedelta(seconds=10))

        response = browser.get(at_work.page)

        line = response.context["run"].timeline
        assert line.is_shortened
        assert (line.marks[-1].look, line.marks[-1].note) == ("wait", "Waiting for your word")
        assert line.total == "5 h 0 min"
        assert float(line.marks[-1].width.removesuffix("%")) < 15

    def test_what_its_line_says_is_not_said_again_below(self, browser, alice):
        at_work = Working(alice)
        at_work.step(brief="short")
        at_work.step(brief="long " * 60)

        short, long = browser.get(at_work.page).context["run"].steps

        assert (short.summary, short.brief) == ("short", "")
        assert long.brief == "long " * 60

    def test_steps_have_the_anchors_that_chats_link_to(self, browser, alice):
        at_work = Working(alice)
        at_work.step()
        at_work.step()

        assert 'id="step-2"' in browser.get(at_work.page).content.decode()

    def test_what_a_tool_brought_is_text_never_markup(self, browser, alice):
        at_work = Working(alice)
        at_work.step(
            observation="<script>alert(1)</script>", brief="<b>brief</b>", arguments={"q": "<i>x</i>"}
        )

        shown = browser.get(at_work.page).content.decode()

        assert "<script>alert(1)" not in shown
        assert "<b>brief" not in shown
        assert "<i>x" not in shown
        assert "&lt;script&gt;alert(1)" in shown

    def test_what_cannot_be_seen_in_a_call_or_a_question_is_named(self, browser, alice):
        at_work = Working(alice)
        hidden = "a\u202eb\u200bc"
        pad = Pad(goal="g").with_fact(Fact(hidden, hidden, "t")).with_done(hidden)
        at_work.step(arguments={"q": hidden}, observation=hidden, brief=hidden, pad=pad)
        at_work.step(Step.Status.ERROR, error=hidden * 60)
        at_work.ask()
        Approval.objects.update(arguments={"to": hidden}, why=hidden, touches=hidden)

        shown = browser.get(at_work.page).content.decode()

        assert "\u202e" not in shown
        assert "\u200b" not in shown
        assert shown.count(">U+202E</span>") > 10

    def test_a_long_observation_is_cut_and_whole_on_request(self, browser, alice):
        at_work = Working(alice)
        at_work.step(observation="a" * 5_000 + "END")

        cut = browser.get(at_work.page)
        whole = browser.get(at_work.page, {"step": "1"})
        alone = browser.get(at_work.page, {"step": "1"}, headers=HTMX)

        assert "Show 3,003 more characters" in words_of(cut)
        assert "END" not in cut.content.decode()
        assert "aEND" in whole.content.decode()
        assert "aEND" in alone.content.decode()
        assert "Timeline" not in alone.content.decode()

    def test_a_step_that_does_not_exist_has_no_page(self, browser, alice):
        assert browser.get(Working(alice).page, {"step": "7"}).status_code == 404

    def test_untrusted_text_is_marked(self, browser, alice):
        at_work = Working(alice)
        at_work.step(origin="untrusted", taint="untrusted")
        at_work.step(taint="untrusted")

        first, second = browser.get(at_work.page).context["run"].steps

        assert (first.is_untrusted, first.origin_label, first.taint_label) == (
            True,
            "From a page or document",
            "",
        )
        assert (second.origin_label, second.taint_label) == ("A tool found", "From a page or document")

    def test_the_pad_is_shown_with_where_its_facts_come_from(self, browser, alice):
        at_work = Working(alice)
        pad = (
            Pad(goal="Plan the trip")
            .with_fact(Fact("train", "08:15", source="timetable"))
            .with_failure(Failure("fetch x", "no such page"))
            .with_plan(todo=("book",), open_questions=("which class?",))
        )
        at_work.step(pad=pad.with_done("looked it up"))

        shown = words_of(browser.get(at_work.page))

        for words in (
            "train: 08:15 timetable",
            "looked it up",
            "book",
            "fetch x no such page",
            "which class?",
        ):
            assert words in shown

    def test_what_is_used_of_each_limit_is_told(self, browser, alice):
        at_work = Working(alice)
        Run.objects.update(
            limits={"model_calls": 4, "tokens": 1_000, "seconds": 10, "usd": 0},
            model_calls=1,
            input_tokens=2_000,
            active_ms=5_000,
        )

        limits = browser.get(at_work.page).context["run"].limits

        assert [(row.label, row.used, row.limit, row.percent) for row in limits] == [
            ("Model calls", "1", "4", 25),
            ("Tokens", "2,000", "1,000", 100),
            ("Time at work", "5.0 s", "10.0 s", 50),
        ]

    def test_decisions_are_told_with_the_calls_they_were_about(self, browser, alice):
        at_work = Working(alice)
        for tool_use_id, answer in (
            ("a", {"approve": True, "always": True}),
            ("b", {"approve": False, "reason": "Not now"}),
        ):
            at_work.ask(tool_use_id)
            if tool_use_id == "b":
                Approval.objects.filter(tool_use_id="b").update(status="pending", is_always=False)
            approvals.decide(alice.id, at_work.claim.turn_id, tool_use_id, **answer)
        at_work.step(tool_use_id="a")

        response = browser.get(at_work.page)

        told = [(row.decision, row.reason, row.step_number) for row in response.context["run"].approvals]
        assert told == [("You always allow it in this chat", "", 1), ("You refused it", "Not now", 0)]
        assert "bob@example.org" in response.content.decode()

    def test_checkpoints_are_told_by_size_and_not_by_what_is_in_them(self, browser, alice):
        at_work = Working(alice)
        at_work.keep(0)
        at_work.keep(1)

        rows = browser.get(at_work.page).context["run"].checkpoints

        assert [(row.number, row.taint_label) for row in rows] == [(0, "You said"), (1, "You said")]
        assert all(row.chars > 10 for row in rows)

    def test_what_it_taught_is_linked(self, browser, alice):
        world = everything_of(alice)
        memory = remember_from_run(alice, world.run_id)

        response = browser.get(reverse("inspector:run", args=[world.run_id]))

        shown = response.content.decode()
        assert reverse("inspector:fact", args=[memory.id]) in shown
        (experience,) = response.context["experiences"]
        assert experience.url in shown

    @pytest.mark.parametrize(
        ("reason", "words"),
        [
            ("model", "At the latest it goes on by itself:"),
            ("approval", r"Without your answer by \d+ \w+ \d{4}, \d\d:\d\d it counts as no\."),
            ("stuck", r"Without your answer by \d+ \w+ \d{4}, \d\d:\d\d it ends\."),
        ],
    )
    def test_what_happens_when_a_wait_is_over_is_said(self, browser, alice, reason, words):
        at_work = Working(alice)
        at_work.wait(Turn.WaitReason(reason))

        html = browser.get(at_work.page).content.decode()

        assert re.search(words, html)

    def test_why_it_failed_is_said(self, browser, alice):
        at_work = Working(alice)
        at_work.end(Run.Status.FAILED)

        assert "The model is away." in words_of(browser.get(at_work.page))

    def test_the_prompt_of_any_call_can_be_looked_at(self, browser, alice):
        world = everything_of(alice)
        page = reverse("inspector:run", args=[world.run_id])

        chosen = browser.get(page, {"call": "1"})
        too_far = browser.get(page, {"call": "99"})

        assert chosen.context["shown_call"] == too_far.context["shown_call"] == 1
        assert f"{page}?call=1#calls" in chosen.content.decode()

    def test_it_leads_back_to_its_place_in_the_chat(self, browser, alice):
        world = everything_of(alice)

        shown = browser.get(reverse("inspector:run", args=[world.run_id])).content.decode()

        assert f"/c/{world.conversation_id}/#turn-{world.turn_id}" in shown

    @pytest.mark.parametrize(
        ("seconds", "text"),
        [(0.23, "230 ms"), (14.84, "14.8 s"), (125, "2 min 5 s"), (59.99, "1 min 0 s"), (7_300, "2 h 1 min")],
    )
    def test_it_says_how_long_it_took_in_units_to_read(self, browser, alice, seconds, text):
        run = Working(alice).end()
        Run.objects.update(finished_at=run.started_at + timedelta(seconds=seconds))

        (head,) = listed(browser)

        assert head.worked == text

    def test_bob_finds_nothing_of_it(self, client, alice, bob):
        at_work = Working(alice)
        at_work.step()
        client.force_login(bob)

        answers = [
            client.get(at_work.page),
            client.get(at_work.page, {"step": "1"}, headers=HTMX),
            client.get(at_work.live),
            client.get(at_work.live, headers=HTMX),
            client.post(reverse("inspector:run_delete", args=[at_work.run.id])),
        ]

        assert [answer.status_code for answer in answers] == [404] * 5
        assert all("Plan the trip" not in answer.content.decode() for answer in answers)


class TestLive:
    def test_the_page_looks_again_every_second_until_it_is_over(self, browser, alice):
        at_work = Working(alice)
        during = browser.get(at_work.page).content.decode()
        at_work.end()
        after = browser.get(at_work.page).content.decode()

        assert 'hx-trigger="every 1s"' in during
        assert f'href="{at_work.page}"' in during  # to do the same without scripts
        assert "hx-trigger" not in after

    def test_it_goes_on_looking_while_the_run_waits(self, browser, alice):
        at_work = Working(alice)
        at_work.ask()
        at_work.wait()

        response = browser.get(at_work.page)

        assert "every 1s" in response.content.decode()
        assert "Strata wants to send a mail." in words_of(response)
        assert "Decide in the chat" in words_of(response)

    def test_nothing_is_sent_while_nothing_changed(self, browser, alice, django_assert_max_num_queries):
        at_work = Working(alice)
        at_work.step()
        seen = browser.get(at_work.page).context["run"].seen

        with django_assert_max_num_queries(4):
            answer = browser.get(at_work.live, {"seen": seen}, headers=HTMX)

        assert (answer.status_code, answer.content) == (204, b"")

    @pytest.mark.parametrize(
        "change",
        [
            lambda at_work: at_work.step(),
            lambda at_work: at_work.keep(1, usage=Usage(input_tokens=1)),
            lambda at_work: at_work.ask(),
            lambda at_work: at_work.wait(),
            lambda at_work: at_work.end(),
            lambda at_work: scratchpad.begin_step(
                at_work.run, tool_use_id="x", action="a", arguments={}, round=1, attempt=at_work.attempt
            ),
        ],
        ids=["step", "checkpoint", "question", "wait", "end", "begun step"],
    )
    def test_every_change_is_sent(self, browser, alice, change):
        at_work = Working(alice)
        seen = browser.get(at_work.page).context["run"].seen

        change(at_work)

        answer = browser.get(at_work.live, {"seen": seen}, headers=HTMX)
        assert answer.status_code == 200
        assert answer.context["run"].seen != seen
        assert "<html" not in answer.content.decode()

    def test_a_step_that_ends_is_sent(self, browser, alice):
        at_work = Working(alice)
        scratchpad.begin_step(
            at_work.run, tool_use_id="x", action="a", arguments={}, round=1, attempt=at_work.attempt
        )
        seen = browser.get(at_work.page).context["run"].seen

        at_work.step(tool_use_id="x")

        assert browser.get(at_work.live, {"seen": seen}, headers=HTMX).status_code == 200

    def test_the_last_answer_stops_it(self, browser, alice):
        at_work = Working(alice)
        at_work.end()

        answer = browser.get(at_work.live, {"seen": "old"}, headers=HTMX)

        assert "every 1s" not in answer.content.decode()
        assert "Delete record now" in words_of(answer)

    def test_a_record_that_went_meanwhile_is_said_to_be_gone_and_looked_for_no_more(self, browser, alice):
        at_work = Working(alice)
        at_work.end()
        scratchpad.delete_run(alice.id, at_work.run.id)

        answer = browser.get(at_work.live, headers=HTMX)

        assert answer.status_code == 404
        assert "There is no record of this run any more" in words_of(answer)
        assert "every 1s" not in answer.content.decode()

    def test_a_look_takes_six_statements_however_much_there_is(
        self, browser, alice, django_assert_max_num_queries
    ):
        at_work = Working(alice)
        for number in range(10):
            at_work.keep(number)
            at_work.step()
            at_work.ask(str(number))

        with django_assert_max_num_queries(6):
            answer = browser.get(at_work.live, {"seen": "old"}, headers=HTMX)

        assert answer.status_code == 200

    def test_without_scripts_it_is_the_page(self, browser, alice):
        at_work = Working(alice)

        assert browser.get(at_work.live)["Location"] == at_work.page


class TestLifetime:
    @pytest.mark.parametrize(
        ("days", "age", "text"),
        [
            (None, timedelta(0), "Record kept"),
            (0, timedelta(0), "Record goes within a minute"),
            (1, timedelta(0), "Record goes in 24 h"),
            (1, timedelta(hours=23, minutes=45), "Record goes within the hour"),
            (7, timedelta(days=1), "Record goes in 6 days"),
        ],
    )
    def test_a_finished_run_says_when_its_record_goes(self, browser, alice, days, age, text):
        Working(alice).end()
        Run.objects.update(finished_at=timezone.now() - age)
        kept_for(days)

        (head,) = listed(browser)

        assert head.record == text

    @pytest.mark.parametrize(
        ("days", "text"), [(0, "Record goes when it ends"), (1, "Record kept while it runs")]
    )
    def test_a_running_one_says_what_comes(self, browser, alice, days, text):
        Working(alice)
        kept_for(days)

        (head,) = listed(browser)

        assert head.record == text

    def test_pages_do_without_the_kind_that_gives_records_a_lifetime(self, browser, alice):
        Working(alice).end()
        Kind.objects.filter(subject=Kind.Subject.RUN).delete()

        (head,) = listed(browser)

        assert head.record == "Record kept"

    @pytest.mark.parametrize(("days", "is_dropped"), [(0, True), (1, False), (None, False)])
    def test_no_days_mean_that_records_go_at_once(self, db, days, is_dropped):
        kept_for(days)

        assert queries.drops_run_records_at_once() is is_dropped

    def test_the_sweep_takes_what_was_left_of_a_lifetime_of_no_days(self, alice):
        Working(alice).end()
        running = Working(alice).run
        kept_for(0)

        sweep()

        assert [run.id for run in Run.objects.all()] == [running.id]


class TestDelete:
    def test_the_record_goes_with_all_that_is_in_it(self, browser, alice):
        at_work = Working(alice)
        at_work.step()
        at_work.keep(1)
        at_work.ask()
        at_work.end()

        answer = browser.post(reverse("inspector:run_delete", args=[at_work.run.id]))

        assert answer["Location"] == RUNS
        for model in (Run, Step, Checkpoint, Approval):
            assert not model.objects.exists()
        assert Turn.objects.filter(id=at_work.claim.turn_id).exists()

    def test_not_while_it_runs(self, browser, alice):
        at_work = Working(alice)

        answer = browser.post(reverse("inspector:run_delete", args=[at_work.run.id]))

        assert answer.status_code == 409
        assert "It is still running." in words_of(answer)
        assert Run.objects.exists()

    def test_it_takes_a_post(self, browser, alice):
        run = Working(alice).end()

        browser.get(reverse("inspector:run_delete", args=[run.id]))

        assert Run.objects.filter(id=run.id).exists()


def remember_from_run(user, run_id):
    run = Run.objects.get(id=run_id)
    message = run.turn.messages.get(role="user")
    memory = remember_from(user, longterm.Source(message.id, message.text), message.text).memory
    type(memory).objects.filter(id=memory.id).update(source_run=run)
    return memory
