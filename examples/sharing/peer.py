"""The process of Python in the examples of sharing, see main.go: of python-blosc2, or of gridhold by its names."""

import json
import os
import sys

import numpy as np

if os.environ["GRIDHOLD_SHARING_WITH"] == "python":
    from gridhold import blosc2
else:
    import blosc2

WIDTH = 10


def tell(done, rows):
    print(json.dumps({"done": done, "rows": rows}), flush=True)


def main():
    j = json.loads(os.environ["GRIDHOLD_SHARING_JOB"])
    writes = j["role"] in ("append", "assign")
    a = blosc2.open(j["path"], mode="a" if writes else "r", locking=j["locking"])
    n = j["batch"]
    if j["role"] == "follow":
        settled = 0
        while settled < j["until"]:
            try:
                a.refresh()
                while settled + n <= a.shape[0]:
                    if len(np.unique(a[settled : settled + n])) != 1 and j["locking"]:
                        raise SystemExit(f"rows from {settled} are of several batches")
                    settled += n
            except RuntimeError:  # a writer is in the middle of something: try again
                continue
            tell(settled, a.shape[0])
        return
    for i in range(j["batches"]):
        value = j["tag"] << 32 | i
        if j["role"] == "append":
            with a.holding_lock():
                rows = a.shape[0]
                a.resize((rows + n, WIDTH))
                a[rows:] = value
        elif j["role"] == "assign":
            a[:] = value
        else:
            with a.holding_lock() if j["locking"] else a:  # else its reads may mix two assignments
                if len(np.unique(a[:])) != 1:
                    raise SystemExit("items of two assignments")
        tell((i + 1) * n, a.shape[0])


if __name__ == "__main__":
    sys.exit(main())
