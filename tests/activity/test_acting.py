"""Who acts: a person, a program, the assistant, an admin, or nobody in particular."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connections
from django.http import HttpResponse
from django.test import RequestFactory
from django.urls import reverse
from django.utils import timezone

from chat import endings
from memoryapp.accounts import operations as accounts
from memoryapp.accounts.auth import BearerAuth
from memoryapp.accounts.middleware import PersonMiddleware
from memoryapp.acting import NOBODY, Acting, Actor, acting_as, current
from memoryapp.lifecycle import tasks
from memoryapp.lifecycle.tasks import sweep
from tests.turns import COMMITTED, ask

pytestmark = pytest.mark.usefixtures("nudges")


def seen_by(monkeypatch, target):
    """Who acts whenever ``target`` (a dotted name) is called; it does nothing else."""
    seen = []
    monkeypatch.setattr(target, lambda *_, **__: seen.append(current()))
    return seen


def test_a_person_acts_in_a_browser(browser, monkeypatch):
    seen = seen_by(monkeypatch, "memoryapp.accounts.views.operations.change_preferences")

    browser.post(reverse("accounts:preferences"), {"time_zone": "UTC", "theme": "dark"})

    assert seen == [Acting(Actor.PERSON)]


def test_a_session_that_calls_the_api_is_the_person(browser, monkeypatch):
    seen = []
    monkeypatch.setattr("memoryapp.longterm.api.note_reads", lambda *_: seen.append(current()))

    browser.get("/api/v1/memories")

    assert seen == [Acting(Actor.PERSON)]


def test_a_program_acts_by_the_name_of_its_token(api, monkeypatch):
    seen = []
    monkeypatch.setattr("memoryapp.longterm.api.note_reads", lambda *_: seen.append(current()))

    api.get("/api/v1/memories")

    assert seen == [Acting(Actor.PROGRAM, "tests")]


def test_an_admin_acts_in_the_admin(client, carol, monkeypatch):
    carol.is_superuser = True
    carol.save()
    client.force_login(carol)
    seen = []
    monkeypatch.setattr(
        "memoryapp.accounts.admin.PersonAdmin.get_queryset",
        lambda self, _request: seen.append(current()) or self.model.objects.all(),
    )

    assert client.get(reverse("admin:accounts_user_changelist")).status_code == 200

    assert set(seen) == {Acting(Actor.ADMIN, "carol")}


@COMMITTED
def test_the_assistant_acts_while_it_answers(alice, model, monkeypatch):
    seen = []
    finish = endings.claims.finish_turn
    monkeypatch.setattr(
        endings.claims, "finish_turn", lambda *args, **kw: seen.append(current()) or finish(*args, **kw)
    )

    ask(alice, "Hello")

    assert seen == [Acting(Actor.ASSISTANT)]
    assert current() == NOBODY


def test_the_sweep_acts_for_nobody(db, monkeypatch):
    seen = []

    def job() -> None:
        seen.append(current())

    monkeypatch.setattr(tasks, "_delete_faded", job)

    sweep()

    assert seen == [NOBODY]


def test_nobody_acts_once_a_request_is_over(browser, api):
    browser.get("/settings/")
    api.get("/api/v1/memories")

    assert current() == NOBODY


def test_a_stranger_is_nobody(client):
    seen = []
    request = RequestFactory().get("/")
    request.user = AnonymousUser()

    PersonMiddleware(lambda _: seen.append(current()) or HttpResponse())(request)

    assert seen == [NOBODY]


@COMMITTED
def test_two_requests_at_once_do_not_mix(alice, bob):
    _, secret = accounts.create_token(bob, name="tests", now=timezone.now())
    both_act = Barrier(2)

    def seen_in(user, token=""):
        def view(request):
            if token:
                BearerAuth().authenticate(request, token)
            both_act.wait(timeout=10)
            seen = current()
            both_act.wait(timeout=10)
            return HttpResponse(f"{seen.actor}:{seen.name}")

        request = RequestFactory().get("/")
        request.user = user
        try:
            return PersonMiddleware(view)(request).content.decode(), current()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        person = pool.submit(seen_in, alice)
        program = pool.submit(seen_in, AnonymousUser(), secret)

    assert person.result() == ("person:", NOBODY)
    assert program.result() == ("program:tests", NOBODY)


def test_who_acts_within_is_over_at_its_end():
    with acting_as(Actor.ADMIN, "carol"):
        with acting_as(Actor.PERSON):
            inner = current()
        outer = current()

    assert (inner, outer, current()) == (Acting(Actor.PERSON), Acting(Actor.ADMIN, "carol"), NOBODY)
