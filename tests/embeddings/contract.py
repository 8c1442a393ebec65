"""What every embedder must do; each implementation's tests subclass this."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryapp.embeddings.base import Aim, Embedder

TEXTS = [
    "I only drink green tea, never coffee.",
    "My sister Clara lives in Porto.",
    "私は京都に住んでいます。",
    "short",
    "A much longer statement, so that a batch holds texts of very different lengths and needs padding " * 4,
]


class EmbedderContract:
    """Subclasses provide the fixture ``embedder``."""

    @pytest.fixture
    def embedder(self) -> Embedder:
        raise NotImplementedError

    def test_vectors_are_finite_unit_and_as_long_as_promised(self, embedder):
        for vectors in (embedder.embed_passages(TEXTS), embedder.embed_queries(TEXTS)):
            assert len(vectors) == len(TEXTS)
            for vector in vectors:
                assert len(vector) == embedder.dimensions
                assert all(isinstance(number, float) and math.isfinite(number) for number in vector)
                assert math.hypot(*vector) == pytest.approx(1, abs=1e-3)

    def test_no_texts_give_no_vectors(self, embedder):
        assert embedder.embed_passages([]) == []
        assert embedder.embed_queries([]) == []

    def test_same_text_gives_the_same_vector(self, embedder):
        assert embedder.embed_passages(TEXTS) == embedder.embed_passages(TEXTS)

    def test_vector_does_not_depend_on_the_batch(self, embedder):
        together = embedder.embed_passages(TEXTS * 10)
        alone = [embedder.embed_passages([text])[0] for text in TEXTS] * 10

        np.testing.assert_allclose(together, alone, atol=1e-3)

    def test_different_texts_give_different_vectors(self, embedder):
        first, second = np.array(embedder.embed_passages(TEXTS[:2]))

        assert first @ second < 0.99

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "   \n",
            "\0",
            "a\0b",
            "🎉👩‍👩‍👧‍👦",
            "\ud800 lone surrogate",
            "word " * 20_000,
            "x" * 100_000,
            "愛" * 100_000,
        ],
        ids=[
            "empty",
            "blank",
            "nul",
            "nul inside",
            "emoji",
            "surrogate",
            "many words",
            "one word",
            "ideographs",
        ],
    )
    def test_odd_text_has_a_vector(self, embedder, text):
        (vector,) = embedder.embed_passages([text])

        assert len(vector) == embedder.dimensions
        assert math.hypot(*vector) == pytest.approx(1, abs=1e-3)

    def test_any_text_has_a_vector(self, embedder):
        @settings(max_examples=25, deadline=None, derandomize=True, database=None)
        @given(text=st.text(max_size=200))
        def check(text):
            (vector,) = embedder.embed_queries([text])

            assert math.hypot(*vector) == pytest.approx(1, abs=1e-3)

        check()

    def test_threads_get_the_same_vectors(self, embedder):
        expected = embedder.embed_passages(TEXTS)

        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: embedder.embed_passages(TEXTS), range(16)))

        for answer in answers:
            np.testing.assert_allclose(answer, expected, atol=1e-3)

    @pytest.mark.parametrize("aim", Aim)
    @pytest.mark.parametrize("language", ["en", "de", "zh", "xx"])
    def test_an_aimed_question_has_bounded_inner_products_with_passages(self, embedder, aim, language):
        (question,) = embedder.embed_queries(TEXTS[:1])

        aimed = embedder.aimed(question, at=aim, language=language)

        similarities = np.array(embedder.embed_passages(TEXTS)) @ aimed
        assert len(aimed) == embedder.dimensions
        assert np.isfinite(similarities).all()
        assert (np.abs(similarities) < 1.5).all()
