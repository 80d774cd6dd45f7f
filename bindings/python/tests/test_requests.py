"""What reads cost: how many requests, as a server counts them and as the array tells."""

import asyncio
import json
import struct
import threading
from pathlib import Path

import numpy as np
import pytest
from conftest import SHARD, SUB, VALUES, sharded
from test_http import Server

import gridhold

DATA = Path(__file__).resolve().parents[3] / "testdata" / "requests"


def piece(k):
    """What the k-th subchunk of each shard of the field holds."""
    return np.array([(31 * k + 7 * i) & 255 for i in range(256)], np.uint8).reshape(16, 16)


PIECES = [piece(k) for k in range(1024)]
PICKS, KTH = [], []
for j in range(16):
    for s in range(16):
        k = (61 * j + 17 * s) % 1024
        PICKS.append((s // 4 * 32 + k // 32, s % 4 * 32 + k % 32))
        KTH.append(k)


def field():
    shard = b"".join(p.tobytes() for p in PIECES) + b"".join(struct.pack("<QQ", 256 * k, 256) for k in range(1024))
    objects = {f"c/{s // 4}/{s % 4}": shard for s in range(16)}
    return objects | {"zarr.json": (DATA / "zarr.json").read_bytes()}


class Tagged(Server):
    """Every object has the tag that the pack of the field knows."""

    def taken(self):
        requests, self.requests[:] = list(self.requests), []
        assert not any(method == "HEAD" for method, _, _ in requests)
        return len(requests)


@pytest.fixture
def serve(monkeypatch):
    monkeypatch.setattr("test_http.tag_of", lambda data: '"one"')
    running = []

    def start(objects):
        server = Tagged(objects)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        running.append((server, thread))
        return server

    yield start
    for server, thread in running:
        server.shutdown()
        thread.join()
        server.server_close()


def same(got, kth):
    assert len(got) == len(kth)
    for one, k in zip(got, kth):
        assert np.array_equal(one, PIECES[k])


def check_cost(cost):
    assert (cost["requests"], cost["index_loads"], cost["reads"], cost["decodes"], cost["failures"]) == (273, 16, 256, 256, 0)
    assert cost["elements"] == 256 * 256 and cost["bytes"] == 256 * 256 + 16 * 1024 * 16
    assert cost["requesting_us"] > 0


def test_requests(serve):
    server = serve(field())
    with gridhold.open_array(server.url, trace=True) as array:
        cache = array.shard_cache()
        same([array.retrieve_subchunk(at, shard_cache=cache) for at in PICKS], KTH)
        assert server.taken() == 1 + 272
        check_cost(array.cost())
        assert list(cache.stats()) == ["hits", "misses", "loads", "entries", "bytes", "budget"]
    with gridhold.open_array(server.url) as array:
        server.taken()
        same(array.retrieve_subchunks(PICKS), KTH)
        assert server.taken() <= 263
        with pytest.raises(gridhold.InvalidError):
            array.cost()
    with gridhold.open_array(server.url, index_pack=DATA / "pack") as array:
        same([array.retrieve_subchunk(at) for at in PICKS], KTH)
        assert server.taken() == 1 + 256
        same(array.retrieve_subchunks(PICKS), KTH)
        assert server.taken() <= 256


def test_requests_of_tasks(serve):
    server = serve(field())

    async def main():
        async with await gridhold.aio.open_array(server.url, trace=True) as array:
            cache = array.shard_cache()
            same([await array.retrieve_subchunk(at, shard_cache=cache) for at in PICKS], KTH)
            assert server.taken() == 1 + 272
            check_cost(await array.cost())
        async with await gridhold.aio.open_array(server.url) as array:
            server.taken()
            same(await array.retrieve_subchunks(PICKS), KTH)
            assert server.taken() <= 263
        async with await gridhold.aio.open_array(server.url, index_pack=(DATA / "pack").read_bytes()) as array:
            same([await array.retrieve_subchunk(at) for at in PICKS], KTH)
            assert server.taken() == 1 + 256

    asyncio.run(main())


@pytest.mark.parametrize(
    "options, least, most",
    [({"gap": -1}, 80, 80), ({"max_merged": 256}, 80, 80), ({"gap": 1 << 20}, 32, 32), ({"parallel": 1}, 32, 80)],
)
def test_options(serve, options, least, most):
    server = serve(field())
    with gridhold.open_array(gridhold.HTTPStore(server.url, **options)) as array:
        server.taken()
        same(array.retrieve_subchunks(PICKS[:64]), KTH[:64])
        assert least <= server.taken() <= most
    with pytest.raises(gridhold.InvalidError):
        gridhold.open_array(gridhold.HTTPStore(server.url, parallel=5000))


@pytest.mark.parametrize("sharded_too", [False, True])
def test_32_requests_under_way(serve, sharded_too):
    if sharded_too:
        server, points, kth, pack = serve(field()), PICKS, KTH, DATA / "pack"
    else:
        meta = json.loads((DATA / "zarr.json").read_text())
        meta["shape"] = [64 * 16, 16]
        meta["codecs"] = meta["codecs"][0]["configuration"]["codecs"]
        meta["chunk_grid"]["configuration"]["chunk_shape"] = [16, 16]
        chunks = {f"c/{k}/0": PIECES[k].tobytes() for k in range(64)}
        server = serve(chunks | {"zarr.json": json.dumps(meta).encode()})
        points, kth, pack = [(k, 0) for k in range(64)], range(64), None

    async def main():
        async with await gridhold.aio.open_array(gridhold.HTTPStore(server.url, gap=-1), index_pack=pack) as array:
            server.hold = threading.Event()
            task = asyncio.create_task(array.retrieve_subchunks(points))
            for _ in range(32):
                assert await asyncio.to_thread(server.arrived.acquire, True, 120)
            assert not server.arrived.acquire(blocking=False)
            server.hold.set()
            same(await task, kth)

    asyncio.run(asyncio.wait_for(main(), 300))


def test_index_pack(serve):
    objects = field() | {"index/a pack": (DATA / "pack").read_bytes()}
    server = serve(objects)
    for pack in (f"{server.url}/index/a%20pack", (gridhold.HTTPStore(server.url), "index/a pack"), objects["index/a pack"]):
        with gridhold.open_array(server.url, index_pack=pack) as array:
            server.taken()
            same([array.retrieve_subchunk(PICKS[7])], [KTH[7]])
            assert server.taken() == 1
    with pytest.raises(gridhold.NotFoundError):
        gridhold.open_array(server.url, index_pack=(server.url, "none"))
    with pytest.raises(gridhold.CorruptError):
        gridhold.open_array(server.url, index_pack=b"no pack")
    server.objects["zarr.json"] = objects["zarr.json"].replace(b"2048, 2048", b"2048, 2047")
    with pytest.raises(gridhold.WrongArrayError):
        gridhold.open_array(server.url, index_pack=DATA / "pack")


def test_archives(serve, tmp_path):
    raw = (DATA / "small.zip").read_bytes()
    server = serve({"dir/a b.zip": raw})
    (tmp_path / "a b.zip").write_bytes(raw)
    store = gridhold.MemoryStore({"x.zip": raw})
    for source in (
        f"zip://{server.url}/dir/a%20b.zip",
        gridhold.ZipStore(f"{server.url}/dir/a%20b.zip"),
        gridhold.ZipStore(gridhold.HTTPStore(server.url), "dir/a b.zip"),
        gridhold.ZipStore(store, "x.zip"),
        f"zip://{tmp_path}/a b.zip",
        gridhold.ZipStore(tmp_path / "a b.zip"),
    ):
        assert [node["path"] for node in gridhold.list_nodes(source)] == ["a"]
        with gridhold.open(source, "a") as array:
            cache = array.shard_cache()
            same([array.retrieve_subchunk((1, 2), shard_cache=cache)], [2])
            assert np.array_equal(array[16:32, 16:48], np.hstack([piece(3), piece(2)]))
            with pytest.raises(gridhold.UnsupportedError):
                array.locate([(0, 0)])
    with pytest.raises(gridhold.InvalidError):
        gridhold.open_array(gridhold.ZipStore(store, "y.zip"))
    with pytest.raises(gridhold.InvalidError):
        gridhold.ZipStore(gridhold.ZipStore(store, "x.zip"), "y")


def test_reads_of_the_host_count():
    """What this host serves by the table of a shard is in the cost as well."""
    store = gridhold.MemoryStore(sharded(VALUES, SHARD, SUB, codec="gzip"))
    with gridhold.open_array(store, trace=True) as array:
        cache = array.shard_cache()
        for at in ((0, 0), (1, 1), (0, 0)):
            array.retrieve_subchunk(at, shard_cache=cache)
        cost = array.cost()
        assert (cost["requests"], cost["index_loads"], cost["reads"], cost["decodes"]) == (0, 1, 3, 3)
        assert cost["elements"] == 3 * 32
        stored = sum(len(array.retrieve_encoded_subchunk(at)) for at in ((0, 0), (1, 1), (0, 0)))
        assert cost["bytes"] == stored + 16 * 16
        assert cost["decoding_us"] > 0 and cost["reading_us"] > 0
