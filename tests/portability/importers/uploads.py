"""Uploaded files, made in memory, and what is read of them."""

import io
import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path

from memoryapp.portability.importers.detecting import detect
from memoryapp.portability.importers.items import Conversation, Fact, Skipped
from memoryapp.portability.importers.limits import DEFAULT_LIMITS
from memoryapp.portability.importers.reading import read

DATA = Path(__file__).parent / "data"
NOW = datetime(2026, 11, 30, tzinfo=UTC)


def data(name):
    return (DATA / name).read_bytes()


def as_json(value):
    return io.BytesIO(json.dumps(value).encode())


def zipped(members, *, method=zipfile.ZIP_DEFLATED):
    """``members``: name → bytes, or something to write as JSON."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content if isinstance(content, bytes) else json.dumps(content))
    return file


def items(file, file_format=None, *, limits=DEFAULT_LIMITS):
    """All that is read, after the format was found out as the application does."""
    file = io.BytesIO(file) if isinstance(file, bytes) else file
    return list(read(file, file_format or detect(file, limits=limits), now=NOW, limits=limits))


def conversations(found):
    return [one for one in found if isinstance(one, Conversation)]


def facts(found):
    return [one for one in found if isinstance(one, Fact)]


def skipped(found):
    return {one.reason: one.count for one in found if isinstance(one, Skipped)}


def said(conversation):
    return [(one.role.value, one.text) for one in conversation.messages]
