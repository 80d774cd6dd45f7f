"""Containers shared by processes, against python-blosc2: python sharing.py WORKER OUT ROUNDS [CASE…]

WORKER is bench/sharing; the peer's worker is this script with the word "peer".
Each round measures ours and theirs one after the other, on the same container,
which lies on tmpfs where there is one. Ratios are medians of those within a
round, with the lowest and highest.
"""

import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from results import Results


class Peer:
    def open(self, path, write=False, locking=False, **_):
        self.a = blosc2.open(path, mode="a" if write else "r", locking=locking)

    def refresh(self, count, **_):
        for _ in range(count):
            if self.a.refresh():
                raise RuntimeError("it changed")
        return count, 0

    def hold(self, count, **_):
        for _ in range(count):
            with self.a.holding_lock():
                pass
        return count, 0

    def vlmeta(self, count, **_):
        v, total, names = self.a.schunk.vlmeta, 0, ("k0", "k1", "k2", "k3")
        for i in range(count):
            total += v[names[i % 4]]
        return count, total

    def append(self, count, rows, **_):
        for i in range(count):
            with self.a.holding_lock() as a:
                a.append(np.full(rows, i, "i8"))
        return count * rows, 0

    def grow(self, rows, seconds, pace, **_):
        start, done, i, width = time.perf_counter(), 0, 0, self.a.shape[1]
        while time.perf_counter() - start < seconds:
            n = self.a.shape[0]
            batch = np.repeat(np.arange(n, n + rows), width).reshape(rows, width)
            self.a.resize((n + rows, width))
            self.a[n:] = batch
            done += rows
            i += 1
            if pace:
                time.sleep(max(0, start + i * pace - time.perf_counter()))
        return done, 0

    def follow(self, rows, seconds, **_):
        start, done = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            try:
                self.a.refresh()
                to = self.a.shape[0] - rows
                if to < rows:
                    continue
                b = self.a[to - rows : to]
            except RuntimeError:  # it meets the writer in the middle of something, and has to try again
                continue
            if not np.array_equal(b[:, 0], np.arange(to - rows, to)):
                raise RuntimeError(f"rows before {to} read {b[:, 0]}")
            done += rows
        return done, 0


def serve():
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if sys.argv[2:] != ["plain"]:
        blosc2.set_nthreads(1)
    peer = Peer()
    for line in sys.stdin:
        r = json.loads(line)
        op = r.pop("op")
        start, cpu = time.perf_counter(), time.process_time()
        answer = {"seconds": 0, "cpu": 0, "count": 0, "sum": 0}
        try:
            count, total = getattr(peer, op)(**r) or (0, 0)
            answer = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu, "count": count, "sum": total}
        except Exception as e:
            answer["error"] = f"{type(e).__name__}: {e}"[:300]
        out.write(json.dumps(answer) + "\n")
        out.flush()


class Worker:
    def __init__(self, command):
        self.p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def send(self, **request):
        self.p.stdin.write(json.dumps(request) + "\n")
        self.p.stdin.flush()

    def answer(self):
        a = json.loads(self.p.stdout.readline())
        if a.get("error"):
            raise SystemExit(f"{self.p.args[0]}: {a['error']}")
        return a

    def ask(self, **request):
        self.send(**request)
        return self.answer()

    def close(self):
        self.p.stdin.close()
        self.p.wait()


def made(path, shape, chunks):
    blosc2.remove_urlpath(str(path))
    a = blosc2.zeros(shape, dtype="i8", chunks=chunks, blocks=chunks, urlpath=str(path), mode="w", locking=True)
    for i in range(4):
        a.schunk.vlmeta[f"k{i}"] = i + 1
    if shape[0]:
        a[:] = np.arange(np.prod(shape)).reshape(shape)


