"""Random subchunks from a server that takes 5 ms for each request, in one event loop. usage: remote.py DATA OUT ROUNDS

256 subchunks in 16 shards, whose indexes are not known: 272 requests, 16 reads in flight. The server is a process of
its own, this script with "serve". Ours is to take at most 0.15 s; each round also asks for the same with zarrista's
AsyncShardCache, over obstore. The table is OUT/remote.md.
"""

import asyncio
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time

from results import Results

DELAY, SHARDS, READS, IN_FLIGHT, GOAL = 0.005, 16, 256, 16, 0.15


class Server(asyncio.Protocol):
    """Just so much of HTTP as it takes: GET and HEAD, one range, a tag."""

    root, requests = "", 0

    def connection_made(self, transport):
        self.transport, self.got = transport, b""

    def data_received(self, data):
        self.got += data
        while (end := self.got.find(b"\r\n\r\n")) >= 0:
            head, self.got = self.got[:end].decode("latin-1"), self.got[end + 4 :]
            asyncio.get_running_loop().call_later(DELAY, self.answer, head)

    def answer(self, head):
        Server.requests += 1
        line, *rest = head.split("\r\n")
        method, target, _ = line.split(" ")
        if target == "/requests":
            self.send("200 OK", str(Server.requests).encode(), [], False)
            return
        fields = {k.lower(): v.strip() for k, _, v in (r.partition(":") for r in rest)}
        try:
            with open(f"{self.root}{target}", "rb") as f:
                size, wanted = os.fstat(f.fileno()).st_size, fields.get("range", "").removeprefix("bytes=")
                first, _, last = wanted.partition("-")
                start = int(first) if first else max(0, size - int(last)) if wanted else 0
                stop = min(size, int(last) + 1) if first and last else size
                f.seek(start)
                body = f.read(stop - start)
        except (FileNotFoundError, IsADirectoryError):
            self.send("404 Not Found", b"", [], False)
            return
        about = [f'ETag: "{size:x}"', "Last-Modified: Mon, 30 Nov 2026 00:00:00 GMT", "Accept-Ranges: bytes"]
        if wanted:
            about.append(f"Content-Range: bytes {start}-{stop - 1}/{size}")
        self.send("206 Partial Content" if wanted else "200 OK", body, about, method == "HEAD")

    def send(self, status, body, about, bare):
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *about, "", ""]
        self.transport.write("\r\n".join(lines).encode() + (b"" if bare else body))


async def serve(root):
    Server.root = root
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def places():
    rng = random.Random(7)
    shards = rng.sample([(i, j) for i in range(8) for j in range(8)], SHARDS)
    return [(i * 32 + rng.randrange(32), j * 32 + rng.randrange(32)) for i, j in shards for _ in range(READS // SHARDS)]


async def gridhold(url, picks):
    import gridhold.aio

    async with await gridhold.aio.open_array(url) as array:
        cache = array.shard_cache()
        return await timed(lambda at: array.retrieve_subchunk(at, shard_cache=cache), picks, lambda block: block)


async def zarrista(url, picks):
    from obstore.store import HTTPStore
    from zarrista import AsyncArray

    array = await AsyncArray.open(HTTPStore(url, client_options={"allow_http": True}), "/")
    cache = array.shard_cache()
    return await timed(lambda at: array.retrieve_subchunk(at, shard_cache=cache), picks, lambda block: block.to_numpy())


async def timed(read, picks, array_of):
    """Seconds of wall and of processor, and the sum of the first elements."""
    order = random.Random(3).sample(picks, len(picks))
    firsts = []

    async def worker(mine):
        for at in mine:
            firsts.append(int(array_of(await read(at))[0, 0]))

    began, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    await asyncio.gather(*(worker(order[i::IN_FLIGHT]) for i in range(IN_FLIGHT)))
    took, now = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
    return took, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime, sum(firsts)


def requests(port):
    import urllib.request

    with urllib.request.urlopen(f"http://127.0.0.1:{port}/requests") as r:
        return int(r.read())


def main():
    if sys.argv[1] == "serve":
        asyncio.run(serve(sys.argv[2]))
    data, out, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    server = subprocess.Popen([sys.executable, __file__, "serve", data], stdout=subprocess.PIPE, text=True)
    try:
        port = int(server.stdout.readline())
        url, picks = f"http://127.0.0.1:{port}/u16_zstd", places()
        took = {"gridhold": [], "zarrista": []}
        asked, sums = {}, set()
        for turn in range(rounds + 1):
            for read in (gridhold, zarrista) if turn % 2 else (zarrista, gridhold):
                before = requests(port)
                seconds, cpu, total = asyncio.run(read(url, picks))
                sums.add(total)
                asked[read.__name__] = requests(port) - before - 1
                if turn:  # the first warms up
                    took[read.__name__].append((seconds, cpu))
        if len(sums) != 1:
            raise RuntimeError(f"they read different numbers: {sums}")
    finally:
        server.kill()
        server.wait()
    lines = [f"{READS} subchunks in {SHARDS} shards over HTTP, {DELAY * 1000:.0f} ms a request, {IN_FLIGHT} in flight; {rounds} rounds", ""]
    lines += ["| who | seconds, median (lowest to highest) | of processor | requests, with those to open it | to reach |", "| --- | ---: | ---: | ---: | --- |"]
    for who, each in took.items():
        walls, cpus = zip(*each)
        middle = statistics.median(walls)
        verdict = f"{GOAL} {'reached' if middle <= GOAL else '**missed**'}" if who == "gridhold" else ""
        lines.append(f"| {who} | {middle:.3f} ({min(walls):.3f} to {max(walls):.3f}) | {statistics.median(cpus):.3f} | {asked[who]} | {verdict} |")
    rates = [[READS / wall for wall, _ in each] for each in took.values()]
    Results(out, "remote").add(f"{READS} subchunks over HTTP, {IN_FLIGHT} in flight", *rates, peer="zarrista", unit="reads/s", cpu=[b[1] / a[1] for a, b in zip(*took.values())])
    text = "\n".join(lines) + "\n"
    with open(f"{out}/remote.md", "w") as f:
        f.write(text)
    with open(f"{out}/remote.json", "w") as f:
        json.dump(took, f)
    print(text)


main()
