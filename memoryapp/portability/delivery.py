"""Handing an archive to whoever asked for it."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from typing import IO, Final
from uuid import UUID

from django.db import connection, connections
from django.http import StreamingHttpResponse

from memoryapp.portability.archive_writing import export

BLOCK_BYTES: Final = 256 * 1024
FILE_NAME: Final = "strata-export.zip"


def archive_response(user_id: UUID) -> StreamingHttpResponse:
    """The archive, written whole before its first byte is sent: a slow reader holds no view of the database.

    Raises ForgottenMeanwhileError.
    """
    archive = tempfile.TemporaryFile()  # noqa: SIM115  # closed when it is sent, or with the response
    export(user_id, archive)
    size = archive.seek(0, 2)
    archive.seek(0)
    if not connection.in_atomic_block:
        connections.close_all()
    response = StreamingHttpResponse(_blocks(archive), content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{FILE_NAME}"'
    response["Content-Length"] = str(size)
    response["Cache-Control"] = "no-store"
    return response


async def _blocks(archive: IO[bytes]) -> AsyncIterator[bytes]:
    """Asynchronous: of a plain iterator the server would collect everything before it sends anything."""
    with archive:
        while block := await asyncio.to_thread(archive.read, BLOCK_BYTES):
            yield block
