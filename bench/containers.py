"""Blosc2 containers: ours and python-blosc2, interleaved. usage: containers.py WORKER DATA OUT ROUNDS [CASE...]

Started by scripts/bench.sh. The array is that of packed weather data, float32, smooth with noise; chunks have 8 MiB, blocks 256 KiB.
Both read the files that python-blosc2 wrote. Each round takes each case once with each library, in turn; a ratio is the median of
those within a round. CPU is the same for the time that all threads ran: that one is not disturbed by what else the machine does.

The peer is this script with "peer" in place of WORKER: README.md has the protocol.
"""

import json
import math
import os
import resource
import statistics
import sys
import time
import zlib

import numpy as np

from results import QUICK, Results
from workers import Worker

COLS, CHUNKS, BLOCKS = 1024, (2048, 1024), (64, 1024)
ROWS = int(os.environ.get("ROWS", 16384))
AIM = 0.1 if QUICK else 0.25  # seconds that one measurement should take

# Codec, level; what decoding and encoding have to reach, in times of the peer.
CODECS = [("blosclz", 5, 0.5, 0.5), ("lz4", 5, 0.5, 0.5), ("zstd", 1, 0.5, 0.5), ("zstd", 5, 0.5, 2.0)]
FILTERS = ["shuffle", "bitshuffle"]
MEAN = 0.65  # that decoding has to reach in the geometric mean
SIZES = {"zstd": 0.06}  # how much larger ours may be
SIZE = 0.03


def make(path):
    x = np.linspace(0, 40 * np.pi, COLS, dtype="f4")
    rng = np.random.default_rng(7)
    with open(path, "wb") as f:
        for r in range(0, ROWS, 4096):
            n = min(4096, ROWS - r)
            y = (np.arange(r, r + n, dtype="f4") * 0.001)[:, None]
            noise = rng.normal(0, 0.3, (n, COLS)).astype("f4")
            f.write((np.round((280 + 20 * np.sin(x + y) * np.cos(y * 0.3) + noise) * 256) / 256).astype("<f4").tobytes())


def peer(data):
    """Does as it is told on standard input."""
    import blosc2

    field = np.fromfile(f"{data}/field.f4", "<f4").reshape(-1, COLS)
    dst = np.empty_like(field)
    dst[:] = 0

    def params(job):
        codec = blosc2.Codec[job["codec"].upper()]
        return blosc2.CParams(codec=codec, clevel=job["level"], filters=[blosc2.Filter[job["filter"].upper()]], filters_meta=[0], typesize=4, nthreads=job["threads"])

    def cpu():
        u = resource.getrusage(resource.RUSAGE_SELF)
        return u.ru_utime + u.ru_stime

    for line in sys.stdin:
        job = json.loads(line)
        blosc2.set_nthreads(job["threads"])
        dparams = blosc2.DParams(nthreads=job["threads"])
        path = f"{data}/{job['case']}.b2nd"
        if job["op"] == "write":
            b = blosc2.asarray(field, cparams=params(job), chunks=CHUNKS, blocks=BLOCKS, urlpath=path, mode="w")
            print(json.dumps({"size": os.path.getsize(path)}), flush=True)
            continue
        seconds = used = 0.0
        if job["op"] == "decode":
            with open(path, "rb") as f:
                b = blosc2.ndarray_from_cframe(f.read(), copy=True)
            b.schunk.dparams = dparams
        for _ in range(job["count"]):
            t, c = time.perf_counter(), cpu()
            if job["op"] == "encode":
                b = blosc2.asarray(field, cparams=params(job), dparams=dparams, chunks=CHUNKS, blocks=BLOCKS)
            else:
                b.get_slice_numpy(dst, ((0, 0), field.shape))
            seconds += time.perf_counter() - t
            used += cpu() - c
        print(json.dumps({"seconds": seconds, "cpu": used, "size": b.schunk.cbytes, "check": zlib.crc32(dst)}), flush=True)


def measure(ours, theirs, job, rounds):
    """The answers of both, one a round."""
    counts = {}
    for who in (ours, theirs):
        took = who.ask(**job, count=1)["seconds"]
        counts[who] = max(1, min(20, round(AIM / took)))
    pairs = []
    for turn in range(rounds):
        answers = {}
        for who in (ours, theirs) if turn % 2 == 0 else (theirs, ours):
            answers[who] = a = who.ask(**job, count=counts[who])
            a["seconds"] /= counts[who]
            a["cpu"] /= counts[who]
        if answers[ours].get("check", 0) != answers[theirs].get("check", 0) and job["op"] == "decode":
            raise RuntimeError(f"{job}: what was decoded differs")
        pairs.append((answers[ours], answers[theirs]))
    return pairs


