from tests.lifecycle.extracting import conversation, read_at_once
from tests.turns import configure, model, nudges

__all__ = ["configure", "conversation", "model", "nudges", "read_at_once"]
