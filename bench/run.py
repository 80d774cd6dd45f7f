"""Ours and the peers, interleaved. usage: run.py DATA OUT ROUNDS

Started by scripts/bench.sh, which builds what the workers need. README.md
has the protocol.
"""

import json
import os
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
AIM = 0.4  # seconds that one measurement should take
LEAST, MOST = 200, 60_000  # reads in one

WORKERS = {
    "zarrista": [sys.executable, f"{ROOT}/bench/reads.py", "zarrista"],
    "zarrista, no cache": [sys.executable, f"{ROOT}/bench/reads.py", "zarrista-uncached"],
    "zarr-python": [sys.executable, f"{ROOT}/bench/reads.py", "zarr-python"],
    "gridhold native": [f"{ROOT}/.bench/bin/reads", "native"],
    "gridhold wazero": [f"{ROOT}/.bench/bin/reads", "wasm"],
    "gridhold Python": [sys.executable, f"{ROOT}/bench/reads.py", "gridhold"],
    "gridhold Node": ["node", f"{ROOT}/bench/reads.mjs"],
}

# Who, threads (in Node: reads in flight).
CASES = [
    ("zarrista", 1),
    ("gridhold native", 1),
    ("zarrista", 2),
    ("gridhold native", 2),
    ("zarrista, no cache", 1),
    ("gridhold wazero", 1),
    ("zarr-python", 1),
    ("gridhold Python", 1),
    ("gridhold Python", 2),
    ("gridhold Node", 1),
    ("gridhold Node", 16),
]

# Array, case, the case it is measured against, the ratio we hold ourselves to
# (None: it is told, and nothing is promised).
RATIOS = [
    ("u16_zstd", ("gridhold native", 1), ("zarrista", 1), 2.5),
    ("u16_zstd", ("gridhold native", 2), ("zarrista", 2), 2.5),
    ("u16_none", ("gridhold native", 1), ("zarrista", 1), 4.0),
    ("u16_none", ("gridhold native", 2), ("zarrista", 2), 4.0),
    ("u16_zstd", ("gridhold wazero", 1), ("gridhold native", 1), 0.4),
    ("u16_none", ("gridhold wazero", 1), ("gridhold native", 1), None),
    ("u16_zstd", ("gridhold Python", 1), ("zarr-python", 1), 8.0),
    ("u16_none", ("gridhold Python", 1), ("zarr-python", 1), None),
    ("u16_zstd", ("gridhold Node", 16), ("zarr-python", 1), None),
    ("u16_none", ("gridhold Node", 16), ("zarr-python", 1), None),
]


class Worker:
    def __init__(self, command, data):
        self.process = subprocess.Popen([*command, data], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, array, threads, count):
        self.process.stdin.write(json.dumps({"array": array, "threads": threads, "count": count}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args} ended with {self.process.wait()}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def calibrate(worker, array, threads):
    worker.ask(array, threads, LEAST)  # opens the array and warms its indexes
    took = worker.ask(array, threads, LEAST)["seconds"]
    return max(LEAST, min(MOST, int(LEAST * AIM / took)))


def measure(workers, rounds):
    """{array: {case: [reads a second, one a round]}}"""
    rates = {}
    for array in ("u16_zstd", "u16_none"):
        counts = {case: calibrate(workers[case[0]], array, case[1]) for case in CASES}
        checks = {}
        rates[array] = {case: [] for case in CASES}
        for turn in range(rounds):
            for who, threads in CASES if turn % 2 == 0 else reversed(CASES):
                count = counts[who, threads]
                answer = workers[who].ask(array, threads, count)
                rates[array][who, threads].append(count / answer["seconds"])
                checks.setdefault(count, {})[who] = answer["check"]
            print(f"{array}: round {turn + 1} of {rounds}", file=sys.stderr)
        agree(workers, array, checks)
    return rates


def agree(workers, array, checks):
    """Everyone has to have read the same numbers."""
    for count, sums in checks.items():
        wanted = workers["zarrista"].ask(array, 1, count)["check"]
        for who, got in sums.items():
            if got != wanted:
                raise RuntimeError(f"{array}: {who} read {got} where zarrista read {wanted}")


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


def main():
    data, out, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    workers = {}
    try:
        for who, command in WORKERS.items():
            workers[who] = Worker(command, data)
        rates = measure(workers, rounds)
    finally:
        for w in workers.values():
            w.close()
    text, ratios = table(rates, rounds)
    with open(f"{out}/table.md", "w") as f:
        f.write(text)
    flat = [{"array": a, "who": w, "threads": t, "reads_per_second": r} for a, cases in rates.items() for (w, t), r in cases.items()]
    with open(f"{out}/table.json", "w") as f:
        json.dump({"rates": flat, "ratios": ratios}, f, indent=1)
    print(text)


main()
