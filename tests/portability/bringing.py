"""Files brought in, in tests: received, read and brought in as a worker does it."""

import json

from django.utils import timezone

from memoryapp.portability import importing, operations, queries
from memoryapp.portability.models import ImportBatch


def mem0(*facts, said_at=None) -> bytes:
    """What mem0 answers when it is asked for everything."""
    said_at = said_at or timezone.now()
    rows = [
        {"id": f"f{n}", "memory": text, "created_at": said_at.isoformat()} for n, text in enumerate(facts)
    ]
    return json.dumps({"results": rows}).encode()


def received(user, file: bytes, *, is_preview=False) -> ImportBatch:
    return operations.receive(user.id, [file], is_preview=is_preview, now=timezone.now())


def brought(user, file: bytes, *, is_preview=False) -> ImportBatch:
    batch = received(user, file, is_preview=is_preview)
    importing.work(batch.id)
    return queries.get_import(user.id, batch.id)


def applied(user, batch: ImportBatch) -> ImportBatch:
    operations.apply(user.id, batch.id)
    importing.work(batch.id)
    return queries.get_import(user.id, batch.id)


def undone(user, batch: ImportBatch) -> ImportBatch:
    operations.undo(user.id, batch.id, now=timezone.now())
    return queries.get_import(user.id, batch.id)
