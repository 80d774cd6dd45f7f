"""Pictures of the table. usage: plot.py RESULTS.json DIRECTORY

ratios.svg and ratios.png: each figure that has a goal as a bar, ours to the best peer, with the quartiles of the ratio and a mark at the goal.
limits.svg and limits.png: how much of what is possible at all. Both can be read on a light page and on a dark one, and without telling
colours apart: who missed the goal is hatched.
"""

import json
import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from goals import ROWS
from results import reached

INK, BAR, MISSED, GOAL = "#7d8590", "#0072b2", "#e69f00", "#cc79a7"
SHORT = [("random 2 KiB", "Zarr"), ("the same", "Zarr"), ("whole shard", "Zarr"), ("cold", "Zarr"), ("Blosc2 decode", "Blosc2 decode"), ("Blosc2 encode", "Blosc2 encode"),
         ("random 4 KiB", "Blosc2 files"), ("SWMR", "Blosc2 files"), ("appends", "Blosc2 files"), ("scratch", "Scratches"), ("byte unshuffle", "Kernels")]

plt.rcParams.update({
    "font.family": "DejaVu Sans", "font.size": 9, "text.color": INK, "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.edgecolor": INK, "svg.fonttype": "path", "svg.hashsalt": "gridhold", "hatch.color": "#ffffff", "hatch.linewidth": 1.2,
})


def group(work):
    return next((name for start, name in SHORT if work.startswith(start)), None)


def chosen(figures):
    """(group, figure) of every row, in the order of the table; those that are to stay below a goal are left to the text."""
    by = {f["what"]: f for f in figures}
    for work, *_, names in ROWS:
        for name in names:
            if name in by and not by[name]["most"] and group(work):
                yield group(work), by[name]


def label(f):
    text = f["what"].replace("decode ", "").replace("encode ", "")
    return text.split(";")[0] + (f" / {f['peer']}" if "zarr" in f["what"] or f["what"].startswith("whole") else "")


def bars(rows, path, value, low_high, goal, title, unit):
    rows = list(rows)
    if not rows:
        return
    heads = [g for i, (g, _) in enumerate(rows) if i == 0 or rows[i - 1][0] != g]
    height = 0.24 * len(rows) + 0.34 * len(heads) + 0.9
    figure, axes = plt.subplots(figsize=(8.4, height))
    y, ticks, names = 0.0, [], []
    lowest = min(min(value(f), *(low_high(f) or [value(f)])) for _, f in rows)
    lowest = min(lowest, *(g for _, f in rows if (g := goal(f))), 0.5) * 0.8
    for i, (head, f) in enumerate(rows):
        if i == 0 or rows[i - 1][0] != head:
            y += 0.9
            axes.text(0, y, head, transform=axes.get_yaxis_transform(), ha="right", va="center", weight="bold", fontsize=9.5)
            y += 0.95
        good = reached(f) is not False
        v = max(value(f), lowest)
        axes.barh(y, v - lowest, left=lowest, height=0.72, color=BAR if good else MISSED, hatch=None if good else "////", linewidth=0)
        if spread := low_high(f):
            low, high = (max(x, lowest) for x in spread)
            axes.plot([low, high], [y, y], color=INK, linewidth=1.2)
            for x in (low, high):
                axes.plot([x, x], [y - 0.18, y + 0.18], color=INK, linewidth=1.2)
        if g := goal(f):
            axes.plot([g, g], [y - 0.44, y + 0.44], color=GOAL, linewidth=2.4)
        end = max([v, *(low_high(f) or [])])
        axes.annotate(f"{value(f):.2g}" if value(f) < 10 else f"{value(f):.0f}", (end, y), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8)
        ticks.append(y)
        names.append(label(f))
        y += 1
    axes.set_xscale("log")
    axes.set_yticks(ticks, names)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(y, -0.2)
    highest = max(max(value(f), *(low_high(f) or [value(f)])) for _, f in rows)
    axes.set_xlim(lowest, max(highest, 1.2) * 1.5)
    marks = [m for m in (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500) if lowest <= m <= max(highest, 1.2) * 1.5]
    axes.set_xticks(marks, [f"{m:g}" for m in marks])
    axes.minorticks_off()
    axes.axvline(1, color=INK, linewidth=0.9, linestyle=(0, (2, 2)))
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.set_xlabel(unit)
    axes.set_title(title, fontsize=10.5, loc="left", pad=18)
    handles = [plt.Rectangle((0, 0), 1, 1, color=BAR, linewidth=0)]
    told = ["reaches its goal"] if any(goal(f) for _, f in rows) else ["ours"]
    if any(reached(f) is False for _, f in rows) and any(goal(f) for _, f in rows):
        handles.append(plt.Rectangle((0, 0), 1, 1, facecolor=MISSED, hatch="////", edgecolor="#ffffff", linewidth=0))
        told.append("misses it")
    if any(goal(f) for _, f in rows):
        handles.append(plt.Line2D([], [], color=GOAL, linewidth=2.4))
        told.append("goal")
    if any(low_high(f) for _, f in rows):
        handles.append(plt.Line2D([], [], color=INK, linewidth=1.2))
        told.append("quartiles")
    axes.legend(handles, told, ncols=4, loc="lower left", bbox_to_anchor=(0, 1.0), frameon=False, fontsize=8, borderaxespad=0.2, handlelength=1.4, columnspacing=1.4)
    figure.savefig(f"{path}.svg", transparent=True, bbox_inches="tight", metadata={"Date": None, "Creator": None})
    figure.savefig(f"{path}.png", transparent=True, bbox_inches="tight", dpi=110, metadata={"Software": None})
    plt.close(figure)


def main():
    results, folder = sys.argv[1:]
    with open(results) as f:
        figures = json.load(f)["figures"]
    os.makedirs(folder, exist_ok=True)
    bars(chosen(figures), f"{folder}/ratios", lambda f: f["ratio"], lambda f: f["quartiles"], lambda f: f["goal"], "Ours to the best peer (more is better)", "times the peer, logarithmic")
    limited = [("Of what is possible", f) for f in figures if "limit" in f]
    bars(limited, f"{folder}/limits", lambda f: f["limit_ratio"], lambda f: None, lambda f: None, "Ours to the least that has to be done: a bare pread, libzstd from memory, a copy", "times the limit, logarithmic")


main()
