"""A process that goes through the images of a scratch again and again, while others do and are killed.

usage: with_scratch.py DIRECTORY. It writes a line when the scratch is open and one for each batch, all of whose pixels were right. The lines are long,
so that it is soon waiting for somebody to read them, and does not go far ahead. See scratch_kills_test.go.
"""

import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "bindings", "python", "src"))

import numpy as np
from gridhold import scratch

STACKS, COUNT, SIDE, RUN, BATCH, LINE = "abc", 1000, 16, 4, 4, 8192

directory = sys.argv[1]
locations = [scratch.ImageLocation(f"{directory}/{s}.mrcs", i) for s in STACKS for i in range(COUNT)]
held = scratch.create_mapped_file_image_scratch(locations, f"{directory}/scr", RUN)
load = scratch.loader(held)
ramp = np.arange(SIDE * SIDE, dtype="f4").reshape(SIDE, SIDE)
print("open", flush=True)
while True:
    rows = random.sample(range(len(locations)), BATCH)
    got = load.read_batch([locations[r] for r in rows])
    assert np.array_equal(got, np.stack([ramp + r for r in rows])), "wrong pixels"
    print(str(rows[0]).ljust(LINE), flush=True)
