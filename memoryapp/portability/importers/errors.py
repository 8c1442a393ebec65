"""Why a file cannot be imported. Each message is constant, for the catalogues of translations."""

from typing import ClassVar

from memoryapp.errors import MemoryAppError, gettext_noop


class ImportFileError(MemoryAppError):
    """The file as a whole is refused; single bad entries are counted instead (``Skipped``)."""

    code = "import_refused"
    http_status = 422
    message: ClassVar[str] = gettext_noop("This file cannot be imported.")

    def __init__(self, **details: object) -> None:
        super().__init__(self.message, **details)


class UnknownFormatError(ImportFileError):
    code = "import_format_unknown"
    message = gettext_noop(
        "This is not an export that we know. Choose the file that ChatGPT, Claude, Open WebUI, LibreChat, mem0 or "
        "Strata gave you: a ZIP or a JSON file, unchanged."
    )


class NothingToImportError(ImportFileError):
    code = "import_empty"
    message = gettext_noop(
        "There are no conversations and no memories in this file. Ask the other product for a new export."
    )


class UnreadableFileError(ImportFileError):
    code = "import_unreadable"
    message = gettext_noop(
        "This file is damaged, or its download did not finish. Download the export again and choose the new file."
    )


class UnsafeArchiveError(ImportFileError):
    code = "import_unsafe"
    message = gettext_noop(
        "This archive is built in a way that could do harm, so nothing of it was read. Choose the ZIP file exactly as "
        "the other product gave it to you."
    )


class PasswordProtectedError(ImportFileError):
    code = "import_password"
    message = gettext_noop("This archive has a password. Unpack it, pack it again without one and try again.")


class FileTooLargeError(ImportFileError):
    code = "import_too_large"
    message = gettext_noop(
        "There is more in this file than can be read at once. Split it into several files and import them one by one."
    )
