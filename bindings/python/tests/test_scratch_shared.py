"""Processes that share a scratch, by a file or by a directory: killed at any moment, and never a wrong pixel."""

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_scratch import COUNT, check, everything, pixels, stacks  # noqa: F401

from gridhold import scratch

RUN = 4
ROUNDS = int(os.environ.get("GRIDHOLD_TORTURE", "2"))
READER = """
import random, sys
import numpy as np
from gridhold import scratch
import test_scratch as t
import test_scratch_shared as s
where, stacks, path, seed = sys.argv[1:]
held = s.made(where, stacks, path)
load, order = scratch.loader(held), t.everything(stacks)
print("open", flush=True)
sys.stdin.readline()
rng = random.Random(int(seed))
for epoch in range(3):
    rng.shuffle(order)
    for at in range(0, len(order), 6):
        part = order[at : at + 6]
        assert np.array_equal(load.read_batch(part), np.stack([t.pixels(a) for a in part])), part
        print("batch", flush=True)
print(*(held.stats()[n] for n in ("filled", "source_reads", "damaged", "bypassed")), flush=True)
"""


def made(where, stacks, path):
    locations = everything(stacks)
    if where == "file":
        return scratch.create_mapped_file_image_scratch(locations, path, RUN)
    return scratch.create_directory_image_scratch(locations, path, RUN, 1 << 20)


class Reader:
    def __init__(self, *arguments):
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parent)])}
        self.process = subprocess.Popen([sys.executable, "-c", READER, *map(str, arguments)], stdin=-1, stdout=-1, text=True, env=env)
        assert self.process.stdout.readline() == "open\n"

    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def batches(self, n):
        """Waits until it has read so many."""
        for _ in range(n):
            if self.process.stdout.readline() != "batch\n":
                return

    def end(self):
        """What it said at its end."""
        lines = self.process.stdout.read().splitlines()
        assert self.process.wait(300) == 0
        return [int(n) for n in lines[-1].split()]

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def readers():
    started = []

    def start(*arguments):
        started.append(Reader(*arguments))
        return started[-1]

    yield start
    for r in started:
        r.close()


@pytest.mark.parametrize("where", ["file", "directory"])
def test_each_run_is_read_once(stacks, tmp_path, readers, where):  # noqa: F811
    """Two processes that go through all images three times, side by side: every run is taken in by one of them."""
    both = [readers(where, stacks, tmp_path / "scr", seed) for seed in (1, 2)]
    for r in both:
        r.go()
    said = np.array([r.end() for r in both])
    runs = 3 * COUNT // RUN
    assert said[:, 0].sum() == runs and said[:, 2].sum() == 0
    # Nobody waits for a run that the other one is at: he reads it for himself, and counts that.
    assert said[:, 1].sum() == runs + said[:, 3].sum()
    held = made(where, stacks, tmp_path / "scr")
    check(scratch.loader(held), everything(stacks))
    assert held.stats()["present"] == 3 * COUNT and held.stats()["source_reads"] == 0


@pytest.mark.parametrize("where", ["file", "directory"])
def test_killed_at_random(stacks, tmp_path, readers, where):  # noqa: F811
    rng = random.Random(4)
    for n in range(ROUNDS):
        path = tmp_path / f"scr{n % 2}"  # found half full by every second
        victim, other = (readers(where, stacks, path, f"{n}{i}") for i in range(2))
        victim.go()
        other.go()
        victim.batches(rng.randrange(4))
        victim.process.kill()
        assert other.end()[2] == 0
        held = made(where, stacks, path)
        check(scratch.loader(held), everything(stacks))
        stats = held.stats()
        assert stats["damaged"] == 0 and stats["present"] == 3 * COUNT
        for at in everything(stacks)[:: 3 * n + 1]:
            assert np.array_equal(held.read([at])[0], pixels(at))
        held.close()
        if n % 2 and where == "file":
            os.unlink(path)
