"""Makes the files of this folder but ours.b2nd, which is

    gridhold copy --checksums source.b2nd ours.b2nd

of the source that "make.py source.b2nd" writes. Needs blosc2 4.14.1."""

import os
import shutil
import sys

import blosc2
import numpy as np


def noise(seed, *shape):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype="u1")


if len(sys.argv) > 1:
    a = blosc2.asarray(noise(1, 4, 100), chunks=(1, 100), blocks=(1, 100), urlpath=sys.argv[1], mode="w")
    a.schunk.vlmeta["note"] = "made"
    sys.exit()

os.chdir(os.path.dirname(os.path.abspath(__file__)))
for name, change in {
    "opened": lambda a: a[:],
    # as long as the chunk before, and in its place
    "updated": lambda a: a.__setitem__(2, noise(2, 100)),
    "grown": lambda a: a.resize((5, 100)),
    "vlmeta": lambda a: a.schunk.vlmeta.__setitem__("note", "changed"),
}.items():
    shutil.copy("ours.b2nd", name + ".b2nd")
    change(blosc2.open(name + ".b2nd", mode="a"))
