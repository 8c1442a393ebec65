from tests.chat.dying import ids_of_one_token
from tests.turns import configure, model, nudges

__all__ = ["configure", "ids_of_one_token", "model", "nudges"]
