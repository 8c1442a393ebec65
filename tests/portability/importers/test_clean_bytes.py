import io
import json
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryapp.portability.importers import clean_bytes
from memoryapp.portability.importers.clean_bytes import CleanBytes
from memoryapp.portability.importers.errors import FileTooLargeError, UnreadableFileError


def cleaned(raw, *, token_bytes=10**9):
    read = []
    stream = CleanBytes(io.BytesIO(raw), token_bytes=token_bytes, on_read=read.append)
    clean = b"".join(iter(stream.read, b""))
    assert sum(read) == len(raw)
    return clean, stream.damaged


@pytest.fixture(params=[1, 2, 3, 5, 7, 256 * 1024], ids=lambda size: f"in chunks of {size}")
def any_chunks(request, monkeypatch):
    """What is found at the edge of two chunks must be found everywhere else too."""
    monkeypatch.setattr(clean_bytes, "CHUNK_BYTES", request.param)


@pytest.mark.usefixtures("any_chunks")
@pytest.mark.parametrize(
    ("raw", "clean", "damaged"),
    [
        (b'["plain"]', b'["plain"]', 0),
        ('["é 東 😀"]'.encode(), '["é 東 😀"]'.encode(), 0),
        (rb'["\ud83d\ude00"]', rb'["\ud83d\ude00"]', 0),
        (rb'["\ud83d"]', rb'["\ufffd"]', 1),
        (rb'["\ud83dx\ude00"]', rb'["\ufffdx\ufffd"]', 2),
        (rb'["\ud83d\ud83d\ude00"]', rb'["\ufffd\ud83d\ude00"]', 1),
        (rb'["\ud83d\u0041"]', rb'["\ufffd\u0041"]', 1),
        (rb'["\udc00"]', rb'["\ufffd"]', 1),
        (rb'["\\ud83d"]', rb'["\\ud83d"]', 0),
        (rb'["\\\ud83d"]', rb'["\\\ufffd"]', 1),
        (rb'["a\u0000b"]', b'["ab"]', 1),
        (rb'["a\\u0000b"]', rb'["a\\u0000b"]', 0),
        (b'["a\x00b\x07"]\n\t ', b'["ab"]\n\t ', 2),
        (b'["\xff"]', '["�"]'.encode(), 1),
        ('["�"]'.encode(), '["�"]'.encode(), 0),
        (b'["\xed\xa0\x80"]', '["���"]'.encode(), 3),
        (b'["cut \xe6\x9d', '["cut �'.encode(), 1),
        (b'["cut \\', b'["cut \\', 0),
        (b"", b"", 0),
    ],
)
def test_what_cannot_be_kept_is_replaced_and_counted(raw, clean, damaged):
    assert cleaned(raw) == (clean, damaged)


def test_a_byte_order_mark_is_taken_off():
    assert cleaned(b"\xef\xbb\xbf[]") == (b"[]", 0)


@pytest.mark.usefixtures("any_chunks")
def test_valid_json_stays_as_it_is():
    raw = json.dumps({"a\\": ['"\\\\"', "\\ud83d", "😀\n\u2028"]}).encode()

    assert cleaned(raw) == (raw, 0)


@given(st.text(alphabet='\\u\\dD8cC0"x\ud83d\ude00', max_size=30), st.integers(1, 12))
def test_chunks_make_no_difference(text, size):
    raw = (
        text.encode("utf-8", "surrogatepass")
        .replace(b"\xed\xa0\xbd", rb"\ud83d")
        .replace(b"\xed\xb8\x80", rb"\ude00")
    )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clean_bytes, "CHUNK_BYTES", size)
        in_chunks = cleaned(raw)

    assert in_chunks == cleaned(raw)


def test_a_text_without_end_is_refused_before_all_of_it_is_read():
    class Endless:
        def read(self, size):
            return b'\\"' * (size // 2)

    stream = CleanBytes(Endless(), token_bytes=1_000_000, on_read=lambda _: None)

    with pytest.raises(FileTooLargeError):
        list(islice(iter(stream.read, b""), 100))


def test_a_long_file_of_short_texts_is_not_refused():
    raw = b'["abc"]' * 100_000

    assert cleaned(raw, token_bytes=100_000)[0] == raw


@pytest.mark.usefixtures("any_chunks")
@pytest.mark.parametrize("raw", [b"[%s]", b'["a", -%s]', b'{"a\\\\": %s}', b'["\\"", %s]', b"[1\x00%s]"])
def test_a_number_that_would_crash_the_parser_is_refused(raw):
    with pytest.raises(UnreadableFileError):
        cleaned(raw % (b"9" * 1000))


@pytest.mark.usefixtures("any_chunks")
@pytest.mark.parametrize("raw", [b'["%s"]', b'["\\"%s"]', b'{"%s": 1}'])
def test_a_text_may_be_made_of_digits(raw):
    text = raw % (b"9" * 1000)

    assert cleaned(text) == (text, 0)
