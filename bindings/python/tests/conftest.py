"""What the tests share: the peers' arrays, small arrays of our own, and stores that count or fail."""

from __future__ import annotations

import asyncio
import gzip
import json
import struct
from pathlib import Path

import numpy as np
import pytest

import gridhold

FIXTURES = Path(__file__).resolve().parents[3] / "testdata" / "zarr"
ALL_EMPTY = struct.pack("<QQ", 2**64 - 1, 2**64 - 1)


def canonical(array: np.ndarray) -> bytes:
    """As the manifests mean it: C order, little endian; objects as their length and bytes."""
    if array.dtype == object:
        pieces = [x.encode() if isinstance(x, str) else x for x in array.reshape(-1)]
        return b"".join(struct.pack("<I", len(p)) + p for p in pieces)
    if array.dtype.kind == "V":
        return array.tobytes()
    return np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def sharded(values: np.ndarray, shard: tuple, sub: tuple, *, codec: str | None = None, skip=(), seed_path: str = "") -> dict:
    """The objects of a sharded array. ``skip``: subchunks that are left empty."""
    prefix = f"{seed_path}/" if seed_path else ""
    inner = [{"name": "bytes", "configuration": {"endian": "little"}}]
    if codec == "gzip":
        inner.append({"name": "gzip", "configuration": {"level": 1}})
    if codec == "zstd":
        inner.append({"name": "zstd", "configuration": {"level": 1, "checksum": False}})
    meta = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(values.shape),
        "data_type": values.dtype.name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(shard)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 7,
        "codecs": [
            {
                "name": "sharding_indexed",
                "configuration": {
                    "chunk_shape": list(sub),
                    "codecs": inner,
                    "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
                    "index_location": "end",
                },
            }
        ],
    }
    objects = {f"{prefix}zarr.json": json.dumps(meta).encode()}
    grid = [-(-n // s) for n, s in zip(values.shape, shard)]
    per = [s // u for s, u in zip(shard, sub)]
    for at in np.ndindex(*grid):
        body, index = b"", b""
        for slot in np.ndindex(*per):
            place = tuple(a * p + i for a, p, i in zip(at, per, slot))
            low = [p * u for p, u in zip(place, sub)]
            if place in skip or any(a >= n for a, n in zip(low, values.shape)):
                index += ALL_EMPTY
                continue
            block = np.full(sub, 7, values.dtype)
            part = values[tuple(slice(a, a + u) for a, u in zip(low, sub))]
            block[tuple(slice(0, n) for n in part.shape)] = part
            data = block.tobytes()
            if codec == "gzip":
                data = gzip.compress(data, 1)
            if codec == "zstd":
                data = pytest.importorskip("zstandard").ZstdCompressor(level=1).compress(data)
            index += struct.pack("<QQ", len(body), len(data))
            body += data
        objects[prefix + "/".join(["c", *map(str, at)])] = body + index
    return objects


VALUES = np.arange(64 * 64, dtype="<u2").reshape(64, 64)
SHARD, SUB = (16, 16), (4, 4)  # 4 x 4 shards of 4 x 4 subchunks


def block(values: np.ndarray, index: tuple, sub: tuple = SUB) -> np.ndarray:
    return values[tuple(slice(i * s, (i + 1) * s) for i, s in zip(index, sub))]


class Counting:
    """A store that counts reads of indexes (suffixes) and of data, and fails on demand."""

    def __init__(self, objects: dict) -> None:
        self.inner = gridhold.MemoryStore(objects)
        self.indexes: list[str] = []
        self.reads = 0
        self.fail = None  # called with key and ranges before each read

    def read_ranges(self, key, ranges, version):
        if self.fail:
            self.fail(key, ranges)
        if key.startswith("c/") or "/c/" in key:
            if any(off < 0 for off, _ in ranges):
                self.indexes.append(key)
            else:
                self.reads += len(ranges)
        return self.inner.read_ranges(key, ranges, version)

    def list(self, prefix):
        return self.inner.list(prefix)


class AsyncCounting(Counting):
    """The same, asynchronous: everything takes a turn of the loop."""

    async def read_ranges(self, key, ranges, version):
        await asyncio.sleep(0)
        return super().read_ranges(key, ranges, version)


@pytest.fixture
def objects() -> dict:
    return sharded(VALUES, SHARD, SUB, codec="gzip")


@pytest.fixture
def directory(tmp_path, objects):
    write(tmp_path, objects)
    return tmp_path


def write(root: Path, objects: dict) -> None:
    for key, data in objects.items():
        path = root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
