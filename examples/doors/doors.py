"""The door for Python. usage: doors.py DIR"""

import sys

import gridhold

PLACES = [(5 * k % 32, 11 * k % 32) for k in range(8)]


class Counting:
    """Any object with read_ranges is a store: this one counts what a directory is asked for."""

    def __init__(self, store):
        self.store = store
        self.clear()

    def clear(self):
        self.loads = self.requests = self.bytes = 0

    def read_ranges(self, key, ranges, version):
        answer = self.store.read_ranges(key, ranges, version)
        self.requests += len(ranges)
        self.loads += sum(off < 0 for off, _ in ranges)  # the index is a shard's last bytes
        if answer is not None:
            self.bytes += sum(len(b) for b in answer[0])
        return answer


store = Counting(gridhold.FileStore(sys.argv[1]))
with gridhold.open_array(store) as array:
    for cache in (None, array.shard_cache()):
        store.clear()
        total = sum(int(array.retrieve_subchunk(at, shard_cache=cache).sum()) for at in PLACES)
        print("Python", "no" if cache is None else "yes", len(PLACES), total, store.loads, store.requests, store.bytes, sep="\t")