def copies(nbytes, rounds):
    """GB a second that one thread copies, one a round."""
    src, dst, speeds = np.ones(nbytes, "u1"), np.empty(nbytes, "u1"), []
    dst[:] = src
    for _ in range(rounds):
        began = time.perf_counter()
        dst[:] = src
        speeds.append(nbytes / (time.perf_counter() - began) / 1e9)
    return speeds


def main():
    worker, data, out, rounds, only = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5:]
    os.makedirs(data, exist_ok=True)
    if not os.path.exists(f"{data}/field.f4") or os.path.getsize(f"{data}/field.f4") != ROWS * COLS * 4:
        make(f"{data}/field.f4")
    nbytes = ROWS * COLS * 4
    theirs, ours = Worker(sys.executable, __file__, "peer", data), Worker(worker, data)
    lines = [f"Blosc2, {nbytes >> 20} MiB of float32; GB a second; {rounds} rounds, medians; ratios are ours to python-blosc2's (lowest to highest)", ""]
    lines += ["| work | threads | ours | python-blosc2 | ratio | ratio of CPU | size | to reach | |", "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |"]
    results, decoded, by_threads, figures = [], [], {}, Results(out, "containers")
    try:
        for codec, level, *goals in CODECS:
            for name in FILTERS:
                case = f"{codec}{level}-{name}"
                if only and not any(o in case for o in only):
                    continue
                job = {"case": case, "codec": codec, "filter": name, "level": level}
                theirs.ask(op="write", threads=2, **job)
                for op, goal in zip(("decode", "encode"), goals):
                    for threads in (1, 2):
                        pairs = measure(ours, theirs, {"op": op, "threads": threads, **job}, rounds)
                        each = [b["seconds"] / a["seconds"] for a, b in pairs]
                        ratio = statistics.median(each)
                        cpu = statistics.median(b["cpu"] / a["cpu"] for a, b in pairs) if pairs[0][0]["cpu"] else None
                        size = pairs[0][0]["size"] / pairs[0][1]["size"]
                        speed = [statistics.median(nbytes / p[i]["seconds"] / 1e9 for p in pairs) for i in (0, 1)]
                        small = op == "decode" or size <= 1 + SIZES.get(codec, SIZE)
                        verdict = "reached" if ratio >= goal and small else "**missed**"
                        if op == "decode":
                            decoded.append(ratio)
                            by_threads.setdefault(threads, []).append(each)
                        figures.add(
                            f"{op} {case}, {threads} thread{'s' * (threads > 1)}", *([nbytes / p[i]["seconds"] / 1e9 for p in pairs] for i in (0, 1)),
                            peer="python-blosc2", unit="GB/s", cpu=cpu and [cpu], spoilt="" if small else f"{100 * (size - 1):.1f} % larger",
                            note=f"{size:.3f} of its size" if op == "encode" else "",
                            limit=("memcpy", copies(nbytes, rounds)) if (op, threads) == ("decode", 1) else None,
                        )
                        results.append({"case": case, "op": op, "threads": threads, "ratio": ratio, "each": each, "cpu": cpu, "size": size, "goal": goal, "gb_per_second": speed})
                        told = f"{size:.3f}" if op == "encode" else ""
                        lines.append(
                            f"| {op} {case} | {threads} | {speed[0]:.2f} | {speed[1]:.2f} | {ratio:.2f} ({min(each):.2f} to {max(each):.2f}) | "
                            f"{cpu or 0:.2f} | {told} | {goal} | {verdict} |"
                        )
                        print(lines[-1], file=sys.stderr)
    finally:
        ours.close()
        theirs.close()
    mean = math.exp(statistics.mean(math.log(r) for r in decoded))
    lines.append(f"| decode, geometric mean | | | | {mean:.2f} | | | {MEAN} | {'reached' if mean >= MEAN else '**missed**'} |")
    for threads, cases in by_threads.items():
        means = [math.exp(statistics.mean(map(math.log, turn))) for turn in zip(*cases)]
        figures.add(f"decode, geometric mean, {threads} thread{'s' * (threads > 1)}", means, ratio=means, peer="python-blosc2")
    text = "\n".join(lines) + "\n"
    with open(f"{out}/containers.md", "w") as f:
        f.write(text)
    with open(f"{out}/containers.json", "w") as f:
        json.dump(results, f, indent=1)
    print(text)


if sys.argv[1] == "peer":
    peer(sys.argv[2])
else:
    main()
