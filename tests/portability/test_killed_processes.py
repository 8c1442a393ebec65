"""An import whose workers SIGKILL ends, while they read or bring it in, ends as one that was left alone."""

import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from django.db import connection
from django.utils import timezone

from memoryapp.accounts.models import User
from memoryapp.nudges import IMPORT, nudge
from memoryapp.portability import operations, queries
from memoryapp.portability.models import ImportBatch, ImportItem
from memoryapp.redis_client import redis_client
from tests.portability import mortal_importer
from tests.portability.archives import archive_of, data_text
from tests.portability.bringing import mem0
from tests.portability.test_merging import chat, chatgpt, remembered
from tests.stack import PROJECT
from tests.turns import COMMITTED

pytestmark = [COMMITTED, pytest.mark.stack]

ENDED_WITHIN_S = 240  # on a busy machine
LOOK_EVERY_S = 0.2
SPREAD = 4  # points of each import at which a worker dies; all of them with --all-faults
COMMAND = [
    *(sys.executable, "-W", "ignore", "-m", "celery", "--quiet", "--app", "memoryapp.celery"),
    *("worker", "--loglevel", "ERROR", "--pool", "threads", "--concurrency", "2", "--queues", "memory"),
    *("--without-gossip", "--without-mingle", "--without-heartbeat"),
    *("--include", "tests.portability.mortal_importer"),
]


class Worker:
    """One at a time; where one died another follows."""

    def __init__(self):
        url = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{connection.settings_dict['NAME']}")
        self._environment = os.environ | {
            "DATABASE_URL": url.geturl(),
            "DJANGO_SETTINGS_MODULE": "memoryapp.settings.test",
            "MORTAL_WORKER": "yes",
        }
        self._process = None
        self.killed = 0

    def keep_up(self):
        if self._process and self._process.poll() is None:
            return
        self.killed += self._process is not None
        self._process = subprocess.Popen(COMMAND, cwd=PROJECT, env=self._environment)

    def end(self):
        if self._process:
            self._process.kill()
            self._process.wait()


@contextmanager
def working():
    worker = Worker()
    try:
        yield worker
    finally:
        worker.end()
        redis_client().flushdb()


def look_after():
    """As the sweep does once a minute, without the wait for a dead worker's lease."""
    ImportBatch.objects.filter(status__in=ImportBatch.AT_WORK).update(lease_until=None)
    for batch_id in operations.unattended(now=timezone.now() + operations.LEASE):
        nudge(IMPORT, batch_id)


def carry_on(batches, worker):
    deadline = time.monotonic() + ENDED_WITHIN_S
    wanted = ImportBatch.objects.filter(id__in=[batch.id for batch in batches])
    while live := list(wanted.filter(status__in=ImportBatch.AT_WORK)):
        assert time.monotonic() < deadline, [(one.id, one.status, one.attempt) for one in live]
        killed = worker.killed
        worker.keep_up()
        if worker.killed > killed:
            look_after()
        time.sleep(LOOK_EVERY_S)


def begun(name, file, *, die_at=0):
    person = User.objects.create(username=name)
    batch = operations.receive(person.id, [file], is_preview=False, now=timezone.now())
    redis_client().set(mortal_importer.point_key(batch.id), die_at)
    return batch


def ended(batch):
    """Its outcome: what it told, what became of each record, and all that its person has, as data."""
    batch = queries.get_import(batch.user_id, batch.id)
    told = (batch.status, batch.position, batch.total, batch.counts, batch.skipped, batch.error_code)
    items = ImportItem.objects.filter(batch=batch).order_by("sort", "number")
    became = list(items.values_list("sort", "number", "outcome"))
    return told, became, without_moments(data_text(batch.user))


def without_moments(text):
    """What is remembered by a merge is recorded when it is, which is no part of the outcome."""
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00", "then", text)


def of_another_chat(user):
    return chatgpt("I adopted a parrot.", "How lovely!", "It talks.", "What does it say?")


def of_facts(user):
    return mem0(*(f"Has {number} parrots at home" for number in range(2, 104)))


def of_strata(user):
    for number in range(4):
        chat(user, text=f"Question {number}", reply="Yes.")
    for word in ("tea", "marmalade", "parrots"):
        remembered(user, f"Likes {word}")
    return archive_of(user)


@pytest.mark.parametrize("file_of", [of_strata, of_facts, of_another_chat])
def test_an_import_whose_worker_is_killed_anywhere_is_applied_once(alice, has_all_faults, file_of):
    file = file_of(alice)
    with working() as worker:
        undisturbed = begun("undisturbed", file)
        carry_on([undisturbed], worker)
        # The last one is past the commit of the end: whoever dies there leaves nothing to do.
        points = int(redis_client().get(mortal_importer.passed_key(undisturbed.id))) - 1
        wanted = ended(undisturbed)
        spread = points if has_all_faults else min(SPREAD, points)
        at = sorted({1 + number * (points - 1) // (spread - 1) for number in range(spread)})

        disturbed = [begun(f"killed-at-{point}", file, die_at=point) for point in at]
        carry_on(disturbed, worker)

        assert worker.killed == len(at)
        for batch in disturbed:
            assert ended(batch) == wanted
    assert wanted[0][0] == ImportBatch.Status.DONE
