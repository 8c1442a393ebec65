"""No page of the memory or of the policies asks the database more often when there is more to show."""

from dataclasses import asdict

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memoryapp.context import uses
from memoryapp.longterm import experiences
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.experiences import Lesson
from memoryapp.longterm.models import Memory
from memoryapp.longterm.operations import Candidate, Source
from memoryapp.policies.trust import Origin
from memoryapp.scratchpad.models import Run
from memoryapp.transcript import conversations
from memoryapp.transcript.models import Message
from tests.addresses import addresses
from tests.world import everything_of, finished_turn

FEW, MANY = 12, 24  # more than the overview lists of anything, and three times that
ROOMS = ("/memory/", "/policies/")
STATES = ("q=town", "sort=expires", "kind=event", "group=kind", "status=all", "status=waiting")


def grow(user, numbers):
    """For each number an answered chat, its run and lesson, a fact said in it and used, and one that waits."""
    user.refresh_from_db()
    for number in numbers:
        now = timezone.now()
        conversation = conversations.start_conversation(user, now=now, title=f"Town {number}")
        turn = finished_turn(
            user, conversation.id, text=f"I met Person{number} in Town{number}.", reply="Noted."
        )
        said = turn.messages.get(role=Message.Role.USER)
        fact = Candidate(
            kind="event",
            statement=f"Met Person{number} in Town{number}",
            origin=Origin.USER_TYPED,
            channel=Memory.Channel.CHAT,
            said_at=now,
            quote=said.text,
            source=Source(said.id, said.text),
        )
        waits = Candidate(
            kind="preference",
            statement=f"Shop{number} sells Thing{number}",
            origin=Origin.UNTRUSTED,
            channel=Memory.Channel.CHAT,
            said_at=now,
        )
        uses.note_looked_up(turn, [longterm.remember(user.id, fact).memory.id])
        longterm.remember(user.id, waits)
        experiences.record(
            user.id,
            Lesson(
                goal=f"Reach Town{number}",
                tools=("recall",),
                worked=f"Road{number}",
                avoid="",
                origin=Origin.MODEL_INFERRED,
            ),
            run_id=Run.objects.get(turn=turn).id,
            epoch_at_start=user.memory_epoch,
            now=now,
        )


def pages(browser, ids):
    """The addresses that show a page."""
    for room in ROOMS:
        for address in addresses(ids, under=room):
            answer = browser.get(address)
            if answer.status_code == 200 and answer["Content-Type"].startswith("text/html"):
                yield address
    yield from (f"/memory/facts/?{state}" for state in STATES)


def statements(browser, address):
    browser.get(address)  # what a first visit alone asks
    with CaptureQueriesContext(connection) as asked:
        browser.get(address)
    return len(asked)


@pytest.fixture
def owner(carol):
    carol.is_superuser = True
    carol.save()
    return carol


def test_the_statements_of_every_page_stay_when_there_is_more_of_everything(owner):
    ids = asdict(everything_of(owner)) | {"slug": "preference", "version": 1}
    browser = Client()
    browser.force_login(owner)
    grow(owner, range(FEW))
    walked = list(pages(browser, ids))
    few = {address: statements(browser, address) for address in walked}

    grow(owner, range(FEW, FEW + MANY))

    many = {address: statements(browser, address) for address in walked}
    assert len(walked) > 25 + len(STATES)
    assert {
        address: (few[address], many[address]) for address in walked if many[address] > few[address]
    } == {}
    assert max(many.values()) <= 40, many
