"""Image scratches: ours and vitrio, interleaved. usage: images.py WORKER DATA OUT ROUNDS [CASE...]

Started by scripts/bench.sh. 20,000 images of 128 x 128 float32 in 20 stacks are read in random order, 256 at a time, by two workers, for three
epochs: from the stacks, with a scratch in memory, and with one in a mapped file. Every image is checked by its first pixel. Each round takes each
case once with each library, in turn, each in a process of its own; a ratio is the median of those within a round. CPU is the same for the time
that all threads ran: that one is not disturbed by what else the machine does.

The peer is this script with "peer" in place of WORKER.
"""

import glob
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from results import QUICK, Results

IMAGES, SIDE, STACKS, RUN, BATCH, WORKERS, EPOCHS = int(os.environ.get("IMAGES", 20_000)), 128, 20, 16, 256, 2, 3
FILES, MANY = 2_000, 3_000  # small stacks for resuming; stacks of 1,000 images for the locations
DELAY = 1000  # microseconds that each open of a file takes, for resuming


def header(nx, ny, nz):
    h = np.zeros(256, "<i4")
    h[:4] = nx, ny, nz, 2
    h[7:10] = nx, ny, 1
    h[16:19] = 1, 2, 3
    h[27] = 20140
    h[52] = int.from_bytes(b"MAP ", "little")
    h[53] = int.from_bytes(b"DD\0\0", "little")
    return h.tobytes()


def make(data):
    """Writes what is not there yet."""
    rng = np.random.default_rng(7)
    per = IMAGES // STACKS
    os.makedirs(f"{data}/stacks", exist_ok=True)
    for k in range(STACKS):
        path = f"{data}/stacks/stack_{k:03d}.mrcs"
        if os.path.exists(path) and os.path.getsize(path) == 1024 + per * SIDE * SIDE * 4:
            continue
        a = rng.standard_normal((per, SIDE, SIDE), dtype="f4")
        a[:, 0, 0] = np.arange(per) + k * per
        with open(path, "wb") as f:
            f.write(header(SIDE, SIDE, per) + a.tobytes())
    os.makedirs(f"{data}/small", exist_ok=True)
    for k in range(FILES):
        if not os.path.exists(f"{data}/small/{k:05d}.mrcs"):
            with open(f"{data}/small/{k:05d}.mrcs", "wb") as f:
                f.write(header(8, 8, 10) + bytes(10 * 8 * 8 * 4))
    os.makedirs(f"{data}/many", exist_ok=True)
    for k in range(MANY):
        if not os.path.exists(f"{data}/many/{k:05d}.mrcs"):
            with open(f"{data}/many/{k:05d}.mrcs", "wb") as f:
                f.write(header(8, 8, 1000))
                f.truncate(1024 + 1000 * 8 * 8 * 4)  # nobody reads the pixels


def cpu():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


