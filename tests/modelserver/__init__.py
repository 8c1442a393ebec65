"""A strict local Messages API for tests; ``ModelServer`` in this process, ``python -m tests.modelserver`` in
its own.
"""

from tests.modelserver.remote import RemoteModelServer
from tests.modelserver.server import Captured, ModelServer
from tests.modelserver.steps import Failure, Step, calls, fails, redacted, reply, text, thinks

__all__ = [
    "Captured",
    "Failure",
    "ModelServer",
    "RemoteModelServer",
    "Step",
    "calls",
    "fails",
    "redacted",
    "reply",
    "text",
    "thinks",
]
