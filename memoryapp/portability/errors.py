"""Why something cannot be imported, exported or undone. Each says what to do."""

from memoryapp.errors import MemoryAppError


class FileTooBigError(MemoryAppError):
    """``details["limit_mb"]``."""

    code = "import_too_big"
    http_status = 413


class ImportInProgressError(MemoryAppError):
    """``details["import_id"]``: the one that is still at work."""

    code = "import_in_progress"
    http_status = 409


class NotReadyError(MemoryAppError):
    """``details["status"]``: what the import is at, of which the person asks something that it cannot do."""

    code = "import_not_ready"
    http_status = 409


class ForgottenMeanwhileError(MemoryAppError):
    """Something was forgotten each time while the archive was being written."""

    code = "forgotten_meanwhile"
    http_status = 409
