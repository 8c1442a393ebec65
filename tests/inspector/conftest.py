"""Fixtures for the pages of the inspector."""

from tests.personas import browser
from tests.turns import configure, model, nudges

__all__ = ["browser", "configure", "model", "nudges"]
