"""Ours and the peers, interleaved. usage: run.py DATA OUT ROUNDS

Started by scripts/bench.sh, which builds what the workers need. README.md
has the protocol.
"""

import json
import os
import statistics
import sys

from results import QUICK, Results
from workers import Worker

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
AIM = 0.15 if QUICK else 0.4  # seconds that one measurement should take
LEAST, MOST = 200, 60_000  # reads in one

WORKERS = {
    "zarrista": [sys.executable, f"{ROOT}/bench/reads.py", "zarrista"],
    "zarrista, no cache": [sys.executable, f"{ROOT}/bench/reads.py", "zarrista-uncached"],
    "zarr-python": [sys.executable, f"{ROOT}/bench/reads.py", "zarr-python"],
    "gridhold native": [f"{ROOT}/.bench/bin/reads", "native"],
    "gridhold wazero": [f"{ROOT}/.bench/bin/reads", "wasm"],
    "gridhold wazero, guest": [f"{ROOT}/.bench/bin/reads", "guest"],
    "gridhold Python": [sys.executable, f"{ROOT}/bench/reads.py", "gridhold"],
    "gridhold Python, no extras": [sys.executable, f"{ROOT}/bench/reads.py", "gridhold-bare"],
    "gridhold Python, batches": [sys.executable, f"{ROOT}/bench/reads.py", "gridhold-batches"],
    "gridhold Node": ["node", f"{ROOT}/bench/reads.mjs"],
    "zarrs": [sys.executable, f"{ROOT}/bench/reads.py", "zarrs"],
    "tensorstore": [sys.executable, f"{ROOT}/bench/reads.py", "tensorstore"],
    "pread": [f"{ROOT}/.bench/bin/reads", "pread"],
    "libzstd": [sys.executable, f"{ROOT}/bench/reads.py", "libzstd"],
}

# The least that somebody has to do: read the same bytes and look at none of
# them, or decode them where they lie in memory.
LIMITS = {"u16_zstd": "libzstd", "u16_none": "pread"}
KINDS = {"u16_zstd": "zstd", "u16_none": "raw"}

# Who, threads (in Node: reads in flight).
CASES = [
    ("zarrista", 1),
    ("gridhold native", 1),
    ("zarrista", 2),
    ("gridhold native", 2),
    ("limit", 1),
    ("limit", 2),
    ("zarrista, no cache", 1),
    ("gridhold wazero", 1),
    ("gridhold wazero", 2),
    ("gridhold wazero, guest", 1),
    ("gridhold wazero, guest", 2),
    ("zarr-python", 1),
    ("tensorstore", 1),
    ("gridhold Python", 1),
    ("gridhold Python", 2),
    ("gridhold Python, no extras", 1),
    ("gridhold Python, batches", 1),
    ("gridhold Python, batches", 2),
    ("gridhold Node", 1),
    ("gridhold Node", 16),
]

# Who reads whole shards, each with the threads it takes for itself; ours has
# to be so many times as fast as the best of the others.
SHARDS = ["gridhold native", "zarrista", "zarrs", "tensorstore", "limit"]
SHARD_BYTES, SHARD_GOAL = 1024 * 1024 * 2, 1.5

# Indexes of 4 MiB, none of them known, all through one cache.
COLD, COLD_THREADS, COLD_GOAL = 32, 2, 3.0

# Array, case, the case it is measured against, the ratio we hold ourselves to
# (None: it is told, and nothing is promised).
RATIOS = [
    ("u16_zstd", ("gridhold native", 1), ("zarrista", 1), 3.0),
    ("u16_zstd", ("gridhold native", 2), ("zarrista", 2), 3.0),
    ("u16_none", ("gridhold native", 1), ("zarrista", 1), 6.0),
    ("u16_none", ("gridhold native", 2), ("zarrista", 2), 6.0),
    ("u16_zstd", ("gridhold wazero", 1), ("gridhold native", 1), 0.6),
    ("u16_zstd", ("gridhold wazero", 2), ("gridhold wazero", 1), 1.8),
    ("u16_zstd", ("gridhold wazero, guest", 1), ("gridhold native", 1), None),
    ("u16_zstd", ("gridhold wazero, guest", 2), ("gridhold wazero, guest", 1), 1.8),
    ("u16_none", ("gridhold wazero", 1), ("gridhold native", 1), None),
    ("u16_zstd", ("gridhold Python", 1), ("zarr-python", 1), None),
    ("u16_none", ("gridhold Python", 1), ("zarr-python", 1), None),
    ("u16_zstd", ("gridhold Python, no extras", 1), ("zarr-python", 1), 8.0),
    ("u16_none", ("gridhold Python, no extras", 1), ("zarr-python", 1), 8.0),
    ("u16_zstd", ("gridhold Python, no extras", 1), ("tensorstore", 1), 1.5),
    ("u16_none", ("gridhold Python, no extras", 1), ("tensorstore", 1), 1.5),
    ("u16_zstd", ("gridhold Python", 1), ("zarrista", 1), 1.0),
    ("u16_none", ("gridhold Python", 1), ("zarrista", 1), 1.0),
    ("u16_zstd", ("gridhold Python", 2), ("gridhold Python", 1), 0.9),
    ("u16_none", ("gridhold Python", 2), ("gridhold Python", 1), 0.9),
    ("u16_zstd", ("gridhold Python, batches", 2), ("gridhold Python, batches", 1), 1.5),
    ("u16_none", ("gridhold Python, batches", 2), ("gridhold Python, batches", 1), None),
    ("u16_zstd", ("gridhold Node", 16), ("zarr-python", 1), None),
    ("u16_none", ("gridhold Node", 16), ("zarr-python", 1), None),
]


