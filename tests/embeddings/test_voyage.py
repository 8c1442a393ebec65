"""The Voyage client against a strict stand-in: the contract, what it sends, and every way it fails."""

import json
import logging
import socket

import numpy as np
import pytest
from pydantic import SecretStr

from memoryapp.embeddings.base import EmbedderUnavailable
from memoryapp.embeddings.voyage import VoyageEmbedder
from tests.embeddings.contract import EmbedderContract
from tests.embeddings.voyage_server import DIMENSIONS, KEY, Failure, raw_vector, voyage_server

SECRET_TEXT = "my private statement"


@pytest.fixture(scope="module")
def server_url():
    with voyage_server() as server:
        yield server.url


@pytest.fixture
def server():
    with voyage_server() as server:
        yield server


@pytest.fixture
def waits():
    return []


@pytest.fixture
def voyage(server, waits):
    return client(server.url, sleep=waits.append)


def client(url, *, key=KEY, sleep=lambda _: None, max_retries=2, timeout_s=5.0):
    return VoyageEmbedder(
        base_url=url,
        api_key=SecretStr(key),
        model="voyage-stand-in",
        timeout_s=timeout_s,
        max_retries=max_retries,
        sleep=sleep,
    )


class TestVoyage(EmbedderContract):
    @pytest.fixture
    def embedder(self, server_url):
        return client(server_url)


def test_passages_and_queries_are_sent_as_what_they_are(server, voyage):
    voyage.embed_passages(["a fact"])
    voyage.embed_queries(["a question"])

    assert server.requests == [
        {"model": "voyage-stand-in", "input": ["a fact"], "input_type": "document"},
        {"model": "voyage-stand-in", "input": ["a question"], "input_type": "query"},
    ]


def test_vectors_follow_the_texts_although_the_answer_is_shuffled(voyage):
    texts = ["one", "two", "three"]

    vectors = np.array(voyage.embed_passages(texts))

    raw = np.array([raw_vector(text, "document") for text in texts])
    np.testing.assert_allclose(vectors, raw / np.linalg.norm(raw, axis=1, keepdims=True))


def test_many_texts_are_sent_in_batches_in_order(server, voyage):
    texts = [f"text {number}" for number in range(300)]

    vectors = voyage.embed_passages(texts)

    assert [len(request["input"]) for request in server.requests] == [128, 128, 44]
    assert vectors[299] == voyage.embed_passages(["text 299"])[0]


def test_dimensions_are_learned_from_the_first_answer(voyage):
    assert voyage.dimensions == 1_024

    voyage.embed_queries(["anything"])

    assert voyage.dimensions == DIMENSIONS


def test_a_trailing_slash_of_the_base_url_does_not_matter(server):
    assert client(f"{server.url}/").embed_queries(["anything"])


@pytest.mark.parametrize("status", [429, 500, 503, 529, 0])
def test_a_passing_failure_is_retried(server, voyage, waits, status):
    server.failures = [Failure(status)]

    assert voyage.embed_queries(["anything"])
    assert len(waits) == 1
    assert 0.375 <= waits[0] <= 0.5


def test_retries_are_bounded_and_wait_longer_each_time(server, voyage, waits):
    server.failures = [Failure(503)] * 10

    with pytest.raises(EmbedderUnavailable, match="failed with status 503"):
        voyage.embed_queries(["anything"])

    assert len(server.requests) == 3
    assert len(waits) == 2
    assert waits[0] < waits[1]


@pytest.mark.parametrize(("asked", "waited"), [("2", 2.0), ("3600", 4.0)])
def test_the_asked_wait_is_kept_up_to_a_limit(server, voyage, waits, asked, waited):
    server.failures = [Failure(429, {"retry-after": asked})]

    voyage.embed_queries(["anything"])

    assert waits == [waited]


