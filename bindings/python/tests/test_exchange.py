"""HTTP in an event loop: what is common is done there, what is not by threads, and the bytes are the same."""

import asyncio
import gc
import warnings

import numpy as np
import pytest
from conftest import SHARD, SUB, VALUES, block, sharded

import gridhold
from gridhold import _exchange, _loop
from gridhold._exchange import Exchanges
from gridhold._http import Request

OBJECTS = sharded(VALUES, SHARD, SUB)


class Scripted:
    """A server that answers each request as the test says: ``answer(number, head)`` gives bytes, and whether it hangs up."""

    def __init__(self, answer):
        self.answer, self.heads, self.connections = answer, [], 0

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.url = "http://127.0.0.1:%d" % self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc):
        self.server.close()

    async def serve(self, reader, writer):
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                self.heads.append(head)
                raw, ends = self.answer(len(self.heads), head)
                writer.write(raw)
                await writer.drain()
                if ends:
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def plain(body, status="200 OK", *lines):
    return "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *lines, "", ""]).encode() + body


def asked(answer, limit=100, method="GET", times=1, path="/x?y=1"):
    """What comes of asking, and the server."""

    async def run():
        async with Scripted(answer) as server:
            exchanges, got = Exchanges(), []
            for _ in range(times):
                request = Request(method, server.url + path, [("Range", "bytes=0-4")], limit)
                got.append(await exchanges.fetch(request))
            exchanges.rest()
            await asyncio.sleep(0)
            return got, server

    return asyncio.run(run())


def test_common():
    (a, b), server = asked(lambda n, head: (plain(b"12345", "206 Partial Content", 'ETag: "a"', "X:  y "), False), times=2)
    assert a == b == (206, [("Content-Length", "5"), ("ETag", '"a"'), ("X", "y")], b"12345", False)
    assert server.connections == 1
    assert server.heads[0].splitlines()[:3] == ["GET /x?y=1 HTTP/1.1", server.heads[0].splitlines()[1], "Accept-Encoding: identity"]
    assert "Range: bytes=0-4\r\n" in server.heads[0]


def test_in_pieces():
    """However the bytes are cut on their way."""
    whole = plain(b"abc" * 9)

    async def run(at):
        async def serve(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            for part in (whole[:at], whole[at:]):
                writer.write(part)
                await writer.drain()
                await asyncio.sleep(0)
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        exchanges = Exchanges()
        got = await exchanges.fetch(Request("GET", "http://127.0.0.1:%d/" % server.sockets[0].getsockname()[1], [], 100))
        exchanges.rest()
        server.close()
        return got

    for at in (1, 10, whole.index(b"\r\n\r\n") + 2, len(whole) - 1):
        assert asyncio.run(run(at)).body == b"abc" * 9


def test_limits():
    (got,), _ = asked(lambda n, head: (plain(b"x" * 500), False))
    assert got.body == b"x" * 100 and got.cut
    (got,), _ = asked(lambda n, head: (plain(b"x" * 100), False))
    assert got.body == b"x" * 100 and not got.cut
    (got,), _ = asked(lambda n, head: (b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", False), method="HEAD", limit=0)
    assert (got.status, got.body, got.cut) == (200, b"", False)
    (got,), _ = asked(lambda n, head: (plain(b"", "404 Not Found"), False))
    assert got.status == 404


UNUSUAL = {
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n0\r\n\r\n",
    "no length": b"HTTP/1.1 200 OK\r\n\r\n12345",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n12345",
    "old": b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n12345",
    "redirect": b"HTTP/1.1 302 Found\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n",
    "continue": b"HTTP/1.1 100 Continue\r\n\r\n" + plain(b"12345"),
    "folded": b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 5\r\n\r\n12345",
    "too much": plain(b"12345") + b"6",
    "not HTTP": b"hello\r\n\r\n",
    "endless head": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000,
}


@pytest.mark.parametrize("raw", UNUSUAL.values(), ids=UNUSUAL)
def test_left_to_others(raw):
    assert asked(lambda n, head: (raw, True))[0] == [None]


def test_requests_that_are_no_requests():
    exchanges = Exchanges()
    for request in (Request("GET", "http://h/a b", [], 1), Request("GET", "http://h/", [("X", "a\r\nY: b")], 1), Request("PUT", "http://h/", [], 1)):
        assert asyncio.run(exchanges.fetch(request)) is None


@pytest.mark.parametrize("raw", [b"", b"HTTP/1.1 200 OK\r\nContent-Le", b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n123"])
def test_cut_lines(raw):
    with pytest.raises(gridhold.IOFailedError):
        asked(lambda n, head: (raw, True))


def test_an_idle_connection_that_the_server_let_go_of():
    (a, b), server = asked(lambda n, head: (plain(b"%d" % n), True), times=2)
    assert (a.body, b.body) == (b"1", b"2") and server.connections == 2


def test_silence(monkeypatch):
    monkeypatch.setattr(_exchange, "TIMEOUT_S", 0.05)
    with pytest.raises(gridhold.IOFailedError, match="timed out"):
        asked(lambda n, head: (b"HTTP/1.1 200 OK\r\n", False))


def test_nobody_there():
    with pytest.raises(gridhold.IOFailedError):
        asyncio.run(Exchanges().fetch(Request("GET", "http://127.0.0.1:1/", [], 1)))


def objects(n, head):
    method, target, _ = head.split(" ", 2)
    data = OBJECTS.get(target.lstrip("/"))
    if data is None:
        return plain(b"", "404 Not Found"), False
    wanted = next((v for k, _, v in (line.partition(": ") for line in head.splitlines()) if k.lower() == "range"), "")
    if not wanted:
        return plain(data, "200 OK", 'ETag: "a"'), False
    first, _, last = wanted.removeprefix("bytes=").partition("-")
    start = int(first) if first else max(0, len(data) - int(last))
    stop = min(len(data), int(last) + 1) if first and last else len(data)
    body = data[start:stop]
    return plain(body, "206 Partial Content", 'ETag: "a"', f"Content-Range: bytes {start}-{stop - 1}/{len(data)}"), False


def test_reads_and_leaves_nothing_behind(monkeypatch):
    """No thread asks, a cancelled read takes its connection along, and none is left open."""

    def never(request):
        raise AssertionError(request)

    monkeypatch.setattr(_loop.fetcher, "fetch", never)

    async def run():
        async with Scripted(objects) as server:
            async with await gridhold.aio.open_array(server.url) as array:
                cache = array.shard_cache()
                wanted = [(i, j) for i in range(16) for j in range(16)]
                tasks = [asyncio.ensure_future(array.retrieve_subchunk(at, shard_cache=cache)) for at in wanted]
                for task in tasks[::5]:
                    task.cancel()
                for at, task in zip(wanted, tasks):
                    if not task.cancelled() and wanted.index(at) % 5:
                        assert np.array_equal(await task, block(VALUES, at))
                assert server.connections <= 300
            assert not array._node.runtime._exchanges._idle
            await asyncio.sleep(0)

    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        asyncio.run(run())
        gc.collect()