class Reader(Worker):
    def ask(self, array, threads, count, whole=False, cold=False):
        return super().ask(array=array, threads=threads, count=count, whole=whole, cold=cold)


def named(workers, who, array):
    """The worker of a name; "limit" is the one that suits the array."""
    return workers[LIMITS[array] if who == "limit" else who]


def calibrate(worker, array, threads):
    worker.ask(array, threads, LEAST)  # opens the array and warms its indexes
    took = worker.ask(array, threads, LEAST)["seconds"]
    return max(LEAST, min(MOST, int(LEAST * AIM / took)))


def measure(workers, rounds):
    """{array: {case: [reads a second, one a round]}}, and the same for seconds of processor"""
    rates, lean = {}, {}
    for array in ("u16_zstd", "u16_none"):
        counts = {case: calibrate(named(workers, case[0], array), array, case[1]) for case in CASES}
        checks = {}
        rates[array], lean[array] = {case: [] for case in CASES}, {case: [] for case in CASES}
        for turn in range(rounds):
            for who, threads in CASES if turn % 2 == 0 else reversed(CASES):
                count = counts[who, threads]
                answer = named(workers, who, array).ask(array, threads, count)
                rates[array][who, threads].append(count / answer["seconds"])
                if "cpu" in answer:
                    lean[array][who, threads].append(count / answer["cpu"])
                checks.setdefault(count, {})[who] = answer["check"]
            print(f"{array}: round {turn + 1} of {rounds}", file=sys.stderr)
        agree(workers, array, checks)
    return rates, lean


def agree(workers, array, checks):
    """Everyone has to have read the same numbers."""
    for count, sums in checks.items():
        wanted = workers["zarrista"].ask(array, 1, count)["check"]
        for who, got in sums.items():
            if got != wanted:
                raise RuntimeError(f"{array}: {who} read {got} where zarrista read {wanted}")


def measure_shards(workers, rounds):
    """{array: {who: [GB a second, one a round]}}"""
    speeds = {}
    for array in ("u16_zstd", "u16_none"):
        speeds[array] = {who: [] for who in SHARDS}
        counts = {}
        for who in SHARDS:
            named(workers, who, array).ask(array, 1, 4, whole=True)
            took = named(workers, who, array).ask(array, 1, 4, whole=True)["seconds"]
            counts[who] = max(4, min(400, int(4 * AIM / took)))
        for turn in range(rounds):
            for who in SHARDS if turn % 2 == 0 else reversed(SHARDS):
                threads = 2 if who == "limit" else 1
                seconds = named(workers, who, array).ask(array, threads, counts[who], whole=True)["seconds"]
                speeds[array][who].append(counts[who] * SHARD_BYTES / seconds / 1e9)
        sums = {workers[who].ask(array, 1, 64, whole=True)["check"] for who in SHARDS if who != "limit"}
        if len(sums) != 1:
            raise RuntimeError(f"{array}: whole shards differ: {sums}")
    return speeds


def measure_cold(workers, rounds):
    """{who: [indexes a second, one a round]}, and the same for seconds of processor"""
    rates, lean = {"gridhold native": [], "zarrista": []}, {"gridhold native": [], "zarrista": []}
    for turn in range(rounds + 1):
        sums = set()
        for who in rates if turn % 2 == 0 else reversed(rates):
            answer = workers[who].ask("indexes", COLD_THREADS, COLD, cold=True)
            sums.add(answer["check"])
            if turn:  # the first warms up
                rates[who].append(COLD / answer["seconds"])
                lean[who].append(COLD / answer["cpu"])
        if len(sums) != 1:
            raise RuntimeError(f"cold indexes: they read {sums}")
    return rates, lean


def shard_table(speeds):
    lines = ["", "Whole shards of 1024 subchunks, GB a second, median (lowest to highest)", ""]
    lines += ["| who | zstd | raw |", "| --- | ---: | ---: |"]
    for who in SHARDS:
        cells = [f"{statistics.median(r):.2f} ({min(r):.2f} to {max(r):.2f})" for r in (speeds[a][who] for a in speeds)]
        lines.append(f"| {who} | {' | '.join(cells)} |")
    lines += ["", "| ratio | array | reached | to reach | |", "| --- | --- | ---: | ---: | --- |"]
    ratios = []
    for array, by in speeds.items():
        best = max(SHARDS[1:-1], key=lambda who: statistics.median(by[who]))
        each = [a / b for a, b in zip(by[SHARDS[0]], by[best])]
        ratio = statistics.median(each)
        ratios.append({"array": array, "ratio": f"whole shards, native / {best}", "median": ratio, "lowest": min(each), "highest": max(each), "goal": SHARD_GOAL})
        verdict = "reached" if ratio >= SHARD_GOAL else "**missed**"
        lines.append(f"| native / {best} | {array} | {ratio:.2f} ({min(each):.2f} to {max(each):.2f}) | {SHARD_GOAL} | {verdict} |")
    return "\n".join(lines) + "\n", ratios


