"""Records of runs are kept longer, go when their time is over, and are deleted: one, or many at once."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from memoryapp.inspector.typed_word import mark
from memoryapp.lifecycle.tasks import sweep
from memoryapp.longterm import queries
from memoryapp.longterm.models import Kind
from memoryapp.scratchpad.models import Approval, Checkpoint, Run, Step
from memoryapp.transcript.models import Turn
from tests.inspector.reading import words_of
from tests.inspector.working import RUNS, Working, kept_for, listed

pytestmark = pytest.mark.usefixtures("nudges")


class TestPicked:
    def post(self, browser, action, ids=(), **form):
        values = {"action": action, "run": [str(run_id) for run_id in ids], **form}
        return browser.post(reverse("inspector:runs_picked"), values)

    def test_those_that_were_picked_are_deleted_and_no_others(self, browser, alice):
        first, second = Working(alice).end(), Working(alice).end()

        answer = self.post(browser, "delete", [first.id])

        assert answer["Location"] == RUNS
        assert list(Run.objects.values_list("id", flat=True)) == [second.id]

    def test_a_running_one_stays_and_that_is_said(self, browser, alice):
        ended, running = Working(alice).end(), Working(alice).run

        self.post(browser, "delete", [ended.id, running.id])

        said = words_of(browser.get(RUNS))
        assert "1 record deleted for good. 1 still runs and stays" in said
        assert Run.objects.get().id == running.id

    def test_those_that_were_picked_are_kept(self, browser, alice):
        run = Working(alice).end()

        self.post(browser, "longer", [run.id])

        (head,) = listed(browser)
        assert head.record == "Record goes in 8 days"

    def test_more_than_twenty_go_after_a_typed_word_only(self, browser, alice):
        ids = [Working(alice).end().id for _ in range(21)]

        asked = self.post(browser, "delete", ids)
        shown = asked.context["shown"]
        wrong = self.post(browser, "delete", ids, shown=shown, typed="yes")
        other = self.post(browser, "delete", ids, shown=mark(ids[1:]), typed="delete")
        kept = Run.objects.count()
        done = self.post(browser, "delete", ids, shown=shown, typed=" Delete ")

        assert (asked.status_code, wrong.status_code, other.status_code, kept) == (200, 422, 422, 21)
        assert "The list changed meanwhile" in words_of(other)
        assert "Delete 21 records?" in words_of(asked)
        assert (done.status_code, Run.objects.count()) == (302, 0)

    def test_all_of_a_conversation_are_deleted_and_no_others(self, browser, alice):
        run, other = Working(alice).end(), Working(alice).end()
        conversation_id = str(run.turn.conversation_id)
        offered = words_of(browser.get(RUNS, {"conversation": conversation_id}))

        self.post(browser, "delete", conversation=conversation_id)

        assert "Delete 1 record of this conversation for good" in offered
        assert Run.objects.get().id == other.id

    @pytest.mark.parametrize("form", [{}, {"action": "burn"}, {"action": "delete", "conversation": "x"}])
    def test_a_form_that_is_incomplete_is_refused(self, browser, alice, form):
        assert browser.post(reverse("inspector:runs_picked"), form).status_code == 422

    def test_nothing_picked_is_said(self, browser, alice):
        self.post(browser, "delete")

        assert "Pick the runs first." in words_of(browser.get(RUNS))

    def test_bob_deletes_and_keeps_none_of_alices(self, client, alice, bob):
        run = Working(alice).end()
        client.force_login(bob)

        self.post(client, "delete", [run.id])
        self.post(client, "delete", conversation=str(run.turn.conversation_id))
        self.post(client, "longer", [run.id])

        run.refresh_from_db()
        assert run.kept_until is None


class TestKeeping:
    def keep(self, browser, run, keeping):
        return browser.post(reverse("inspector:run_keep", args=[run.id]), {"keep": keeping})

    def test_a_record_is_kept_for_longer_for_ever_and_as_the_rule_says(self, browser, alice):
        run = Working(alice).end()
        said = []

        for keeping in ("longer", "for_ever", "by_rule"):
            self.keep(browser, run, keeping)
            said += [head.record for head in listed(browser)]

        assert said == ["Record goes in 8 days", "Record kept for ever, as you said", "Record goes in 24 h"]

    def test_where_none_is_kept_it_is_offered_while_the_run_goes_on(self, browser, alice):
        kept_for(0)
        at_work = Working(alice)

        assert "Keep 7 days more" in words_of(browser.get(at_work.page))

    def test_where_all_are_kept_it_is_not(self, browser, alice):
        kept_for(None)
        at_work = Working(alice)
        at_work.end()

        assert "Keep it longer" not in words_of(browser.get(at_work.page))

    def test_another_word_is_refused(self, browser, alice):
        assert self.keep(browser, Working(alice).end(), "").status_code == 422


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
