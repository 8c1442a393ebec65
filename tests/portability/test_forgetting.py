"""What is forgotten beside an import: a file that waits shows and brings it no more, a restore stops."""

import pytest
from django.urls import reverse
from django.utils import timezone

from memoryapp.forgetting import operations as forgetting
from memoryapp.forgetting.scopes import Asked
from memoryapp.longterm.models import Memory
from memoryapp.portability import importing
from memoryapp.portability.models import ImportBatch
from memoryapp.receipts.models import Scope
from memoryapp.transcript.models import Conversation
from tests.personas import signed_in
from tests.portability.archives import archive_of
from tests.portability.bringing import brought, mem0, received
from tests.portability.test_merging import chat, chatgpt, remembered

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)

HERON = "Keeps a heron called Wotan"


def forget(user, scope: Scope, subject: object = ""):
    return forgetting.forget(user.id, Asked(scope, str(subject)), now=timezone.now())


def beside(monkeypatch, act) -> None:
    """Do it once, between two of the groups that an import writes at once."""
    groups_of, left = importing._groups, [act]

    def groups(numbered, *, after):
        for number, found in enumerate(groups_of(numbered, after=after)):
            if number and left and Conversation.objects.filter(user__username="bob").exists():
                left.pop()()
            yield found

    monkeypatch.setattr(importing, "_groups", groups)


@pytest.mark.parametrize(
    "file", [mem0(HERON), chatgpt(HERON, "Noted.", title="Wotan the heron")], ids=["facts", "chats"]
)
def test_a_forgetting_drops_a_file_that_waits_and_the_words_shown_of_it(alice, file):
    browser = signed_in(alice)
    fact = remembered(alice, HERON)
    waiting = brought(alice, file, is_preview=True)

    forget(alice, Scope.MEMORY, fact.id)

    page = browser.get(reverse("inspector:import", args=[waiting.id])).content.decode()
    told = browser.get(f"/api/v1/imports/{waiting.id}").json()
    assert "Wotan" not in page
    assert "Choose the file again." in page
    assert (told["status"], told["error_code"], told["samples"]) == ("failed", "forgotten_meanwhile", {})
    assert not waiting.parts.exists()


def test_a_file_that_is_being_read_meanwhile_shows_nothing_either(alice, monkeypatch):
    fact = remembered(alice, HERON)
    waiting = received(alice, mem0(HERON, "Eats plums"), is_preview=True)
    end_reading = importing.operations.end_reading

    def forgotten_first(batch, **when):
        forget(alice, Scope.MEMORY, fact.id)
        end_reading(batch, **when)

    monkeypatch.setattr(importing.operations, "end_reading", forgotten_first)
    importing.work(waiting.id)

    waiting.refresh_from_db()
    assert (waiting.status, waiting.samples) == (ImportBatch.Status.FAILED, {})


def test_a_file_of_somebody_else_waits_on(alice, bob):
    fact = remembered(alice, HERON)
    waiting = brought(bob, mem0(HERON), is_preview=True)

    forget(alice, Scope.MEMORY, fact.id)

    waiting.refresh_from_db()
    assert waiting.status == ImportBatch.Status.READY
    assert waiting.parts.exists()


def test_a_restore_beside_which_something_is_forgotten_brings_no_more(alice, bob, monkeypatch):
    chat(alice)
    remembered(alice, HERON)
    archive = archive_of(alice)
    beside(monkeypatch, lambda: forget(bob, Scope.CONVERSATION, Conversation.objects.get(user=bob).id))

    batch = brought(bob, archive)

    assert (batch.status, batch.error_code) == (ImportBatch.Status.FAILED, "changed_meanwhile")
    assert not Memory.everything.filter(user=bob).exists()


def test_a_restore_beside_which_the_same_is_learned_is_no_damaged_archive(alice, bob, monkeypatch):
    chat(alice)
    remembered(alice, HERON)
    archive = archive_of(alice)
    beside(monkeypatch, lambda: remembered(bob, HERON))

    batch = brought(bob, archive)

    assert (batch.status, batch.error_code) == (ImportBatch.Status.FAILED, "changed_meanwhile")
    assert "stopped" in batch.error_message
    assert brought(bob, archive).status == ImportBatch.Status.DONE
