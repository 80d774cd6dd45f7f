"""How long it takes until Python reads: usage: startup.py OUT ROUNDS

Each figure is the median of fresh processes: importing numpy alone, gridhold
after it, and the first read of an array, with the compiled guest kept from
before and without. CPU time is told beside, for machines that do other things.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from results import Results

ARRAY = Path(__file__).resolve().parents[1] / "testdata" / "zarr"
CHILD = """
import json, resource, sys, time
def now():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return time.perf_counter(), used.ru_utime + used.ru_stime
marks = [now()]
import numpy
marks.append(now())
import gridhold
marks.append(now())
with gridhold.open_array(sys.argv[1], "ndim2_zarrs") as array:
    array.retrieve_subchunk((0, 0))
marks.append(now())
print(json.dumps([[b - a for a, b in zip(x, y)] for x, y in zip(marks, marks[1:])]))
"""


def run(cache):
    environment = {**os.environ, "GRIDHOLD_CACHE": cache}
    done = subprocess.run([sys.executable, "-c", CHILD, str(ARRAY)], env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def main():
    out, rounds = Path(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as cache:
        run(cache)
        warm = [run(cache) for _ in range(rounds)]
    cold = [run("") for _ in range(min(rounds, 3))]
    rows = [
        ("import numpy", [r[0] for r in warm], None),
        ("import gridhold, after numpy", [r[1] for r in warm], 0.1),
        ("first read, guest kept", [r[2] for r in warm], 0.3),
        ("first read, guest compiled", [r[2] for r in cold], None),
    ]
    table = ["| start-up of Python | s | s of CPU | to reach |", "| --- | ---: | ---: | ---: |"]
    found, figures = {}, Results(out, "startup")
    for name, times, goal in rows:
        wall, cpu = (statistics.median(t[k] for t in times) for k in (0, 1))
        figures.add(name, [t[0] for t in times], unit="s", goal=goal, most=True)
        found[name] = {"seconds": wall, "cpu_seconds": cpu}
        table.append(f"| {name} | {wall:.3f} | {cpu:.3f} | {'' if goal is None else goal} |")
    print("\n".join(table))
    (out / "startup.json").write_text(json.dumps(found, indent=1) + "\n")
    (out / "startup.md").write_text("\n".join(table) + "\n")


main()
