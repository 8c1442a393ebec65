"""Voyage AI's embeddings over HTTP: one call, written out because the vendor's package brings 100 MB."""

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal, NoReturn

import httpx2
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError

from memoryapp.embeddings.base import Aim, Calibration, DialogueWeights, EmbedderUnavailable
from memoryapp.embeddings.readable import readable

InputType = Literal["query", "document"]

# The service takes up to 1,000 texts a call; 128 of ours stay below its limit on tokens too.
BATCH_SIZE: Final = 128
_FIRST_BACKOFF_S: Final = 0.5
# A longer wait belongs to a later job: whoever waits for a vector now goes on by words alone.
_MAX_BACKOFF_S: Final = 4.0
_RETRYABLE: Final = frozenset({408, 429, 500, 502, 503, 504, 529})

# Lengths that differ from the usual 1,024; a model we do not know is corrected by its first answer.
_USUAL_DIMENSIONS: Final = 1_024
_DIMENSIONS: Final = {"voyage-3-lite": 512, "voyage-large-2": 1_536, "voyage-code-2": 1_536}


class _Item(BaseModel):
    model_config = ConfigDict(allow_inf_nan=False)

    index: int
    embedding: list[float]


class _Answer(BaseModel):
    data: list[_Item]


class VoyageEmbedder:
    """Embeds with a Voyage model; why it cannot is said without the key and without a text."""

    # An assumption, not a measurement: fitting it takes a key (``python -m tests.embeddings.calibrate``).
    calibration = Calibration(
        bias=-6.75, dense=15.0, lexical=3.0, dialogue=DialogueWeights(dense=0.4, bias=-9.5, slope=20.5)
    )

    def __init__(
        self,
        *,
        base_url: str,
        api_key: SecretStr,
        model: str,
        timeout_s: float,
        max_retries: int,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.model_id = model
        self.dimensions = _DIMENSIONS.get(model, _USUAL_DIMENSIONS)
        self._url = f"{base_url.rstrip('/')}/v1/embeddings"
        self._api_key = api_key
        self._timeout_s = timeout_s
        self._max_retries = max_retries
        self._sleep = sleep
        self._has_answered = False
        self._lock = threading.Lock()
        self._client: httpx2.Client | None = None

    def embed_passages(self, texts: Sequence[str]) -> list[list[float]]:
        return self._embed(texts, "document")

    def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        return self._embed(texts, "query")

    def aimed(self, vector: Sequence[float], *, at: Aim, language: str) -> list[float]:
        """One model for every aim and language."""
        del at, language
        return list(vector)

    def _embed(self, texts: Sequence[str], input_type: InputType) -> list[list[float]]:
        # The service refuses an empty text; a dash means as little.
        sendable = [readable(text).strip() or "-" for text in texts]
        return [
            vector
            for start in range(0, len(sendable), BATCH_SIZE)
            for vector in self._embed_batch(sendable[start : start + BATCH_SIZE], input_type)
        ]

    def _embed_batch(self, texts: Sequence[str], input_type: InputType) -> list[list[float]]:
        response = self._post({"model": self.model_id, "input": texts, "input_type": input_type})
        try:
            items = sorted(_Answer.model_validate_json(response.content).data, key=lambda item: item.index)
        except ValidationError:
            _refuse("Voyage's answer could not be read")  # without the cause: it quotes the answer
        if [item.index for item in items] != list(range(len(texts))):
            _refuse("Voyage did not answer with one vector per text")
        vectors = self._normalised([item.embedding for item in items])
        unit: list[list[float]] = vectors.tolist()
        return unit

    def _normalised(self, rows: Sequence[Sequence[float]]) -> NDArray[np.float64]:
        if not self._has_answered:
            self.dimensions = len(rows[0])
            self._has_answered = True
        if any(len(row) != self.dimensions for row in rows):
            _refuse(f"Voyage's vectors do not have {self.dimensions} dimensions as before")
        vectors = np.array(rows, np.float64)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not lengths.all():
            _refuse("Voyage answered with a vector of length 0")
        unit: NDArray[np.float64] = vectors / lengths
        return unit

    def _post(self, body: dict[str, object]) -> httpx2.Response:
        """The first 200 within the allowed attempts."""
        waits = self._backoffs()
        while True:
            try:
                response = self._connected().post(self._url, json=body, headers=self._headers())
            except httpx2.TransportError as error:
                wait_s = next(waits, None)
                if wait_s is None:
                    _refuse(f"Voyage cannot be reached ({type(error).__name__})", error)
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                _refuse("Voyage cannot be called; check STRATA_VOYAGE_BASE_URL", error)
            else:
                if response.status_code == 200:
                    return response
                wait_s = next(waits, None) if response.status_code in _RETRYABLE else None
                if wait_s is None:
                    _refuse(_explanation(response.status_code))
                wait_s = max(wait_s, _asked_wait_s(response))
            self._sleep(wait_s)

    def _backoffs(self) -> Iterator[float]:
        """Doubling waits, with jitter so that workers do not come back together."""
        for attempt in range(self._max_retries):
            yield min(_FIRST_BACKOFF_S * 2**attempt, _MAX_BACKOFF_S) * random.uniform(0.75, 1)  # noqa: S311

    def _headers(self) -> dict[str, str]:
        key = self._api_key.get_secret_value().strip()
        if not key:
            _refuse("Voyage needs an API key; set VOYAGE_API_KEY")
        if not (key.isascii() and key.isprintable()):
            _refuse("VOYAGE_API_KEY holds characters that no key has")
        return {"Authorization": f"Bearer {key}"}

    def _connected(self) -> httpx2.Client:
        with self._lock:
            if self._client is None:
                self._client = httpx2.Client(timeout=self._timeout_s)
            return self._client


def _asked_wait_s(response: httpx2.Response) -> float:
    """What the service asks for, as far as we are ready to wait; a date counts as nothing."""
    asked = response.headers.get("retry-after", "")
    return min(float(asked), _MAX_BACKOFF_S) if asked.isdecimal() else 0.0


def _explanation(status: int) -> str:
    if status in (401, 403):
        return "Voyage refused the API key; check VOYAGE_API_KEY"
    if status == 429:
        return "Voyage's rate limit is reached"
    if status < 500:
        return f"Voyage rejected the request with status {status}; check STRATA_VOYAGE_MODEL"
    return f"Voyage failed with status {status}"


def _refuse(why: str, cause: Exception | None = None) -> NoReturn:
    raise EmbedderUnavailable(f"{why}. Until then recall goes by words alone.") from cause
