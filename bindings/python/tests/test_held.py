"""Reads that keep the interpreter, and many frames at once: as strict as one by one, and what they cannot do is done otherwise."""

import os
import random

import numpy as np
import pytest
from conftest import SHARD, SUB, VALUES, block, sharded, write

import gridhold
from gridhold import _file, _held
from gridhold._decoders import COMPRESSORS, _zstd_size, zstd_many

zstandard = pytest.importorskip("zstandard")


def frames(size, count, **how):
    rng = np.random.default_rng(3)
    kinds = bytes(size), rng.integers(0, 256, size, dtype=np.uint8).tobytes(), (b"abcdef" * size)[:size]
    return [zstandard.ZstdCompressor(level=i % 20 + 1, **how).compress(kinds[i % 3]) for i in range(count)]


def careful(frame, size):
    """What zstandard's own call makes of it, which refuses whatever follows a frame."""
    if not _zstd_size(frame, size):  # it takes memory by what a frame says
        return None
    try:
        out = zstandard.ZstdDecompressor().decompress(frame, allow_extra_data=False)
    except zstandard.ZstdError:
        return None
    return out


def damaged(rnd, frame):
    x = bytearray(frame)
    kind = rnd.randrange(5)
    if kind == 0:
        x[rnd.randrange(len(x))] ^= 1 << rnd.randrange(8)
    elif kind == 1:
        x += bytes(rnd.randrange(1, 20))
    elif kind == 2:
        del x[rnd.randrange(len(x)) :]
    elif kind == 3:
        x += zstandard.ZstdCompressor().compress(b"")
    else:
        x += b"\x50\x2a\x4d\x18\x01\0\0\0z"  # a frame to be skipped
    return bytes(x)


def many(frames, size):
    return zstd_many(b"".join(frames), np.array([len(f) for f in frames]), size)


@pytest.mark.parametrize("size", [1, 16, 255, 256, 300, 2048, 65535, 65792, 100_000])
@pytest.mark.parametrize("how", [{}, {"write_checksum": True}], ids=["plain", "checksum"])
def test_many_frames(size, how):
    all_of_them = frames(size, 40, **how)
    found = many(all_of_them, size)
    assert (found is not None) == (size >= 16)  # the smallest are not worth it
    if found is not None:
        assert [bytes(found[i]) for i in range(40)] == [careful(f, size) for f in all_of_them]
    assert many(all_of_them, size + 1) is None


def test_nothing_is_taken_that_is_refused_alone():
    good, rnd, taken = frames(2048, 20) + frames(2048, 20, write_checksum=True), random.Random(4), 0
    for _ in range(2000):
        bad, at = list(good), rnd.randrange(len(good))
        bad[at] = damaged(rnd, good[at])
        alone = COMPRESSORS["zstd"](bad[at], 2048)
        wanted = careful(bad[at], 2048)
        assert alone is None or bytes(alone) == wanted
        found = many(bad, 2048)
        if found is not None:
            taken += 1
            assert bytes(found[at]) == wanted
    assert taken  # some damage only changes what comes out


needs_calls = pytest.mark.skipif(_held.calls is None, reason="this system has no such calls")


@needs_calls
def test_calls_agree_with_those_of_the_interpreter(tmp_path):
    data = np.random.default_rng(1).bytes(200_000)
    (tmp_path / "f").write_bytes(data)
    fd = os.open(tmp_path / "f", os.O_RDONLY)
    try:
        about = os.fstat(fd)
        assert _held.calls.stat(fd) == (about.st_nlink, about.st_size, about.st_mtime_ns)
        for off, n in ((0, 10), (199_995, 10), (200_000, 10), (300_000, 1), (5, _held.READ_MAX), (7, 0)):
            piece = _held.calls.read(fd, off, n)
            assert piece is None or piece == data[off : off + n]  # None: this file system cannot say what is in memory
        os.unlink(tmp_path / "f")
        assert _held.calls.stat(fd)[0] == 0
    finally:
        os.close(fd)
    assert _held.calls.stat(-1) == (0, 0, 0) and _held.calls.read(-1, 0, 1) is None


@pytest.mark.parametrize("calls", ["held", "none", "cannot say"])
def test_reads_are_the_same_without_them(tmp_path, monkeypatch, calls):
    if calls != "held":
        monkeypatch.setattr(_file, "calls", None)
    if calls == "cannot say" and _held.calls is not None:
        cannot = _held._calls()
        monkeypatch.setattr(cannot, "read", lambda *_: None, raising=False)
        monkeypatch.setattr(_file, "calls", cannot)
    write(tmp_path, sharded(VALUES, SHARD, SUB))
    with gridhold.open_array(tmp_path) as array:
        cache = array.shard_cache()
        for _ in range(2):
            for index in ((0, 0), (3, 3), (15, 7)):
                assert np.array_equal(array.retrieve_subchunk(index, shard_cache=cache), block(VALUES, index))
        before = array.retrieve_subchunk((0, 1), shard_cache=cache)
        write(tmp_path, sharded(VALUES + 1, SHARD, SUB))  # rewritten in place: another time, the same inode
        assert np.array_equal(array.retrieve_subchunk((0, 1), shard_cache=cache), before + 1)
        (tmp_path / "c/0/0").unlink()
        assert np.all(array.retrieve_subchunk((0, 1), shard_cache=cache) == 7)
