"""Servers named by the environment: a clear word when they do not answer, and never their password."""

import os

import pytest

from memoryapp.embedded import external
from memoryapp.embedded.external import UnreachableError


def test_servers_that_answer_are_fine():
    external.require_postgres(os.environ["DATABASE_URL"])
    external.require_redis(os.environ["REDIS_URL"])


@pytest.mark.parametrize(
    ("require", "scheme", "variable"),
    [
        (external.require_postgres, "postgresql", "DATABASE_URL"),
        (external.require_redis, "redis", "REDIS_URL"),
    ],
)
def test_one_that_does_not_is_named_without_its_password(require, scheme, variable):
    with pytest.raises(UnreachableError) as refused:
        require(f"{scheme}://me:hunter2@127.0.0.1:1/0")

    message = str(refused.value)
    assert "at 127.0.0.1:1/0" in message
    assert variable in message
    assert "refused" in message
    assert "hunter2" not in message
    assert "me:" not in message


def test_a_password_that_the_driver_repeats_is_masked():
    with pytest.raises(UnreachableError) as refused:
        external.require_postgres("postgresql://me:hunter%32@127.0.0.1:1/app?connect_timeout=hunter2")

    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "url", ["redis://", "nonsense", "nonsense://host:port/x", "redis://127.0.0.1:notaport"]
)
def test_an_address_that_is_none_is_refused_too(url):
    with pytest.raises(UnreachableError, match="REDIS_URL"):
        external.require_redis(url)
