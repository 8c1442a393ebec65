"""A run on record, step by step, live while it goes on."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from memoryapp.llm.base import Usage
from memoryapp.longterm import operations as longterm
from memoryapp.scratchpad import approvals, records
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.scratchpad.models import Approval, Run, Step
from memoryapp.scratchpad.pad import Fact, Failure, Pad
from memoryapp.transcript.models import Turn
from tests.inspector.reading import words_of
from tests.inspector.working import Working, listed
from tests.longterm.saying import remember_from
from tests.world import everything_of

HTMX = {"HX-Request": "true"}

pytestmark = pytest.mark.usefixtures("nudges")


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

        assert reverse("chat:turn", args=[world.turn_id]) in shown

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
        assert "Delete record for good" in words_of(answer)

    def test_a_record_that_went_meanwhile_is_said_to_be_gone_and_looked_for_no_more(self, browser, alice):
        at_work = Working(alice)
        at_work.end()
        records.delete(alice.id, [at_work.run.id])

        answer = browser.get(at_work.live, headers=HTMX)

        assert answer.status_code == 404
        assert "There is no record of this run any more" in words_of(answer)
        assert "every 1s" not in answer.content.decode()

    def test_a_look_takes_seven_statements_however_much_there_is(
        self, browser, alice, django_assert_max_num_queries
    ):
        at_work = Working(alice)
        for number in range(10):
            at_work.keep(number)
            at_work.step()
            at_work.ask(str(number))

        with django_assert_max_num_queries(7):
            answer = browser.get(at_work.live, {"seen": "old"}, headers=HTMX)

        assert answer.status_code == 200

    def test_without_scripts_it_is_the_page(self, browser, alice):
        at_work = Working(alice)

        assert browser.get(at_work.live)["Location"] == at_work.page


def remember_from_run(user, run_id):
    run = Run.objects.get(id=run_id)
    message = run.turn.messages.get(role="user")
    memory = remember_from(user, longterm.Source(message.id, message.text), message.text).memory
    type(memory).objects.filter(id=memory.id).update(source_run=run)
    return memory
