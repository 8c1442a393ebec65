"""The archive of one person: a ZIP whose bytes depend on nothing but what it holds.

``strata.json`` is JSON with one record per line, so that it can be written and read a record at a time.
"""

import hashlib
import hmac
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, Final
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from django.conf import settings
from django.db import connection, transaction
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import gettext

from memoryapp.accounts.queries import get_person
from memoryapp.activity import operations as activity
from memoryapp.activity.models import Tier, Verb
from memoryapp.portability import account_file, readable
from memoryapp.portability.errors import ForgottenMeanwhileError
from memoryapp.portability.records import Conversation, Records

FORMAT: Final = "strata"
VERSION: Final = 1
DATA: Final = "strata.json"
ACCOUNT: Final = "account.json"
PAGE: Final = "index.html"
README: Final = "README.txt"
SIGNATURE: Final = "signature.txt"
TRIES: Final = 3


def export(user_id: UUID, into: IO[bytes]) -> None:
    """Write the archive, and note that it was.

    What is forgotten while it is written would be in it: then it is written anew. Raises ForgottenMeanwhileError.
    """
    for _ in range(TRIES):
        epoch = get_person(user_id).memory_epoch
        into.seek(0)
        into.truncate()
        write_archive(user_id, into)
        if get_person(user_id).memory_epoch == epoch:
            activity.note(user_id, Verb.EXPORTED, tier=Tier.ACCOUNT)
            return
    raise ForgottenMeanwhileError(
        gettext("Something was forgotten while the archive was being made. Try again.")
    )


def write_archive(user_id: UUID, into: IO[bytes]) -> None:
    with _one_view(), ZipFile(into, "w") as archive:
        records = Records(user_id)
        own = seal()
        _write(archive, DATA, _sealed(data_lines(records), own))
        _write(archive, SIGNATURE, [own.hexdigest() + "\n"])
        _write(archive, ACCOUNT, account_file.lines(user_id, records.ids))
        _write(archive, PAGE, readable.parts(user_id, records))
        with translation.override("en"):
            _write(archive, README, [render_to_string("portability/README.txt")])


def data_lines(records: Records) -> Iterator[str]:
    """``strata.json``, line by line."""
    yield f'{{"format":"{FORMAT}","version":{VERSION},\n'
    yield f'"settings":{encoded(records.settings())},\n'
    yield from _section("refused_kinds", records.refusals())
    yield '"conversations":[\n'
    for number, conversation in enumerate(records.conversations()):
        yield ",\n" if number else ""
        yield from _conversation(conversation)
    yield "\n],\n"
    yield from _section("memories", records.memories())
    yield from _section("experiences", records.experiences())
    yield from _section("uses", records.uses(), end="]}\n")


def seal() -> hmac.HMAC:
    """HMAC-SHA256 under the installation's key, of the bytes of ``strata.json`` that are still to come.

    It begins as no receipt does, which is signed by the same key.
    """
    return hmac.new(settings.SECRET_KEY.encode(), b"strata archive\n", hashlib.sha256)


def encoded(value: object) -> str:
    """On one line, in one way."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


@contextmanager
def _one_view() -> Iterator[None]:
    """The whole archive reads one state of the database, however long it takes; nothing waits for it."""
    is_outermost = not connection.in_atomic_block
    with transaction.atomic():
        if is_outermost:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield


def _sealed(parts: Iterable[str], own: hmac.HMAC) -> Iterator[str]:
    for part in parts:
        own.update(part.encode())
        yield part


def _write(archive: ZipFile, name: str, parts: Iterable[str]) -> None:
    entry = ZipInfo(name)  # of 1 January 1980, as all ZIP files without a clock
    entry.compress_type = ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    with archive.open(entry, "w", force_zip64=True) as member:
        for part in parts:
            member.write(part.encode())


def _section(name: str, records: Iterable[Mapping[str, Any]], *, end: str = "],\n") -> Iterator[str]:
    yield f'"{name}":[\n'
    for number, record in enumerate(records):
        yield (",\n" if number else "") + encoded(record)
    yield f"\n{end}"


def _conversation(conversation: Conversation) -> Iterator[str]:
    """Its own columns on a line, left open, then each of its turns."""
    yield encoded(conversation.head)[:-1] + ',"turns":[\n'
    for number, turn in enumerate(conversation.turns):
        yield (",\n" if number else "") + encoded(turn)
    yield "\n],"
    ending = {"pinned_lines": conversation.pinned_lines, "summaries": conversation.summaries}
    yield encoded(ending)[1:]
