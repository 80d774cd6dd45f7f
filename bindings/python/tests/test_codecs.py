"""Host and guest decode to the same bytes, and neither believes a length."""

import gzip
import json
import struct
import tracemalloc

import numpy as np
import pytest
from conftest import FIXTURES, sharded

import gridhold
from gridhold import _codecs, _decoders
from gridhold._types import Element

MANIFEST = json.loads((FIXTURES / "manifest.json").read_text())["arrays"]
U2 = Element("uint16", b"\0\0")


def named(name):
    return {"name": name}


def little(endian="little"):
    return {"name": "bytes", "configuration": {"endian": endian}}


def test_large_subchunks_are_decoded_by_lent_codecs():
    values = (np.arange(512 * 512) // 3).astype("<u2").reshape(512, 512)
    store = gridhold.MemoryStore(sharded(values, (512, 512), (256, 256), codec="gzip"))
    calls = []
    own = _decoders.COMPRESSORS["gzip"]

    def counted(src, limit):
        calls.append(limit)
        return own(src, limit)

    _decoders.COMPRESSORS["gzip"] = counted
    try:
        # A cap of its own, so that the guest asks for the codec anew.
        with gridhold.open_array(store, memory=(96 << 20) + 1) as array:
            assert np.array_equal(array.retrieve_region((0, 0), (512, 512)), values)
            assert calls == [256 * 256 * 2] * 4
        with gridhold.open_array(store, memory=(96 << 20) + 1, strict=True) as array:
            assert np.array_equal(array.retrieve_region((0, 0), (512, 512)), values)
            assert len(calls) == 4
    finally:
        _decoders.COMPRESSORS["gzip"] = own


def zstd(data):
    zstandard = pytest.importorskip("zstandard")
    return zstandard.ZstdCompressor(3).compress(data)


@pytest.mark.parametrize("name", ["zstd", "gzip"])
def test_what_a_decoder_refuses(name):
    decode = _decoders.COMPRESSORS[name]
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
    decode = _decoders.COMPRESSORS[name]
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
    assert _decoders._gzip(gzip.compress(data[:300]) + gzip.compress(data[300:]), 1000) == data


def test_crc32c():
    strip = _decoders.CHECKSUMS["crc32c"]
    if strip is None:
        pytest.skip("no quick crc32c here")
    assert strip(b"123456789" + struct.pack("<I", 0xE3069283), 9) == b"123456789"
    assert strip(b"123456780" + struct.pack("<I", 0xE3069283), 9) is None
    assert strip(b"123", 9) is None


@pytest.mark.parametrize("endian", ["little", "big"])
@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1, 2, 0]])
def test_transposed(order, endian):
    values = np.arange(2 * 3 * 4, dtype="<u2").reshape(2, 3, 4)
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
        [little(), named("pcodec")],
        [little(), named("gzip"), named("gzip")],  # how much comes out of the outer one, nobody knows
        [named("transpose"), little()],
        [named("sharding_indexed")],
        [],
    ],
)
def test_chains_that_are_the_guests(codecs):
    assert _codecs.chain(codecs, U2, (2, 2)) is None
