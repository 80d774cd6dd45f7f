"""Stores of other libraries, each with the library itself."""

import asyncio
import pickle

import fsspec
import icechunk
import numpy as np
import obstore.store
import pytest
import zarr
from conftest import SHARD, SUB, VALUES, block, sharded, write
from gateway import gateway  # noqa: F401  a fixture

import gridhold
from gridhold import stores
from gridhold._ranges import GAP, LARGEST, joined

OBJECTS = {**sharded(VALUES, SHARD, SUB, codec="gzip", seed_path="deep/a"), **sharded(VALUES[:32] + 1, SHARD, SUB, seed_path="deep/b")}
OBJECTS["deep/zarr.json"] = OBJECTS["zarr.json"] = b'{"zarr_format": 3, "node_type": "group", "attributes": {}}'


def fsspec_memory(tmp_path, request):
    fs = fsspec.filesystem("memory")
    fs.rm("/tree", recursive=True) if fs.exists("/tree") else None
    for key, data in OBJECTS.items():
        fs.pipe_file(f"/tree/{key}", data)
    return fs.get_mapper("/tree")


def fsspec_local(tmp_path, request):
    write(tmp_path, OBJECTS)
    return fsspec.get_mapper(f"file://{tmp_path}")


def fsspec_s3(tmp_path, request):
    server = request.getfixturevalue("gateway")
    write(server.bucket / "fsspec", OBJECTS)
    return fsspec.get_mapper("s3://bucket/fsspec", **server.fsspec_options)


def obstore_memory(tmp_path, request):
    store = obstore.store.MemoryStore()
    for key, data in OBJECTS.items():
        obstore.put(store, key, data)
    return store


def obstore_local(tmp_path, request):
    write(tmp_path, OBJECTS)
    return obstore.store.LocalStore(tmp_path)


def obstore_s3(tmp_path, request):
    store = request.getfixturevalue("gateway").obstore("obstore")
    for key, data in OBJECTS.items():  # through the server, which gives them tags
        obstore.put(store, key, data)
    return store


def zarr_local(tmp_path, request):
    write(tmp_path, OBJECTS)
    return zarr.storage.LocalStore(tmp_path, read_only=True)


def icechunk_session(tmp_path, request):
    repository = icechunk.Repository.create(icechunk.local_filesystem_storage(str(tmp_path / "repository")))
    session = repository.writable_session("main")
    group = zarr.open_group(session.store, mode="w").create_group("deep")
    for name, values in (("a", VALUES), ("b", VALUES[:32] + 1)):
        made = group.create_array(name, shape=values.shape, dtype="u2", shards=SHARD, chunks=SUB, fill_value=7)
        made[:] = values
    session.commit("all")
    return repository.readonly_session("main").store


KINDS = [fsspec_memory, fsspec_local, fsspec_s3, obstore_memory, obstore_local, obstore_s3, zarr_local, icechunk_session]


@pytest.fixture(params=KINDS, ids=lambda f: f.__name__)
def theirs(request, tmp_path):
    return request.param(tmp_path, request)


def test_reads(theirs):
    with gridhold.open_array(theirs, "deep/a") as array:
        cache = array.shard_cache()
        for index in ((3, 7), (0, 0), (3, 7), (15, 15)):
            assert np.array_equal(array.retrieve_subchunk(index, shard_cache=cache), block(VALUES, index))
        some = [(i, j) for i in range(0, 16, 3) for j in range(16)]
        for index, got in zip(some, array.retrieve_subchunks(some, shard_cache=cache)):
            assert np.array_equal(got, block(VALUES, index))
        assert np.array_equal(array[...], VALUES)
        assert np.array_equal(array[5:60:7, 3], VALUES[5:60:7, 3])
        places = array.locate([(0, 0)], shard_cache=cache)
        assert places.keys == ("deep/a/c/0/0",)
    with pytest.raises(FileNotFoundError):
        gridhold.open_array(theirs, "deep/none")
    with gridhold.open(theirs, "deep") as group:
        assert sorted(n["path"] for n in group.list_nodes() if n["kind"] == "array") == ["deep/a", "deep/b"]


