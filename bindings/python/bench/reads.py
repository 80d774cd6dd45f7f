"""Random warm subchunk reads a second of a local array, as JSON.

    python bench/reads.py DIR [SECONDS]

DIR is a sharded array. Reads go round all subchunks of up to 16 shards, whose
indexes are in the cache. "fast" decodes on this host, "strict" in the guest.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import threading
import time

import gridhold

IN_FLIGHT = 16


def some_indices(array: gridhold.Array, count: int = 20000) -> list[tuple[int, ...]]:
    rng = random.Random(7)
    per_shard = array.info["chunks_per_shard"]
    shards = [[rng.randrange(n) for n in array.chunk_grid_shape] for _ in range(16)]
    found = []
    while len(found) < count:
        shard = rng.choice(shards)
        index = tuple(s * n + rng.randrange(n) for s, n in zip(shard, per_shard))
        if all(i < n for i, n in zip(index, array.subchunk_grid_shape)):
            found.append(index)
    return found


def on_threads(array: gridhold.Array, count: int, seconds: float) -> float:
    cache = array.shard_cache()
    indices = some_indices(array)
    for index in indices[:2000]:
        array.retrieve_subchunk(index, shard_cache=cache)
    done = [0] * count
    stop = time.perf_counter() + seconds

    def read(me: int) -> None:
        n = 0
        while time.perf_counter() < stop:
            for index in indices[me :: count][:500]:
                array.retrieve_subchunk(index, shard_cache=cache)
                n += 1
        done[me] = n

    begin = time.perf_counter()
    threads = [threading.Thread(target=read, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done) / (time.perf_counter() - begin)


async def in_flight(source: str, seconds: float, strict: bool) -> float:
    async with await gridhold.aio.open_array(source, strict=strict) as array:
        cache = array.shard_cache()
        with gridhold.open_array(source) as blocking:
            indices = some_indices(blocking)
        for index in indices[:2000]:
            await array.retrieve_subchunk(index, shard_cache=cache)
        stop = time.perf_counter() + seconds

        async def read(me: int) -> int:
            n = 0
            while time.perf_counter() < stop:
                for index in indices[me::IN_FLIGHT][:100]:
                    await array.retrieve_subchunk(index, shard_cache=cache)
                    n += 1
            return n

        begin = time.perf_counter()
        done = await asyncio.gather(*(read(i) for i in range(IN_FLIGHT)))
        return sum(done) / (time.perf_counter() - begin)


def main() -> None:
    source = sys.argv[1]
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 2.0
    out = {}
    for name, strict in (("fast", False), ("strict", True)):
        with gridhold.open_array(source, strict=strict) as array:
            out[name] = {
                "threads_1": round(on_threads(array, 1, seconds)),
                "threads_2": round(on_threads(array, 2, seconds)),
                f"asyncio_{IN_FLIGHT}": round(asyncio.run(in_flight(source, seconds, strict))),
            }
    print(json.dumps(out, indent=2))


if __name__ == "__main__":
    main()
