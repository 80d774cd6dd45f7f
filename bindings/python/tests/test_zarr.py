"""``gridhold.zarr``: programs of zarrista's documents, with other imports."""

import asyncio

import numpy as np
import pytest
from conftest import FIXTURES, SHARD, SUB, VALUES, AsyncCounting, Counting, block, sharded

import gridhold
from gridhold.zarr import Array, AsyncArray, AsyncGroup, Group
from gridhold.zarr.store import FilesystemStore


def test_open_and_index():
    """README, "Example"."""
    store = FilesystemStore(FIXTURES / "group_plain")
    array = Array.open(store, path="/a")
    assert list(array.shape) == [10, 7] and array.ndim == 2 and array.dtype == "u2" and array.dimension_names is None
    data = array[0:128, 0:128]
    arr = data.to_numpy()
    assert arr.shape == (10, 7) and type(arr) is np.ndarray
    assert array[0].shape == (1, 7) and array[-1, ...].shape == (1, 7) and array[...].shape == (10, 7)
    assert array.retrieve_array_subset((3, slice(2, 4))).shape == (1, 2)
    assert np.array_equal(array.retrieve_array_subset(array.subset_all()), arr)
    chunk = array.retrieve_chunk([2, 1])
    assert chunk.shape == (4, 4) and np.array_equal(chunk[:2, :3], arr[8:, 4:]) and chunk[3, 3] == array.fill_value == 9
    assert repr(array) == "Array(path='/a', shape=(10, 7), dtype='uint16')" and array.storage is store
    for wrong in (10, (0, 0, 0), -11):
        with pytest.raises(IndexError):
            array[wrong]


def test_every_subchunk_of_a_shard_and_the_index_once():
    """``ShardCache``, "Examples"."""
    store = Counting(sharded(VALUES, SHARD, SUB))
    arr = Array.open(store)
    cache = arr.shard_cache()
    assert cache.is_empty()
    for i in range(SHARD[0] // SUB[0]):
        for j in range(SHARD[1] // SUB[1]):
            sub = arr.retrieve_subchunk([i, j], shard_cache=cache)
            assert np.array_equal(sub.to_numpy(), block(VALUES, (i, j)))
    assert store.indexes == ["c/0/0"] and store.reads == 16 and cache.size() == 1
    for i in range(arr.subchunk_grid_shape[0]):  # as the example has it: down the first column
        arr.retrieve_subchunk([i, 0], shard_cache=cache)
    assert len(store.indexes) == 4 and cache.size() == 4
    cache.clear()
    assert cache.is_empty()


def test_the_same_in_coroutines():
    store = AsyncCounting(sharded(VALUES, SHARD, SUB))

    async def main():
        arr = await AsyncArray.open(store)
        cache = arr.shard_cache()
        for i in range(arr.subchunk_grid_shape[0]):
            sub = await arr.retrieve_subchunk([i, 0], shard_cache=cache)
            assert np.array_equal(sub.to_numpy(), block(VALUES, (i, 0)))
        assert len(store.indexes) == 4 and await cache.size() == 4
        many = await asyncio.gather(*(arr.retrieve_subchunk([i, j], shard_cache=cache) for i in range(16) for j in range(16)))
        assert np.array_equal(np.block([many[16 * i : 16 * i + 16] for i in range(16)]), VALUES) and len(store.indexes) == 16
        assert (await arr[3]).shape == (1, 64) and np.array_equal(await arr.retrieve_array_subset(...), VALUES)
        chunk = await arr.retrieve_encoded_subchunk([5, 5], shard_cache=cache)
        assert np.array_equal(await chunk.decode_async(), block(VALUES, (5, 5)))
        with pytest.raises(gridhold.InvalidError):
            chunk.decode()

    asyncio.run(main())


@pytest.mark.parametrize("path", ["group_plain/a", "plain_zstd", "inner_transpose_tensorstore", "dtype_string"])
def test_encoded(path):
    arr = Array.open(FIXTURES, path)
    seen = 0
    for at in np.ndindex(*arr.subchunk_grid_shape):
        chunk = arr.retrieve_encoded_subchunk(at)
        if chunk is None:
            continue
        seen += 1
        want = arr.retrieve_subchunk(at)
        assert chunk.shape == want.shape and chunk.data_type == want.dtype and len(chunk.buffer) == len(chunk) and chunk.codecs
        assert np.array_equal(chunk.decode(validate_checksums=True), want)
    assert seen
    with pytest.raises(TypeError, match='unexpected keyword argument "foo"'):
        arr.retrieve_subchunk([0] * arr.ndim, foo=1)
    with pytest.raises(gridhold.UnsupportedError):
        Array.open(FIXTURES, "outer_zstd").retrieve_encoded_subchunk([0, 0])


def test_what_is_stricter():
    arr = Array.open(FIXTURES, "/ndim2_zarrs")
    beyond = list(arr.subchunk_grid_shape)
    with pytest.raises(IndexError):
        arr.retrieve_subchunk(beyond)
    other = Array.open(FIXTURES, "/inner_none_zarrs").shard_cache()
    with pytest.raises(gridhold.WrongArrayError):
        arr.retrieve_subchunk([0, 0], shard_cache=other)
    with pytest.raises(FileNotFoundError):
        Array.open(FIXTURES, "/none")


def test_groups():
    group = Group.open(FilesystemStore(FIXTURES / "group_plain"))
    assert group.array_keys() == ["a", "b"] and group.group_keys() == ["sub"] and group.child_paths() == ["/a", "/b", "/sub"]
    assert group.child_array_paths() == ["/a", "/b"] and group.child_group_paths() == ["/sub"]
    assert [type(n).__name__ + n.path for n in group.traverse()] == ["Arraya", "Arrayb", "Groupsub", "Arraysub/c"]
    assert [a.path for a in group.child_arrays()] == ["a", "b"] and [g.path for g in group.child_groups()] == ["sub"]
    sub = group["sub"]
    assert isinstance(sub, Group) and isinstance(sub.child("c"), Array) and sub["c"].shape == (5,)
    for name in ("nope", "/a", ""):
        with pytest.raises(KeyError):
            group[name]
    with pytest.raises(gridhold.Error):
        Group.open(FIXTURES, "/group_plain/a")

    async def main():
        group = await AsyncGroup.open(FIXTURES, "group_plain")
        assert await group.array_keys() == ["a", "b"] and await group.group_keys() == ["sub"]
        assert len(await group.traverse()) == 4 and len(await group.child_paths()) == 3
        sub = await group.child("sub")
        assert isinstance(sub, AsyncGroup) and (await (await sub.child("c"))[...]).shape == (5,)
        with pytest.raises(KeyError):
            await group.child("nope")

    asyncio.run(main())
