from tests.turns import configure, nudges

__all__ = ["configure", "nudges"]
