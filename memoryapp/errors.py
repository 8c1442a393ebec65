"""The one base of every error that this application raises on purpose; and a mark for texts that pages translate."""

from typing import ClassVar


def gettext_noop(text: str) -> str:
    """Mark ``text`` for the catalogues of translations, where Django may not be imported; pages translate it."""
    return text


class MemoryAppError(Exception):
    """A predictable refusal or failure.

    ``code`` is stable and machine-readable; ``http_status`` is what an edge answers with; ``str(error)`` is a
    sentence a person can act on and never carries a traceback, a secret or stored content. Concrete errors live
    beside what raises them and keep their data in ``details`` (JSON-serialisable).
    """

    code: ClassVar[str] = "error"
    http_status: ClassVar[int] = 500

    def __init__(self, message: str, **details: object) -> None:
        super().__init__(message)
        self.details: dict[str, object] = details


class NotFoundError(MemoryAppError):
    """The row does not exist, or belongs to someone else; the two are not told apart."""

    code = "not_found"
    http_status = 404


class InvalidInputError(MemoryAppError):
    """The caller sent something that can never be accepted as it is. ``details["field"]``: which value, where named."""

    code = "invalid_input"
    http_status = 422


class StaleVersionError(MemoryAppError):
    """The row changed since the caller read it; ``details["version"]`` is the current one."""

    code = "stale_version"
    http_status = 412