def main():
    command, out, rounds = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    only = sys.argv[4:]
    shm = "/dev/shm" if os.path.isdir("/dev/shm") else None
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gridhold-sharing-", dir=shm))
    sides = {"gridhold": [command], "python-blosc2": [sys.executable, __file__, "peer"]}
    workers = {name: [Worker(c) for _ in range(4)] for name, c in sides.items()}
    # With the threads that it takes for itself; the others have one.
    plain = {"python-blosc2": Worker([sys.executable, __file__, "peer", "plain"])}
    results = {}

    def wanted(case):
        return not only or any(word in case for word in only)

    def note(case, side, rate):
        results.setdefault(case, {}).setdefault(side, []).append(rate)

    path = folder / "a.b2nd"
    try:
        for _ in range(rounds):
            made(path, (10_000,), (1_000,))
            for case, op, locking, count in (
                ("refresh, unlocked", "refresh", False, 200_000),
                ("refresh, locked", "refresh", True, 200_000),
                ("holding, enter and exit", "hold", True, 50_000),
                ("vlmeta look-up, unlocked", "vlmeta", False, 5_000),
                ("vlmeta look-up, locked", "vlmeta", True, 5_000),
                ("vlmeta look-up, unlocked, one thread", "vlmeta", False, 5_000),
            ):
                if not wanted(case):
                    continue
                sums = set()
                for side, (w, *_) in workers.items():
                    if side in plain and "vlmeta" in case and "one thread" not in case:
                        w = plain[side]
                    w.ask(op="open", path=str(path), write=op == "hold", locking=locking)
                    w.ask(op=op, count=100)
                    a = w.ask(op=op, count=count)
                    sums.add(a["sum"])
                    # Of one thread, so the time that it ran counts, whatever else the machine does.
                    note(case, side, a["count"] / (a["cpu"] if op != "vlmeta" and a["cpu"] else a["seconds"]))
                if len(sums) > 1:
                    raise SystemExit(f"{case}: they read {sums}")
            for n in (1, 2, 4):
                case = f"appends of 100 items, {n} process{'es' if n > 1 else ''}"
                if not wanted(case):
                    continue
                for side, ws in workers.items():
                    made(path, (0,), (1_000,))
                    for w in ws[:n]:
                        w.ask(op="open", path=str(path), write=True, locking=True)
                    start = time.perf_counter()
                    for w in ws[:n]:
                        w.send(op="append", count=1600 // n, rows=100)
                    done = sum(w.answer()["count"] for w in ws[:n])
                    note(case, side, done / (time.perf_counter() - start))
                    if blosc2.open(str(path)).shape[0] != done:
                        raise SystemExit(f"{case}: {side} lost items")
            for pace, label in ((0, "as fast as it can"), (0.002, "500 batches a second")):
                for locking in (False, True):
                    case = f"growth, {label}, {'locked' if locking else 'unlocked'}"
                    if not wanted(case):
                        continue
                    for side, ws in workers.items():
                        made(path, (0, 100), (100, 100))
                        for i, w in enumerate(ws):
                            w.ask(op="open", path=str(path), write=i == 0, locking=locking)
                        for i, w in enumerate(ws):
                            w.send(op="follow" if i else "grow", rows=10, seconds=0.6, pace=pace)
                        note(case, side, sum(w.answer()["count"] for w in ws) / 0.6)
    finally:
        for w in [*plain.values(), *(w for ws in workers.values() for w in ws)]:
            w.close()
        shutil.rmtree(folder)
    report(out, results)


def spread(values):
    return f"{statistics.median(values):,.0f} ({min(values):,.0f} to {max(values):,.0f})"


def cost_ratio(ours, theirs):
    """That of medians; a cost below nothing is none."""
    return max(statistics.median(ours), 0) / max(statistics.median(theirs), 0.1)


def resampled(ours, theirs, times=1000):
    """Ratios of the medians of costs, of rounds drawn anew: a cost may be nothing in a round, so there is no ratio within one."""
    draw, found = random.Random(7), []
    for _ in range(times):
        rounds = [draw.randrange(len(ours)) for _ in ours]
        found.append(cost_ratio(*([side[k] for k in rounds] for side in (ours, theirs))))
    return found


def report(out, results):
    figures = Results(out, "sharing")
    for case, sides in results.items():
        figures.add(case, sides["gridhold"], sides["python-blosc2"], peer="python-blosc2", unit="/s")
    lines = ["| case, a second | gridhold | python-blosc2 | ratio |", "| --- | ---: | ---: | ---: |"]
    for case, sides in results.items():
        ratios = [a / b for a, b in zip(sides["gridhold"], sides["python-blosc2"])]
        lines.append(f"| {case} | {spread(sides['gridhold'])} | {spread(sides['python-blosc2'])} | "
                     f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |")
    for label in ("as fast as it can", "500 batches a second"):
        pair = [results.get(f"growth, {label}, {x}") for x in ("locked", "unlocked")]
        if not all(pair):
            continue
        lines.append("")
        both = {side: [100 * (1 - a / b) for a, b in zip(pair[0][side], pair[1][side])] for side in ("gridhold", "python-blosc2")}
        figures.add(f"what locking costs, {label}", *both.values(), ratio=resampled(*both.values()), middle=cost_ratio(*both.values()), peer="python-blosc2", unit="%")
        for side, costs in both.items():
            lines.append(f"Cost of locking, {label}, {side}: {statistics.median(costs):.1f} % "
                         f"({min(costs):.1f} to {max(costs):.1f}), {len(costs)} pairs.")
    text = "\n".join(lines) + "\n"
    out.mkdir(parents=True, exist_ok=True)
    (out / "sharing.md").write_text(text)
    (out / "sharing.json").write_text(json.dumps(results, indent=1))
    print(text)


if __name__ == "__main__":
    import blosc2
    import numpy as np

    if sys.argv[1] == "peer":
        serve()
    else:
        main()
