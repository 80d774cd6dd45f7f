"""Report 42: subchunks on both sides of 2^31 and 2^32, in an object of 5 GiB that nobody stores."""

import json

import numpy as np
import pytest

import gridhold

SIZE = 5 << 30
SUB = 16


def stored(off, n):
    """The bytes of the object follow from where they are."""
    return bytes((7 * (off + i) + (off + i >> 16)) & 255 for i in range(n))


class Far:
    """One shard whose index says that its subchunks lie at these offsets."""

    def __init__(self, offsets):
        self.index = b"".join(
            o.to_bytes(8, "little") + SUB.to_bytes(8, "little") for o in offsets
        )
        names = [{"name": "bytes"}]
        little = [{"name": "bytes", "configuration": {"endian": "little"}}]
        shape = [SUB * len(offsets)]
        sharding = {
            "chunk_shape": [SUB],
            "codecs": names,
            "index_codecs": little,
            "index_location": "end",
        }
        self.metadata = json.dumps(
            {
                "zarr_format": 3,
                "node_type": "array",
                "shape": shape,
                "data_type": "uint8",
                "chunk_grid": {
                    "name": "regular",
                    "configuration": {"chunk_shape": shape},
                },
                "chunk_key_encoding": {"name": "default"},
                "fill_value": 0,
                "codecs": [{"name": "sharding_indexed", "configuration": sharding}],
            }
        ).encode()

    def read_ranges(self, key, ranges, version):
        if key != "c/0":
            return gridhold.MemoryStore({"zarr.json": self.metadata}).read_ranges(
                key, ranges, version
            )
        return [self._part(*r) for r in ranges], SIZE, "v"

    def _part(self, off, n):
        if off < 0:  # the last n
            off = SIZE - n
        first = SIZE - len(self.index)
        return self.index[off - first :][:n] if off >= first else stored(off, n)


def test_offsets():
    offsets = [
        0,
        2**31 - SUB // 2,
        2**31,
        2**32 - SUB // 2,
        2**32 - 1,
        2**32,
        2**32 + 2**29 - 8,
        SIZE - 16 * 9 - SUB,
        3,
    ]
    with gridhold.open_array(Far(offsets)) as array:
        cache = array.shard_cache()
        for k, off in enumerate(offsets):
            want = np.frombuffer(stored(off, SUB), "u1")
            for held in (None, cache):
                assert np.array_equal(
                    array.retrieve_subchunk((k,), shard_cache=held), want
                ), off


@pytest.mark.parametrize("off", [SIZE, 2**53 + 1, 2**63, 2**64 - 2])
def test_offsets_past_the_end(off):
    with (
        gridhold.open_array(Far([5, off])) as array,
        pytest.raises(gridhold.CorruptError),
    ):
        array.retrieve_subchunk((1,))
