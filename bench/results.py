"""Figures, as each program hands them in: one line of JSON each, which report.py makes the table of.

    figures = Results(out, "containers")
    figures.add("decode lz45-shuffle, 1 thread", ours, theirs, peer="python-blosc2", unit="GB/s")

ours and theirs are what was measured, one a round, more is better; a ratio is that of a round. A line has: what (its name, see goals.py),
of (the program), peer, unit, ours, theirs (medians), ratio (median), quartiles (of the ratio), rounds, goal, most (the goal is not to be
passed), limit (the least that somebody has to do), limit_ratio (median of ours to it), cpu_ratio, note, spoilt (why it does not count), quick.
"""

import json
import os
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from goals import GOALS, MOST

QUICK = bool(os.environ.get("BENCH_QUICK"))


def quartiles(values):
    if len(values) < 2:
        return [values[0], values[0]]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return [low, high]


class Results:
    """The file of one program, begun anew."""

    def __init__(self, out, program):
        os.makedirs(f"{out}/results", exist_ok=True)
        self.path, self.program = f"{out}/results/{program}.jsonl", program
        open(self.path, "w").close()

    def add(self, what, ours, theirs=None, *, peer="", unit="", goal=None, most=False, limit=None, note="", spoilt="", ratio=None, middle=None, cpu=None):
        """Hands in a figure. ``goal`` and ``most`` are for what goals.py does not name. ``limit``: its name, and what it reached, one a round. ``spoilt``: why
        it does not count, whatever the ratio. ``ratio``: the ratios of the rounds, where they are not ours / theirs;
        ``middle``: what lies in the middle of them, where that is not their median.
        ``cpu``: the ratios of processor time, theirs to ours."""
        each = ratio or ([a / b for a, b in zip(ours, theirs)] if theirs else list(ours))
        line = {
            "what": what,
            "of": self.program,
            "peer": peer,
            "unit": unit,
            "ours": statistics.median(ours),
            "theirs": statistics.median(theirs) if theirs else None,
            "ratio": statistics.median(each) if middle is None else middle,
            "quartiles": quartiles(each),
            "rounds": len(each),
            "goal": GOALS.get(what, goal),
            "most": most or what in MOST,
        }
        if cpu:
            line["cpu_ratio"] = statistics.median(cpu)
        if limit:
            line["limit"] = limit[0]
            line["limit_ratio"] = statistics.median(a / b for a, b in zip(ours, limit[1]))
        line |= {key: text for key, text in (("note", note), ("spoilt", spoilt)) if text}
        if QUICK:
            line["quick"] = True
        with open(self.path, "a") as f:
            f.write(json.dumps(line) + "\n")


def reached(line):
    """Whether a figure reached its goal; None if it has none."""
    if line["goal"] is None:
        return None
    if "spoilt" in line:
        return False
    return line["ratio"] <= line["goal"] if line["most"] else line["ratio"] >= line["goal"]
