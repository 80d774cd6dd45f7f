"""Make the arrays that the benchmarks read. usage: make_data.py DIR

They are written by zarrista: a peer's own files, so that nobody reads a
layout that only we would write.
"""

import json
import os
import shutil
import sys

import numpy as np
import zarrista
from zarrista.store import FilesystemStore

EDGE, SHARD, SUBCHUNK = 8192, 1024, 32
PICKS = 60_000
INDEXES, INDEXED = 32, 262_144  # shards of so many subchunks of one byte each

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
ZSTD = {"name": "zstd", "configuration": {"level": 3, "checksum": False}}


def metadata(codecs):
    sharding = {
        "chunk_shape": [SUBCHUNK, SUBCHUNK],
        "codecs": codecs,
        "index_codecs": [LITTLE, {"name": "crc32c"}],
        "index_location": "end",
    }
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [EDGE, EDGE],
        "data_type": "uint16",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [SHARD, SHARD]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [{"name": "sharding_indexed", "configuration": sharding}],
        "attributes": {},
    }


def field(row, column, noise):
    """One shard: waves that go on from shard to shard, and 4 bits of noise."""
    y, x = np.mgrid[0:SHARD, 0:SHARD]
    waves = np.sin((x + column * 71) / 47) * np.cos((y + row * 29) / 67)
    return (waves * 9000 + 20000).astype("u2") + noise.integers(0, 16, (SHARD, SHARD), dtype="u2")


def write(directory, codecs):
    os.makedirs(directory)
    array = zarrista.Array.from_metadata(metadata(codecs), FilesystemStore(directory), "/")
    array.store_metadata()
    noise = np.random.default_rng(7)
    for row in range(EDGE // SHARD):
        for column in range(EDGE // SHARD):
            at = tuple(slice(k * SHARD, (k + 1) * SHARD) for k in (row, column))
            array.store_array_subset(at, np.ascontiguousarray(field(row, column, noise)))


def write_indexes(directory):
    """Shards of which hardly anything is stored, whose indexes have 4 MiB each."""
    os.makedirs(directory)
    about = metadata([LITTLE])
    about |= {"shape": [INDEXES, INDEXED], "data_type": "uint8"}
    about["chunk_grid"]["configuration"]["chunk_shape"] = [1, INDEXED]
    about["codecs"][0]["configuration"] |= {"chunk_shape": [1, 1], "codecs": [{"name": "bytes"}]}
    array = zarrista.Array.from_metadata(about, FilesystemStore(directory), "/")
    array.store_metadata()
    for i in range(INDEXES):
        array.store_array_subset((slice(i, i + 1), slice(0, 2)), np.array([[7, 8]], "u1"))


def main():
    target = sys.argv[1]
    making = target + ".making"
    shutil.rmtree(making, ignore_errors=True)
    write(f"{making}/u16_zstd", [LITTLE, ZSTD])
    write(f"{making}/u16_none", [LITTLE])
    write_indexes(f"{making}/indexes")
    picks = np.random.default_rng(11).integers(0, EDGE // SUBCHUNK, (PICKS, 2))
    with open(f"{making}/picks.json", "w") as out:
        json.dump(picks.tolist(), out)
    shutil.rmtree(target, ignore_errors=True)
    os.rename(making, target)


main()
