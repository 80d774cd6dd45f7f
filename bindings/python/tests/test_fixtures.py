"""The peers' arrays, by the sha256 their manifest states, through every way of reading there is."""

import asyncio
import hashlib
import json

import numpy as np
import pytest
from conftest import FIXTURES, canonical

import gridhold

ALL = json.loads((FIXTURES / "manifest.json").read_text())["arrays"]
ARRAYS = [a for a in ALL if "sha256" in a]
CORRUPT = json.loads((FIXTURES / "corrupt.json").read_text())


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_all_are_here():
    assert len(ARRAYS) == 235


@pytest.mark.parametrize("strict", [False, True], ids=["lent", "strict"])
@pytest.mark.parametrize("entry", ARRAYS, ids=lambda a: a["name"])
def test_array(entry, strict):
    with gridhold.open_array(FIXTURES, entry["path"], strict=strict) as array:
        start = [0] * array.ndim
        for cache in (None, array.shard_cache()):
            whole = array.retrieve_region(start, array.shape, shard_cache=cache)
            assert whole.shape == array.shape and whole.dtype == array.dtype and whole.flags.writeable
            assert sha(canonical(whole)) == entry["sha256"]
            for some in (entry.get("shards") or {}).get("some", []):
                if some.get("length") is None or not array.info["exclusively_sharded"]:
                    continue
                encoded = array.retrieve_encoded_subchunk(some["subchunk"], shard_cache=cache)
                assert encoded is not None and sha(encoded) == some["sha256_encoded"]
                sub = array.retrieve_subchunk(some["subchunk"], shard_cache=cache)
                clipped = sub[tuple(slice(0, n) for n in some["clipped_shape"])]
                assert sha(canonical(clipped)) == some["sha256_decoded_clipped"]
        assert canonical(np.asarray(array[...], array.dtype)) == canonical(whole)


def test_host_and_guest_agree():
    """Every subchunk of every fixture, decoded by this host where it can, one by one and in a batch."""
    hosts, decoded = 0, 0
    for entry in ARRAYS:
        path = entry["path"]
        with gridhold.open_array(FIXTURES, path) as array, gridhold.open_array(FIXTURES, path, strict=True) as strict:
            cache, guests_cache = array.shard_cache(), strict.shard_cache()
            points = list(np.ndindex(*array.subchunk_grid_shape))[:40]
            guests = [strict.retrieve_subchunk(at, shard_cache=guests_cache) for at in points]
            batches = [
                array.retrieve_subchunks(points, shard_cache=cache),
                array.retrieve_subchunks(points[::-1])[::-1],
                strict.retrieve_subchunks(np.array(points, int).reshape(len(points), array.ndim)),
                [array.retrieve_subchunk(at, shard_cache=cache) for at in points],
            ]
            for batch in batches:
                for want, got in zip(guests, batch, strict=True):
                    assert got.dtype == want.dtype and got.shape == want.shape and canonical(got) == canonical(want)
            host = array._node.host
            hosts += host is not None
            if host is None or host.chain is None:
                continue
            for at, want in zip(points, guests):
                encoded = array.retrieve_encoded_subchunk(at, shard_cache=cache)
                own = None if encoded is None else host.chain.decode(encoded)
                if own is None:  # not there, or what only the guest can decode
                    assert encoded is None or "snappy" in path
                    continue
                assert canonical(own) == canonical(want)
                decoded += 1
    assert hosts >= 170 and decoded >= 800


def test_places_hold_the_encoded_bytes():
    seen = 0
    for entry in ARRAYS[::2]:
        with gridhold.open_array(FIXTURES, entry["path"]) as array:
            cache = array.shard_cache()
            points = list(np.ndindex(*array.subchunk_grid_shape))[:40]
            if array.is_sharded and not array.info["exclusively_sharded"]:
                with pytest.raises(gridhold.UnsupportedError):
                    array.locate(points, shard_cache=cache)
                continue
            places = array.locate(points, shard_cache=cache)
            for at, o, off, n in zip(points, places.objects, places.offsets, places.lengths, strict=True):
                encoded = array.retrieve_encoded_subchunk(at, shard_cache=cache)
                if encoded is None:
                    assert (o, off, n) == (-1, -1, -1) or (n == -1 and not (FIXTURES / places.keys[o]).exists())
                    continue
                data = (FIXTURES / places.keys[o]).read_bytes()
                assert data[off : off + n if n >= 0 else None] == encoded
                seen += 1
    assert seen > 500


