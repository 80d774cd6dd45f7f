"""Go's own benchmarks of kernels and of allocations, as figures of the table. usage: micro.py OUT ROUNDS

The test binaries are built once and run in turn, once a round: kernels beside a copy of the same 256 KiB, warm reads of subchunks of 2 KiB from
memory. The table is OUT/micro.md.
"""

import os
import re
import statistics
import subprocess
import sys

from results import QUICK, Results

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TIME = "20ms" if QUICK else "100ms"
KERNELS = [
    ("byte unshuffle", "undo bytes"),
    ("bit-unshuffle", "undo bits"),
    ("byte shuffle", "bytes"),
    ("bit-shuffle", "bits"),
]


def build(out, package):
    binary = os.path.abspath(f"{out}/bin/{package.replace('/', '-')}.test")
    subprocess.run(["go", "test", "-c", "-o", binary, f"./{package}"], cwd=ROOT, check=True)
    return [binary, "-test.run=^$", "-test.benchmem", f"-test.benchtime={TIME}"], f"{ROOT}/{package}"


def run(command, pattern):
    """{benchmark: {unit: figure}}"""
    arguments, folder = command
    text = subprocess.run([*arguments, f"-test.bench={pattern}", "-test.cpu=1"], cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout
    found = {}
    for line in text.splitlines():
        if m := re.match(r"Benchmark(\S+)\s+\d+\s+(.*)", line):
            name = m[1].replace("_", " ")
            found[name] = {unit: float(value) for value, unit in re.findall(r"(\S+) (\S+)", m[2].replace("\t", " "))}
    return found


def main():
    out, rounds = sys.argv[1], int(sys.argv[2])
    kernels, reads = build(out, "sdk/codec/internal/shuffle"), build(out, "sdk/zarr")
    speeds, allocations, took = {}, {}, {}
    for _ in range(rounds):
        for name, figures in run(kernels, "^BenchmarkShuffle$").items():
            speeds.setdefault(name.removeprefix("Shuffle/"), []).append(figures["MB/s"] / 1e3)
        for name, figures in run(reads, "^BenchmarkWarm$").items():
            name = name.removeprefix("Warm/")
            allocations.setdefault(name, []).append(figures["allocs/op"])
            took.setdefault(name, []).append(figures["ns/op"])
    results = Results(out, "micro")
    lines = ["| kernel, 256 KiB | GB/s | of a copy |", "| --- | ---: | ---: |"]
    for name, bench in KERNELS:
        for size in (2, 4, 8, 16):
            ours, copy = speeds[f"{bench} {size}"], speeds[f"copy {size}"]
            results.add(f"{name} {size}", ours, copy, peer="memcpy", unit="GB/s")
            lines.append(f"| {name} {size} | {statistics.median(ours):.1f} | {statistics.median(a / b for a, b in zip(ours, copy)):.2f} |")
    lines += ["", "| warm read, from memory | ns | allocations |", "| --- | ---: | ---: |"]
    for name in took:
        kind, way = name.split(", ")
        results.add(f"allocations, {kind}" + ("" if way == "subchunk" else f", {way}"), allocations[name], unit="allocations", note=f"{statistics.median(took[name]):,.0f} ns")
        lines.append(f"| {name} | {statistics.median(took[name]):,.0f} | {statistics.median(allocations[name]):.0f} |")
    text = "\n".join(lines) + "\n"
    with open(f"{out}/micro.md", "w") as f:
        f.write(text)
    print(text)


main()
