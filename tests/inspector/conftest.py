"""Fixtures for the pages of the inspector."""

from tests.turns import configure, model, nudges

__all__ = ["configure", "model", "nudges"]
