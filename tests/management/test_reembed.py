"""``manage.py reembed``: everything gets a vector of the current model, once, and can be stopped at any time."""

import signal
from io import StringIO
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

from memoryapp.embeddings.base import EmbedderUnavailable
from memoryapp.lifecycle import embedding
from memoryapp.longterm import experiences
from memoryapp.longterm.experiences import Lesson
from memoryapp.longterm.models import Experience, Memory
from memoryapp.management.commands import reembed as command
from memoryapp.policies.trust import Origin
from memoryapp.transcript.models import MessageKey
from tests.longterm.saying import NOW, remember
from tests.talking import say
from tests.turns import start


class OneMoreDimension:
    """A model with longer vectors than the one before; ``before`` runs while it computes."""

    dimensions = 3
    model_id = "new"

    def __init__(self, before=lambda: None):
        self.texts = []
        self.before = before

    def embed_passages(self, texts):
        self.before()
        self.texts += texts
        return [[1.0, 0.0, 0.0] for _ in texts]


@pytest.fixture
def use(monkeypatch):
    def use(embedder):
        monkeypatch.setattr(embedding, "get_embedder", lambda: embedder)
        monkeypatch.setattr(command, "get_embedder", lambda: embedder)
        return embedder

    monkeypatch.setattr(embedding, "BATCH", 2)
    return use


@pytest.fixture
def stored(alice):
    """One row of each sort and three memories, with vectors of an older model."""
    for number in range(3):
        remember(alice, f"ticket {number}")
    say(start(alice), "I like tea", "Noted")
    lesson = Lesson(
        goal="Send the letter", tools=("post",), worked="It did.", avoid="", origin=Origin.USER_TYPED
    )
    experiences.record(alice.id, lesson, run_id=uuid4(), epoch_at_start=0, now=NOW)
    Experience.objects.update(source_run=None)  # its record goes before the lesson does
    for model in (Memory, MessageKey, Experience):
        model.objects.update(embedding=[1.0, 0.0], embedding_model="old")


def reembed() -> str:
    output = StringIO()
    call_command("reembed", stdout=output)
    return output.getvalue()


def models() -> list[str]:
    return sorted(
        row.embedding_model for model in (Memory, MessageKey, Experience) for row in model.objects.all()
    )


def test_every_sort_gets_vectors_of_the_current_model(stored, use):
    embedder = use(OneMoreDimension())

    output = reembed()

    assert models() == ["new"] * 6
    assert sorted(embedder.texts) == [
        "I like tea", "Noted", "Send the letter", "ticket 0", "ticket 1", "ticket 2",
    ]  # fmt: skip
    assert "6 rows" in output
    assert "per second" in output


def test_what_has_its_vector_is_not_embedded_again(stored, use):
    use(OneMoreDimension())
    reembed()

    again = use(OneMoreDimension())
    output = reembed()

    assert again.texts == []
    assert "0 rows" in output


def test_messages_without_keys_get_both(stored, use):
    MessageKey.objects.all().delete()
    use(OneMoreDimension())

    reembed()

    assert models() == ["new"] * 6


def test_interrupted_it_keeps_the_batch_and_goes_on_from_there(stored, use):
    use(OneMoreDimension(before=lambda: signal.raise_signal(signal.SIGINT)))
    with pytest.raises(SystemExit) as ended:
        reembed()
    assert ended.value.code == 130
    assert models().count("new") == 2

    rest = use(OneMoreDimension())
    reembed()

    assert len(rest.texts) == 4
    assert models() == ["new"] * 6


def test_afterwards_an_interrupt_means_what_it_meant_before(stored, use):
    before = signal.getsignal(signal.SIGINT)
    use(OneMoreDimension())

    reembed()

    assert signal.getsignal(signal.SIGINT) is before


def test_an_embedder_that_is_away_ends_it_with_a_message(stored, use):
    def fail():
        raise EmbedderUnavailable("The service is down.")

    use(OneMoreDimension(before=fail))

    with pytest.raises(CommandError, match="The service is down"):
        reembed()
