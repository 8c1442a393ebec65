from tests.chat.dying import ids_of_one_token
from tests.chat.listing import chats
from tests.personas import browser
from tests.turns import configure, model, nudges

__all__ = ["browser", "chats", "configure", "ids_of_one_token", "model", "nudges"]
