"""However much a person has, writing its archive and reading it take the memory of a part of it."""

import random
import tracemalloc
from datetime import UTC, datetime, timedelta
from tempfile import TemporaryFile

from memoryapp.accounts.models import User
from memoryapp.portability import archive_reading, archive_writing
from memoryapp.transcript.importing import Said, import_conversation
from tests.turns import COMMITTED

pytestmark = COMMITTED

MB = 1024 * 1024
SMALL, LARGE = 2, 14  # conversations
MESSAGES = 100
MESSAGE_CHARS = 8_000
# Of the memory at the highest point: far less than what the larger one has more.
MAY_GROW_BYTES = 3 * MB
MORE_BYTES = (LARGE - SMALL) * MESSAGES * MESSAGE_CHARS
WORDS = [f"word{number}" for number in range(300)]
WHEN = datetime(2026, 1, 1, tzinfo=UTC)


def with_conversations(name, count):
    person = User.objects.create(username=name)
    chance = random.Random(7)  # the same texts each time
    for _ in range(count):
        said = [
            Said(
                " ".join(chance.choices(WORDS, k=MESSAGE_CHARS // 7)),
                is_assistant=bool(number % 2),
                said_at=WHEN + timedelta(seconds=number),
            )
            for number in range(MESSAGES)
        ]
        import_conversation(person, said, title="Words")
    return person


def highest(work):
    """Bytes of Python's objects at the highest point, and what the work returned."""
    tracemalloc.start()
    try:
        answer = work()
        return tracemalloc.get_traced_memory()[1], answer
    finally:
        tracemalloc.stop()


def exported(person, archive):
    archive_writing.export(person.id, archive)


def read(archive):
    return sum(1 for _ in archive_reading.units(archive))


def test_memory_does_not_grow_with_the_archive():
    people = [with_conversations("small", SMALL), with_conversations("large", LARGE)]
    with TemporaryFile() as small, TemporaryFile() as large:
        exported(people[0], small)  # what is loaded once
        files = (small, large)

        writing = [highest(lambda p=p, f=f: exported(p, f)) for p, f in zip(people, files, strict=True)]
        reading = [highest(lambda f=f: read(f)) for f in files]

    growth = [large[0] - small[0] for small, large in (writing, reading)]
    assert max(growth) < MAY_GROW_BYTES < MORE_BYTES / 3, growth
    assert reading[1][1] - reading[0][1] == LARGE - SMALL
