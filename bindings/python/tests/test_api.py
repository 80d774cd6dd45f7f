"""The public face: what there is to see, and what each wrong use gives."""

import json
import pickle

import numpy as np
import pytest
from conftest import SUB, VALUES, block, sharded, write

import gridhold


def test_exports_are_sorted():
    assert gridhold.__all__ == sorted(gridhold.__all__)
    assert all(hasattr(gridhold, name) for name in gridhold.__all__)
    assert gridhold.aio.__all__ == sorted(gridhold.aio.__all__)


def test_properties(directory):
    with gridhold.open_array(str(directory)) as array:
        assert array.shape == (64, 64) and array.ndim == 2
        assert array.dtype == np.dtype("uint16")
        assert array.chunk_shape == (16, 16) and array.chunk_grid_shape == (4, 4)
        assert array.subchunk_shape == SUB and array.effective_subchunk_shape == SUB
        assert array.subchunk_grid_shape == (16, 16)
        assert array.is_sharded
        assert array.attrs == {}
        assert array.info["chunks_per_shard"] == [4, 4]
        array.info["kind"] = "changed"
        assert array.info["kind"] == "array"


@pytest.mark.parametrize("how", ["path", "text", "url", "store"])
def test_sources(directory, how):
    source = {
        "path": directory,
        "text": str(directory),
        "url": directory.as_uri(),
        "store": gridhold.FileStore(directory),
    }[how]
    with gridhold.open(source) as array:
        assert isinstance(array, gridhold.Array)
        assert np.array_equal(array.retrieve_subchunk((3, 5)), block(VALUES, (3, 5)))


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("indices", [(3, 5), [3, 5], np.array([3, 5]), (np.int64(3), np.uint8(5))])
def test_subchunk_is_the_callers(directory, indices, cached):
    with gridhold.open_array(directory) as array:
        cache = array.shard_cache() if cached else None
        first = array.retrieve_subchunk(indices, shard_cache=cache)
        assert np.array_equal(first, block(VALUES, (3, 5)))
        assert first.flags.writeable and first.flags.c_contiguous
        first[:] = 0
        assert np.array_equal(array.retrieve_subchunk(indices, shard_cache=cache), block(VALUES, (3, 5)))


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize(
    ("indices", "error", "builtin"),
    [
        ((16, 0), gridhold.OutOfRangeError, IndexError),
        ((-1, 0), gridhold.OutOfRangeError, IndexError),
        ((2**70, 0), gridhold.OutOfRangeError, IndexError),
        ((1,), gridhold.InvalidError, ValueError),
        ((1, 2, 3), gridhold.InvalidError, ValueError),
        ((1.0, 2), TypeError, TypeError),
        (("1", 2), TypeError, TypeError),
        (3, TypeError, TypeError),
        (None, TypeError, TypeError),
    ],
)
def test_wrong_indices(directory, indices, error, builtin, cached):
    with gridhold.open_array(directory) as array:
        cache = array.shard_cache() if cached else None
        for read in (array.retrieve_subchunk, array.retrieve_encoded_subchunk):
            with pytest.raises(error) as caught:
                read(indices, shard_cache=cache)
            assert isinstance(caught.value, builtin)


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize(
    ("start", "stop"), [((0, 0), (64, 64)), ((3, 5), (4, 6)), ((15, 15), (17, 49)), ((7, 7), (7, 9)), ((64, 64), (64, 64))]
)
def test_region(directory, start, stop, cached):
    with gridhold.open_array(directory) as array:
        cache = array.shard_cache() if cached else None
        got = array.retrieve_region(start, stop, shard_cache=cache)
        assert np.array_equal(got, VALUES[start[0] : stop[0], start[1] : stop[1]])


@pytest.mark.parametrize(("start", "stop"), [((0, 0), (65, 1)), ((2, 0), (1, 1)), ((-1, 0), (1, 1))])
def test_region_outside(directory, start, stop):
    with gridhold.open_array(directory) as array, pytest.raises(gridhold.OutOfRangeError):
        array.retrieve_region(start, stop, shard_cache=array.shard_cache())


@pytest.mark.parametrize("cached", [False, True])
def test_edge_absent_and_empty(cached):
    values = VALUES[:10, :7]
    objects = sharded(values, (4, 4), (2, 2), skip={(1, 1)})
    del objects["c/1/0"]
    with gridhold.open_array(gridhold.MemoryStore(objects)) as array:
        cache = array.shard_cache() if cached else None
        assert array.subchunk_grid_shape == (5, 4)
        edge = array.retrieve_subchunk((4, 3), shard_cache=cache)
        assert edge.tolist() == [[values[8, 6], 7], [values[9, 6], 7]]
        for nothing in ((1, 1), (2, 0)):  # an empty subchunk; one of an absent shard
            assert array.retrieve_subchunk(nothing, shard_cache=cache).tolist() == [[7, 7], [7, 7]]
            assert array.retrieve_encoded_subchunk(nothing, shard_cache=cache) is None
        want = values.copy()
        want[2:4, 2:4] = 7
        want[4:8, 0:4] = 7
        assert np.array_equal(array.retrieve_region((0, 0), (10, 7), shard_cache=cache), want)


