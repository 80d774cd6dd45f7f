"""Reads subchunks or whole shards as it is told on standard input. usage: reads.py WHO DIR

WHO is gridhold, gridhold-bare (without the decoders of the extra "fast"),
gridhold-batches (256 subchunks a call), zarrista, zarrista-uncached,
zarr-python, tensorstore or zarrs; the last reads whole shards only. libzstd
is no reader but a limit: it decodes the frames, from memory, in one call of C.
README.md has the protocol.
"""

import json
import sys
import threading
import time

EDGE, SHARD = 256, 32  # of the grid of subchunks, and of a shard in it
BATCH = 256
FAST = ("google_crc32c", "numcodecs", "zstandard")  # what the extra brings


def gridhold(path):
    import gridhold

    array = gridhold.open_array(path)
    cache = array.shard_cache()
    return lambda at: array.retrieve_subchunk(at, shard_cache=cache)


def gridhold_bare(path):
    for name in FAST:
        sys.modules[name] = None  # as if it were not installed
    return gridhold(path)


def gridhold_batches(path):
    import gridhold

    array = gridhold.open_array(path)
    cache = array.shard_cache()
    return lambda some: array.retrieve_subchunks(some, shard_cache=cache)


def tensorstore(path):
    import tensorstore

    array = tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": path + "/"}}).result()
    return lambda at: array[at[0] * 32 : at[0] * 32 + 32, at[1] * 32 : at[1] * 32 + 32].read().result()


def zarrista(path, cached=True):
    from zarrista import Array
    from zarrista.store import FilesystemStore

    array = Array.open(FilesystemStore(path), "/")
    if not cached:
        return lambda at: array.retrieve_subchunk(at).to_numpy()
    cache = array.shard_cache()
    return lambda at: array.retrieve_subchunk(at, shard_cache=cache).to_numpy()


def zarr_python(path):
    import zarr

    array = zarr.open_array(path, mode="r")
    return lambda at: array[at[0] * 32 : at[0] * 32 + 32, at[1] * 32 : at[1] * 32 + 32]


READERS = {
    "gridhold": gridhold,
    "gridhold-bare": gridhold_bare,
    "gridhold-batches": gridhold_batches,
    "tensorstore": tensorstore,
    "zarrista": zarrista,
    "zarrista-uncached": lambda path: zarrista(path, cached=False),
    "zarr-python": zarr_python,
}


def zarrista_shards(path):
    from zarrista import Array
    from zarrista.store import FilesystemStore

    array = Array.open(FilesystemStore(path), "/")
    return lambda at: array.retrieve_chunk(at).to_numpy()


def zarrs_shards(path):
    import zarr

    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
    array = zarr.open_array(path, mode="r")
    return lambda at: array[at[0] * 1024 : at[0] * 1024 + 1024, at[1] * 1024 : at[1] * 1024 + 1024]


def tensorstore_shards(path):
    import tensorstore

    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": path + "/"}}
    array = tensorstore.open(spec).result()
    return lambda at: array[at[0] * 1024 : at[0] * 1024 + 1024, at[1] * 1024 : at[1] * 1024 + 1024].read().result()


def cold(path):
    """What makes a reader whose cache knows nothing."""
    from zarrista import Array
    from zarrista.store import FilesystemStore

    array = Array.open(FilesystemStore(path), "/")

    def anew():
        cache = array.shard_cache()
        return lambda at: array.retrieve_subchunk(at, shard_cache=cache).to_numpy()

    return anew


def frames(path, picks, whole):
    """The stored bytes of subchunks, as the index of each shard says."""
    import numpy as np

    shards, found = {}, []
    for i, j in picks:
        at = (i, j) if whole else (i // SHARD, j // SHARD)
        if at not in shards:
            with open(f"{path}/c/{at[0]}/{at[1]}", "rb") as f:
                stored = f.read()
            shards[at] = stored, np.frombuffer(stored[-4 - 16 * SHARD * SHARD : -4], "<u8").reshape(-1, 2).tolist()
        stored, index = shards[at]
        for k in range(SHARD * SHARD) if whole else [i % SHARD * SHARD + j % SHARD]:
            found.append(stored[index[k][0] : index[k][0] + index[k][1]])
    return found


def libzstd(path, picks, whole, threads):
    """Seconds that the C library takes for them, and the sum of their first elements."""
    import zstandard

    if whole:
        picks = picks[:64]
    given = frames(path, picks, whole)
    context = zstandard.ZstdDecompressor()
    began = time.perf_counter()
    out = context.multi_decompress_to_buffer(given, threads=threads if threads > 1 else 0)
    took = time.perf_counter() - began
    first = range(0, len(given), SHARD * SHARD if whole else 1)
    return took, sum(int.from_bytes(out[k].tobytes()[:2], "little") for k in first), len(picks)


WHOLE = {"zarrista": zarrista_shards, "zarrs": zarrs_shards, "tensorstore": tensorstore_shards}


def measure(read, picks, threads, batch):
    """Seconds from the moment all threads are ready to the last one's end, those of processor, and the sum. ``batch``: how many are read in a call; 0: one, alone."""
    ready = threading.Barrier(threads + 1)
    ends, sums = [0.0] * threads, [0] * threads

    def work(t):
        mine = picks[t::threads]
        some = [mine[i : i + batch] for i in range(0, len(mine), batch)] if batch else []
        ready.wait()
        total = 0
        for at in () if batch else mine:
            total += int(read(at)[0, 0])
        for at in some:
            for block in read(at):
                total += int(block[0, 0])
        sums[t], ends[t] = total, time.perf_counter()

    workers = [threading.Thread(target=work, args=(t,)) for t in range(threads)]
    for w in workers:
        w.start()
    ready.wait()
    began, before = time.perf_counter(), time.process_time()
    for w in workers:
        w.join()
    return max(ends) - began, time.process_time() - before, sum(sums)


def main():
    who, directory = sys.argv[1:]
    with open(f"{directory}/picks.json") as f:
        picks = [tuple(p) for p in json.load(f)]
    readers = {}
    batch = BATCH if who == "gridhold-batches" else 0
    for line in sys.stdin:
        job = json.loads(line)
        whole = job.get("whole", False)
        mine = picks[: job["count"]]
        if whole:
            mine = [(i // SHARD, j // SHARD) for i, j in mine]
        if who == "libzstd":
            seconds, check, count = libzstd(f"{directory}/{job['array']}", mine, whole, job["threads"])
            print(json.dumps({"seconds": seconds * len(mine) / count, "check": check}), flush=True)
            continue
        if job.get("cold"):
            if "cold" not in readers:
                readers["cold"] = cold(f"{directory}/{job['array']}")
            seconds, cpu, check = measure(readers["cold"](), [(i, 0) for i in range(job["count"])], job["threads"], 0)
            print(json.dumps({"seconds": seconds, "cpu": cpu, "check": check}), flush=True)
            continue
        read = readers.get((job["array"], whole))
        if read is None:
            make = WHOLE[who] if whole else READERS[who]
            read = readers[job["array"], whole] = make(f"{directory}/{job['array']}")
            if whole:
                read((0, 0))
            elif who != "zarr-python":  # which keeps no index
                for i in range(0, EDGE, SHARD):
                    for j in range(0, EDGE, SHARD):
                        read([(i, j)] if batch else (i, j))
        seconds, cpu, check = measure(read, mine, job["threads"], 0 if whole else batch)
        print(json.dumps({"seconds": seconds, "cpu": cpu, "check": check}), flush=True)


main()
