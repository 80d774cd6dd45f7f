"""Regions by slices and lists, indexing, batches and places, against numpy."""

import asyncio

import numpy as np
import pytest
from conftest import FIXTURES, SHARD, SUB, VALUES, Counting, block, sharded

import gridhold
from gridhold._select import Edges, runs

ODD = VALUES[:50, :41]


@pytest.fixture(params=["cached", "plain", "guest"])
def reader(request):
    """An array and a cache: tables of the host, none, and the guest's own."""
    with gridhold.open_array(gridhold.MemoryStore(sharded(ODD, SHARD, SUB, codec="gzip"))) as array:
        if request.param == "guest":
            array._node.host = None
        yield array, None if request.param == "plain" else array.shard_cache()


SELECTIONS = [
    (slice(None), slice(None)),
    (slice(3, 47, 5), slice(None, None, 2)),
    (slice(-9, None), slice(0, 41, 40)),
    (slice(7, 7), slice(None)),
    ([5, 1, 49, 1, -1], slice(2, 30, 3)),
    ([0, 17, 33], [40, 3, 3, 21]),
    (np.array([8], np.uint8), range(5)),
    ([], [1]),
]


@pytest.mark.parametrize("selection", SELECTIONS)
def test_region(reader, selection):
    array, cache = reader
    rows, columns = (np.arange(n)[list(s) if isinstance(s, range) else s or s if isinstance(s, slice) else np.asarray(s, int)]
                     for s, n in zip(selection, ODD.shape))  # fmt: skip
    got = array.retrieve_region(selection, shard_cache=cache)
    assert np.array_equal(got, ODD[np.ix_(rows, columns)]) and got.dtype == ODD.dtype


@pytest.mark.parametrize(
    "key",
    [
        ..., (), 3, -1, (3, 5), (slice(2, 40, 7),), (slice(None), 4), (..., 4), (4, ...), (3, 5, ...),
        (slice(40, 2), ...), (np.int64(7), slice(None, None, 3)), (slice(-100, 100), slice(60, 90)),
    ],
)  # fmt: skip
def test_indexing(reader, key):
    array, _ = reader
    got = array[key]
    assert np.array_equal(got, ODD[key]) and np.shape(got) == np.shape(ODD[key]) and got.dtype == ODD.dtype

    async def main():
        async with await gridhold.aio.open_array(gridhold.MemoryStore(sharded(ODD, SHARD, SUB))) as other:
            assert np.array_equal(await other[key], ODD[key])

    asyncio.run(main())


def test_indexing_keeps_indexes():
    store = Counting(sharded(ODD, SHARD, SUB))
    with gridhold.open_array(store) as array:
        assert array[0, 0] == ODD[0, 0] and array[1, 1] == ODD[1, 1]
        assert len(store.indexes) == 1


@pytest.mark.parametrize(
    ("key", "error"),
    [
        ((50, 0), gridhold.OutOfRangeError), ((0, -42), gridhold.OutOfRangeError), ((0, 0, 0), gridhold.OutOfRangeError),
        ((..., ...), gridhold.InvalidError), (slice(None, None, -1), gridhold.InvalidError), (None, TypeError),
        (True, TypeError), ([1, 2], TypeError), (1.5, TypeError), (slice(0, 1, 0), ValueError),
    ],
)  # fmt: skip
def test_wrong_index(reader, key, error):
    with pytest.raises(error):
        reader[0][key]


@pytest.mark.parametrize(
    ("selection", "error"),
    [
        ((slice(None),), gridhold.InvalidError), (([50], [0]), gridhold.OutOfRangeError),
        (([-51], [0]), gridhold.OutOfRangeError), ((slice(9, 0, -1), [0]), gridhold.InvalidError), ((3, [0]), TypeError),
        (([1.0], [0]), TypeError), (([[1]], [0]), TypeError), (([True], [0]), TypeError), (slice(None), TypeError),
    ],
)  # fmt: skip
def test_wrong_region(reader, selection, error):
    array, cache = reader
    with pytest.raises(error):
        array.retrieve_region(selection, shard_cache=cache)


def test_batch(reader):
    array, cache = reader
    points = [(0, 0), (12, 9), (3, 3), (4, 0), (0, 0), (9, 9)]
    for indices in (points, np.array(points), iter(points)):
        got = array.retrieve_subchunks(indices, shard_cache=cache)
        assert len(got) == len(points)
        for at, one in zip(points, got):
            assert np.array_equal(one, array.retrieve_subchunk(at, shard_cache=cache)) and one.flags.writeable
    assert got[0] is not got[4]
    assert array.retrieve_subchunks([], shard_cache=cache) == []
    for wrong, error in (
        ([(0, 0), (13, 0)], IndexError),
        ([(0,)], ValueError),
        ([(0, "a")], TypeError),
        (np.array([[0, 99]]), IndexError),
    ):
        with pytest.raises(error):
            array.retrieve_subchunks(wrong, shard_cache=cache)
        with pytest.raises(error):
            array.locate(wrong, shard_cache=cache)


def test_a_batch_reads_each_index_once_and_a_shard_at_once():
    store = Counting(sharded(VALUES, SHARD, SUB))
    calls = []
    store.fail = lambda key, ranges: calls.append((key, len(ranges)))
    with gridhold.open_array(store) as array:
        points = [(i, j) for i in range(8) for j in range(4)]
        calls.clear()
        got = array.retrieve_subchunks(points, shard_cache=array.shard_cache())
        assert all(np.array_equal(g, block(VALUES, p)) for g, p in zip(got, points))
        assert sorted(store.indexes) == ["c/0/0", "c/1/0"]
        assert [n for _, n in calls if n > 1] == [16, 16]


