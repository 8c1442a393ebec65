from tests.turns import configure, model, nudges

__all__ = ["configure", "model", "nudges"]