def test_no_axes_and_no_elements():
    scalar = gridhold.MemoryStore(sharded(np.array(9, "<u2"), (), ()))
    with gridhold.open_array(scalar) as array:
        assert array.shape == () and array.subchunk_grid_shape == ()
        for cache in (None, array.shard_cache()):
            got = array.retrieve_subchunk((), shard_cache=cache)
            assert got.shape == () and got == 9
            assert array.retrieve_region((), (), shard_cache=cache) == 9
    nothing = gridhold.MemoryStore(sharded(np.zeros((0, 8), "<u2"), (4, 4), (2, 2)))
    with gridhold.open_array(nothing) as array:
        for cache in (None, array.shard_cache()):
            assert array.retrieve_region((0, 0), (0, 8), shard_cache=cache).shape == (0, 8)
            with pytest.raises(gridhold.OutOfRangeError):
                array.retrieve_subchunk((0, 0), shard_cache=cache)


def test_nodes(tmp_path):
    group = json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {"a": 1}}).encode()
    write(tmp_path, {"zarr.json": group, "sub/zarr.json": group, **sharded(VALUES, (16, 16), SUB, seed_path="sub/x")})
    nodes = gridhold.list_nodes(tmp_path)
    assert [(n["path"], n["kind"]) for n in nodes] == [("sub", "group"), ("sub/x", "array")]
    with gridhold.open(tmp_path) as root:
        assert isinstance(root, gridhold.Group) and root.attrs == {"a": 1}
        assert root.list_nodes() == nodes
    with gridhold.open_array(tmp_path, "/sub/x") as array:
        assert array.path == "sub/x"
        assert np.array_equal(array.retrieve_subchunk((0, 1)), block(VALUES, (0, 1)))
    with pytest.raises(gridhold.InvalidError):
        gridhold.open_array(tmp_path, "sub")
    with pytest.raises(gridhold.InvalidError):
        gridhold.open_array(tmp_path, "../x")


def test_nothing_there(tmp_path):
    with pytest.raises(gridhold.NotFoundError) as caught:
        gridhold.open_array(tmp_path, "a")
    assert isinstance(caught.value, FileNotFoundError) and caught.value.code == "NotFound"
    with pytest.raises(FileNotFoundError):
        gridhold.open_array(tmp_path / "no such directory")


def test_closed(directory):
    array = gridhold.open_array(directory)
    cache = array.shard_cache()
    array.retrieve_subchunk((0, 0), shard_cache=cache)
    array.close()
    array.close()
    for use in (
        lambda: array.retrieve_subchunk((0, 0)),
        lambda: array.retrieve_subchunk((0, 0), shard_cache=cache),
        lambda: array.retrieve_region((0, 0), (1, 1)),
        array.shard_cache,
    ):
        with pytest.raises(gridhold.ClosedError):
            use()


@pytest.mark.parametrize(
    ("options", "error"),
    [({"memory": 0}, ValueError), ({"memory": 5 << 30}, ValueError), ({"memory": 1.5}, TypeError), ({"foo": 1}, TypeError)],
)
def test_wrong_options(directory, options, error):
    with pytest.raises(error):
        gridhold.open_array(directory, **options)


def test_wrong_sources():
    for source in (None, 3, object()):
        with pytest.raises(TypeError):
            gridhold.open_array(source)
    with pytest.raises(gridhold.InvalidError):
        gridhold.open_array("nonsense://example.org/x")


def test_errors_travel():
    error = gridhold.CorruptError("x: bad", item="c/0", offset=12)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is gridhold.CorruptError
    assert (str(again), again.item, again.offset, again.code) == ("x: bad", "c/0", 12, "Corrupt")
    assert isinstance(again, ValueError)
    assert str(gridhold.NotFoundError("a: b")) == "a: b"


def test_corrupt_names_the_place(objects):
    shard = bytearray(objects["c/0/0"])
    shard[0] ^= 0xFF
    objects["c/0/0"] = bytes(shard)
    with gridhold.open_array(gridhold.MemoryStore(objects)) as array:
        for cache in (None, array.shard_cache()):
            with pytest.raises(gridhold.CorruptError):
                array.retrieve_subchunk((0, 0), shard_cache=cache)
            assert np.array_equal(array.retrieve_subchunk((0, 1), shard_cache=cache), block(VALUES, (0, 1)))
