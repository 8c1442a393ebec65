"""The list of the runs on record: what each says, narrowed, sorted, and live while one goes on."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memoryapp.llm.base import Usage
from memoryapp.scratchpad import records
from memoryapp.scratchpad.models import Run, Step
from memoryapp.transcript.models import Turn
from tests.inspector.reading import words_of
from tests.inspector.working import RUNS, Working, finished_with_steps, listed

pytestmark = pytest.mark.usefixtures("nudges")

HTMX = {"HX-Request": "true"}


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
        monkeypatch.setattr("memoryapp.inspector.runs.run_list_views.PAGE", 2)
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


class TestNarrowing:
    def found(self, browser, **filters):
        return [head.goal for head in listed(browser, **filters)]

    def test_by_conversation_tool_failure_and_day(self, browser, alice):
        trip, poem = Working(alice, "trip"), Working(alice, "poem")
        trip.step(action="fetch_page")
        poem.step(Step.Status.ERROR)
        Run.objects.filter(id=trip.run.id).update(started_at=timezone.now() - timedelta(days=3))
        today = timezone.localdate()

        found = {
            "conversation": self.found(browser, conversation=str(trip.run.turn.conversation_id)),
            "tool": self.found(browser, tool="fetch_page"),
            "failed": self.found(browser, failed="1"),
            "since": self.found(browser, since=str(today - timedelta(days=1))),
            "until": self.found(browser, until=str(today - timedelta(days=2))),
            "nonsense": self.found(browser, conversation="x"),
        }

        assert found == {
            "conversation": ["trip"],
            "tool": ["trip"],
            "failed": ["poem"],
            "since": ["poem"],
            "until": ["trip"],
            "nonsense": [],
        }

    def test_what_waits_for_approval_is_found(self, browser, alice):
        Working(alice, "asks").wait()
        Working(alice, "stuck").wait(Turn.WaitReason.STUCK)

        assert self.found(browser, status="approval") == ["asks"]
        assert sorted(self.found(browser, status="waiting")) == ["asks", "stuck"]

    @pytest.mark.parametrize("sort", ["longest", "steps", "tokens"])
    def test_orders_go_on_from_page_to_page(self, browser, alice, monkeypatch, sort):
        monkeypatch.setattr("memoryapp.inspector.runs.run_list_views.PAGE", 2)
        for number in (2, 4, 1, 3):
            at_work = Working(alice, f"run {number}")
            for _ in range(number):
                at_work.step()
            at_work.keep(1, usage=Usage(input_tokens=number), active_ms=number)

        first = browser.get(RUNS, {"sort": sort}).context
        second = browser.get(RUNS + first["next_url"]).context

        heads = [row.head.goal for page in (first, second) for row in page["runs"]]
        assert heads == ["run 4", "run 3", "run 2", "run 1"]

    @pytest.mark.parametrize("address", ["?q=%00poem", "?since=0001-01-01&until=9999-12-31"])
    def test_what_no_database_knows_is_left_out_of_an_address(self, browser, alice, address):
        Working(alice, "poem").end()

        assert [row.head.goal for row in browser.get(RUNS + address).context["runs"]] == ["poem"]

    def test_tools_to_choose_from_are_the_persons_own(self, browser, alice, bob):
        Working(alice).step(action="fetch_page")
        Working(bob).step(action="secret_tool")

        assert browser.get(RUNS).context["tools"] == ["fetch_page"]


class TestLiveRows:
    def test_a_row_looks_again_while_its_run_goes_on(self, browser, alice):
        at_work = Working(alice)
        during = browser.get(RUNS).content.decode()
        at_work.end()
        after = browser.get(RUNS).content.decode()

        assert ("every 3s" in during, "every 3s" in after) == (True, False)

    def test_it_is_sent_when_it_changed_and_not_before(self, browser, alice):
        at_work = Working(alice)
        (shown,) = browser.get(RUNS).context["runs"]
        address = reverse("inspector:run_row", args=[at_work.run.id])

        same = browser.get(address, {"seen": shown.seen}, headers=HTMX)
        at_work.step()
        changed = browser.get(address, {"seen": shown.seen}, headers=HTMX)

        assert (same.status_code, changed.status_code) == (204, 200)
        assert "1 step" in words_of(changed)
        assert "checkbox" not in changed.content.decode()  # what was picked stays picked

    def test_a_record_that_went_is_said_to_be_gone(self, browser, alice):
        run = Working(alice).end()
        address = reverse("inspector:run_row", args=[run.id])
        records.delete(alice.id, [run.id])

        answer = browser.get(address, headers=HTMX)

        assert (answer.status_code, "is gone" in words_of(answer)) == (404, True)
        assert "every 3s" not in answer.content.decode()
