"""A process that works on one Blosc2 container with python-blosc2, for the tests
of sharing. The process of Gridhold that takes the same requests is in
blosc2_sharing_child_test.go."""

import contextlib
import gc
import random
import warnings

import blosc2
import numpy as np
import protocol

blosc2.set_nthreads(1)
warnings.filterwarnings("ignore", message="External leaf")  # what killed writers left in a store


class Worker:
    def forget(self):
        """Ends what was open."""
        self.__dict__.clear()
        gc.collect()
        return {}

    def open(self, path, mode="r", locking=True):
        self.path = path
        self.c = blosc2.open(path, mode=mode, locking=locking)
        return {}

    def create_array(self, path, shape, chunks, locking=True, fill=0):
        params = blosc2.CParams(codec=blosc2.Codec.LZ4, clevel=1, nthreads=1)
        self.c = blosc2.full(tuple(shape), fill, dtype="i8", chunks=tuple(chunks), blocks=tuple(chunks), urlpath=path,
                             mode="w", locking=locking, cparams=params)
        return {}

    def create_schunk(self, path, chunksize, meta=None, locking=True):
        params = blosc2.CParams(codec=blosc2.Codec.LZ4, typesize=8, clevel=1, nthreads=1)
        self.c = blosc2.SChunk(chunksize=chunksize, urlpath=path, mode="w", locking=locking, meta=meta or {},
                               cparams=params)
        return {}

    # Writers of an array of one axis.

    def append(self, count, size, tag, hold=True):
        """Batches of size items, the i-th all tag*1000000+i."""
        for i in range(count):
            batch = np.full(size, tag * 1000000 + i, "i8")
            if hold:
                with self.c.holding_lock() as a:
                    n = a.shape[0]
                    a.resize((n + size,))
                    a[n:] = batch
            else:
                n = self.c.shape[0]
                self.c.resize((n + size,))
                self.c[n:] = batch
        return {"n": count}

    def increment(self, count):
        for _ in range(count):
            with self.c.holding_lock() as a:
                a[0] = a[0] + 1
        return {"n": count}

    def assign(self, count, tag=0):
        """Sets all items to 1, 2, …"""
        for i in range(count):
            self.c[:] = tag + i + 1
        return {"n": count}

    def grow(self, count, size, hold=False):
        """Grows the array by size items at a time; item i is i."""
        for _ in range(count):
            with self.c.holding_lock() if hold else contextlib.nullcontext():
                n = self.c.shape[0]
                self.c.resize((n + size,))
                self.c[n:] = np.arange(n, n + size)
        return {"n": count}

    # Readers.

    def settled(self, count, size, until, hold=False):
        """Reads slices of what had been there before the last growth, until there have been count reads and there are
        until items. hold: the last growth is there too, all of it."""
        bad = errors = n = 0
        text = ""
        settled = 0
        while n < count or self.c.shape[0] < until:
            n += 1
            try:
                self.c.refresh()
                end = self.c.shape[0] - (0 if hold else size)
                bad += hold and end % size != 0
                if end <= 0:
                    continue
                settled = max(settled, end)
                i = random.randrange(settled)
                j = min(i + 50, settled)
                bad += not np.array_equal(self.c[i:j], np.arange(i, j))
            except Exception as e:
                errors, text = errors + 1, str(e)[:200]
        return {"n": n, "bad": bad, "errors": errors, "text": text}

    def whole(self, count):
        """Reads all items, which have to be equal."""
        bad = errors = 0
        for _ in range(count):
            try:
                bad += len(np.unique(self.c[:])) != 1
            except Exception:
                errors += 1
        return {"n": count, "bad": bad, "errors": errors}

    def items(self):
        self.c.refresh()
        return {"data": protocol.pack_fixed(self.c[:])}

    # A sequence of chunks of 8 times size bytes.

    def chunks(self, count, size, tag=0):
        for i in range(count):
            self.c.append_data(np.full(size, tag * 1000000 + i, "i8"))
        return {"n": count}

    def vlset(self, count, name):
        for i in range(count):
            self.c.vlmeta[name] = i
        return {"n": count}

    def meta(self, name, value):
        self.c.meta[name] = value
        return {}

    def update(self, index, size, value):
        self.c.update_data(index, np.full(size, value, "i8"), copy=True)
        return {}

    def stored(self):
        """The first item of each chunk."""
        s = self.c if isinstance(self.c, blosc2.SChunk) else self.c.schunk
        s.refresh()
        return {"data": protocol.pack_fixed(np.array([np.frombuffer(s.decompress_chunk(i), "i8")[0] for i in range(s.nchunks)], "i8"))}

    def vlget(self, name):
        return {"n": self.c.vlmeta[name]}

    # Locks and states.

    def hold(self):
        self.held = self.c.holding_lock()
        self.held.__enter__()
        return {}

    def release(self):
        self.held.__exit__(None, None, None)
        return {}

    def refresh(self):
        changed = bool(self.c.refresh())
        s = self.c if isinstance(self.c, blosc2.SChunk) else self.c.schunk
        return {"n": s.nchunks, "changed": changed}

    # A store.

    def store(self, path, mode="a", kind="dict", locking=True, threshold=None):
        make = {"dict": blosc2.DictStore, "tree": blosc2.TreeStore, "embed": blosc2.EmbedStore}[kind]
        if kind == "embed":
            self.c = make(urlpath=path, mode=mode, storage=blosc2.Storage(urlpath=path, mode=mode, locking=locking))
        else:
            self.c = make(path, mode=mode, locking=locking, threshold=threshold)
        return {}

    def put(self, key, size, value):
        self.c[key] = np.full(size, value, "i8")
        return {}

    def drop(self, key):
        del self.c[key]
        return {}

    def swap(self, key, count, size, remove=False):
        """Puts arrays of one value each under a key, in turn."""
        for i in range(count):
            if remove:
                try:
                    del self.c[key]
                except KeyError:
                    pass
            self.c[key] = np.full(size, i, "i8")
        return {"n": count}

    def steps(self, steps):
        """Puts arrays of one value each under keys, or removes what lies there."""
        for s in steps:
            if s["size"] < 0:
                del self.c[s["key"]]
            else:
                self.c[s["key"]] = np.full(s["size"], s["value"], "i8")
        return {"n": len(steps)}

    def survey(self, names):
        """What lies under keys: the value, or -1 where there is nothing, -2 where it cannot be read, -3 where there are
        other items than of one value."""
        found = []
        text = ""
        for key in names:
            try:
                items = self.c[key][:]
                v = int(items[0])
                found.append(v if np.array_equal(items, np.full([20, 100, 300][v % 3], v)) else -3)
            except KeyError:
                found.append(-1)
            except Exception as e:
                found.append(-2)
                text = f"{key}: {type(e).__name__}: {e}"[:200]
        return {"data": protocol.pack_fixed(np.array(found, "i8")), "errors": found.count(-2), "bad": found.count(-3), "text": text}

    def keys(self):
        return {"names": sorted(self.c.keys())}

    def values(self, key, count):
        """Reads what is under a key, all items of which have to be equal."""
        bad = errors = missing = 0
        text = ""
        for _ in range(count):
            try:
                bad += len(np.unique(self.c[key][:])) != 1
            except KeyError:
                missing += 1
            except Exception as e:
                errors, text = errors + 1, str(e)[:200]
        return {"n": count, "bad": bad, "errors": errors, "missing": missing, "text": text}


if __name__ == "__main__":
    protocol.serve(Worker())