def table(rates, rounds):
    lines = [f"Random subchunks of 2 KiB a second, warm; {rounds} rounds, median (lowest to highest)", ""]
    lines += ["| who | threads | zstd | raw |", "| --- | ---: | ---: | ---: |"]
    for case in CASES:
        cells = []
        for array in ("u16_zstd", "u16_none"):
            r = rates[array][case]
            cells.append(f"{statistics.median(r):,.0f} ({min(r):,.0f} to {max(r):,.0f})")
        lines.append(f"| {case[0]} | {case[1]} | {cells[0]} | {cells[1]} |")
    lines += ["", "| ratio | array | reached | to reach | |", "| --- | --- | ---: | ---: | --- |"]
    ratios = []
    for array, case, against, goal in RATIOS:
        each = [a / b for a, b in zip(rates[array][case], rates[array][against])]
        ratio = statistics.median(each)
        name = f"{case[0]} ({case[1]}) / {against[0]} ({against[1]})"
        ratios.append({"array": array, "ratio": name, "median": ratio, "lowest": min(each), "highest": max(each), "goal": goal})
        spread = f"{ratio:.2f} ({min(each):.2f} to {max(each):.2f})"
        verdict = " | |" if goal is None else f"{goal} | {'reached' if ratio >= goal else '**missed**'} |"
        lines.append(f"| {name} | {array} | {spread} | {verdict}")
    return "\n".join(lines) + "\n", ratios


def hand_in(figures, rates, lean, speeds, cold, cold_lean):
    """The same for the table of everything."""
    limits = {("u16_zstd", n): f"libzstd, from memory, {n} thread{'s' * (n > 1)}" for n in (1, 2)} | {("u16_none", n): "bare pread" for n in (1, 2)}
    for array, case, against, goal in RATIOS:
        kind, (who, threads), limit = KINDS[array], case, None
        what, peer = f"{who} ({threads}), {kind}", f"{against[0]} ({against[1]})"
        if (who, against[0]) == ("gridhold native", "zarrista"):
            what, peer = f"subchunks, {kind}, {threads} thread{'s' * (threads > 1)}", "zarrista cached"
            limit = limits[array, threads], rates[array]["limit", threads]
        cpu = [a / b for a, b in zip(lean[array][case], lean[array][against])]
        figures.add(what, rates[array][case], rates[array][against], peer=peer, unit="reads/s", goal=goal, limit=limit, cpu=cpu)
    for array, by in speeds.items():
        best = max(SHARDS[1:-1], key=lambda who: statistics.median(by[who]))
        limit = limits[array, 2], by["limit"]
        figures.add(f"whole shards, {KINDS[array]}", by["gridhold native"], by[best], peer=best, unit="GB/s", limit=limit)
    cpu = [a / b for a, b in zip(*cold_lean.values())]
    figures.add(f"cold indexes, {COLD_THREADS} threads", cold["gridhold native"], cold["zarrista"], peer="zarrista", unit="indexes/s", cpu=cpu)


def main():
    data, out, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    workers = {}
    try:
        for who, command in WORKERS.items():
            workers[who] = Reader(*command, data)
        cold, cold_lean = measure_cold(workers, max(rounds, 9))
        rates, lean = measure(workers, rounds)
        speeds = measure_shards(workers, rounds)
    finally:
        for w in workers.values():
            w.close()
    text, ratios = table(rates, rounds)
    more, shards = shard_table(speeds)
    text, ratios = text + more, ratios + shards
    each = [a / b for a, b in zip(*cold.values())]
    ratio = statistics.median(each)
    verdict = "reached" if ratio >= COLD_GOAL else "**missed**"
    text += f"\nIndexes of 4 MiB, none known, {COLD_THREADS} threads, one cache, native / zarrista: {ratio:.2f} ({min(each):.2f} to {max(each):.2f}), to reach {COLD_GOAL}: {verdict}\n"
    hand_in(Results(out, "reads"), rates, lean, speeds, cold, cold_lean)
    with open(f"{out}/table.md", "w") as f:
        f.write(text)
    flat = [{"array": a, "who": w, "whole_shards_gb_per_second": r} for a, by in speeds.items() for w, r in by.items()]
    flat += [{"array": a, "who": w, "threads": t, "reads_per_second": r} for a, cases in rates.items() for (w, t), r in cases.items()]
    with open(f"{out}/table.json", "w") as f:
        json.dump({"rates": flat, "ratios": ratios}, f, indent=1)
    print(text)


main()
