"""Replacing one chunk of a large frame: ours and python-blosc2. usage: update.py WORKER DATA OUT ROUNDS

The frame has 128 chunks of 4 MB (int32, LZ4 at level 1, 384 MB packed) and is written by python-blosc2; each side has a copy of its own, in memory
(tmpfs) where there is room, so that nobody waits for a disk that is at what the other wrote. Both pack with as many threads as there are processors. A round
replaces the first, a middle and the last chunk with one that packs to another size. python-blosc2 moves all that lies behind; ours writes the
chunk where there is room and commits. At the end python-blosc2 reads both frames, which have to hold the same.

The peer is this script with "peer" in place of WORKER.
"""

import json
import os
import shutil
import statistics
import sys
import tempfile
import time

import numpy as np

from results import Results
from workers import Worker

CHUNKS, ITEMS, NEW = 128, 1_000_000, 6
MEMORY, ROOM = "/dev/shm", 3 << 30  # what both copies and what is moved in them take
PLACES = {"the first chunk": 0, "a chunk in the middle": CHUNKS // 2, "the last chunk": CHUNKS - 1}


def make(data):
    import blosc2

    path, rng = f"{data}/update.b2frame", np.random.default_rng(1)
    if not os.path.exists(path):
        s = blosc2.SChunk(chunksize=4 * ITEMS, urlpath=path + ".new", mode="w", cparams=blosc2.CParams(typesize=4, clevel=1, codec=blosc2.Codec.LZ4))
        for _ in range(CHUNKS):
            s.append_data(rng.integers(0, 1 << 24, ITEMS).astype("i4"))
        os.rename(path + ".new", path)
    for k in range(NEW):
        rng.integers(0, 1 << (8 + 3 * k), ITEMS).astype("i4").tofile(f"{data}/update-{k}.i4")
    return path


def peer():
    import blosc2

    s = None
    for line in sys.stdin:
        job = json.loads(line)
        seconds = 0.0
        if job["op"] == "open":
            s = blosc2.open(job["path"], mode="a")
        else:
            chunk = np.fromfile(job["data"], "i4")
            began = time.perf_counter()
            s.update_data(job["chunk"], chunk, copy=True)
            seconds = time.perf_counter() - began
        print(json.dumps({"seconds": seconds}), flush=True)


def folder(data):
    """Where the copies go, and whether that is memory."""
    memory = os.path.isdir(MEMORY) and shutil.disk_usage(MEMORY).free > ROOM
    return tempfile.mkdtemp(prefix="gridhold-update-", dir=MEMORY if memory else data), memory


def agree(paths):
    import blosc2

    frames = [blosc2.open(path, mode="r") for path in paths]
    for k in (0, 1, *PLACES.values()):
        if len({s.decompress_chunk(k) for s in frames}) != 1:
            raise RuntimeError(f"chunk {k} differs")


def main():
    worker, data, out, rounds = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    os.makedirs(data, exist_ok=True)
    frame = make(data)
    figures = Results(out, "update")
    sides = {"gridhold": Worker(worker), "python-blosc2": Worker(sys.executable, __file__, "peer")}
    copies, memory = folder(data)
    paths = {who: f"{copies}/{who}.b2frame" for who in sides}
    took = {(place, who): [] for place in PLACES for who in sides}
    try:
        for who, side in sides.items():
            shutil.copyfile(frame, paths[who])
            side.ask(op="open", path=paths[who])
        for turn in range(rounds):
            new = f"{data}/update-{turn % NEW}.i4"
            for place, chunk in PLACES.items():
                for who in list(sides) if turn % 2 == 0 else list(sides)[::-1]:
                    if not memory:
                        os.sync()
                    took[place, who].append(sides[who].ask(op="update", chunk=chunk, data=new)["seconds"])
        agree(paths.values())
    finally:
        for side in sides.values():
            side.close()
        shutil.rmtree(copies)
    lines = ["| update of one chunk of 384 MB, ms | gridhold | python-blosc2 | ratio |", "| --- | ---: | ---: | ---: |"]
    for place in PLACES:
        ours, theirs = took[place, "gridhold"], took[place, "python-blosc2"]
        figures.add(f"update of {place}", [1 / s for s in ours], [1 / s for s in theirs], peer="python-blosc2", unit="/s")
        ratios = [b / a for a, b in zip(ours, theirs)]
        lines.append(f"| {place} | {statistics.median(ours) * 1e3:.2f} | {statistics.median(theirs) * 1e3:.1f} | {statistics.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f}) |")
    text = "\n".join(lines) + "\n"
    with open(f"{out}/update.md", "w") as f:
        f.write(text)
    print(text)


if sys.argv[1] == "peer":
    peer()
else:
    main()
