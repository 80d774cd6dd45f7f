"""Warm epochs over a mapped scratch, from Python: ours and vitrio. usage: epochs.py DATA OUT ROUNDS

5,000 images of 128 x 128 float32 in five of the stacks that images.py makes, 256 to a batch in random order, from a scratch file that is
full; each library in a process of its own, an epoch in turn. Both do the same: "into one array" reads batch after batch into the same array of the
caller's, with loaders of one worker and of two, and nothing is read ahead; "the loader's own batches" takes what each library's loader of epochs
gives out, read ahead by it as it does if nobody says how (ours by one batch, vitrio's by four), with two workers. Every image is checked by its
first pixel, in the time that is measured. The table is OUT/epochs.md.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import time

from results import Results

PER = int(os.environ.get("IMAGES", 20_000)) // 20  # of one stack, see images.py
IMAGES, SIDE, RUN, BATCH, GOAL = min(5000, 20 * PER), 128, 16, 256, 1.0
WAYS = {  # what the table calls them: how, and with how many workers
    "1 thread": ("into one array", 1),
    "2 threads": ("into one array", 2),
    "2 threads, the loader's own batches": ("its own", 2),
}


def used():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


def places(module, data):
    return [module.ImageLocation(f"{data}/stacks/stack_{i // PER:03d}.mrcs", i % PER) for i in range(IMAGES)]


def batches(order):
    return [order[k : k + BATCH] for k in range(0, len(order), BATCH)]


def ours(data, path):
    import numpy as np
    from gridhold import scratch

    locations = places(scratch, data)
    held = scratch.create_mapped_file_image_scratch(locations, path, RUN)
    scratch.prefetch_scratch_async(held).result()
    load = {n: scratch.loader(held, workers=n) for n in (1, 2)}
    out = np.zeros((BATCH, SIDE, SIDE), "f4")

    def epoch(seed, how, workers):
        bad = 0
        if how == "its own":
            for batch in load[workers].batches(locations, BATCH, shuffle=True, seed=seed):
                bad += int((batch.images[:, 0, 0] != batch.rows).sum())
            return bad
        for rows in batches(np.random.default_rng(seed).permutation(IMAGES)):
            load[workers].read_batch([locations[i] for i in rows], out[: len(rows)])
            bad += int((out[: len(rows), 0, 0] != rows).sum())
        return bad

    return epoch


def theirs(data, path):
    import numpy as np
    import vitrio

    locations = places(vitrio, data)
    held = vitrio.create_mapped_file_image_scratch(locations, path, RUN)
    vitrio.prefetch_scratch_async(held, locations, vitrio.ThreadPoolExecutor(2)).get()
    load = {n: vitrio.loader(workers=n, cache=64, scratch=held) for n in (1, 2)}
    images = vitrio.data.Dataset({"images": vitrio.data.ImageSource(locations)})
    out = np.zeros((BATCH, SIDE, SIDE), "f4")

    def epoch(seed, how, workers):
        bad = 0
        if how == "its own":
            for batch in vitrio.data.DataLoader(images, BATCH, shuffle=True, seed=seed, loader=load[workers]):
                bad += int((batch["images"][:, 0, 0] != batch["index"]).sum())
            return bad
        for rows in batches(np.random.default_rng(seed).permutation(IMAGES)):
            vitrio.read_batch_async(load[workers], out[: len(rows)], [locations[i] for i in rows]).get()
            bad += int((out[: len(rows), 0, 0] != rows).sum())
        return bad

    return epoch


def work(who, data, path):
    epoch = {"gridhold": ours, "vitrio": theirs}[who](data, path)
    for line in sys.stdin:
        seed, *way = json.loads(line)
        began, before = time.perf_counter(), used()
        bad = epoch(seed, *way)
        print(json.dumps([time.perf_counter() - began, used() - before, bad]), flush=True)


def main():
    if sys.argv[1] == "work":
        work(*sys.argv[2:])
        return
    data, out, rounds = os.path.abspath(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    workers, took = {}, {}
    try:
        for who in ("gridhold", "vitrio"):
            path = f"{data}/epochs-{who}.scratch"
            if os.path.exists(path):
                os.remove(path)
            command = [sys.executable, __file__, "work", who, data, path]
            workers[who] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for turn in range(2 * rounds + 1):
            for who in ("gridhold", "vitrio") if turn % 2 else ("vitrio", "gridhold"):
                for name, way in WAYS.items():
                    workers[who].stdin.write(json.dumps([turn, *way]) + "\n")
                    workers[who].stdin.flush()
                    seconds, cpu, bad = json.loads(workers[who].stdout.readline())
                    if bad:
                        raise RuntimeError(f"{who}: {bad} wrong images")
                    if turn:  # the first warms up
                        took.setdefault((who, name), []).append((seconds, cpu))
    finally:
        for who, worker in workers.items():
            worker.stdin.close()
            worker.wait()
            worker.stdout.close()
            os.remove(f"{data}/epochs-{who}.scratch")
    lines = [f"Warm epochs from Python over a full mapped scratch, {IMAGES} images of {SIDE} x {SIDE} float32; {2 * rounds} epochs each, medians", ""]
    lines += ["| | ours | vitrio | ratio | ratio of CPU | to reach | |", "| --- | ---: | ---: | ---: | ---: | ---: | --- |"]
    figures = Results(out, "epochs")
    for name in WAYS:
        pairs = list(zip(took["gridhold", name], took["vitrio", name]))
        ratio = statistics.median(b[0] / a[0] for a, b in pairs)
        speed = [f"{IMAGES * SIDE * SIDE * 4 / statistics.median(p[k][0] for p in pairs) / 1e9:.2f} GB/s" for k in (0, 1)]
        cpu = statistics.median(b[1] / a[1] for a, b in pairs)
        rates = [[IMAGES * SIDE * SIDE * 4 / p[k][0] / 1e9 for p in pairs] for k in (0, 1)]
        figures.add(f"warm epochs from Python, {name}", *rates, peer="vitrio", unit="GB/s", goal=GOAL, cpu=[cpu])
        verdict = "reached" if ratio >= GOAL else "**missed**"
        lines.append(f"| {name} | {speed[0]} | {speed[1]} | {ratio:.2f} | {cpu:.2f} | {GOAL} | {verdict} |")
    text = "\n".join(lines) + "\n"
    with open(f"{out}/epochs.md", "w") as f:
        f.write(text)
    print(text)


main()
