"""An archive that was tampered with is refused whole, before it can do what an honest one cannot."""

import io
import json
from datetime import timedelta
from zipfile import ZipFile

import pytest
from django.test import Client
from django.utils import timezone

from memoryapp.longterm.models import Memory
from memoryapp.portability.models import ImportBatch
from memoryapp.portability.record_checks import is_moment
from memoryapp.transcript.models import Conversation
from tests.portability.archives import data, data_text
from tests.portability.bringing import brought
from tests.world import everything_of

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)


def tampered(user, *, was: str = "", becomes: str = "") -> bytes:
    """The archive of this person with other characters in one place."""
    text = data_text(user)
    assert not was or text.count(was) == 1
    written = io.BytesIO()
    with ZipFile(written, "w") as archive:
        archive.writestr("strata.json", text.replace(was, becomes) if was else text)
    return written.getvalue()


def below_itself(user) -> bytes:
    (turn,) = data(user)["conversations"][0]["turns"]
    own, parent = f'"id":{json.dumps(turn["id"])}', '"parent":null'
    text = data_text(user)
    line = next(line for line in text.splitlines() if own in line and '"parent":null' in line)
    return tampered(user, was=line, becomes=line.replace(parent, f'"parent":{json.dumps(turn["id"])}'))


def before_the_year_one(user) -> bytes:
    text = data_text(user)
    line = next(line for line in text.splitlines() if line.startswith("{") and '"happened_at":null' in line)
    moment = '"happened_at":"0001-01-01T00:00:00+14:00"'
    return tampered(user, was=line, becomes=line.replace('"happened_at":null', moment))


@pytest.mark.parametrize("is_merge", [False, True])
def test_a_turn_below_itself_is_damage(alice, bob, is_merge):
    everything_of(alice)
    if is_merge:
        everything_of(bob)
    before = Conversation.objects.filter(user=bob).count()

    batch = brought(bob, below_itself(alice))

    assert batch.status == ImportBatch.Status.FAILED
    assert "damaged" in batch.error_message
    assert Conversation.objects.filter(user=bob).count() == before


@pytest.mark.parametrize("is_merge", [False, True])
def test_a_moment_that_the_database_cannot_hold_is_damage_and_no_page_suffers(alice, bob, is_merge):
    everything_of(alice)
    if is_merge:
        everything_of(bob)
    before = Memory.objects.filter(user=bob).count()
    browser = Client()
    browser.force_login(bob)

    batch = brought(bob, before_the_year_one(alice))

    assert batch.status == ImportBatch.Status.FAILED
    assert Memory.objects.filter(user=bob).count() == before
    assert browser.get("/memory/facts/").status_code == 200


@pytest.mark.parametrize("is_merge", [False, True])
def test_packed_likewise_an_honest_one_is_brought_in(alice, bob, is_merge):
    everything_of(alice)
    if is_merge:
        everything_of(bob)

    batch = brought(bob, tampered(alice))

    assert batch.status == ImportBatch.Status.DONE


@pytest.mark.parametrize("ahead", [timedelta(days=2), timedelta(days=365 * 7_000)])
def test_a_run_that_ended_in_the_future_is_damage(alice, bob, ahead):
    everything_of(alice)
    ended = json.dumps(data(alice)["conversations"][0]["turns"][0]["run"]["finished_at"])
    text = data_text(alice)
    line = next(line for line in text.splitlines() if f'"finished_at":{ended}' in line)
    moment = json.dumps((timezone.now() + ahead).isoformat())

    batch = brought(bob, tampered(alice, was=line, becomes=line.replace(f":{ended}", f":{moment}")))

    assert (batch.status, batch.error_code) == (ImportBatch.Status.FAILED, "damaged_archive")


@pytest.mark.parametrize(
    ("moment", "is_one"), [("9998-12-31T23:59:59Z", True), ("9999-12-31T00:00:00Z", False)]
)
def test_a_moment_that_no_zone_may_show_is_none(moment, is_one):
    assert is_moment(moment) is is_one
