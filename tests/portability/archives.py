"""Archives made and read in tests."""

import io
import json
from zipfile import ZipFile

from memoryapp.portability import archive_writing


def archive_of(user) -> bytes:
    written = io.BytesIO()
    archive_writing.export(user.id, written)
    return written.getvalue()


def member(archive: bytes, name: str) -> str:
    with ZipFile(io.BytesIO(archive)) as opened:
        return opened.read(name).decode()


def data_text(user) -> str:
    return member(archive_of(user), "strata.json")


def data(user) -> dict:
    return json.loads(data_text(user))
