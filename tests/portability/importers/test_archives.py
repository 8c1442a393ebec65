import io
import struct
import zipfile
from contextlib import suppress
from dataclasses import replace

import pytest

from memoryapp.portability.importers.archives import Upload
from memoryapp.portability.importers.errors import (
    FileTooLargeError,
    ImportFileError,
    PasswordProtectedError,
    UnknownFormatError,
    UnreadableFileError,
    UnsafeArchiveError,
)
from memoryapp.portability.importers.limits import DEFAULT_LIMITS
from tests.portability.importers.uploads import zipped


def opened(file, **limits):
    return Upload(file, replace(DEFAULT_LIMITS, **limits))


def names(file, **limits):
    with opened(file, **limits) as upload:
        return [document.name for document in upload.documents]


def contents(file):
    with opened(file) as upload:
        return [document.open().read(1000) for document in upload.documents]


def patched(file, field, value):
    """The archive with the same two-byte ``field`` of every header overwritten (offset here, and in the directory)."""
    raw = bytearray(file.getvalue())
    for magic, offset in ((b"PK\x03\x04", field[0]), (b"PK\x01\x02", field[1])):
        start = raw.find(magic)
        while start >= 0:
            struct.pack_into("<H", raw, start + offset, value)
            start = raw.find(magic, start + 1)
    return io.BytesIO(bytes(raw))


FLAGS, METHOD = (6, 8), (8, 10)


def test_json_files_are_found_in_the_order_of_their_numbers():
    members = {name: [] for name in ("b-10.json", "b-9.json", "x/A.JSON", "chat.html", "file-1.png", "dir/")}

    assert names(zipped(members)) == ["b-9.json", "b-10.json", "x/A.JSON"]


def test_what_a_mac_adds_is_not_found():
    assert names(zipped({"__MACOSX/._a.json": b"x", "d/._a.json": b"x", "a.json": []})) == ["a.json"]


def test_archives_within_the_archive_are_opened():
    inner = zipped({"conversations.json": [1]}).getvalue()

    assert contents(zipped({"conversations-000.zip": inner, "z.json": [2]})) == [b"[1]", b"[2]"]
    assert contents(zipped({"one.zip": inner}, method=zipfile.ZIP_STORED)) == [b"[1]"]


def test_a_large_archive_within_the_archive_is_read_from_a_file():
    inner = zipped({"a.json": [1], "pad.bin": bytes(range(256)) * 8192}, method=zipfile.ZIP_STORED).getvalue()

    assert contents(zipped({"a.zip": inner}, method=zipfile.ZIP_STORED)) == [b"[1]"]


def test_an_archive_three_deep_is_refused():
    deep = zipped({"a.json": []})
    for _ in range(2):
        deep = zipped({"a.zip": deep.getvalue()})

    with pytest.raises(UnsafeArchiveError):
        opened(deep)


@pytest.mark.parametrize(
    "name",
    ["../a.json", "x/../../a.json", "/etc/a.json", "..\\a.json", "C:\\a.json", "\\a.json", "..", "x/.."],
)
def test_a_name_that_leads_outside_is_refused(name):
    with pytest.raises(UnsafeArchiveError):
        opened(zipped({"conversations.json": [], name: []}))


def test_dots_within_a_name_are_not_a_way_out():
    assert names(zipped({"a..b.json": [], "..c.json": []})) == ["..c.json", "a..b.json"]


def test_a_bomb_is_refused_by_its_ratio():
    with pytest.raises(UnsafeArchiveError):
        opened(zipped({"a.json": b" " * 5_000_000}))


def test_a_bomb_in_an_archive_within_is_refused():
    bomb = zipped({"a.json": b" " * 5_000_000}).getvalue()

    with pytest.raises(UnsafeArchiveError):
        opened(zipped({"a.zip": bomb}))


def test_more_than_the_total_is_refused_over_all_files_and_archives():
    inner = zipped({"a.json": b"x" * 500}, method=zipfile.ZIP_STORED).getvalue()
    file = zipped({"a.zip": inner, "b.json": b"x" * 500}, method=zipfile.ZIP_STORED)

    assert names(file, total_bytes=2_000)
    with pytest.raises(FileTooLargeError):
        opened(file, total_bytes=1_200)
    with pytest.raises(FileTooLargeError):
        opened(io.BytesIO(b"[" + b" " * 2_000), total_bytes=1_200)


def test_pictures_do_not_count():
    assert names(zipped({"a.json": [], "a.png": b"x" * 5_000}), total_bytes=100) == ["a.json"]


def test_a_directory_without_end_is_refused_unread():
    file = zipped({f"{number}.png": b"" for number in range(2_000)})

    with pytest.raises(FileTooLargeError):
        opened(file, directory_bytes=70_000)


def test_a_password_is_refused():
    with pytest.raises(PasswordProtectedError):
        opened(patched(zipped({"a.json": []}), FLAGS, 1))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, 99])
def test_packing_that_unpacks_without_bounds_is_refused(method):
    with pytest.raises(UnsafeArchiveError):
        opened(patched(zipped({"a.json": []}), METHOD, method))


def test_a_wrong_size_does_not_unpack_more_than_it_says():
    raw = bytearray(zipped({"a.json": b"x" * 100_000}).getvalue())
    struct.pack_into("<I", raw, raw.find(b"PK\x01\x02") + 24, 10)

    with opened(io.BytesIO(bytes(raw))) as upload:
        (document,) = upload.documents
        with pytest.raises(UnreadableFileError):
            document.open().read(100_000)


def test_changed_bytes_are_noticed():
    raw = (
        zipped({"a.json": b'["unchanged"]'}, method=zipfile.ZIP_STORED)
        .getvalue()
        .replace(b"unchanged", b"otherwise")
    )

    with pytest.raises(UnreadableFileError):
        contents(io.BytesIO(raw))


@pytest.mark.parametrize("keep", [0.3, 0.6, 0.9, 0.99])
def test_half_a_download_is_refused(keep):
    raw = zipped({f"{number}.json": list(range(number)) for number in range(50)}).getvalue()

    with pytest.raises(UnreadableFileError):
        opened(io.BytesIO(raw[: int(len(raw) * keep)]))


@pytest.mark.parametrize(
    "raw", [b"", b"   ", b"<html>", b"\x1f\x8b\x08", b"7z\xbc\xaf", b"plain text", b'"text"']
)
def test_what_is_neither_json_nor_an_archive_is_not_known(raw):
    with pytest.raises(UnknownFormatError):
        opened(io.BytesIO(raw))


def test_an_archive_of_which_any_byte_was_changed_is_read_or_refused():
    raw = zipped({"a.json": [1, 2], "b.zip": zipped({"c.json": [3]}).getvalue()}).getvalue()

    for position in range(len(raw)):
        changed = io.BytesIO(raw[:position] + bytes([raw[position] ^ 0xFF]) + raw[position + 1 :])
        with suppress(ImportFileError):
            contents(changed)
