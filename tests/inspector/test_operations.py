"""The operations page and /metrics: figures for staff, and nothing that anybody said."""

import json
import logging
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from memoryapp.accounts import operations as accounts
from memoryapp.conf import get_conf
from memoryapp.inspector.administration import operating
from memoryapp.lifecycle import figures
from memoryapp.lifecycle.models import LifecycleRun
from memoryapp.nudges import EXTRACT_AGAIN
from memoryapp.transcript import figures as transcript_figures
from memoryapp.transcript.conversations import start_conversation
from memoryapp.transcript.models import Turn
from tests.inspector.reading import words_of
from tests.world import CONTENT, everything_of, finished_turn

PAGE = "/policies/operations/"


def job(user, *, job=LifecycleRun.Job.EXTRACTION, code="overloaded", minutes=5, subject_id=None, tokens=0):
    at = timezone.now() - timedelta(minutes=minutes)
    run = LifecycleRun.objects.create(
        user=user,
        job=job,
        subject_id=subject_id or user.id,
        error_code=code,
        started_at=at,
        input_tokens=tokens,
        output_tokens=tokens // 10,
    )
    LifecycleRun.objects.filter(id=run.id).update(finished_at=at)
    return run


def metrics_of(response):
    families = text_string_to_metric_families(response.content.decode())
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in families
        for sample in family.samples
    }


@pytest.mark.parametrize("address", [PAGE, "/metrics"])
def test_the_figures_are_for_staff_alone(alice, address):
    browser = Client()
    assert browser.get(address).status_code in {302, 403}
    browser.force_login(alice)

    response = browser.get(address)

    assert response.status_code == 403


def test_who_may_not_see_the_figures_leaves_no_traceback_in_the_log(db, caplog):
    Client().get("/metrics")

    (line,) = [record for record in caplog.records if record.name == "django.request"]
    assert (line.getMessage(), line.exc_info) == ("Forbidden: /metrics", None)


def test_the_page_tells_of_everybodys_work_without_what_they_said(staff, alice):
    everything_of(alice)
    job(alice)

    html = staff.get(PAGE).content.decode()

    assert "overloaded" in html
    assert CONTENT not in html
    assert str(alice.username) not in html


def test_work_is_named_in_plain_words_and_jobs_as_the_logs_do_too(staff, alice):
    job(alice, tokens=100)
    job(alice, job=LifecycleRun.Job.EXPIRY, code="")

    words = words_of(staff.get(PAGE))

    assert "Replies being written 0" in words
    assert "Learning from conversations extraction overloaded 1" in words
    assert "Deleting what is over expiry 1 0 0" in words


def test_why_something_failed_is_said_in_words_where_there_are_some(staff, alice):
    job(alice, code="model_overloaded")
    job(alice, job=LifecycleRun.Job.TITLE, code="odd_code")
    finished_turn(alice, start_conversation(alice, now=timezone.now()).id, text="Hello", reply="Hi")
    Turn.objects.update(status=Turn.Status.FAILED, error_code="worker_lost")

    words = words_of(staff.get(PAGE))

    assert "The model is overloaded. model_overloaded 1" in words
    assert "Titles of chats title odd_code 1" in words
    assert "The server that was writing it stopped. worker_lost 1" in words


@pytest.mark.parametrize("name", LifecycleRun.Job.values)
def test_there_are_words_for_every_job(staff, alice, name):
    job(alice, job=name)

    assert staff.get(PAGE).status_code == 200


def test_a_queue_that_does_not_answer_is_said_to_be_out_of_reach(staff, monkeypatch):
    monkeypatch.setattr(operating, "_queues", lambda: {"turns": None, "memory": 4})

    words = words_of(staff.get(PAGE))

    assert "Replies not picked up yet not reachable" in words
    assert "Background work not picked up yet 4" in words


def test_tables_that_nobody_has_counted_yet_are_not_said_to_be_empty(staff, alice, monkeypatch):
    everything_of(alice)
    uncounted = [operating.Stored(tier, 8192, rows) for tier, rows in (("transcript", 0), ("longterm", 1))]
    monkeypatch.setattr(operating, "_storage", lambda: uncounted)

    words = words_of(staff.get(PAGE))

    assert "no rows counted yet" in words
    assert words.endswith("about 1 row")
    assert "about 0 rows" not in words


def test_a_failed_job_is_tried_again_at_the_press_of_a_button(staff, alice, monkeypatch):
    sent = []
    monkeypatch.setattr(
        "memoryapp.inspector.administration.operations_views.nudge", lambda *call: sent.append(call)
    )
    failed = job(alice)

    response = staff.post(
        "/policies/operations/retry", {"task": EXTRACT_AGAIN, "subject": str(failed.subject_id)}
    )

    assert response.status_code == 302
    assert sent == [(EXTRACT_AGAIN, failed.subject_id)]


