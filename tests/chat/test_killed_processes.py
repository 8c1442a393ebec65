"""The same property with real workers that SIGKILL ends, and others that go on; ``make faults`` kills more of them."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from django.db import connection

from chat import sending, tools
from chat.progress import spent_by
from memoryapp.accounts.models import User
from memoryapp.redis_client import redis_client
from memoryapp.scratchpad import queries as runs
from memoryapp.transcript.models import Turn
from tests.chat import mortal_worker
from tests.chat.dying import DIFFERENT_WHERE_UNKNOWN, NOTHING_SPENT, differences, effect_is_unknown, picture
from tests.modelserver import calls, reply, thinks
from tests.modelserver.personas import PERSONAS
from tests.stack import PROJECT
from tests.turns import COMMITTED, post

pytestmark = [COMMITTED, pytest.mark.stack, pytest.mark.usefixtures("ids_of_one_token")]

KILLS, ALL_KILLS = 5, 20
WORKERS = 2
ENDED_WITHIN_S = 240  # on a busy machine; an idle one needs a quarter
LOOK_EVERY_S = 0.2
ACTS = ("book", "send_letter")
TEA = "I only drink green tea."
ROUNDS = (
    reply(
        thinks("Three things."),
        calls("calculate", tool_use_id="toolu_1", expression="1 / 0"),
        calls("remember", tool_use_id="toolu_2", statement=TEA, quote=TEA, kind="preference"),
    ),
    reply("First the books.", calls("book", tool_use_id="toolu_3", text="a day")),
    reply("Then the letter.", calls("send_letter", tool_use_id="toolu_4", text="Dear Anna")),
    reply("All done."),
)
COMMAND = [
    *(sys.executable, "-W", "ignore", "-m", "celery", "--quiet", "--app", "memoryapp.celery"),
    *("worker", "--loglevel", "ERROR", "--pool", "threads", "--concurrency", "1", "--queues", "turns"),
    *("--without-gossip", "--without-mingle", "--without-heartbeat", "--include", "tests.chat.mortal_worker"),
]


def say(body):
    """By the request alone: a call that is made again is answered alike."""
    return ROUNDS[sum(message["role"] == "assistant" for message in body["messages"])]


class Workers:
    """As many as are wanted; one that died is replaced."""

    def __init__(self, model_url):
        url = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{connection.settings_dict['NAME']}")
        self._environment = os.environ | {
            "DATABASE_URL": url.geturl(),
            "DJANGO_SETTINGS_MODULE": "memoryapp.settings.test",
            "ANTHROPIC_BASE_URL": model_url,
            "STRATA_REAP_INTERVAL_S": "0.5",
            "MORTAL_WORKER": "yes",
        }
        self._running = []
        self.killed = 0

    def keep_up(self, wanted):
        died = [worker for worker in self._running if worker.poll() is not None]
        self.killed += len(died)
        self._running = [worker for worker in self._running if worker not in died]
        for _ in range(wanted - len(self._running)):
            self._running.append(subprocess.Popen(COMMAND, cwd=PROJECT, env=self._environment))

    def end(self):
        for worker in self._running:
            worker.kill()
        for worker in self._running:
            worker.wait()


@contextmanager
def working(model_url):
    workers = Workers(model_url)
    try:
        yield workers
    finally:
        workers.end()
        redis_client().flushdb()


@pytest.fixture
def workers(model, configure, monkeypatch):
    monkeypatch.setitem(PERSONAS, "errands", say)
    model.use_persona("errands")
    configure(STRATA_TURN_LEASE_S="2", STRATA_MODEL_TITLES="false", STRATA_MODEL_EXTRACTION="false")
    monkeypatch.setattr(tools, "added_tools", mortal_worker.tools_with_effects)
    with working(model.url) as workers:
        yield workers


def ask(name, *, die_at=0):
    person = User.objects.create(username=name)
    redis_client().set(mortal_worker.point_key(person.id), die_at)
    return post(person, TEA)


def carry_on(turns, workers):
    """What people do until all of their turns are answered: what each had spent when its person pressed Retry."""
    spent = {}
    deadline = time.monotonic() + ENDED_WITHIN_S
    wanted = Turn.objects.filter(id__in=[turn.id for turn in turns])
    while live := wanted.exclude(status="completed", run__status="completed"):
        assert time.monotonic() < deadline, [(turn.id, turn.status, turn.attempt) for turn in live]
        workers.keep_up(WORKERS)
        for turn in live:
            if turn.status == Turn.Status.INTERRUPTED:
                spent[turn.id] = spent_by(runs.run_of_turn(turn.user_id, turn.id))
                sending.retry(turn.user, turn.id)
        for asked in (asked for turn in live for asked in runs.pending_approvals(turn.user_id)):
            person, turn_id = asked.run.turn.user, asked.run.turn_id
            sending.decide(person, turn_id, asked.tool_use_id, approve=True, nonce=asked.nonce)
        time.sleep(LOOK_EVERY_S)
    return spent


def rows(turn, **options):
    return {name: value for name, value in picture(turn, **options).items() if name != "last event"}


def effects_of(turn):
    return {
        name: int(redis_client().get(mortal_worker.effects_key(turn.user_id, name)) or 0) for name in ACTS
    }


def test_runs_whose_workers_are_killed_end_like_an_undisturbed_one(workers, has_all_faults):
    kills = ALL_KILLS if has_all_faults else KILLS
    undisturbed = ask("undisturbed")
    carry_on([undisturbed], workers)
    points = int(redis_client().get(mortal_worker.passed_key(undisturbed.user_id)))
    wanted = rows(undisturbed)
    turns = {
        point: ask(f"killed-at-{point}", die_at=point)
        for point in (1 + number * (points - 1) // (kills - 1) for number in range(kills))
    }

    spent = carry_on(turns.values(), workers)

    assert workers.killed == kills
    for point, turn in turns.items():
        left = rows(turn, retried_at=spent.get(turn.id, NOTHING_SPENT))
        if effect_is_unknown(turn):
            assert effects_of(turn)["send_letter"] <= 1, point
            assert differences(left, wanted) <= DIFFERENT_WHERE_UNKNOWN, point
        else:
            assert effects_of(turn) == {"book": 1, "send_letter": 1}, point
            assert differences(left, wanted) == set(), point