def test_reads_in_a_loop(theirs):
    async def read():
        async with await gridhold.aio.open_array(theirs, "deep/b") as array:
            cache = array.shard_cache()
            wanted = [(i, j) for i in range(8) for j in range(8)]
            got = await asyncio.gather(*(array.retrieve_subchunk(i, shard_cache=cache) for i in wanted))
            return zip(wanted, got)

    for index, got in asyncio.run(read()):
        assert np.array_equal(got, block(VALUES[:32] + 1, index))


def test_contract(theirs):
    """Ranges past the end are short, missing objects are None, whoever answers."""
    if isinstance(theirs, icechunk.IcechunkStore):
        key, data = "deep/b/zarr.json", asyncio.run(theirs.get("deep/b/zarr.json", zarr.core.buffer.default_buffer_prototype())).to_bytes()
    else:
        key, data = "deep/b/c/1/1", OBJECTS["deep/b/c/1/1"]
    n = len(data)
    store = stores.adapted(theirs)
    ranges = [(0, 5), (n - 3, 9), (n, 5), (n + 70_000, 5), (3, 0), (7, -1), (-4, 4), (-n - 9, n + 9), (-1, 0), (2, 4), (0, n)]
    answer = store.read_ranges(key, ranges, "")
    wanted = [data[:5], data[-3:], b"", b"", b"", data[7:], data[-4:], data, b"", data[2:6], data]
    assert [bytes(b) for b in answer.data] == wanted
    assert store.read_ranges(key, [(0, 0)], "").data == [b""] and store.read_ranges(key, [], "").data == []
    assert store.read_ranges("deep/none/c/0/0", [(0, 5)], "") is None and store.read_ranges("deep/none/c/0/0", [], "") is None
    if isinstance(store, stores.ObstoreStore):
        assert answer.size == n and answer.version
        with pytest.raises(gridhold.StaleError):
            store.read_ranges(key, [(0, 5)], '"another"')
    else:
        assert answer.version == ""


def test_pickles(theirs):
    if isinstance(theirs, obstore.store.MemoryStore):
        pytest.skip("memory of one process")
    store = stores.adapted(theirs)
    again = pickle.loads(pickle.dumps(store))
    assert len(pickle.dumps(store)) < 1500
    assert again.read_ranges("deep/b/zarr.json", [(0, 1)], "").data == [b"{"]


