"""What can keep the bundled servers from running; every message says what to do."""

from memoryapp.errors import MemoryAppError


class EmbeddedError(MemoryAppError):
    """The bundled servers cannot run here, or did not start."""

    code = "embedded_servers"


class AlreadyRunningError(EmbeddedError):
    """Another process serves this data directory; ``details`` has its ``pid`` and ``url``."""

    code = "already_running"
