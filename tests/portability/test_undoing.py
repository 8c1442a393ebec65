"""An undone import leaves what was there before: no row more, no row less, and none changed."""

from datetime import timedelta

import pytest
from django.core import serializers
from django.utils import timezone

from memoryapp.accounts.models import User
from memoryapp.longterm import forgettings, refusals
from memoryapp.longterm.models import KindRefusal, Memory, MemorySource, MemoryVersion
from memoryapp.portability.errors import NotReadyError
from memoryapp.transcript.models import Conversation, Message, Turn
from tests.portability.archives import archive_of, data_text
from tests.portability.bringing import brought, mem0, undone
from tests.portability.test_merging import chat, chatgpt, remembered
from tests.world import everything_of

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)


def shown(user):
    """What is in use, column by column."""
    rows = {
        "memories": Memory.objects.filter(user=user),
        "versions": MemoryVersion.objects.filter(user=user, memory__forgetting=None),
        "sources": MemorySource.objects.filter(user=user, memory__forgetting=None),
        "conversations": Conversation.objects.filter(user=user, deleted_at=None),
        "turns": Turn.objects.filter(user=user, conversation__deleted_at=None),
        "messages": Message.objects.filter(
            user=user, turn__deleted_at=None, turn__conversation__deleted_at=None
        ),
        "refusals": KindRefusal.objects.filter(user=user),
    }
    found = {name: serializers.serialize("python", of_name.order_by("id")) for name, of_name in rows.items()}
    for row in found["conversations"]:
        row["fields"].pop("revision")  # what a page compares with, so that it shows the present
    return found


def test_what_an_import_replaced_holds_again(alice, bob):
    first = remembered(bob, "I live in Lisbon", key="home.city")
    Memory.objects.filter(id=first.id).update(is_kept=True)
    brought(alice, mem0("I live in Braga"))
    brought(alice, mem0("Likes tea"))
    before = shown(alice)

    batch = brought(alice, mem0("I live in Porto"))
    assert batch.counts == {"changed": {"memory": 1}}

    undone(alice, batch)

    assert shown(alice) == before


def test_older_values_point_again_at_what_holds(alice):
    for city in ("Braga", "Lisbon"):
        brought(alice, mem0(f"I live in {city}"))
    before = shown(alice)

    undone(alice, brought(alice, mem0("I live in Porto")))

    assert shown(alice) == before
    assert Memory.objects.get(user=alice, status="active").statement == "I live in Lisbon"


def test_a_value_that_its_person_gave_since_stays(alice):
    brought(alice, mem0("I live in Braga"))
    batch = brought(alice, mem0("I live in Porto"))
    remembered(alice, "I live in Lisbon")

    undone(alice, batch)

    held = dict(Memory.objects.filter(user=alice).values_list("statement", "status"))
    assert held == {"I live in Braga": "superseded", "I live in Lisbon": "active"}


def test_what_replaced_each_other_within_one_file_goes_whole(alice):
    undone(alice, brought(alice, mem0("I live in Braga", "I live in Porto")))

    assert not Memory.objects.filter(user=alice).exists()


def test_a_conversation_that_was_continued_is_as_it_was(alice):
    brought(alice, chatgpt("I adopted a parrot.", "How lovely!"))
    before = shown(alice)

    undone(alice, brought(alice, chatgpt("I adopted a parrot.", "How lovely!", "It talks.", "What?")))

    assert shown(alice) == before


def test_an_undone_restore_takes_settings_and_refusals_along(alice, bob):
    everything_of(alice)
    User.objects.filter(id=alice.id).update(time_zone="Europe/Lisbon", theme="dark", language="de")
    bare = data_text(bob)
    batch = brought(bob, archive_of(alice))
    assert KindRefusal.objects.filter(user=bob).exists()

    undone(bob, batch)

    assert data_text(bob) == bare


def test_a_setting_that_was_changed_since_is_its_persons(alice, bob):
    everything_of(alice)
    User.objects.filter(id=alice.id).update(theme="dark", time_zone="Europe/Lisbon")
    batch = brought(bob, archive_of(alice))
    User.objects.filter(id=bob.id).update(theme="light")

    undone(bob, batch)

    bob.refresh_from_db()
    assert (bob.theme, bob.time_zone) == ("light", "UTC")


def test_a_refusal_that_was_there_before_stays(alice, bob):
    everything_of(alice)
    refusals.refuse(bob.id, "session")
    remembered(bob, "Likes tea")

    undone(bob, brought(bob, archive_of(alice)))

    assert KindRefusal.objects.filter(user=bob).count() == 1


def test_what_has_expired_by_now_goes_along(alice):
    undone(alice, brought(alice, mem0("Likes tea", said_at=timezone.now() - timedelta(days=600))))

    assert not Memory.objects.filter(user=alice).exists()


def test_an_import_is_undone_once(alice):
    batch = undone(alice, brought(alice, mem0("Likes tea")))

    with pytest.raises(NotReadyError):
        undone(alice, batch)


def test_an_undone_import_can_be_brought_back_for_as_long_as_anything_that_is_forgotten(alice):
    undone(alice, brought(alice, mem0("Likes tea")))
    (act,) = forgettings.open_forgettings(alice.id)

    forgettings.undo(alice.id, act.id, now=timezone.now())

    assert Memory.objects.get(user=alice).statement == "Likes tea"


def test_a_bystander_keeps_what_is_theirs(alice, bob):
    remembered(bob, "Likes tea")
    chat(bob)
    before = shown(bob)

    undone(alice, brought(alice, mem0("Likes tea")))

    assert shown(bob) == before