def test_no_task_but_those_of_the_page_can_be_started(staff, alice, monkeypatch):
    sent = []
    monkeypatch.setattr(
        "memoryapp.inspector.administration.operations_views.nudge", lambda *call: sent.append(call)
    )

    response = staff.post(
        "/policies/operations/retry", {"task": "chat.tasks.run_turn", "subject": str(alice.id)}
    )

    assert response.status_code == 422
    assert sent == []


def test_a_failure_after_which_it_went_well_is_not_shown(alice, bob):
    job(alice, minutes=10)
    job(alice, code="", minutes=2)
    job(bob, minutes=3)

    shown = figures.failures(since=timezone.now() - timedelta(days=1))

    assert [(failure.subject_id, failure.error_code) for failure in shown] == [(bob.id, "overloaded")]


def test_older_work_than_a_days_is_not_counted(alice):
    job(alice, minutes=60)
    job(alice, minutes=3 * 24 * 60)

    [found] = figures.jobs(since=timezone.now() - operating.PERIOD)

    assert (found.job, found.runs, found.failures) == ("extraction", 1, 1)


def test_cost_is_told_by_purpose_and_in_money_where_the_price_is_known(alice, configure):
    prices = {get_conf().cheap_model: {"usd_per_million_input": 1, "usd_per_million_output": 10}}
    configure(STRATA_MODEL_SETTINGS=json.dumps(prices))
    job(alice, code="", tokens=1_000_000)

    [cost] = [cost for cost in operating.operations(now=timezone.now()).costs if cost.purpose != "replies"]

    assert (cost.purpose, cost.input_tokens, cost.output_tokens) == (
        "learning from conversations",
        1_000_000,
        100_000,
    )
    assert cost.usd == pytest.approx(2.0)


def test_a_breaker_is_open_after_three_failures_in_a_row(alice, bob, monkeypatch):
    now = timezone.now()
    tries = {
        alice.id: [("overloaded", now - timedelta(minutes=minutes)) for minutes in (1, 2, 3)],
        bob.id: [("overloaded", now), ("", now), ("overloaded", now)],
    }
    monkeypatch.setattr(transcript_figures, "newest_tries", lambda **_: tries)

    assert figures.open_breakers(now=now) == 1


def test_metrics_can_be_scraped_with_the_token_of_the_installation(alice, configure):
    configure(METRICS_TOKEN="scrape-me")
    job(alice, tokens=500)

    response = Client().get("/metrics", headers={"Authorization": "Bearer scrape-me"})
    refused = Client().get("/metrics", headers={"Authorization": "Bearer guess"})

    found = metrics_of(response)
    assert found["strata_job_failures_last_day", "extraction"] == 1
    assert found["strata_turns", "queued"] == 0
    assert refused.status_code == 403


def test_metrics_can_be_read_with_an_api_token_of_staff_only(carol, alice):
    _, of_staff = accounts.create_token(carol, name="prometheus", now=timezone.now())
    _, of_alice = accounts.create_token(alice, name="prometheus", now=timezone.now())

    statuses = [
        Client().get("/metrics", headers={"Authorization": f"Bearer {token}"}).status_code
        for token in (of_staff, of_alice)
    ]

    assert statuses == [200, 403]


def test_the_line_of_a_request_names_its_route_and_not_its_address(alice, caplog):
    browser = Client()
    browser.force_login(alice)

    with caplog.at_level(logging.INFO, logger="memoryapp.requests"):
        browser.get("/memory/facts/", {"q": CONTENT})

    [line] = [record for record in caplog.records if record.name == "memoryapp.requests"]
    assert (line.route, line.status, line.user_id) == ("memory/facts/", 200, str(alice.id))
    assert CONTENT not in str(line.__dict__)


def test_lines_for_a_collector_are_objects():
    from logging.config import DictConfigurator

    from django.conf import settings

    from memoryapp.settings.base import LOGGING

    assert settings.LOGGING["formatters"].keys() == LOGGING["formatters"].keys()
    formatter = DictConfigurator(LOGGING).configure_formatter(dict(LOGGING["formatters"]["json"]))
    record = logging.LogRecord("memoryapp.requests", logging.INFO, "", 0, "request", (), None)
    record.route = "memory/"

    line = json.loads(formatter.format(record))

    assert {**line, "at": ""} == {
        "at": "",
        "level": "INFO",
        "logger": "memoryapp.requests",
        "message": "request",
        "route": "memory/",
    }
