"""Why something cannot be imported, exported or undone. Each says what to do."""

from memoryapp.errors import InvalidInputError, MemoryAppError


class FileTooBigError(MemoryAppError):
    """``details["limit_mb"]``."""

    code = "import_too_big"
    http_status = 413


class DamagedArchiveError(InvalidInputError):
    """It is not as Strata wrote it. ``details["line"]``: of ``strata.json``, where one is to blame."""

    code = "damaged_archive"

    def __init__(self, why: str, *, line: int | None = None) -> None:
        where = f"line {line} of strata.json: {why}" if line else why
        super().__init__(
            f"This archive is damaged: {where}. Export it again, and import the new file.", line=line
        )
        self.why = why


class ImportInProgressError(MemoryAppError):
    """``details["import_id"]``: the one that is still at work."""

    code = "import_in_progress"
    http_status = 409


class TooManyWaitingError(MemoryAppError):
    """``details["limit"]``: how many imports that were read may wait for their person at once."""

    code = "too_many_imports_waiting"
    http_status = 409


class NotReadyError(MemoryAppError):
    """``details["import_status"]``: what the import is at, of which the person asks something that it cannot do."""

    code = "import_not_ready"
    http_status = 409


class ChangedMeanwhileError(MemoryAppError):
    """Something was said, learned or forgotten while an archive was being restored as it was."""

    code = "changed_meanwhile"
    http_status = 409


class ForgottenMeanwhileError(MemoryAppError):
    """Something was forgotten each time while the archive was being written."""

    code = "forgotten_meanwhile"
    http_status = 409
