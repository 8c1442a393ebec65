"""Answers that are sent piece by piece, read whole."""

from asgiref.sync import async_to_sync
from django.http.response import HttpResponseBase


def bytes_of(answer: HttpResponseBase) -> bytes:
    async def blocks() -> list[bytes]:
        return [block async for block in answer.streaming_content]

    return b"".join(async_to_sync(blocks)()) if answer.streaming else answer.content
