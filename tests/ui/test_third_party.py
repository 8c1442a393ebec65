"""What is vendored is what the document lists, byte for byte, with its licence beside it."""

import hashlib
import re

import pytest

from tests.ui.sources import ROOT, STATIC

LISTED = re.findall(
    r"^\| `(static/\S+)` \| `([0-9a-f]{64})` \|$", (ROOT / "docs/third-party.md").read_text(), re.MULTILINE
)


@pytest.mark.parametrize(("path", "digest"), LISTED)
def test_vendored_file_is_unchanged(path, digest):
    assert hashlib.sha256((ROOT / path).read_bytes()).hexdigest() == digest


def test_every_vendored_file_is_listed_or_a_licence():
    present = {path.relative_to(ROOT).as_posix() for path in (STATIC / "vendor").rglob("*") if path.is_file()}

    unlisted = present - {path for path, _ in LISTED}

    assert {path.rpartition("/")[2] for path in unlisted} == {"LICENSE"}
    assert all((ROOT / path).parent.joinpath("LICENSE").is_file() for path in present)