def test_a_change_is_noticed_where_there_are_versions():
    """And is not where there are none: that is what the documentation says."""
    before, after = sharded(VALUES, SHARD, SUB), sharded(VALUES[::-1] // 2, SHARD, SUB, skip=[(0, 0)])
    theirs = obstore.store.MemoryStore()
    fs = fsspec.filesystem("memory")
    fs.rm("/changing", recursive=True) if fs.exists("/changing") else None

    def put(objects):
        for key, data in objects.items():
            obstore.put(theirs, key, data)
            fs.pipe_file(f"/changing/{key}", data)

    put(before)
    with gridhold.open_array(theirs) as noticing, gridhold.open_array(fs.get_mapper("/changing")) as trusting:
        caches = noticing.shard_cache(), trusting.shard_cache()
        assert np.array_equal(noticing.retrieve_subchunk((0, 1), shard_cache=caches[0]), block(VALUES, (0, 1)))
        assert np.array_equal(trusting.retrieve_subchunk((0, 1), shard_cache=caches[1]), block(VALUES, (0, 1)))
        put(after)
        wanted = block(VALUES[::-1] // 2, (0, 1))
        assert np.array_equal(noticing.retrieve_subchunk((0, 1), shard_cache=caches[0]), wanted)
        assert not np.array_equal(trusting.retrieve_subchunk((0, 1), shard_cache=caches[1]), wanted)  # the old place in the new shard
        caches[1].clear()
        assert np.array_equal(trusting.retrieve_subchunk((0, 1), shard_cache=caches[1]), wanted)


def test_a_cache_goes_with_the_store(tmp_path):
    """Two arrays opened in one object of theirs are one array; those of two are not."""
    write(tmp_path, OBJECTS)
    one, other = fsspec.get_mapper(f"file://{tmp_path}"), fsspec.get_mapper(f"file://{tmp_path}")
    with gridhold.open_array(one, "deep/a") as a, gridhold.open_array(one, "deep/a") as b, gridhold.open_array(other, "deep/a") as c:
        cache = a.shard_cache()
        assert np.array_equal(b.retrieve_subchunk((1, 1), shard_cache=cache), block(VALUES, (1, 1)))
        with pytest.raises(gridhold.WrongArrayError):
            c.retrieve_subchunk((1, 1), shard_cache=cache)


def test_urls_of_fsspec(tmp_path):
    write(tmp_path, OBJECTS)
    with gridhold.open_array(f"local://{tmp_path}", "deep/a") as array:
        assert np.array_equal(array[3], VALUES[3])
    with pytest.raises(gridhold.InvalidError):
        gridhold.open_array("nonsense://there/a")
    with pytest.raises(gridhold.UnsupportedError):
        gridhold.open_array("gs://bucket/a")  # gcsfs is not installed
    with pytest.raises(TypeError):
        gridhold.open_array(fsspec.filesystem("memory"))  # where in it?


def test_refusals(gateway):  # noqa: F811
    from obstore.store import S3Store

    write(gateway.bucket / "refused", OBJECTS)
    known = gateway.obstore("refused")
    stranger = S3Store.from_url(
        "s3://bucket/refused", endpoint=gateway.endpoint, region="us-east-1", access_key_id="gridhold", secret_access_key="another",
        client_options={"allow_http": True}, retry_config={"max_retries": 0},
    )  # fmt: skip
    with gridhold.open_array(known, "deep/a") as array:
        assert np.array_equal(array[0], VALUES[0])
    with pytest.raises(gridhold.NotAllowedError):
        gridhold.open_array(stranger, "deep/a")


def test_containers_and_stacks(tmp_path):
    with gridhold.asarray(VALUES, urlpath=tmp_path / "v.b2nd", mode="w"):
        pass
    fs = fsspec.filesystem("memory")
    fs.pipe_file("/containers/v.b2nd", (tmp_path / "v.b2nd").read_bytes())
    with gridhold.open(fs.get_mapper("/containers"), "v.b2nd") as array:
        assert np.array_equal(array[5:9], VALUES[5:9])
    with gridhold.open("memory://containers/v.b2nd") as array:
        assert np.array_equal(array[5:9], VALUES[5:9])


def test_ranges_join():
    def shape(ranges):
        return [p.range for p in joined(ranges)]

    assert shape([(0, 10), (10, 10)]) == [(0, 20)]
    assert shape([(GAP + 10, 5), (0, 10)]) == [(0, GAP + 15)]
    assert shape([(0, 10), (GAP + 11, 5)]) == [(0, 10), (GAP + 11, 5)]
    assert shape([(0, 100), (10, 10)]) == [(0, 100)]
    assert shape([(0, LARGEST), (LARGEST, 1)]) == [(0, LARGEST), (LARGEST, 1)]
    assert shape([(-4, 4), (0, 1), (5, -1)]) == [(-4, 4), (5, -1), (0, 1)]
    raw = bytes(range(200))
    ranges = [(50, 9), (0, 10), (55, 100), (190, 20)]
    data = [b""] * 4
    (part,) = joined(ranges)
    part.hand_out(raw[part.range[0] : sum(part.range)], data)
    assert data == [raw[50:59], raw[:10], raw[55:155], raw[190:]]
