"""Fixtures for who did what and who read it."""

from tests.api.conftest import api, bobs_api
from tests.personas import browser
from tests.turns import configure, model, nudges

__all__ = ["api", "bobs_api", "browser", "configure", "model", "nudges"]
