from tests.turns import nudges

__all__ = ["nudges"]
