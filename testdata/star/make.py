"""STAR files of starfile 0.5.13. usage: make.py, in this directory

Writes particles.star, and values.json: what starfile reads from it. Then holds written.star, which is what Gridhold makes of particles.star, against
that: starfile reads the same from both.
"""

import json
import os

import pandas
import starfile


general = {"rlnTomoName": "TS 01", "rlnVoltage": 300.0, "rlnComment": "it's 'quoted'"}
optics = pandas.DataFrame({
    "rlnOpticsGroup": [1, 2], "rlnOpticsGroupName": ["group one", "two"], "rlnImagePixelSize": [1.25, 2.5], "rlnImageSize": [64, 32],
})
particles = pandas.DataFrame({
    "rlnImageName": [f"{i % 5 + 1:06d}@Extract/job 7/{'ab'[i % 2]}.mrcs" for i in range(20)],
    "rlnOpticsGroup": [i % 2 + 1 for i in range(20)],
    "rlnDefocusU": [10000.5 + i for i in range(20)],
    "rlnMicrographName": ["" if i == 3 else f"m/{i}.mrc" for i in range(20)],
    "rlnAngle": [-1.5 * i for i in range(20)],
})


def values(name):
    tables = starfile.read(name, always_dict=True, parse_as_string=[*general, *optics, *particles])
    as_rows = lambda t: t.to_dict("records") if isinstance(t, pandas.DataFrame) else [t]
    return {block: [{k: str(v) for k, v in row.items()} for row in as_rows(t)] for block, t in tables.items()}


starfile.write({"general": general, "optics": optics, "particles": particles, "empty": particles[:0]}, "particles.star", overwrite=True)
want = values("particles.star")
with open("values.json", "w") as f:
    json.dump(want, f, indent=1)
    f.write("\n")
if os.path.exists("written.star"):
    assert values("written.star") == want
    print("starfile reads what Gridhold wrote")