def copied():
    """Seconds that it takes to copy as many images from memory to a batch, on as many threads, one after the other: the least that an epoch has to do."""
    images, out = np.ones((IMAGES, SIDE, SIDE), "f4"), np.zeros((BATCH, SIDE, SIDE), "f4")
    half = -(-BATCH // WORKERS)
    took = []
    with ThreadPoolExecutor(WORKERS) as pool:
        for _ in range(EPOCHS):
            began = time.perf_counter()
            for k in range(0, IMAGES, BATCH):
                parts = [images[i : min(i + half, k + BATCH)] for i in range(k, k + BATCH, half)]
                list(pool.map(lambda i: np.copyto(out[i * half :][: len(parts[i])], parts[i]), range(len(parts))))
            took.append(time.perf_counter() - began)
    return min(took)


def peer_epochs(vio, data, mode, scratch):
    files = sorted(glob.glob(f"{data}/*.mrcs"))
    per = IMAGES // STACKS
    locations = [vio.ImageLocation(f, i) for f in files for i in range(per)]
    began = time.perf_counter()
    s = None
    if mode == "host":
        s = vio.create_host_image_scratch(locations, RUN)
    elif mode == "mapped":
        s = vio.create_mapped_file_image_scratch(locations, scratch, RUN)
    answer = {"create_s": time.perf_counter() - began, "epochs": []}
    loader = vio.loader(workers=WORKERS, cache=64, scratch=s)
    out = np.zeros((BATCH, SIDE, SIDE), "f4")
    rng = np.random.default_rng(3)
    for _ in range(EPOCHS):
        order, bad = rng.permutation(IMAGES), 0
        began, used = time.perf_counter(), cpu()
        for k in range(0, IMAGES, BATCH):
            rows = order[k : k + BATCH]
            vio.read_batch_async(loader, out[: len(rows)], [locations[i] for i in rows]).get()
            bad += int((out[: len(rows), 0, 0] != rows).sum())
        answer["epochs"].append({"s": time.perf_counter() - began, "cpu": cpu() - used, "bad": bad})
    return answer


def peer_start(vio, data, scratch):
    files = sorted(glob.glob(f"{data}/*.mrcs"))
    locations = [vio.ImageLocation(f, i) for f in files for i in range(10)]
    began = time.perf_counter()
    s = vio.create_mapped_file_image_scratch(locations, scratch, 10)
    answer = {"create_s": time.perf_counter() - began}
    executor = vio.ThreadPoolExecutor(2)
    vio.prefetch_scratch_async(s, locations, executor).get()
    del s
    began = time.perf_counter()
    s = vio.create_mapped_file_image_scratch(locations, scratch, 10)
    answer["resume_s"] = time.perf_counter() - began
    reader = vio.reader_provider(scratch=s)
    began = time.perf_counter()
    for k in range(200):
        vio.read(locations[k * 997 % len(locations)], reader)
    answer["read_ms"] = (time.perf_counter() - began) * 1000 / 200
    return answer


def peer_locations(vio, data, scratch):
    files = sorted(glob.glob(f"{data}/*.mrcs"))
    locations = [vio.ImageLocation(f, i) for f in files for i in range(1000)]
    began = time.perf_counter()
    group = vio.ImageLocationGrouping(locations)
    answer = {"group_s": time.perf_counter() - began}
    for name in ("create_s", "open_s"):
        began = time.perf_counter()
        s = vio.create_mapped_file_image_scratch(group, scratch, 16)
        answer[name] = time.perf_counter() - began
        del s
    return answer


def peer_orphan(vio, data, scratch):
    files = sorted(glob.glob(f"{data}/*.mrcs"))
    locations = [vio.ImageLocation(f, i) for f in files for i in range(10)]
    s = vio.create_mapped_file_image_scratch(locations, scratch, 10)
    vio.prefetch_scratch_async(s, locations, vio.ThreadPoolExecutor(2)).get()
    del s
    for f in files:
        os.remove(f)
    began = time.perf_counter()
    try:
        s = vio.create_mapped_file_image_scratch(locations, scratch, 10)
        vio.read(locations[0], vio.reader_provider(scratch=s))
    except RuntimeError as e:
        return {"refused": str(e)[-60:]}
    return {"first_s": time.perf_counter() - began}


def peer(args):
    import vitrio

    command = {"epochs": peer_epochs, "start": peer_start, "locations": peer_locations, "orphan": peer_orphan}[args[0]]
    print(json.dumps(command(vitrio, *args[1:])))


class Bench:
    def __init__(self, worker, data, out, rounds):
        self.worker, self.data, self.out, self.rounds = worker, data, out, rounds
        self.rows, self.results, self.figures = [], {}, Results(out, "images")

    def ask(self, who, *args, slow=False):
        scratch = f"{self.data}/{who}.scratch"
        if os.path.exists(scratch):
            os.remove(scratch)
        if who == "vitrio":
            command = [sys.executable, __file__, "peer", *args, scratch]
        elif args[0] == "epochs":
            command = [self.worker, "epochs", args[1], args[2], str(RUN), str(EPOCHS), str(BATCH), str(WORKERS), scratch]
        else:
            command = [self.worker, *args, scratch]
        # A virtual machine that gives memory back to its host gets it anew, which costs more than the rest of a first epoch: nobody is to pay for that.
        np.ones(IMAGES * SIDE * SIDE * 4 * 3 // 2, "u1")
        if slow:
            command = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=openat", "-e", f"inject=openat:delay_enter={DELAY}", *command]
        answer = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        if os.path.exists(scratch):
            os.remove(scratch)
        if any(e["bad"] for e in answer.get("epochs", [])):
            raise RuntimeError(f"{who} {args}: wrong pixels")
        return answer

    def told(self, work, ours, theirs, goal, unit, cpus=None, limit=None):
        """A row of the table. ours and theirs are seconds, one a round, as are those of limit, a copy of the same images."""
        each = [b / a for a, b in zip(ours, theirs)]
        ratio = statistics.median(each)
        used = statistics.median(b / a for a, b in cpus) if cpus else None
        verdict = "" if goal is None else "reached" if ratio >= goal else "**missed**"
        figure = [unit(statistics.median(x)) for x in (ours, theirs)]
        self.results[work] = {"ratio": ratio, "each": each, "cpu": used, "goal": goal, "ours": ours, "vitrio": theirs}
        rates = [[1 / s for s in x] for x in (ours, theirs)]
        unit_told = "/s"
        if unit(1.0).endswith("GB/s"):
            *rates, least = [[IMAGES * SIDE * SIDE * 4 / s / 1e9 for s in x] for x in (ours, theirs, limit or [])]
            unit_told, limit = "GB/s", limit and (f"memcpy, {WORKERS} threads", least)
        self.figures.add(work, *rates, peer="vitrio", unit=unit_told, goal=goal, limit=limit, cpu=cpus and [b / a for a, b in cpus])
        cpu_told = "" if used is None else f"{used:.2f}"
        self.rows.append(f"| {work} | {figure[0]} | {figure[1]} | {ratio:.2f} ({min(each):.2f} to {max(each):.2f}) | {cpu_told} | {goal or ''} | {verdict} |")
        print(self.rows[-1], file=sys.stderr)

    def epochs(self):
        took, least = {}, []
        modes = ("none", "host", "mapped")
        for turn in range(self.rounds):
            least.append(copied())
            for mode in modes:
                for who in ("gridhold", "vitrio") if turn % 2 == 0 else ("vitrio", "gridhold"):
                    took.setdefault((who, mode), []).append(self.ask(who, "epochs", f"{self.data}/stacks", mode)["epochs"])

        def of(who, mode, what, first):
            pick = (lambda es: es[0][what]) if first else (lambda es: statistics.median(e[what] for e in es[1:]))
            return [pick(es) for es in took[who, mode]]

        rate = lambda s: f"{IMAGES * SIDE * SIDE * 4 / s / 1e9:.2f} GB/s"
        best = [min(pair) for pair in zip(of("vitrio", "mapped", "s", False), of("vitrio", "none", "s", False))]
        lean = [min(pair) for pair in zip(of("vitrio", "mapped", "cpu", False), of("vitrio", "none", "cpu", False))]
        self.told("later epochs, mapped; vitrio's better of mapped and none", of("gridhold", "mapped", "s", False), best, 1.0, rate, list(zip(of("gridhold", "mapped", "cpu", False), lean)), least)
        for mode in modes:
            for first, name, goal in ((True, "first epoch", 3.0 if mode == "mapped" else None), (False, "later epochs", None)):
                cpus = list(zip(of("gridhold", mode, "cpu", first), of("vitrio", mode, "cpu", first)))
                self.told(f"{name}, {mode}", of("gridhold", mode, "s", first), of("vitrio", mode, "s", first), goal, rate, cpus, least)

    def start(self):
        try:
            subprocess.run(["strace", "-V"], check=True, stdout=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError):
            print("there is no strace, so opens cannot be slowed down: resuming is not measured", file=sys.stderr)
            self.rows.append(f"| resuming over {FILES} files | | | not measured: no strace | | 20 | |")
            return
        pairs = [[self.ask(who, "start", f"{self.data}/small", slow=True) for who in ("gridhold", "vitrio")] for _ in range(1 if QUICK else min(self.rounds, 2))]
        for work, field, goal in (("making", "create_s", None), ("resuming", "resume_s", 20), ("reading a held image", "read_ms", None)):
            unit = (lambda v: f"{v:.3f} ms") if field == "read_ms" else (lambda v: f"{v:.3f} s")
            self.told(f"{work}, {FILES} files, 1 ms an open", [a[field] for a, _ in pairs], [b[field] for _, b in pairs], goal, unit)

    def locations(self):
        pairs = [[self.ask(who, "locations", f"{self.data}/many") for who in ("gridhold", "vitrio")] for _ in range(min(self.rounds, 3))]
        seconds = lambda v: f"{v:.3f} s"
        whole = [a["group_s"] + a["open_s"] for a, _ in pairs]
        for work, field in (("sorting", "group_s"), ("making", "create_s"), ("opening", "open_s")):
            self.told(f"{work}, {MANY * 1000 // 1_000_000} million locations", [a[field] for a, _ in pairs], [b[field] for _, b in pairs], None, seconds)
        took = statistics.median(whole)
        self.results["locations"] = whole
        self.rows.append(f"| sorting and opening in less than 2 s | {took:.3f} s | | | | | {'reached' if took < 2 else '**missed**'} |")

    def orphan(self):
        answers = []
        for who in ("gridhold", "vitrio"):
            shutil.rmtree(f"{self.data}/lost", ignore_errors=True)
            os.mkdir(f"{self.data}/lost")
            for k in range(100):
                shutil.copy(f"{self.data}/small/{k:05d}.mrcs", f"{self.data}/lost")
            answers.append(self.ask(who, "orphan", f"{self.data}/lost"))
        shutil.rmtree(f"{self.data}/lost")
        told = [f"{a['first_s'] * 1000:.2f} ms" if "first_s" in a else "an error" for a in answers]
        self.results["orphan"] = answers
        self.rows.append(f"| the first image of a new program, the stacks removed | {told[0]} | {told[1]} | | | an image | {'reached' if 'first_s' in answers[0] else '**missed**'} |")
        print(self.rows[-1], file=sys.stderr)

    def table(self):
        lines = [f"Image scratches, {IMAGES} images of {SIDE} x {SIDE} float32 in {STACKS} stacks, runs of {RUN}; {self.rounds} rounds, medians; ratios are ours to vitrio's (lowest to highest)", ""]
        lines += ["| work | ours | vitrio | ratio | ratio of CPU | to reach | |", "| --- | ---: | ---: | ---: | ---: | ---: | --- |", *self.rows]
        text = "\n".join(lines) + "\n"
        with open(f"{self.out}/images.md", "w") as f:
            f.write(text)
        with open(f"{self.out}/images.json", "w") as f:
            json.dump(self.results, f, indent=1)
        print(text)


def main():
    worker, data, out, rounds, only = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5:]
    make(data)
    bench = Bench(worker, data, out, rounds)
    for case in ("epochs", "start", "locations", "orphan"):
        if not only or case in only:
            getattr(bench, case)()
    bench.table()


if sys.argv[1] == "peer":
    peer(sys.argv[2:])
else:
    main()
