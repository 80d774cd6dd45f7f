"""Rows of 4 KiB of Blosc2 arrays, in random order: ours and python-blosc2. usage: rows.py WORKER DATA OUT ROUNDS [CASE...]

The array is that of containers.py, LZ4 at level 5, shuffled, in files that python-blosc2 wrote: with the chunks and blocks that it chooses, and
with blocks of 16 rows. Both read the same rows, one at a time, one thread, each row into memory of its own; the times are those that the process
ran, so they are not disturbed by what else the machine does. Ratios are medians of those within a round.

The peer is this script with "peer" in place of WORKER.
"""

import json
import os
import resource
import statistics
import sys
import time
import zlib

import numpy as np

from results import Results
from workers import Worker

COLS = 1024
ROWS = int(os.environ.get("ROWS", 32768))
READS = 1500
LAYOUTS = {"its own blocks": {}, "blocks of 16 rows": {"chunks": (4096, COLS), "blocks": (16, COLS)}}
MODES = ("plain", "locked", "mapped")


def field():
    x = np.linspace(0, 40 * np.pi, COLS, dtype="f4")
    rng = np.random.default_rng(7)
    a = np.empty((ROWS, COLS), "f4")
    for r in range(0, ROWS, 4096):
        n = min(4096, ROWS - r)
        y = (np.arange(r, r + n, dtype="f4") * 0.001)[:, None]
        noise = rng.normal(0, 0.3, (n, COLS)).astype("f4")
        a[r : r + n] = np.round((280 + 20 * np.sin(x + y) * np.cos(y * 0.3) + noise) * 256) / 256
    return a


def path(data, layout):
    return os.path.abspath(f"{data}/rows-{ROWS}-{layout.replace(' ', '-')}.b2nd")


def write(data):
    import blosc2

    missing = [layout for layout in LAYOUTS if not os.path.exists(path(data, layout))]
    if not missing:
        return
    a = field()
    for layout in missing:
        params = blosc2.CParams(codec=blosc2.Codec.LZ4, clevel=5, typesize=4, filters=[blosc2.Filter.SHUFFLE], filters_meta=[0])
        blosc2.asarray(a, urlpath=path(data, layout) + ".new", mode="w", cparams=params, **LAYOUTS[layout])
        os.rename(path(data, layout) + ".new", path(data, layout))


def cpu():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


def peer():
    import blosc2

    blosc2.set_nthreads(1)
    ways = {"plain": {"mode": "r"}, "locked": {"mode": "r", "locking": True}, "mapped": {"mmap_mode": "r"}}
    for line in sys.stdin:
        job = json.loads(line)
        answer = {"seconds": 0, "cpu": 0, "check": 0}
        if job["op"] == "open":
            b = blosc2.open(job["path"], dparams=blosc2.DParams(nthreads=1), **ways[job["mode"]])
        else:
            start, used = time.perf_counter(), cpu()
            read = [b[i] for i in job["rows"]]
            answer["seconds"], answer["cpu"] = time.perf_counter() - start, cpu() - used
            for row in read:
                answer["check"] = zlib.crc32(row, answer["check"])
        print(json.dumps(answer), flush=True)


def main():
    worker, data, out, rounds, only = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5:]
    os.makedirs(data, exist_ok=True)
    write(data)
    figures = Results(out, "rows")
    sides = [Worker(worker), Worker(sys.executable, __file__, "peer")]
    rng = np.random.default_rng(3)
    lines = ["| rows of 4 KiB, us of processor time each | gridhold | python-blosc2 | ratio |", "| --- | ---: | ---: | ---: |"]
    try:
        for layout in LAYOUTS:
            for mode in MODES:
                case = f"{layout}, {mode}"
                if only and not any(word in case for word in only):
                    continue
                for side in sides:
                    side.ask(op="open", path=path(data, layout), mode=mode)
                    side.ask(op="rows", rows=[int(i) for i in rng.integers(0, ROWS, 50)])
                took = ([], [])
                for turn in range(rounds):
                    rows, checks = [int(i) for i in rng.integers(0, ROWS, READS)], set()
                    for which in (0, 1) if turn % 2 == 0 else (1, 0):
                        a = sides[which].ask(op="rows", rows=rows)
                        took[which].append((a["cpu"] or a["seconds"]) / READS)
                        checks.add(a["check"])
                    if len(checks) > 1:
                        raise SystemExit(f"{case}: what was read differs")
                ratios = [b / a for a, b in zip(*took)]
                ours, theirs = ([1 / t for t in times] for times in took)
                # The first of them is the one that is held to a goal.
                what = "rows of 4 KiB" if case == "its own blocks, plain" else f"rows of 4 KiB, {case}"
                figures.add(what, ours, theirs, peer="python-blosc2", unit="rows/s")
                cells = [f"{statistics.median(t) * 1e6:.1f} ({min(t) * 1e6:.1f} to {max(t) * 1e6:.1f})" for t in took]
                lines.append(f"| {case} | {cells[0]} | {cells[1]} | {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |")
                print(lines[-1], file=sys.stderr)
    finally:
        for side in sides:
            side.close()
    text = "\n".join(lines) + "\n"
    with open(f"{out}/rows.md", "w") as f:
        f.write(text)
    print(text)


if sys.argv[1] == "peer":
    peer()
else:
    main()
