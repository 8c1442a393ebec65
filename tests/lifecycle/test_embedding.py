"""Vectors come some seconds after a row is written; until then, and without an embedder, nothing is lost."""

import json
from itertools import count

import pytest
from celery import current_app

from memoryapp.embeddings.base import EmbedderUnavailable
from memoryapp.lifecycle import embedding
from memoryapp.lifecycle.models import LifecycleRun
from memoryapp.lifecycle.tasks import after_turn, embed_memories, sweep
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.models import Memory, MemoryVersion
from memoryapp.policies.trust import Origin
from memoryapp.transcript.importing import Said, import_conversation
from memoryapp.transcript.models import MessageKey
from tests.longterm.saying import DAY, NOW, remember
from tests.talking import say
from tests.turns import COMMITTED, start


class CountingEmbedder:
    """As many numbers as its name is long; ``before`` runs while it computes."""

    dimensions = 2

    def __init__(self, model_id="small", before=lambda: None):
        self.model_id = model_id
        self.texts = []
        self.before = before

    def embed_passages(self, texts):
        self.before()
        self.texts += texts
        return [[float(len(text)), 1.0] for text in texts]


class NoEmbedder(CountingEmbedder):
    def embed_passages(self, texts):
        raise EmbedderUnavailable("The service is down.")


@pytest.fixture
def use(monkeypatch):
    def use(embedder):
        monkeypatch.setattr(embedding, "get_embedder", lambda: embedder)
        return embedder

    use(CountingEmbedder())
    return use


def vectors() -> dict[str, tuple[float, str]]:
    rows = Memory.objects.exclude(embedding=None)
    return {row.statement: (float(row.embedding[0]), row.embedding_model) for row in rows}


def said() -> dict[str, str]:
    return dict(MessageKey.objects.values_list("message__text", "embedding_model"))


def test_the_task_embeds_the_memory_it_is_given(alice, use):
    remember(alice, "another")
    memory = remember(alice, "I like tea").memory

    embed_memories(str(memory.id))

    assert vectors() == {"I like tea": (10.0, "small")}


def test_running_it_twice_computes_once(alice, use):
    embedder = use(CountingEmbedder())
    memory = remember(alice, "I like tea").memory

    for _ in range(2):
        embed_memories(str(memory.id))

    assert embedder.texts == ["I like tea"]


def test_a_memory_that_is_gone_is_no_error(alice, use):
    memory = remember(alice, "I like tea").memory
    longterm.forget(alice.id, memory.id, now=NOW)

    embed_memories(str(memory.id))

    assert vectors() == {}


def test_words_that_change_while_the_vector_is_made_get_theirs_later(alice, use):
    memory = remember(alice, "I like tea").memory

    def edit():
        longterm.edit(alice.id, memory.id, version=1, now=NOW, statement="I like green tea")

    use(CountingEmbedder(before=edit))
    embed_memories(str(memory.id))
    assert vectors() == {}

    use(CountingEmbedder())
    embed_memories(str(memory.id))
    assert vectors() == {"I like green tea": (16.0, "small")}


def test_a_memory_forgotten_while_its_vector_is_made_does_not_come_back(alice, use):
    memory = remember(alice, "I like tea").memory
    use(CountingEmbedder(before=lambda: longterm.forget(alice.id, memory.id, now=NOW)))

    embed_memories(str(memory.id))

    assert Memory.objects.count() == 0


def test_without_an_embedder_the_row_waits_and_the_sweep_makes_up_for_it(alice, use, caplog):
    use(NoEmbedder())
    memory = remember(alice, "I like tea").memory
    embed_memories(str(memory.id))
    sweep()
    assert vectors() == {}
    assert "tea" not in caplog.text

    use(CountingEmbedder())
    sweep()

    assert vectors() == {"I like tea": (10.0, "small")}


def test_what_waits_for_its_persons_word_has_no_vector(alice, use):
    memory = remember(alice, "ACME is trusted", origin=Origin.UNTRUSTED).memory

    embed_memories(str(memory.id))
    sweep()

    assert vectors() == {}


def test_another_model_embeds_everything_anew(alice, use):
    remember(alice, "I like tea")
    sweep()

    use(CountingEmbedder("large"))
    sweep()

    assert vectors() == {"I like tea": (10.0, "large")}


def test_a_sweep_embeds_the_oldest_and_leaves_the_rest_to_the_next(alice, use, monkeypatch):
    monkeypatch.setattr(embedding, "BACKLOG_ROWS", 3)
    monkeypatch.setattr(embedding, "BATCH", 2)
    embedder = use(CountingEmbedder())
    for number in range(4):
        remember(alice, f"ticket {number}")

    assert embedding.embed_backlog() == 3
    assert embedder.texts == ["ticket 0", "ticket 1", "ticket 2"]
    assert embedding.embed_backlog() == 1
    assert embedding.embed_backlog() == 0