@pytest.mark.parametrize("asked", ["soon", "Wed, 21 Oct 2026 07:28:00 GMT", "-1", "1e999"])
def test_an_unreadable_asked_wait_falls_back_to_ours(server, voyage, waits, asked):
    server.failures = [Failure(429, {"retry-after": asked})]

    voyage.embed_queries(["anything"])

    assert waits[0] <= 0.5


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "rejected the request with status 400; check STRATA_VOYAGE_MODEL"),
        (401, "refused the API key; check VOYAGE_API_KEY"),
        (403, "refused the API key; check VOYAGE_API_KEY"),
        (404, "rejected the request with status 404"),
        (302, "rejected the request with status 302"),
    ],
)
def test_a_lasting_failure_is_not_retried(server, voyage, waits, status, message):
    server.failures = [Failure(status)] * 2

    with pytest.raises(EmbedderUnavailable, match=message):
        voyage.embed_queries(["anything"])

    assert len(server.requests) == 1
    assert waits == []


def body_of(*items):
    return json.dumps(
        {"data": [{"index": index, "embedding": embedding} for index, embedding in items]}
    ).encode()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>not JSON</html>", "could not be read"),
        (b'{"data": [{"index": 0}]}', "could not be read"),
        (b'{"data": [{"index": 0, "embedding": [NaN, 1.0]}]}', "could not be read"),
        (body_of(), "one vector per text"),
        (body_of((0, [1.0]), (1, [1.0])), "one vector per text"),
        (body_of((7, [1.0])), "one vector per text"),
        (body_of((0, [0.0, 0.0])), "length 0"),
        (body_of((0, [])), "length 0"),
    ],
    ids=["html", "no vector", "not a number", "none", "too many", "wrong index", "zero", "empty"],
)
def test_a_senseless_answer_is_refused(server, voyage, body, message):
    server.failures = [Failure(200, body=body)]

    with pytest.raises(EmbedderUnavailable, match=message):
        voyage.embed_queries([SECRET_TEXT])


def test_a_vector_of_another_length_than_before_is_refused(server, voyage):
    voyage.embed_queries(["anything"])
    server.failures = [Failure(200, body=body_of((0, [1.0, 2.0])))]

    with pytest.raises(EmbedderUnavailable, match=f"do not have {DIMENSIONS} dimensions"):
        voyage.embed_queries(["anything"])


def test_without_a_key_nothing_is_sent(server):
    with pytest.raises(EmbedderUnavailable, match="set VOYAGE_API_KEY"):
        client(server.url, key=" ").embed_queries(["anything"])

    assert server.requests == []


@pytest.mark.parametrize("key", ["pa-\nx", "pa-ключ"])
def test_a_key_that_no_header_can_carry_is_refused(server, key):
    with pytest.raises(EmbedderUnavailable, match="VOYAGE_API_KEY holds characters"):
        client(server.url, key=key).embed_queries(["anything"])


def test_an_unreachable_service_is_unavailable(waits):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"

        with pytest.raises(EmbedderUnavailable, match=r"cannot be reached \(ConnectError\)"):
            client(url, sleep=waits.append).embed_queries(["anything"])

    assert len(waits) == 2


def test_a_silent_service_times_out():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"

        with pytest.raises(EmbedderUnavailable, match=r"cannot be reached \(ReadTimeout\)"):
            client(url, timeout_s=0.1, max_retries=0).embed_queries(["anything"])


@pytest.mark.parametrize(
    "url", ["", "nonsense", "http://", "ftp://127.0.0.1", "http://[::1", "http://127.0.0.1:99999"]
)
def test_a_senseless_address_is_unavailable(url):
    with pytest.raises(EmbedderUnavailable, match=r"STRATA_VOYAGE_BASE_URL|cannot be reached"):
        client(url, max_retries=0).embed_queries(["anything"])


@pytest.mark.parametrize(
    "failure", [Failure(400), Failure(401), Failure(503), Failure(0), Failure(200, body=SECRET_TEXT.encode())]
)
def test_no_failure_shows_the_key_or_the_text(server, voyage, caplog, failure):
    caplog.set_level(logging.DEBUG)
    server.failures = [failure] * 3

    with pytest.raises(EmbedderUnavailable) as caught:
        voyage.embed_passages([SECRET_TEXT])

    shown = f"{caught.value} {caught.value.details} {caught.value.__cause__!r} {caplog.text}"
    assert KEY not in shown
    assert SECRET_TEXT not in shown
