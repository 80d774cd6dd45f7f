"""One table of everything that was measured. usage: report.py OUT DOCS

Gathers OUT/results/*.jsonl (results.py says what a line has) into bench/results.json and DOCS/benchmarks.md: first what is to be reached, row by
row in the words of goals.py, then all the rest. Each figure is of one run with its peer, in turn; medians, and quartiles of the ratio.
"""

import glob
import json
import os
import platform
import subprocess
import sys
from importlib import metadata

from goals import ROWS
from results import reached

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = ["zarrista", "zarr", "zarrs", "tensorstore", "blosc2", "vitrio", "obstore", "numpy", "wasmtime"]
GROUPS = {  # by the program that measured: in this order, under these heads
    "reads": "Zarr: subchunks and shards",
    "remote": "Zarr over HTTP",
    "startup": "Start of Python",
    "containers": "Blosc2: decoding and encoding",
    "rows": "Blosc2: rows",
    "update": "Blosc2: updates",
    "sharing": "Blosc2: containers that processes share",
    "images": "Image scratches",
    "epochs": "Image scratches from Python",
    "micro": "Kernels and allocations",
    "plugins": "Plugins",
    "browser": "In a browser",
}


def machine():
    """Sizes and kinds, no names."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as f:
            fields = dict(line.split(":", 1) for line in f.read().split("\n\n")[0].splitlines() if ":" in line)
        fields = {k.strip(): v.strip() for k, v in fields.items()}
        model = fields.get("model name", model)
        wide = [name for flag, name in (("avx2", "AVX2"), ("avx512f", "AVX-512"), ("gfni", "GFNI"), ("asimd", "NEON")) if flag in fields.get("flags", fields.get("Features", "")).split()]
        model += f" with {', '.join(wide)}" if wide else ""
    except OSError:
        pass
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cores": os.cpu_count(),
        "processor": model,
        "memory_gib": round(memory),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "load": round(os.getloadavg()[0], 1),
    }


def version_of(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def versions():
    found = {"python": platform.python_version(), "go": (version_of(["go", "env", "GOVERSION"]) or "").removeprefix("go"), "node": (version_of(["node", "--version"]) or "").removeprefix("v")}
    for name in PEERS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {name: version for name, version in found.items() if version}


def gather(out):
    lines = []
    for path in sorted(glob.glob(f"{out}/results/*.jsonl")):
        with open(path) as f:
            lines += [json.loads(line) for line in f if line.strip()]
    return lines


def number(x, unit=""):
    if x is None:
        return ""
    digits = 0 if abs(x) >= 100 else 1 if abs(x) >= 10 else 2
    text = f"{x:,.{digits}f}"
    if "." in text and unit == "allocations":
        text = text.rstrip("0").rstrip(".")
    return f"{text} {unit}".strip()


def times(x):
    """A ratio, short."""
    return f"{x:.0f}" if abs(x) >= 100 else f"{x:.1f}" if abs(x) >= 10 else f"{x:.2f}"


def verdict(line):
    return {True: "yes", False: "**no**", None: ""}[reached(line)]


def goal(line):
    if line["goal"] is None:
        return ""
    return f"{'at most ' if line['most'] else ''}{line['goal']:g}"


def ratio(line):
    if line["theirs"] is None:
        return number(line["ratio"], line["unit"])
    low, high = line["quartiles"]
    told = f"{times(line['ratio'])} ({times(low)} to {times(high)})"
    return f"{told}; {line['spoilt']}" if "spoilt" in line else told


def limit(line):
    return f"{times(line['limit_ratio'])} of {line['limit']}" if "limit" in line else ""


def figure(line):
    cells = [
        line["what"] + (f" ({line['note']})" if "note" in line else ""),
        number(line["ours"], line["unit"]),
        f"{number(line['theirs'], line['unit'])} {line['peer']}".strip(),
        ratio(line),
        times(line["cpu_ratio"]) if line.get("cpu_ratio") else "",
        limit(line),
        goal(line),
        verdict(line),
    ]
    return f"| {' | '.join(cells)} |"


HEAD = ["| figure | ours | peer | ratio (quartiles) | of CPU | of the limit | to reach | reached |", "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |"]


def page(lines, about, peers):
    by = {line["what"]: line for line in lines}
    quick = any(line.get("quick") for line in lines)
    text = [
        "# Benchmarks",
        "",
        f"Made by `make bench{'-quick' if quick else ''}`; not to be edited.{' **A quick run**: few rounds, small data.' if quick else ''}",
        "",
        f"{about['cores']} cores of {about['processor']}, {about['memory_gib']} GiB, {about['system']}; load when the table was made: {about['load']}.",
        *(["**The machine did much else meanwhile**: what is measured by the clock is disturbed, least of all where the processor's time is told beside it."] if about["load"] > 2 * about["cores"] else []),
        "Versions: " + ", ".join(f"{name} {version}" for name, version in peers.items()) + ".",
        "",
        "Ours and the peer take turns within a run; figures are medians, more is better unless it says *at most*. A ratio is ours to the peer's, the median",
        "of those within a round, with its quartiles; *of CPU* is the same for the time that all threads ran, which what else the machine does disturbs less.",
        "The limit is the least that somebody has to do: copy the bytes, read them without looking at them, or decode them from memory with the C library.",
        "",
        "![ratios to the best peer](benchmarks/ratios.svg)",
        "",
        "![ratios to the limit](benchmarks/limits.svg)",
        "",
        "## What is to be reached",
        "",
    ]
    counted, missed, absent = 0, 0, 0
    for work, against, wanted, figures in ROWS:
        text += [f"**{work}**, against {against}: {wanted}", "", *HEAD]
        for name in figures:
            line = by.get(name)
            if line is None:
                absent += 1
                text.append(f"| {name} | | | not measured in this run | | | {figures[name]:g} | |")
                continue
            counted, missed = counted + 1, missed + (reached(line) is False)
            text.append(figure(line))
        text.append("")
    head = text.index("## What is to be reached") + 1
    text[head:head] = [
        "",
        f"{counted - missed} of {counted} figures that were measured reach their goal{f'; {absent} were not measured' if absent else ''}. Why the others do not: [performance.md](performance.md).",
    ]
    named = {name for *_, figures in ROWS for name in figures}
    text += ["## All the rest", ""]
    for program in [*GROUPS, *sorted({line["of"] for line in lines} - set(GROUPS))]:
        rest = [line for line in lines if line["of"] == program and line["what"] not in named]
        if rest:
            text += [f"**{GROUPS.get(program, program)}**", "", *HEAD, *map(figure, rest), ""]
    return "\n".join(text)


def main():
    out, docs = sys.argv[1:]
    lines, about, peers = gather(out), machine(), versions()
    with open(f"{HERE}/results.json", "w") as f:
        json.dump({"machine": about, "versions": peers, "figures": lines}, f, indent=1)
    with open(f"{docs}/benchmarks.md", "w") as f:
        f.write(page(lines, about, peers))
    for line in lines:
        if reached(line) is False:
            print(f"missed: {line['what']}: {ratio(line)}, to reach {goal(line)}")


main()
