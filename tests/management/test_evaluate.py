"""``manage.py evaluate``: figures for people and for programs, and nothing left afterwards."""

import json
import tempfile

import psutil
import pytest
from django.core.management import CommandError, call_command

from memoryapp.evaluation import running
from tests.servers import throw_away_directory

TALK = {
    "sample_id": "pets",
    "session_1": [
        {"speaker": "Anna", "text": "I adopted a parrot called Mango."},
        {"speaker": "Ben", "text": "I only have cactuses."},
    ],
    "qa": [{"question": "Which parrot did Anna adopt?", "evidence": ["D1:1"], "category": 4}],
}


@pytest.fixture
def place(monkeypatch):
    """Where this test's evaluation keeps its things."""
    with throw_away_directory() as directory:
        monkeypatch.setattr(tempfile, "tempdir", str(directory))
        yield directory


@pytest.fixture
def data_set(tmp_path):
    path = tmp_path / "set.json"
    path.write_text(json.dumps([TALK]), encoding="utf-8")
    return path


@pytest.fixture
def asked(monkeypatch):
    """What would be measured, without starting anything."""
    calls = []

    def run(arguments, *, embedder, say):
        calls.append((arguments, embedder))
        return {}

    monkeypatch.setattr(running, "run", run)
    return calls


def test_without_a_file_it_says_which_to_give():
    with pytest.raises(CommandError, match=r"Which data set\? .* docs/evaluation\.md says where to get it"):
        call_command("evaluate", "locomo")


def test_a_file_that_cannot_be_read_is_refused_before_anything_starts(asked, tmp_path):
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("evaluate", "locomo", str(tmp_path / "nothing.json"))

    assert asked == []


def test_conversations_that_are_not_there_are_refused_with_those_that_are(asked, data_set):
    with pytest.raises(CommandError, match=r"has no conversation cats\. It has: pets\."):
        call_command("evaluate", "locomo", str(data_set), conversations="cats")

    assert asked == []


def test_the_chosen_conversations_and_the_embedder_are_what_is_measured(asked, data_set, capsys):
    call_command(
        "evaluate", "locomo", str(data_set), "--conversations", " pets ,", "--embedder", "minilm", "--json"
    )

    assert asked == [(["locomo", str(data_set), "--conversations", "pets"], "minilm")]
    assert json.loads(capsys.readouterr().out) == {}


def test_the_pairs_take_no_file(asked, data_set):
    with pytest.raises(CommandError, match="takes no file"):
        call_command("evaluate", "pairs", str(data_set))


def test_an_unknown_embedder_is_told_which_there_are():
    with pytest.raises(CommandError, match="bundled"):
        call_command("evaluate", "pairs", "--embedder", "word2vec")


@pytest.mark.stack
def test_it_measures_on_servers_of_its_own_and_leaves_nothing_behind(place, data_set, capsys):
    call_command("evaluate", "locomo", str(data_set), "--embedder", "none", "--json")

    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["overall"]["recall@10"] == 1
    assert found["n"] == found["by_category"]["single-hop"]["n"] == 1
    assert found["baselines"]["bm25"]["recall@10"] == 1
    assert not any("manage.py" in " ".join(child.cmdline()) for child in psutil.Process().children())
    assert list(place.iterdir()) == []
