"""What a worker does: answer what it is woken for, once, and look after the turns of those that were lost."""

import threading
from types import SimpleNamespace

import pytest

from chat import reaper, tasks
from tests.turns import COMMITTED, fresh, post, reply_to


@COMMITTED
def test_a_task_delivered_twice_answers_once(alice, model, nudges):
    turn = post(alice, "Hello")

    tasks.run_turn(str(turn.id))
    tasks.run_turn(str(turn.id))

    assert (fresh(turn).attempt, reply_to(turn)) == (1, "You said: Hello")
    assert len(model.calls) == 1


@pytest.fixture
def begun(monkeypatch):
    """What a worker of the given queues starts; ``is_in_use``: whether there is something to recall."""
    started = []
    warm = threading.Event()

    monkeypatch.setattr(tasks, "get_embedder", lambda: SimpleNamespace(embed_queries=started.append))
    monkeypatch.setattr(tasks, "connections", SimpleNamespace(close_all=warm.set))

    monkeypatch.setattr(tasks, "start_reaping", lambda: started.append("reaper"))
    monkeypatch.setattr(tasks, "chat_limits", lambda: started.append("limits"))

    def begin(*queues, is_in_use=False):
        monkeypatch.setattr(tasks.memories, "is_in_use", lambda: is_in_use)
        amqp = SimpleNamespace(queues=SimpleNamespace(consume_from=queues))
        consumer = SimpleNamespace(app=SimpleNamespace(amqp=amqp))
        tasks.begin(consumer, signal=None)
        assert "turns" not in queues or warm.wait(timeout=5)
        return started

    return begin


def test_the_worker_of_turns_makes_its_model_ready(begun):
    assert begun("turns") == ["reaper", "limits"]


def test_it_loads_the_embedder_where_there_is_something_to_recall(begun):
    started = begun("turns", is_in_use=True)

    assert started[2:] == [["What do you know about me?"]]


def test_another_worker_reaps_and_loads_no_model(begun):
    assert begun("memory") == ["reaper"]


@pytest.mark.django_db
def test_the_reaper_goes_on_after_a_failure(monkeypatch, configure, caplog):
    configure(STRATA_REAP_INTERVAL_S="0.5")
    passes, reaped = iter([ValueError("away"), None, SystemExit]), threading.Event()

    def reap():
        outcome = next(passes)
        if outcome is None:
            reaped.set()
        elif outcome:
            raise outcome

    monkeypatch.setattr(reaper, "time", SimpleNamespace(sleep=lambda _: None))
    monkeypatch.setattr(reaper, "reap_turns", reap)

    with pytest.raises(SystemExit):
        reaper._reap_for_ever()

    assert reaped.is_set()
    assert "Turns could not be reaped" in caplog.text
