"""Accounts are throttled through Redis, which outlives a test."""

import pytest
from django.core.cache import cache

from memoryapp.conf import get_conf


@pytest.fixture(autouse=True)
def no_tries_so_far():
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def open_sign_up(monkeypatch):
    monkeypatch.setenv("STRATA_IS_SIGNUP_OPEN", "true")
    get_conf.cache_clear()
    yield
    get_conf.cache_clear()
