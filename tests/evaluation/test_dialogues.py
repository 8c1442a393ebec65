"""Conversations in the database, asked through the search of the chat; by words, for what is tested is the counting."""

import json

import pytest

from memoryapp.evaluation import dialogues, report, samples
from memoryapp.transcript.models import Conversation, Message

PETS = {
    "sample_id": "pets",
    "speaker_a": "Anna",
    "session_1_date_time": "1:56 pm on 8 May, 2023",
    "session_1": [
        {"speaker": "Anna", "text": "I adopted a parrot called Mango from the shelter."},
        {"speaker": "Ben", "text": "Great! I only have cactuses at home."},
        {"speaker": "Anna", "text": "He whistles all morning."},
    ],
    "session_2_date_time": "9:05 am on 20 May, 2023",
    "session_2": [
        {"speaker": "Ben", "text": "My marathon training in Oslo begins tomorrow."},
        {"speaker": "Anna", "text": "Good luck!"},
    ],
    "qa": [
        {"question": "Which parrot did Anna adopt?", "evidence": ["D1:1"], "category": 4},
        {"question": "When does the marathon training of Ben begin?", "evidence": ["D2:1"], "category": 2},
        {"question": "Which marathon did Anna run?", "evidence": ["D2:1"], "category": 5},
        {"question": "What did nobody say?", "evidence": ["D9:1"], "category": 1},
    ],
}
BREAD = {
    "sample_id": "bread",
    "session_1": [
        {"speaker": "Carla", "text": "The sourdough starter doubled overnight."},
        {"speaker": "Dan", "text": "Bake two loaves then."},
    ],
    "qa": [{"question": "What doubled overnight for Carla?", "evidence": ["D1:1"], "category": 4}],
}


@pytest.fixture
def measured(db, tmp_path):
    """What is found in these samples by words alone."""

    def measure(*rows):
        path = tmp_path / "set.json"
        path.write_text(json.dumps(rows), encoding="utf-8")
        return dialogues.measure(samples.read(path), with_vectors=False, say=lambda _: None)

    return measure


def test_every_session_is_a_conversation_of_one_person(measured):
    measured(PETS, BREAD)

    by_user = [Conversation.objects.filter(user__username=name).count() for name in ("person-1", "person-2")]
    assert by_user == [2, 1]
    assert Message.objects.get(text="Good luck!").speaker == "Anna"


def test_what_was_said_is_found_and_counted_by_category(measured):
    found = measured(PETS, BREAD)

    assert found["n"] == 3
    assert found["overall"]["recall@5"] == 1
    assert {name: figures["n"] for name, figures in found["by_category"].items()} == {
        "adversarial": 1,
        "single-hop": 2,
        "temporal": 1,
    }
    assert found["left_out"] == 1
    assert (found["messages"], found["conversations"]) == (7, ["pets", "bread"])


def test_a_fact_is_found_again_within_the_budget(measured):
    overall = measured(PETS)["overall"]

    assert (overall["recall@1000tokens"], overall["recall_in_prompt"]) == (1, 1)


def test_without_vectors_the_one_baseline_is_bm25(measured):
    found = measured(PETS)

    assert set(found["baselines"]) == {"bm25"}
    assert found["baselines"]["bm25"]["recall@5"] == 1
    assert found["embedder"] == "none"


def test_questions_of_a_stranger_get_less_confidence(measured):
    found = measured(PETS, BREAD)["abstention"]

    assert found["auc"] == 1
    assert found["answered_unknown"] == 0


def test_of_one_conversation_there_is_no_stranger_to_ask(measured):
    found = measured(PETS)

    assert found["abstention"]["auc"] is None
    assert "needs two conversations" in report.dialogues(found)


def test_names_are_swapped_all_at_once():
    assert (
        dialogues.renamed("Did Anna tell Ben? anna's", ["Anna", "Ben"], ["Ben", "Zoe"])
        == "Did Ben tell Zoe? Ben's"
    )
    assert dialogues.renamed("Did Annabel?", ["Anna"], ["Zoe"]) == "Did Annabel?"
    assert dialogues.renamed("Did I?", [], ["Zoe"]) == "Did I?"


def test_the_table_has_a_line_for_each_category_and_baseline_in_percent(measured):
    lines = report.dialogues(measured(PETS, BREAD)).splitlines()

    assert lines[0].startswith("2 conversations, 7 messages, 3 questions (1 more")
    overall = next(line for line in lines if line.startswith("overall"))
    assert overall.split()[1:4] == ["3", "100.0", "100.0"]
    assert any(line.startswith("BM25 alone") for line in lines)
