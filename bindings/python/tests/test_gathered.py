"""Many small subchunks in one call: the same as one by one, whatever happens to the files."""

import os

import numpy as np
import pytest
from conftest import block, sharded, write

import gridhold
from gridhold import _file, _gathered
from gridhold._codecs import chain
from gridhold._types import Element

SHAPE, SHARD, SUB = (64, 64), (32, 32), (4, 4)
VALUES = np.arange(64 * 64, dtype=np.uint16).reshape(SHAPE)
ALL = [(i, j) for i in range(16) for j in range(16)]
BIG = {"name": "bytes", "configuration": {"endian": "big"}}
TURNED = {"name": "transpose", "configuration": {"order": [2, 0, 1]}}

needs_gather = pytest.mark.skipif(_gathered.gather is None, reason="this system has no such calls")


@pytest.fixture
def gathered(monkeypatch):
    """What came of each call."""
    found = []
    gather = _gathered.gather
    monkeypatch.setattr(_file, "gather", lambda pieces: found.append(gather(pieces)) or found[-1])
    monkeypatch.setattr(_file, "_RECHECK_S", 1e9)  # however slow this machine is
    return found


def same(array, indices, values, cache):
    for got, index in zip(array.retrieve_subchunks(indices, shard_cache=cache), indices):
        assert np.array_equal(got, block(values, index)) and got.flags.writeable and got.flags.c_contiguous


@needs_gather
def test_pieces(tmp_path):
    data = np.frombuffer(np.random.default_rng(2).bytes(100_000), np.uint8)
    at = data.ctypes.data
    wanted = [(i * 37 % 90_000, i % 60) for i in range(2500)]  # more than the kernel takes in a call; some empty
    got = _gathered.gather(np.array([(at + off, n) for off, n in wanted], np.uint64))
    assert got == b"".join(data[off : off + n].tobytes() for off, n in wanted)
    assert _gathered.gather(np.array([(at, 10), (8, 10)], np.uint64)) is None  # where nothing is
    assert _gathered.gather(np.zeros((0, 2), np.uint64)) == b""


@needs_gather
@pytest.mark.parametrize("codec", ["zstd", None])
def test_batches(tmp_path, gathered, codec):
    write(tmp_path, sharded(VALUES, SHARD, SUB, codec=codec))
    with gridhold.open_array(tmp_path) as array:
        cache = array.shard_cache()
        rng = np.random.default_rng(3)
        same(array, ALL, VALUES, cache)  # which loads the tables
        for _ in range(3):
            some = [ALL[i] for i in rng.integers(0, len(ALL), 100)]
            before, calls = cache.stats()["hits"], len(gathered)
            same(array, some, VALUES, cache)
            same(array, np.array(some), VALUES, cache)
            assert len(gathered) == calls + 2 and None not in gathered
            assert cache.stats()["hits"] == before + 2 * len({(i // 8, j // 8) for i, j in some})


@pytest.mark.parametrize("codec", ["zstd", None])
def test_the_callers(tmp_path, codec):
    """Several lie in memory that they have in common, of which one keeps no more than it has to."""
    values = np.arange(512 * 512, dtype=np.uint16).reshape(512, 512)
    write(tmp_path, sharded(values, (256, 256), (32, 32), codec=codec))
    with gridhold.open_array(tmp_path) as array:
        cache = array.shard_cache()
        for _ in range(2):
            found = array.retrieve_subchunks(ALL + ALL[:7], shard_cache=cache)
        for n, one in enumerate(found):
            assert one.flags.writeable and one.flags.c_contiguous and one.shape == (32, 32)
            one[...] = n
        assert all((one == n).all() for n, one in enumerate(found))
        held = found[3]
        while isinstance(held.base, np.ndarray):
            held = held.base
        assert held.nbytes <= 64 << 10


@pytest.mark.parametrize("shape", [(4, 3, 5), (3,), ()])
@pytest.mark.parametrize("codecs", [["bytes"], [BIG], [TURNED, "bytes"], [TURNED, BIG]], ids=["plain", "big", "turned", "both"])
@pytest.mark.parametrize("data_type", ["uint16", "bfloat16"])
def test_as_alone(shape, codecs, data_type):
    if TURNED in codecs and len(shape) != 3:
        codecs = codecs[1:]
    element = Element(data_type, b"\0\0")
    one_by_one = chain(codecs, element, shape)
    size, count = one_by_one.nbytes, 20
    joined = bytearray(np.random.default_rng(1).bytes(size * count))
    got = one_by_one.decode_joined(joined, np.full(count, size))
    assert len(got) == count
    for i, array in enumerate(got):
        alone = one_by_one.decode(joined[i * size : (i + 1) * size])
        assert array.dtype == alone.dtype and array.shape == alone.shape == shape and array.tobytes() == alone.tobytes()
        assert array.flags.writeable and array.flags.c_contiguous


@needs_gather
def test_files_that_change(tmp_path, gathered):
    write(tmp_path, sharded(VALUES, SHARD, SUB, codec="zstd"))
    with gridhold.open_array(tmp_path) as array:
        cache = array.shard_cache()
        for turn in range(4):
            same(array, ALL, VALUES + turn, cache)
            same(array, ALL, VALUES + turn, cache)
            assert gathered[-1] is not None
            write(tmp_path, sharded(VALUES + turn + 1, SHARD, SUB, codec="zstd"))  # in place
        same(array, ALL, VALUES + 4, cache)
        same(array, ALL, VALUES + 4, cache)
        # Cut under a mapping: what is not there any more is an answer of the kernel, and an error of ours.
        os.truncate(tmp_path / "c/0/0", 5)
        with pytest.raises(gridhold.Error):
            array.retrieve_subchunks(ALL, shard_cache=cache)
        (tmp_path / "c/0/0").unlink()
        got = array.retrieve_subchunks(ALL[:1] + ALL[-20:], shard_cache=cache)
        assert np.all(got[0] == 7) and np.array_equal(got[-1], block(VALUES + 4, ALL[-1]))


@needs_gather
def test_without(tmp_path, monkeypatch):
    """Where such calls are forbidden, or answer short, all is read as ever."""
    write(tmp_path, sharded(VALUES, SHARD, SUB, codec="zstd"))
    for gather in (None, lambda pieces: None):
        monkeypatch.setattr(_file, "gather", gather)
        with gridhold.open_array(tmp_path) as array:
            cache = array.shard_cache()
            for _ in range(2):
                same(array, ALL, VALUES, cache)


def test_indices(tmp_path):
    write(tmp_path, sharded(VALUES, SHARD, SUB))
    with gridhold.open_array(tmp_path) as array:
        cache = array.shard_cache()
        same(array, [(0, 1), [2, 3], (np.int64(4), 5)], VALUES, cache)
        assert array.retrieve_subchunks([], shard_cache=cache) == []
        for wrong in ([(0, 16)], [(-1, 0)], [(0, 1 << 70)], [(0,), (0, 1)]):
            with pytest.raises((gridhold.OutOfRangeError, gridhold.InvalidError)):
                array.retrieve_subchunks(wrong, shard_cache=cache)
        with pytest.raises(TypeError):
            array.retrieve_subchunks([(0, 1.5)], shard_cache=cache)
