import io

import pytest

from memoryapp.portability.importers.detecting import detect
from memoryapp.portability.importers.errors import (
    FileTooLargeError,
    NothingToImportError,
    UnknownFormatError,
    UnreadableFileError,
)
from memoryapp.portability.importers.items import Format
from memoryapp.portability.importers.limits import Limits
from tests.portability.importers.uploads import as_json, data, zipped

CHATGPT_ENTRY = {"mapping": {}}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("chatgpt.json", Format.CHATGPT),
        ("claude-conversations.json", Format.CLAUDE),
        ("claude-memories.json", Format.CLAUDE),
        ("claude-design-chat.json", Format.CLAUDE),
        ("openwebui.json", Format.OPENWEBUI),
        ("librechat.json", Format.LIBRECHAT),
        ("librechat-tree.json", Format.LIBRECHAT),
        ("mem0.json", Format.MEM0),
    ],
)
def test_each_format_is_known_alone_and_in_an_archive_under_any_name(name, found):
    assert detect(io.BytesIO(data(name))) == found
    assert detect(zipped({"folder/renamed.json": data(name)})) == found


@pytest.mark.parametrize(
    "file",
    [
        lambda: zipped({"strata.json": {}}),
        lambda: zipped({"x/strata.json": {}}),
        lambda: as_json({"format": "strata"}),
    ],
)
def test_our_own_archive_is_known(file):
    assert detect(file()) == Format.STRATA


def test_a_corrupted_entry_at_the_beginning_does_not_hide_the_format():
    assert detect(as_json([{"title": "Corrupted"}, 5, None, CHATGPT_ENTRY])) == Format.CHATGPT


def test_other_files_of_the_archive_do_not_hide_the_format():
    others = {f"a{number}.json": {"x": 1} for number in range(100)}

    assert (
        detect(zipped({**others, "broken.json": b"{", "conversations.json": [CHATGPT_ENTRY]}))
        == Format.CHATGPT
    )


@pytest.mark.parametrize("file", [as_json([]), as_json({}), as_json({"results": []}), zipped({"a.json": []})])
def test_an_export_of_nothing_is_told_apart_from_an_unknown_one(file):
    with pytest.raises(NothingToImportError):
        detect(file)


@pytest.mark.parametrize(
    "file", [as_json([{"x": 1}]), as_json({"x": [1]}), zipped({"a.txt": b"x"}), zipped({})]
)
def test_an_unknown_format_names_those_that_are_known(file):
    with pytest.raises(UnknownFormatError, match=r"ChatGPT, Claude, Open WebUI, LibreChat, mem0 or Strata"):
        detect(file)


def test_a_broken_file_is_told_apart_from_an_unknown_one():
    with pytest.raises(UnreadableFileError):
        detect(io.BytesIO(b'[{"mapping": {'))


def test_a_file_of_nothing_but_too_large_entries_is_said_to_be_too_large():
    with pytest.raises(FileTooLargeError):
        detect(as_json([{"mapping": "x" * 5_000}]), limits=Limits(entry_bytes=1_000))
