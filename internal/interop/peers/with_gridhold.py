"""A process of Gridhold's Python that works on one Blosc2 array, for the tests of sharing."""

import json
import sys

import gridhold
import numpy as np


class Worker:
    def open(self, path, mode="r", locking=True):
        self.array = gridhold.open(path, mode=mode, locking=locking)
        return {}

    def append(self, count, size, tag):
        """Batches of size items, the i-th all tag*1000000+i."""
        for i in range(count):
            with self.array.holding_lock() as held:
                held.append(np.full(size, tag * 1000000 + i, "i8"))
        return {"n": count}

    def increment(self, count):
        for _ in range(count):
            with self.array.holding_lock() as held:
                held[0] = held[0] + 1
        return {"n": count}


worker = Worker()
for line in sys.stdin:
    request = json.loads(line)
    try:
        answer = getattr(worker, request.pop("do"))(**request)
    except Exception as e:
        answer = {"refused": f"{type(e).__name__}: {e}"}
    print(json.dumps(answer), flush=True)
