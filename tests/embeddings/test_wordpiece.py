"""The tokenizer against ids that ``tokenizers`` 0.23.3 produced with the model's own ``tokenizer.json``."""

import json
from pathlib import Path

import pytest

from memoryapp.embeddings import bundled
from memoryapp.embeddings.wordpiece import WordPiece

EXPECTED = json.loads((Path(__file__).parents[1] / "data" / "wordpiece.json").read_text(encoding="utf-8"))
CLS, SEP = 101, 102


@pytest.fixture(scope="module")
def tokenizer():
    return WordPiece(bundled.MINILM_VOCABULARY.verified(), max_tokens=256)


@pytest.mark.parametrize(("text", "ids"), EXPECTED, ids=[ascii(text[:30]) for text, _ in EXPECTED])
def test_ids_are_those_of_the_reference(tokenizer, text, ids):
    assert tokenizer.encode(text) == ids


def test_long_text_is_cut_to_the_limit_and_still_closed(tokenizer):
    ids = tokenizer.encode("word " * 1_000)

    assert len(ids) == 256
    assert (ids[0], ids[-1]) == (CLS, SEP)


def test_a_text_cannot_smuggle_in_control_tokens(tokenizer):
    ids = tokenizer.encode("[CLS] one [SEP] two")

    assert ids.count(CLS) == ids.count(SEP) == 1