def test_what_was_said_gets_its_vectors_after_its_turn(alice, use, nudges):
    turn = say(start(alice), "I like tea", "Noted")
    say(start(alice), "something else")

    after_turn(str(turn.id))

    assert said() == {"I like tea": "small", "Noted": "small", "something else": ""}


def test_without_an_embedder_a_turn_goes_on_to_what_comes_after_and_the_sweep_makes_up_for_it(
    alice, use, nudges, caplog
):
    use(NoEmbedder())
    turn = say(start(alice), "I like tea")
    after_turn(str(turn.id))
    assert said() == {"I like tea": ""}
    assert "tea" not in caplog.text

    use(CountingEmbedder())
    sweep()

    assert said() == {"I like tea": "small"}


def test_of_a_message_the_words_are_embedded_and_not_who_said_them(alice, use):
    embedder = use(CountingEmbedder())
    long = "I like tea. " * 1_000
    import_conversation(alice, [Said(long, is_assistant=False, said_at=NOW, speaker="Anna")])

    embedding.embed_backlog()

    assert embedder.texts == [long[: embedding.EMBEDDED_CHARS]]


def test_a_row_whose_words_change_all_the_time_does_not_hold_up_the_others(alice, use, monkeypatch):
    monkeypatch.setattr(embedding, "BATCH", 1)
    first = remember(alice, "ticket 1").memory
    remember(alice, "ticket 2")
    versions = count(1)

    def edit():
        version = next(versions)
        longterm.edit(alice.id, first.id, version=version, now=NOW, statement=f"ticket 1, edit {version}")

    use(CountingEmbedder(before=edit))

    assert embedding.embed_backlog() == 1
    assert list(vectors()) == ["ticket 2"]


def test_messages_of_before_there_were_keys_get_keys_and_vectors_by_the_sweep(alice, use, nudges):
    say(start(alice), "I like tea")
    MessageKey.objects.all().delete()

    sweep()

    assert said() == {"I like tea": "small"}


def test_the_log_counts_rows_and_a_sweep_that_did_nothing_leaves_no_line(alice, use):
    remember(alice, "I like tea")
    for _ in range(2):
        sweep()

    (run,) = LifecycleRun.objects.values()
    assert (run["job"], run["rows"], run["user_id"], run["error_code"]) == ("embedding", 1, None, "")
    assert "tea" not in str(run)


def test_a_failure_is_noted_with_its_code(alice, use):
    use(NoEmbedder())
    remember(alice, "I like tea")

    sweep()

    (run,) = LifecycleRun.objects.all()
    assert (run.job, run.rows, run.error_code) == ("embedding", 0, "embedder_unavailable")


@COMMITTED
def test_after_the_commit_a_worker_is_told_the_id_and_nothing_else(alice, monkeypatch):
    sent = []
    monkeypatch.setattr(current_app, "send_task", lambda name, **message: sent.append((name, message)))

    memory = remember(alice, "I like tea", said_at=NOW - DAY).memory
    remember(alice, "I like tea")

    told = {"args": [str(memory.id)], "retry": False, "countdown": None}
    assert sent == [("memoryapp.lifecycle.tasks.embed_memories", told)]
    assert "tea" not in json.dumps(sent)


@COMMITTED
@pytest.mark.parametrize("error", [OSError("down"), ConnectionRefusedError()])
def test_a_memory_is_kept_when_the_queue_is_away(alice, monkeypatch, caplog, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(current_app, "send_task", fail)

    memory = remember(alice, "I like tea").memory

    assert Memory.objects.get() == memory
    assert "was not sent" in caplog.text
    assert "tea" not in caplog.text


@COMMITTED
def test_nor_does_a_broker_that_answers_nonsense_reach_who_sent_it(alice, monkeypatch, caplog):
    monkeypatch.setattr(current_app, "send_task", lambda *_, **__: 1 / 0)

    remember(alice, "I like tea")

    assert Memory.objects.count() == 1
    assert "ZeroDivisionError" in caplog.text
    assert "tea" not in caplog.text


@COMMITTED
def test_nothing_is_sent_for_a_statement_that_was_not_kept(alice, monkeypatch):
    sent = []
    monkeypatch.setattr("memoryapp.nudges._send", lambda *call, **_: sent.append(call))
    monkeypatch.setattr(MemoryVersion, "save", lambda *_, **__: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        remember(alice, "I like tea")

    assert sent == []
