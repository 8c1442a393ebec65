from tests.chat.dying import ids_of_one_token
from tests.personas import browser
from tests.turns import configure, model, nudges

__all__ = ["browser", "configure", "ids_of_one_token", "model", "nudges"]