def test_asyncio():
    async def read(entry):
        async with await gridhold.aio.open_array(FIXTURES, entry["path"]) as array:
            cache = array.shard_cache()
            whole = await array.retrieve_region([0] * array.ndim, array.shape, shard_cache=cache)
            assert sha(canonical(whole)) == entry["sha256"]
            assert canonical(np.asarray(await array[...], array.dtype)) == canonical(whole)
            points = list(np.ndindex(*array.subchunk_grid_shape))[:8]
            for at, got in zip(points, await array.retrieve_subchunks(points, shard_cache=cache)):
                assert canonical(await array.retrieve_subchunk(at)) == canonical(got)
            if array.info["exclusively_sharded"]:
                with gridhold.open_array(FIXTURES, entry["path"]) as same:
                    for one, other in zip(await array.locate(points, shard_cache=cache), same.locate(points)):
                        assert list(one) == list(other)

    async def all_of_them(entries):
        await asyncio.gather(*(read(e) for e in entries))

    sample = ARRAYS[::3]
    assert len(sample) == 79
    asyncio.run(all_of_them(sample))


@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.parametrize("path", ["group_plain", "group_consolidated", "group_v2", "ome_pyramid"])
def test_groups(path, consolidated):
    want = sorted(str(f.parent.relative_to(FIXTURES)) for n in ("zarr.json", ".zarray") for f in (FIXTURES / path).rglob(n))
    want = [p for p in want if p != path]
    nodes = gridhold.list_nodes(FIXTURES, path, consolidated=consolidated)
    assert [n["path"] for n in nodes] == want
    with gridhold.open(FIXTURES, path, consolidated=consolidated) as group:
        assert isinstance(group, gridhold.Group) and group.list_nodes() == nodes
        assert [len(m["levels"]) for m in group.multiscales] == ([3] if path == "ome_pyramid" else [])

    async def again():
        assert await gridhold.aio.list_nodes(FIXTURES, path, consolidated=consolidated) == nodes
        async with await gridhold.aio.open(FIXTURES, path, consolidated=consolidated) as group:
            assert await group.list_nodes() == nodes

    asyncio.run(again())
    hashes = next(a for a in ALL if a["name"] == path)["children_sha256"]
    arrays = 0
    for node in nodes:
        with gridhold.open(FIXTURES, node["path"], consolidated=consolidated) as opened:
            assert opened.info["kind"] == node["kind"]
            if node["kind"] == "array":
                arrays += 1
                assert sha(canonical(opened[...])) == hashes[node["path"].removeprefix(path + "/")]
    assert arrays == len(hashes)


def test_consolidated_metadata_is_trusted_on_request():
    """What was added since is not seen, and no listing is needed."""
    objects = {
        str(f.relative_to(FIXTURES / "group_consolidated")): f.read_bytes()
        for f in (FIXTURES / "group_consolidated").rglob("*")
        if f.is_file()
    }
    objects["new/zarr.json"] = b'{"zarr_format":3,"node_type":"group"}'

    class Unlistable:
        read_ranges = gridhold.MemoryStore(objects).read_ranges

    assert "new" in [n["path"] for n in gridhold.list_nodes(gridhold.MemoryStore(objects))]
    nodes = gridhold.list_nodes(Unlistable(), consolidated=True)
    assert [n["path"] for n in nodes] == ["a", "b", "sub", "sub/c"]
    with pytest.raises(gridhold.UnsupportedError):
        gridhold.list_nodes(Unlistable())


@pytest.mark.parametrize("entry", [e for e in CORRUPT if e["expect"].startswith("reject")], ids=lambda e: e["name"])
@pytest.mark.parametrize("how", ["region", "cached", "batch", "strict"])
def test_corrupt_is_an_error(entry, how):
    with pytest.raises(gridhold.Error) as caught:
        with gridhold.open_array(FIXTURES, entry["path"], strict=how == "strict") as array:
            if how == "batch":
                array.retrieve_subchunks(np.ndindex(*array.subchunk_grid_shape))
            else:
                cache = array.shard_cache() if how == "cached" else None
                array.retrieve_region([0] * array.ndim, array.shape, shard_cache=cache)
    assert not isinstance(caught.value, gridhold.InternalError)
    assert "\n" not in str(caught.value)
