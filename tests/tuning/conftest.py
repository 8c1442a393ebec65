"""Fixtures for what is set at run time."""

from tests.personas import browser
from tests.turns import configure, model, nudges

__all__ = ["browser", "configure", "model", "nudges"]
