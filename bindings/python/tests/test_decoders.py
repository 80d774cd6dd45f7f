"""What each decoder takes and what it leaves to the guest; damage never passes as data."""

import bz2
import lzma
import zlib

import numpy as np
import pytest
from conftest import FIXTURES

import gridhold
from gridhold import _decoders

DATA = (1 + np.arange(3000) // 7).astype("<u4").tobytes()


def numcodecs(name, **configuration):
    registry = pytest.importorskip("numcodecs.registry")
    return lambda data: bytes(registry.get_codec({"id": name, **configuration}).encode(data))


CODECS = [
    ("numcodecs.zlib", {}, lambda: zlib.compress),
    ("numcodecs.bz2", {"level": 5}, lambda: bz2.compress),
    ("numcodecs.lzma", {"format": 1, "check": -1, "preset": None, "filters": None}, lambda: lzma.compress),
    ("numcodecs.lz4", {}, lambda: numcodecs("lz4")),
    ("blosc", {}, lambda: numcodecs("blosc", cname="lz4", shuffle=1)),
    ("numcodecs.blosc", {}, lambda: numcodecs("blosc", cname="zstd", shuffle=2)),
    ("numcodecs.shuffle", {"elementsize": 8}, lambda: numcodecs("shuffle", elementsize=8)),
    ("numcodecs.crc32", {}, lambda: numcodecs("crc32")),
    ("numcodecs.adler32", {}, lambda: numcodecs("adler32")),
    ("numcodecs.fletcher32", {}, lambda: numcodecs("fletcher32")),
    ("numcodecs.jenkins_lookup3", {}, lambda: numcodecs("jenkins_lookup3")),
]


@pytest.mark.parametrize(("name", "configuration", "make"), CODECS, ids=[c[0] for c in CODECS])
def test_decoder(name, configuration, make):
    encode = make()
    found = _decoders.find(name, configuration)
    assert found is not None
    good = encode(DATA)
    assert found.overhead is None or len(good) == len(DATA) + found.overhead
    for view in (good, memoryview(good), memoryview(bytearray(good))):
        assert found.decode(view, len(DATA)) == DATA
    assert found.decode(good, len(DATA) - 1) is None
    if found.overhead == 0:
        return
    for cut in (0, 1, 3, 4, 5, 15, 16, 17, len(good) // 2, len(good) - 1):
        assert found.decode(good[:cut], len(DATA)) is None
    assert found.decode(good + b"x", len(DATA)) is None


@pytest.mark.parametrize(
    ("name", "configuration"),
    [
        ("pcodec", {}), ("numcodecs.delta", {}), ("numcodecs.lzma", {"format": 3}), ("numcodecs.lzma", {"filters": [{"id": 33}]}),
        ("numcodecs.crc32", {"location": "end"}), ("numcodecs.jenkins_lookup3", {"initval": 7}), ("numcodecs.shuffle", {"elementsize": 0}),
        ("numcodecs.shuffle", {"elementsize": "4"}),
    ],
)  # fmt: skip
def test_left_to_the_guest(name, configuration):
    assert _decoders.find(name, configuration) is None


@pytest.mark.parametrize("path", ["nc_lzma", "nc_zlib", "nc_crc32", "nc_fletcher32", "nc_lookup3", "inner_gzip5_zarr-python"])
def test_damage_under_a_checksum_is_noticed_by_both(path):
    assert damaged(path)[1] == 0


@pytest.mark.parametrize(
    "path",
    ["inner_blosc_lz4_shuffle", "inner_blosc_zstd_bitshuffle", "inner_blosc_blosclz_shuffle", "nc_lz4", "nc_bz2", "nc_zstd"],
)
def test_damage_under_none_gives_what_the_guest_gives(path):
    """Or the guest refuses what the library in C lets pass."""
    _, lenient = damaged(path)
    assert lenient <= 30


def damaged(path: str) -> tuple[int, int]:
    """Flips 120 bits of a subchunk, one at a time: how often host and guest read the same, and how often the host alone does."""
    objects = {str(f.relative_to(FIXTURES / path)): f.read_bytes() for f in (FIXTURES / path).rglob("*") if f.is_file()}
    store = gridhold.MemoryStore(objects)
    rng = np.random.default_rng(3)
    same, lenient = 0, 0
    with gridhold.open_array(store) as array, gridhold.open_array(store, strict=True) as strict:
        first = (0,) * array.ndim
        place = array.locate([first])
        key, off, n = place.keys[0], int(place.offsets[0]), int(place.lengths[0])
        chain = array._node.host.chain
        if chain is None:
            pytest.skip("no such decoder here")
        encoded = objects[key][off : off + n]
        assert chain.decode(encoded) is not None
        for _ in range(120):
            bad = bytearray(encoded)
            bad[rng.integers(0, n)] ^= 1 << rng.integers(0, 8)
            mine = chain.decode(bytes(bad))
            if mine is None:
                continue
            store.put(key, objects[key][:off] + bytes(bad) + objects[key][off + n :])
            try:
                guests = strict.retrieve_subchunk(first)
            except gridhold.CorruptError:
                lenient += 1
                continue
            assert guests.tobytes() == mine.tobytes()
            same += 1
    return same, lenient
