"""Host and guest decode to the same bytes, and neither believes a length."""

import gzip
import json
import struct
import tracemalloc

import numpy as np
import pytest
from conftest import FIXTURES, sharded

import gridhold
from gridhold import _codecs

MANIFEST = json.loads((FIXTURES / "manifest.json").read_text())["arrays"]
U2 = np.dtype("<u2")


def named(name):
    return {"name": name}


def little(endian="little"):
    return {"name": "bytes", "configuration": {"endian": endian}}


def host_readable():
    for entry in MANIFEST:
        try:
            array = gridhold.open_array(FIXTURES, entry["path"])
        except gridhold.Error:
            continue
        if array._node.host_readable and array._node._chain is not None:
            yield entry["path"]


def test_host_and_guest_agree():
    """Every subchunk of every fixture that this host can decode by itself."""
    arrays, decoded = 0, 0
    for path in host_readable():
        with gridhold.open_array(FIXTURES, path) as array, gridhold.open_array(FIXTURES, path, strict=True) as strict:
            assert strict._node._chain is None or not strict._node._chain._steps
            arrays += 1
            cache = array.shard_cache()
            for at in list(np.ndindex(*array.subchunk_grid_shape))[:40]:
                guests = strict.retrieve_subchunk(at)
                for mine in (array.retrieve_subchunk(at, shard_cache=cache), array.retrieve_subchunk(at)):
                    assert mine.dtype == guests.dtype and mine.tobytes() == guests.tobytes()
                encoded = array.retrieve_encoded_subchunk(at, shard_cache=cache)
                if encoded is not None:
                    own = array._node._chain.decode(encoded)
                    assert own is not None and own.tobytes() == guests.tobytes()
                    decoded += 1
    assert arrays >= 50 and decoded >= 200


def test_large_subchunks_are_decoded_by_lent_codecs():
    values = (np.arange(512 * 512) // 3).astype("<u2").reshape(512, 512)
    store = gridhold.MemoryStore(sharded(values, (512, 512), (256, 256), codec="gzip"))
    calls = []
    own = _codecs._DECODERS["gzip"]

    def counted(src, limit):
        calls.append(limit)
        return own(src, limit)

    _codecs._DECODERS["gzip"] = counted
    try:
        # A cap of its own, so that the guest asks for the codec anew.
        with gridhold.open_array(store, memory=(96 << 20) + 1) as array:
            assert np.array_equal(array.retrieve_region((0, 0), (512, 512)), values)
            assert calls == [256 * 256 * 2] * 4
        with gridhold.open_array(store, memory=(96 << 20) + 1, strict=True) as array:
            assert np.array_equal(array.retrieve_region((0, 0), (512, 512)), values)
            assert len(calls) == 4
    finally:
        _codecs._DECODERS["gzip"] = own


def zstd(data):
    zstandard = pytest.importorskip("zstandard")
    return zstandard.ZstdCompressor(3).compress(data)


@pytest.mark.parametrize("name", ["zstd", "gzip"])
def test_what_a_decoder_refuses(name):
    decode = _codecs._DECODERS[name]
    if decode is None:
        pytest.skip("no such decoder here")
    data = bytes(range(256)) * 8
    good = zstd(data) if name == "zstd" else gzip.compress(data, mtime=0)
    for view in (good, memoryview(good), memoryview(bytearray(good))):
        assert decode(view, 2048) == data
    assert decode(good, 2047) is None
    assert decode(good + b"x", 2048) is None
    for cut in range(len(good)):
        assert decode(good[:cut], 2048) is None
    assert decode(b"", 2048) is None


@pytest.mark.parametrize("name", ["zstd", "gzip"])
def test_bombs_allocate_nothing(name):
    decode = _codecs._DECODERS[name]
    if decode is None:
        pytest.skip("no such decoder here")
    size = 256 << 20
    if name == "zstd":  # a frame that claims 2^40 bytes, and one that has 256 MiB
        bombs = [b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 1 << 40) + b"\x01\x00\x00", zstd(bytes(size))]
    else:
        bombs = [gzip.compress(bytes(size), 1)]
    tracemalloc.start()
    for bomb in bombs:
        assert decode(bomb, 2048) is None
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 << 20


def test_several_members():
    data = bytes(1000)
    assert _codecs._gzip(gzip.compress(data[:300]) + gzip.compress(data[300:]), 1000) == data


def test_crc32c():
    strip = _codecs._DECODERS["crc32c"]
    if strip is None:
        pytest.skip("no quick crc32c here")
    assert strip(b"123456789" + struct.pack("<I", 0xE3069283), 9) == b"123456789"
    assert strip(b"123456780" + struct.pack("<I", 0xE3069283), 9) is None
    assert strip(b"123", 9) is None


@pytest.mark.parametrize("endian", ["little", "big"])
@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1, 2, 0]])
def test_transposed(order, endian):
    values = np.arange(2 * 3 * 4, dtype=U2).reshape(2, 3, 4)
    stored = np.ascontiguousarray(values.transpose(order)).astype(">u2" if endian == "big" else "<u2").tobytes()
    transpose = {"name": "transpose", "configuration": {"order": order}}
    chain = _codecs.chain([transpose, little(endian)], U2, (2, 3, 4))
    got = chain.decode(stored)
    assert np.array_equal(got, values)
    assert got.flags.c_contiguous and got.flags.writeable and got.dtype.isnative
    assert chain.decode(stored[:-1]) is None and chain.decode(stored + b"\0") is None


@pytest.mark.parametrize(
    "codecs",
    [
        [little(), named("blosc")],
        [little(), named("gzip"), named("gzip")],  # how much comes out of the outer one, nobody knows
        [named("transpose"), little()],
        [named("sharding_indexed")],
        [],
    ],
)
def test_chains_that_are_the_guests(codecs):
    assert _codecs.chain(codecs, U2, (2, 2)) is None