@pytest.mark.parametrize("blocking", [True, False])
def test_large_subchunks_of_a_batch(blocking):
    """Decoded on two threads."""
    values = (np.arange(1024 * 512) // 5).astype("<u2").reshape(1024, 512)
    objects = sharded(values, (512, 512), (256, 256), codec="gzip", skip={(1, 1)})
    points = list(np.ndindex(4, 2))
    want = [np.full((256, 256), 7, "<u2") if p == (1, 1) else block(values, p, (256, 256)) for p in points]
    if blocking:
        with gridhold.open_array(gridhold.MemoryStore(objects)) as array:
            got = array.retrieve_subchunks(points, shard_cache=array.shard_cache())
    else:

        async def main():
            async with await gridhold.aio.open_array(gridhold.MemoryStore(objects)) as array:
                return await array.retrieve_subchunks(points)

        got = asyncio.run(main())
    assert all(np.array_equal(g, w) for g, w in zip(got, want, strict=True))


def test_damage_in_a_batch(objects):
    shard = bytearray(objects["c/0/0"])
    shard[0] ^= 0xFF
    objects["c/0/0"] = bytes(shard)
    with gridhold.open_array(gridhold.MemoryStore(objects)) as array:
        with pytest.raises(gridhold.CorruptError):
            array.retrieve_subchunks([(0, 1), (0, 0), (4, 4)])


def test_places(reader):
    array, cache = reader
    places = array.locate([(0, 0), (12, 9), (0, 0)], shard_cache=cache)
    assert isinstance(places, gridhold.Places) and len(places.keys) == len(places.versions) == 2
    assert [places.keys[o] for o in places.objects] == ["c/0/0", "c/3/2", "c/0/0"]
    assert places.offsets[0] == places.offsets[2] == 0 and places.lengths[0] == places.lengths[2] > 0
    assert places.offsets.dtype == places.lengths.dtype == places.objects.dtype == np.int64
    assert [len(x) for x in array.locate([], shard_cache=cache)] == [0] * 5


def test_places_of_nothing():
    objects = sharded(ODD, SHARD, SUB, skip={(1, 1)})
    del objects["c/1/0"]
    with gridhold.open_array(gridhold.MemoryStore(objects)) as array:
        for cache in (None, array.shard_cache()):
            places = array.locate([(1, 1), (4, 0), (0, 1)], shard_cache=cache)
            assert places.objects.tolist() == [-1, -1, 0] and places.offsets.tolist()[:2] == [-1, -1]


def test_uneven_chunks():
    with gridhold.open_array(FIXTURES, "grid_rectilinear") as array:
        assert array.chunk_shape is None and array.effective_subchunk_shape is None
        whole = array.retrieve_region((0, 0), array.shape)
        assert np.array_equal(array[1:9:3, ::2], whole[1:9:3, ::2])
        assert np.array_equal(array.retrieve_region(([9, 0, 4], [6, 6])), whole[np.ix_([9, 0, 4], [6, 6])])
        points = list(np.ndindex(*array.chunk_grid_shape))
        low = [e.span(i)[0] for i, e in zip((1, 1), array._node.edges)]
        for at, one in zip(points, array.retrieve_subchunks(points)):
            assert np.array_equal(one, array.retrieve_subchunk(at))
        middle = array.retrieve_subchunk((1, 1))
        assert np.array_equal(middle, whole[tuple(slice(a, a + n) for a, n in zip(low, middle.shape))])


def test_large_regions_of_the_guest(monkeypatch):
    """What is too large for one answer is read by subchunks."""
    monkeypatch.setattr(gridhold._core, "_PICKED_BYTES", 0)
    with gridhold.open_array(FIXTURES, "grid_rectilinear") as array:
        whole = array.retrieve_region((0, 0), array.shape)
        monkeypatch.setattr(array._node.runtime, "memory", 8)
        assert np.array_equal(array[...], whole)
        assert np.array_equal(array.retrieve_region(([9, 0, 4], slice(1, None, 2))), whole[np.ix_([9, 0, 4], [1, 3, 5])])
    with gridhold.open_array(gridhold.MemoryStore(sharded(ODD, SHARD, SUB))) as array:
        assert np.array_equal(array.retrieve_region((slice(1, None, 3), [4, 40])), ODD[1::3][:, [4, 40]])


def test_runs():
    """Each wanted position once, in its place, whatever the chunks."""
    rng = np.random.default_rng(7)
    for edges, n in ((Edges(5), 23), (Edges(1), 6), (Edges(0, [[3, 2], [7, 1], [1, 4]]), 17)):
        for _ in range(50):
            a, b, step = rng.integers(0, n + 1), rng.integers(0, n + 1), rng.integers(1, 9)
            for positions in (range(a, b, step), rng.integers(0, n, rng.integers(0, 9))):
                out = np.full(len(positions), -1)
                found = runs(positions, edges)
                for r in found:
                    low, high = edges.span(r.block)
                    out[r.into] = np.arange(low, high)[r.of]
                    assert r.low == out[r.into].min() and r.high == out[r.into].max() + 1
                assert out.tolist() == list(positions)
                assert [r.block for r in found] == sorted({r.block for r in found})
