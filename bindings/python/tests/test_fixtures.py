"""The peers' arrays, by the sha256 their manifest states, through every way of reading there is."""

import asyncio
import hashlib
import json

import pytest
from conftest import FIXTURES, canonical

import gridhold

MANIFEST = json.loads((FIXTURES / "manifest.json").read_text())["arrays"]
CORRUPT = json.loads((FIXTURES / "corrupt.json").read_text())
ARRAYS = [a for a in MANIFEST if (FIXTURES / a["path"] / "zarr.json").is_file()]


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()




def within(entry) -> bool:
    try:
        gridhold.open_array(FIXTURES, entry["path"]).close()
    except (gridhold.UnsupportedError, gridhold.InvalidError):
        return False
    return True


SLICE = [a for a in ARRAYS if within(a)]


def test_the_slice_is_large():
    assert len(SLICE) >= 100


@pytest.mark.parametrize("entry", SLICE, ids=lambda a: a["name"])
@pytest.mark.parametrize("strict", [False, True], ids=["lent", "strict"])
def test_array(entry, strict):
    with gridhold.open_array(FIXTURES, entry["path"], strict=strict) as array:
        start = [0] * array.ndim
        for cache in (None, array.shard_cache()):
            whole = array.retrieve_region(start, array.shape, shard_cache=cache)
            assert sha(canonical(whole)) == entry["sha256"]
            for some in (entry.get("shards") or {}).get("some", []):
                if some.get("length") is None or not array.info["exclusively_sharded"]:
                    continue
                encoded = array.retrieve_encoded_subchunk(some["subchunk"], shard_cache=cache)
                assert encoded is not None and sha(encoded) == some["sha256_encoded"]
                sub = array.retrieve_subchunk(some["subchunk"], shard_cache=cache)
                clipped = sub[tuple(slice(0, n) for n in some["clipped_shape"])]
                assert sha(canonical(clipped)) == some["sha256_decoded_clipped"]


def test_asyncio():
    async def read(entry):
        async with await gridhold.aio.open_array(FIXTURES, entry["path"]) as array:
            whole = await array.retrieve_region([0] * array.ndim, array.shape, shard_cache=array.shard_cache())
            return sha(canonical(whole)) == entry["sha256"]

    async def all_of_them(entries):
        return await asyncio.gather(*(read(e) for e in entries))

    sample = SLICE[::4]
    assert len(sample) >= 25
    assert all(asyncio.run(all_of_them(sample)))


@pytest.mark.parametrize("entry", [e for e in CORRUPT if e["expect"].startswith("reject")], ids=lambda e: e["name"])
@pytest.mark.parametrize("cached", [False, True])
def test_corrupt_is_an_error(entry, cached):
    with pytest.raises(gridhold.Error) as caught:
        with gridhold.open_array(FIXTURES, entry["path"]) as array:
            cache = array.shard_cache() if cached else None
            array.retrieve_region([0] * array.ndim, array.shape, shard_cache=cache)
    assert not isinstance(caught.value, gridhold.InternalError)
    assert "\n" not in str(caught.value)
