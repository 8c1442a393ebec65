"""Which embedder the configuration chooses."""

import pytest

from memoryapp.conf import get_conf
from memoryapp.embeddings.registry import get_embedder, reset_embedder
from memoryapp.embeddings.voyage import VoyageEmbedder


@pytest.fixture(autouse=True)
def _fresh_configuration():
    get_conf.cache_clear()
    reset_embedder()
    yield
    get_conf.cache_clear()
    reset_embedder()


def test_default_is_the_local_pair():
    assert get_embedder().model_id == "minilm-int8+use-v3@0.4"
    assert get_embedder().dimensions == 384 + 512


@pytest.mark.parametrize(("name", "dimensions"), [("minilm", 384), ("use", 512)])
def test_a_single_local_model_can_be_chosen(monkeypatch, name, dimensions):
    monkeypatch.setenv("STRATA_BUNDLED_MODEL", name)

    assert get_embedder().dimensions == dimensions


def test_voyage_can_be_chosen_and_needs_no_key_to_be_built(monkeypatch):
    monkeypatch.setenv("STRATA_EMBEDDER", "voyage")
    monkeypatch.setenv("STRATA_VOYAGE_MODEL", "voyage-3-lite")

    embedder = get_embedder()

    assert isinstance(embedder, VoyageEmbedder)
    assert (embedder.model_id, embedder.dimensions) == ("voyage-3-lite", 512)


def test_process_has_one_embedder():
    assert get_embedder() is get_embedder()
