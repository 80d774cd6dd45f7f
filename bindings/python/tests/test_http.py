"""Over HTTP: the guest's rules, this host's connections."""

import asyncio
import http.server
import socket
import threading
from collections import Counter
from urllib.parse import unquote

import numpy as np
import pytest
from conftest import SHARD, SUB, VALUES, block, sharded
from test_cache import many_threads

import gridhold


def tag_of(data):
    return f'"{hash(data) & 0xFFFFFFFF:x}"'


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def setup(self):
        super().setup()
        self.server.connections += 1

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, body):
        server = self.server
        key = unquote(self.path.partition("?")[0]).lstrip("/")
        asked = self.headers.get("Range", "")
        with server.lock:
            server.requests.append((self.command, key, asked))
        if server.hold is not None and key.startswith("c/"):
            server.arrived.release()
            server.hold.wait(120)
        status = server.statuses.get(key)
        data = server.objects.get(key)
        if status is None and data is None:
            status = 404
        if status is not None:
            self.send_response(status)
            if status in (301, 302, 307):
                self.send_header("Location", server.locations[key])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        tag = tag_of(data)
        if self.headers.get("If-Match", tag) != tag:
            self.send_response(412)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        total, start = len(data), 0
        if asked and server.ranges:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            if first:
                start, stop = int(first), min(int(last) + 1 if last else total, total)
            else:
                start, stop = max(0, total - int(last)), total
            if start >= total:
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{total}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            data = data[start:stop]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{total}")
        else:
            self.send_response(200)
        self.send_header("ETag", tag)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if body:
            if key in server.cut:
                self.wfile.write(data[: len(data) // 2])
                self.close_connection = True
                return
            self.wfile.write(data)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, objects):
        super().__init__(("127.0.0.1", 0), Handler)
        self.objects, self.requests, self.connections = dict(objects), [], 0
        self.statuses, self.locations, self.cut, self.ranges = {}, {}, set(), True
        self.lock, self.hold, self.arrived = threading.Lock(), None, threading.Semaphore(0)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def count(self, key):
        return sum(k == key for _, k, _ in self.requests)


@pytest.fixture
def server(objects):
    with Server(objects) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_reads(server):
    with gridhold.open_array(server.url) as array:
        cache = array.shard_cache()
        for at in ((0, 0), (3, 3), (15, 15)):
            for held in (None, cache):
                assert np.array_equal(array.retrieve_subchunk(at, shard_cache=held), block(VALUES, at))
        assert np.array_equal(array.retrieve_region((3, 3), (40, 20), shard_cache=cache), VALUES[3:40, 3:20])
        assert array.retrieve_encoded_subchunk((0, 0), shard_cache=cache)


def test_one_index_request_a_shard(server):
    with gridhold.open_array(server.url) as array:
        cache = array.shard_cache()
        server.requests.clear()
        for at in ((0, 0), (1, 1), (2, 2)):
            array.retrieve_subchunk(at, shard_cache=cache)
        assert len(server.requests) == 4  # an index and three subchunks
        assert server.connections <= 2  # kept alive
        assert cache.stats()["loads"] == 1 == cache.size()


def test_prefix_and_escapes(server):
    for i, name in enumerate(["a b", "a#b", "a?b", "a%20b", "\u00e9", "\u4e2d"]):
        server.objects.update(sharded(VALUES + np.uint16(i), SHARD, SUB, seed_path=f"deep/{name}"))
        with gridhold.open_array(f"{server.url}/deep", name) as array:
            assert np.array_equal(array.retrieve_subchunk((0, 0)), block(VALUES + np.uint16(i), (0, 0)))


def test_16_requests_in_flight(server):
    """asyncio: 16 cold shards wait for the server side by side."""

    async def main():
        async with await gridhold.aio.open_array(server.url) as array:
            cache = array.shard_cache()
            await array.retrieve_subchunk((0, 0))  # until one has come back, suffix ranges are asked for one at a time
            server.hold = threading.Event()
            picks = [(4 * i, 4 * j) for i in range(4) for j in range(4)]
            tasks = [asyncio.create_task(array.retrieve_subchunk(p, shard_cache=cache)) for p in picks]
            for _ in range(16):
                assert await asyncio.to_thread(server.arrived.acquire, True, 120)
            server.hold.set()
            got = await asyncio.gather(*tasks)
            assert all(np.array_equal(g, block(VALUES, p)) for g, p in zip(got, picks))
            assert (await cache.stats())["loads"] == 16

    asyncio.run(asyncio.wait_for(main(), 300))


def test_32_tasks_load_once(server):
    async def main():
        async with await gridhold.aio.open_array(server.url) as array:
            cache = array.shard_cache()
            picks = [(i % 4, (i // 4) % 4) for i in range(32)]
            got = await asyncio.gather(*(array.retrieve_subchunk(p, shard_cache=cache) for p in picks))
            assert all(np.array_equal(g, block(VALUES, p)) for g, p in zip(got, picks))
            stats = await cache.stats()
            assert stats["loads"] == 1
            suffixes = [r for _, k, r in server.requests if k == "c/0/0" and r.startswith("bytes=-")]
            assert len(suffixes) == 1

    asyncio.run(asyncio.wait_for(main(), 300))


def test_cancelled_while_the_server_thinks(server):
    async def main():
        async with await gridhold.aio.open_array(server.url) as array:
            server.hold = threading.Event()
            task = asyncio.create_task(array.retrieve_subchunk((0, 0)))
            assert await asyncio.to_thread(server.arrived.acquire, True, 120)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            server.hold.set()
            assert np.array_equal(await array.retrieve_subchunk((0, 0)), block(VALUES, (0, 0)))

    asyncio.run(asyncio.wait_for(main(), 300))


def test_threads_wait_side_by_side(server):
    """Blocking callers on threads: none holds the guest while it waits for the server."""
    with gridhold.open_array(server.url) as array:
        array.retrieve_subchunk((0, 0))  # until one has come back, suffix ranges are asked for one at a time
        server.hold = threading.Event()

        def work(i):
            if i == 8:
                for _ in range(8):
                    assert server.arrived.acquire(timeout=120)
                server.hold.set()
                return None
            return array.retrieve_subchunk((2 * i, 0))

        got = many_threads(9, work)
        assert all(np.array_equal(got[i], block(VALUES, (2 * i, 0))) for i in range(8))


@pytest.mark.parametrize(
    ("status", "error"),
    [(403, gridhold.NotAllowedError), (401, gridhold.Error), (500, gridhold.IOFailedError), (503, gridhold.IOFailedError)],
)
def test_statuses_are_never_fill_values(server, status, error):
    with gridhold.open_array(server.url) as array:
        server.statuses["c/0/0"] = status
        cache = array.shard_cache()
        for held in (None, cache):
            with pytest.raises(error):
                array.retrieve_subchunk((0, 0), shard_cache=held)
        assert cache.is_empty()
        del server.statuses["c/0/0"]
        assert np.array_equal(array.retrieve_subchunk((0, 0), shard_cache=cache), block(VALUES, (0, 0)))


def test_missing(server):
    del server.objects["c/0/0"]
    server.statuses["c/0/1"] = 403
    with gridhold.open_array(gridhold.HTTPStore(server.url, forbidden_is_missing=True)) as array:
        assert (array.retrieve_subchunk((0, 0)) == 7).all()
        assert (array.retrieve_subchunk((0, 4)) == 7).all()
    with pytest.raises(gridhold.NotFoundError):
        gridhold.open_array(server.url + "/nope")


def test_server_without_suffixes(server):
    with gridhold.open_array(gridhold.HTTPStore(server.url, no_suffix=True)) as array:
        server.requests.clear()
        assert np.array_equal(array.retrieve_subchunk((2, 2)), block(VALUES, (2, 2)))
        assert not any(r.startswith("bytes=-") for _, _, r in server.requests)


def test_server_without_ranges(server):
    server.ranges = False
    with gridhold.open_array(server.url) as array:
        assert np.array_equal(array.retrieve_subchunk((2, 2)), block(VALUES, (2, 2)))


def test_cut_body(server):
    with gridhold.open_array(server.url) as array:
        server.cut.add("c/0/0")
        with pytest.raises(gridhold.IOFailedError):
            array.retrieve_subchunk((0, 0))
        server.cut.clear()
        assert np.array_equal(array.retrieve_subchunk((0, 0)), block(VALUES, (0, 0)))


def test_replaced_object(server):
    with gridhold.open_array(server.url) as array:
        cache = array.shard_cache()
        array.retrieve_subchunk((0, 0), shard_cache=cache)
        server.objects["c/0/0"] = sharded(VALUES + np.uint16(3), SHARD, SUB, codec="gzip")["c/0/0"]
        assert np.array_equal(array.retrieve_subchunk((1, 0), shard_cache=cache), block(VALUES + 3, (1, 0)))


def test_redirects(server):
    server.statuses["old/zarr.json"] = 302
    server.locations["old/zarr.json"] = "/zarr.json"
    with gridhold.open_array(server.url + "/old") as array:
        assert array.shape == (64, 64)
    server.statuses["ring/zarr.json"] = 301
    server.locations["ring/zarr.json"] = "/ring/zarr.json"
    server.statuses["away/zarr.json"] = 307
    server.locations["away/zarr.json"] = "ftp://127.0.0.1/zarr.json"
    for path in ("ring", "away"):
        with pytest.raises(gridhold.IOFailedError):
            gridhold.open_array(f"{server.url}/{path}")


def test_nobody_listens():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    with pytest.raises(gridhold.IOFailedError):
        gridhold.open_array(f"http://127.0.0.1:{port}")


def test_requests_are_counted_right(server):
    with gridhold.open_array(server.url) as array:
        array.retrieve_subchunk((0, 0))
    assert Counter(k for _, k, _ in server.requests) == {"zarr.json": 1, "c/0/0": 2}


@pytest.mark.parametrize("cached", [False, True])
def test_batches_selections_and_places(server, cached):
    """Through the guest, which reads a shard's index once for all of a batch."""
    points = [(0, 0), (15, 15), (0, 1), (3, 3)]
    with gridhold.open_array(server.url) as array:
        cache = array.shard_cache() if cached else None
        server.requests.clear()
        for at, got in zip(points, array.retrieve_subchunks(points, shard_cache=cache)):
            assert np.array_equal(got, block(VALUES, at))
        assert sum(asked.startswith("bytes=-") for _, _, asked in server.requests) == 2
        picked = array.retrieve_region((slice(3, 60, 19), [63, 0, 0]), shard_cache=cache)
        assert np.array_equal(picked, VALUES[3:60:19][:, [63, 0, 0]])
        places = array.locate(points, shard_cache=cache)
        assert [places.keys[o].endswith(k) for o, k in zip(places.objects, ["c/0/0", "c/3/3", "c/0/0", "c/0/0"])] == [True] * 4
        for at, off, n in zip(points, places.offsets, places.lengths):
            key = f"c/{at[0] // 4}/{at[1] // 4}"
            assert server.objects[key][off : off + n] == array.retrieve_encoded_subchunk(at, shard_cache=cache)
        assert np.array_equal(array[5, ::7], VALUES[5, ::7])
