"""A word or a vector is found in whatever form it lies in a file, across the edges of blocks, and counted once."""

import base64
import gzip
import io
import os
import tracemalloc
import zipfile
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryapp.proof import controls
from memoryapp.proof.canaries import STEM_CHARS, WORD_CHARS, Canaries
from memoryapp.proof.fragments import Fragments
from memoryapp.proof.scanning import BLOCK_BYTES, VECTOR, Scanner, files_under

CANARIES = Canaries(7)
STEM, WORD = CANARIES.stem, CANARIES.of("chat").word
SAMPLES = list(controls.samples(WORD))
SCANNER = Scanner(STEM, CANARIES.control_stem)


def hits(data, *, scanner=SCANNER, stem=STEM, cut_at=()):
    """What is found in ``data`` when it comes in blocks that end at these places."""
    ends = sorted({min(end, len(data)) for end in cut_at} | {len(data)})
    starts = [0, *ends[:-1]]
    return dict(scanner.scan(data[start:end] for start, end in zip(starts, ends, strict=True)).of(stem))


def test_words_of_a_run_are_alike_at_their_beginning_only():
    words = [CANARIES.of(str(number)).word for number in range(100)]

    assert {word[:STEM_CHARS] for word in words} == {STEM}
    assert len(set(words)) == 100
    assert {len(word) for word in words} == {WORD_CHARS}
    assert len({STEM, CANARIES.kept_stem, CANARIES.control_stem}) == 3


def test_the_same_seed_gives_the_same_words():
    assert Canaries(7).of("chat") == CANARIES.of("chat")
    assert Canaries(8).of("chat") != CANARIES.of("chat")


@pytest.mark.parametrize(
    ("encoding", "sample"), SAMPLES, ids=[f"{name}-{n}" for n, (name, _) in enumerate(SAMPLES)]
)
def test_a_word_is_found_once_in_each_encoding(encoding, sample):
    assert hits(b"before " + sample + b" after") == {encoding: 1}


@pytest.mark.parametrize(("_encoding", "sample"), SAMPLES)
def test_an_emptied_place_reads_as_empty(_encoding, sample):
    assert hits(b"before " + bytes(len(sample)) + b" after") == {}


@given(st.sampled_from(SAMPLES), st.binary(max_size=40), st.sets(st.integers(0, 400), max_size=4))
def test_the_edges_of_blocks_hide_nothing_and_count_nothing_twice(sample, before, cut_at):
    encoding, data = sample

    assert hits(before + b" " + data + b" ", cut_at=cut_at).get(encoding) == 1


@given(st.integers(-300, 300))
def test_what_lies_across_the_edge_of_a_block_that_is_read_from_a_file_is_found(shift):
    data = bytearray(os.urandom(64) * ((BLOCK_BYTES + 1_024) // 64))
    data[BLOCK_BYTES + shift : BLOCK_BYTES + shift + len(WORD)] = WORD.encode()

    assert hits(bytes(data), cut_at=[BLOCK_BYTES])["UTF-8"] == 1


@given(st.integers(0, 2), st.text(max_size=5), st.text(max_size=5))
def test_base64_is_found_whatever_stands_before_it(shift, before, after):
    text = "x" * shift + before + WORD + after

    assert hits(base64.b64encode(text.encode())) == {"base64": 1}


def test_two_sought_words_are_told_apart():
    data = f"{WORD} {CANARIES.control.word} {CANARIES.kept('bob').word}".encode()

    assert hits(data) == {"UTF-8": 1}
    assert hits(data, stem=CANARIES.control_stem) == {"UTF-8": 1}


def test_a_word_of_another_run_is_not_found():
    assert hits(Canaries(8).of("chat").word.encode()) == {}


def test_a_word_is_found_in_a_gzip_in_a_zip_in_a_gzip():
    inner = gzip.compress(WORD.encode())
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner.gz", inner * 50)  # or it would be kept as it is

    outer = gzip.compress(buffer.getvalue())

    assert sum(hits(outer).values()) > 0
    assert set(hits(outer)) <= {"UTF-8 in gzip in zip in gzip", "UTF-8 in gzip in gzip"}


def test_what_was_compressed_by_postgres_is_found():
    """pglz puts a byte of flags before each eight letters that it copies."""
    word = WORD.encode()
    for length in range(1, 8):
        first, rest = word[:length], word[length:]
        groups = [rest[start : start + 8] for start in range(0, len(rest), 8)]

        assert hits(b"abc" + b"\x00".join([first, *groups])) == {"pglz or LZF": 1}


def test_what_only_looks_compressed_costs_nothing_but_its_first_bytes():
    junk = (
        b"\x1f\x8b\x08" + os.urandom(20) + b"x\x9c" + os.urandom(20) + b"PK\x03\x04" + os.urandom(60)
    ) * 200

    assert hits(junk + WORD.encode()) == {"UTF-8": 1}


def test_a_bomb_is_unpacked_in_little_memory():
    bomb = zlib.compress(bytes(256 << 20), 9)
    tracemalloc.start()

    hits(bomb)

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32 << 20


VECTOR_OF = np.random.default_rng(1).normal(size=96)
BY_VECTOR = Scanner(STEM, fragments=Fragments([VECTOR_OF.tolist()]))


@pytest.mark.parametrize("form", ["<f4", ">f4", "<f2", ">f2"])
@pytest.mark.parametrize("is_normalised", [False, True])
@given(offset=st.integers(0, 9), cut_at=st.sets(st.integers(0, 300), max_size=3))
def test_a_vector_is_found_at_any_byte_in_either_width_and_order(form, is_normalised, offset, cut_at):
    values = VECTOR_OF / np.linalg.norm(VECTOR_OF) if is_normalised else VECTOR_OF
    data = values.astype(form).tobytes()

    found = hits(b"\x01" * offset + data + b"\x01\x02", scanner=BY_VECTOR, cut_at=cut_at)

    assert found == {VECTOR: len(data) // 12}


def test_half_of_a_vector_is_found_and_another_vector_is_not():
    other = np.random.default_rng(2).normal(size=96)

    assert hits(VECTOR_OF.astype("<f4").tobytes()[100:], scanner=BY_VECTOR)[VECTOR] > 10
    assert hits(other.astype("<f4").tobytes(), scanner=BY_VECTOR) == {}


def test_files_are_found_under_a_directory_but_for_links_out_of_it(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "deep").write_bytes(b"x")
    (tmp_path / "top").write_bytes(b"y")
    (tmp_path / "link").symlink_to(tmp_path / "top")

    found = [path.name for path in files_under(tmp_path)]

    assert found == ["top", "deep"]


def test_a_file_that_went_away_meanwhile_is_empty(tmp_path):
    assert SCANNER.scan_file(tmp_path / "gone").bytes_ == 0
