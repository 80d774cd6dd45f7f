"""Reads a few subchunks with and without a shard cache, and shows what that costs.

    python examples/subchunk.py DIR_OR_URL [PATH]
"""

import sys

import gridhold


class Counting:
    """A directory that counts what is asked of it: any object with read_ranges is a store."""

    def __init__(self, directory):
        self.files = gridhold.FileStore(directory)
        self.reset()

    def reset(self):
        self.index_loads = self.requests = self.bytes = 0

    def read_ranges(self, key, ranges, version):
        answer = self.files.read_ranges(key, ranges, version)
        if not key.endswith("zarr.json"):
            self.requests += len(ranges)
            self.index_loads += sum(offset < 0 for offset, _ in ranges)  # an index at the end is a suffix
            self.bytes += sum(len(data) for data in answer.data)
        return answer


def main():
    source, path = sys.argv[1], (sys.argv[2:] or [""])[0]
    store = source if "://" in source else Counting(source)
    with gridhold.open_array(store, path) as array:
        print(f"{array.path or '/'}: shape {array.shape}, {array.dtype}, subchunks {array.effective_subchunk_shape}")
        grid = array.subchunk_grid_shape
        picks = [tuple(k * n // 4 for n in grid) for k in range(4)] + [tuple(min(1, n - 1) for n in grid)]
        for name, cache in (("without a cache", None), ("with a cache", array.shard_cache())):
            if isinstance(store, Counting):
                store.reset()
            print(f"{name}:")
            for index in picks:
                values = array.retrieve_subchunk(index, shard_cache=cache)
                print(f"  {index}: {values.ravel()[:4].tolist()} ...")
            if isinstance(store, Counting):
                print(f"  {store.index_loads} index loads, {store.requests} requests, {store.bytes} bytes")
            elif cache is not None:
                print(f"  {cache.stats()['loads']} index loads")


if __name__ == "__main__":
    main()
