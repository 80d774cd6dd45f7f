"""What shows how far it is, and what it is."""

import sys
import types

import numpy as np
import pytest
from conftest import VALUES, sharded

import gridhold
from gridhold import scratch
from gridhold import torch as ghtorch


@pytest.fixture
def tqdm(monkeypatch):
    """A stand-in for tqdm, which is not among what the package needs."""
    bars = []

    class Bar:
        def __init__(self, total, unit, unit_scale):
            self.total, self.unit, self.n, self.closed = total, unit, 0, False
            bars.append(self)

        def update(self, n):
            self.n += n

        def close(self):
            self.closed = True

    module = types.ModuleType("tqdm.auto")
    module.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    return bars


class Ramps:
    shape, dtype = (6, 2, 2), np.dtype("float32")

    def open(self, key):
        return self

    def read(self, first, count):
        return np.arange(first, first + count, dtype="f4")[:, None, None] * np.ones((2, 2), "f4")


def test_prefetch(tqdm):
    locations = [scratch.ImageLocation(k, i) for k in "abc" for i in range(6)]
    held = scratch.create_host_image_scratch(locations, 2, files=Ramps())
    scratch.prefetch_scratch_async(held, progress=True).get()
    assert [(b.total, b.n, b.unit, b.closed) for b in tqdm] == [(3, 3, "files", True)]
    told = []
    done = scratch.prefetch_scratch_async(held, progress=lambda done, of: told.append((done, of)))
    done.wait()
    assert done.is_ready and told == [(1, 3), (2, 3), (3, 3)]
    assert held.stats()["present"] == 18


def test_copy(tqdm, tmp_path):
    values = np.arange(5_000_000, dtype="i4").reshape(2500, 2000)
    with gridhold.asarray(values, chunks=(100, 2000), meta={"m": 1}) as array:
        array.vlmeta["v"] = {"w": 2}
        with array.copy(urlpath=tmp_path / "c.b2nd", progress=True) as copy:
            assert np.array_equal(copy[...], values) and copy.chunks == (100, 2000) and copy.meta["m"] == 1 and copy.vlmeta["v"] == {"w": 2}
        (bar,) = tqdm
        assert bar.n == bar.total == values.nbytes and bar.closed and [p.name for p in tmp_path.iterdir()] == ["c.b2nd"]
        with pytest.raises(FileExistsError):
            array.copy(urlpath=tmp_path / "c.b2nd", progress=True)
        with array.copy(blocks=(50, 100), cparams={"codec": "lz4", "clevel": 1}) as other:
            assert other.blocks == (50, 100) and other.cparams["codec"] == "lz4" and np.array_equal(other[...], values)


def test_without_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with gridhold.asarray(np.arange(4)) as array, array.copy(progress=True) as copy:
        assert list(copy[:]) == [0, 1, 2, 3]


def test_what_things_say(tmp_path):
    store = gridhold.MemoryStore(sharded(VALUES, (16, 16), (4, 4)))
    with gridhold.open_array(store) as array:
        for part in ("Array", "(64, 64)", "uint16", "(16, 16)", "(4, 4)"):
            assert part in repr(array) and part in array._repr_html_()
    with gridhold.zeros((4, 6), "f4", urlpath=tmp_path / "<a>.b2nd", chunks=(2, 6), blocks=(1, 6)) as array:
        for part in ("NDArray", "(4, 6)", "float32", "(2, 6)", "(1, 6)", "zstd"):
            assert part in repr(array) and part in array._repr_html_()
        assert "&lt;a&gt;.b2nd" in array._repr_html_() and "<a>" not in array._repr_html_()
    assert "closed" in repr(array) and "closed" in array._repr_html_()
    with gridhold.DictStore(tmp_path / "d.b2d", "w") as d:
        d["/x"] = np.arange(3)
        assert "DictStore" in repr(d) and "<table>" in d._repr_html_() and "/x" in d._repr_html_()
    held = scratch.create_host_image_scratch([scratch.ImageLocation("a", 0)], 2, files=Ramps())
    assert "1 locations in 1 files" in repr(held) and "<table>" in held._repr_html_() and "present" in held._repr_html_()
    load, provider = scratch.loader(held, workers=3), scratch.reader_provider(held)
    assert "1 locations" in repr(load) and "workers 3" in repr(load) and "1 locations" in repr(provider)
    assert "files" in repr(scratch.loader()) and "float32" in repr(scratch.loader(held, dtype="f4"))
    assert "(6, 2, 2)" in repr(provider.open("a")) and "float32" in repr(provider.open("a"))
    images = ghtorch.Dataset([scratch.ImageLocation("a", i) for i in range(5)], scratch=held)
    assert "5 images" in repr(images) and "3 batches of 2" in repr(ghtorch.DataLoader(images, 2))
    filling = scratch.prefetch_scratch_async(held)
    filling.result(300)
    assert "1 of 1" in repr(filling)
