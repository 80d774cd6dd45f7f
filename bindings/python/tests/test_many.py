"""Thousands of opens and closes, traps, and errors of the outside: memory stays flat, and the next call works."""

import gc
import os
from pathlib import Path

import numpy as np
import pytest
from conftest import VALUES, block

import gridhold

OPENS = int(os.environ.get("GRIDHOLD_OPENS", "600"))  # 10,000: GRIDHOLD_OPENS


def resident():
    """Bytes that this process has in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_opens_and_closes(tmp_path, directory):
    """Arrays, caches and containers; the second half of them takes no more memory than the guest's own fluctuation."""
    path = tmp_path / "c.b2nd"
    gridhold.asarray(np.arange(100), urlpath=path).close()
    memory = (128 << 20) + 1  # a guest of its own

    def some(n):
        for k in range(n):
            with gridhold.open_array(directory, memory=memory) as array:
                at = (k % 16, k // 16 % 16)
                assert np.array_equal(array.retrieve_subchunk(at, shard_cache=array.shard_cache()), block(VALUES, at))
            with gridhold.open(path, memory=memory) as c:
                assert c[k % 100] == k % 100
        return array, c

    array, c = some(OPENS // 2)
    before, guest = resident(), c._core.runtime.guest()
    inside, files = guest.memory_size, len(os.listdir("/proc/self/fd"))
    some(OPENS - OPENS // 2)
    assert resident() <= before + (24 << 20)
    assert c._core.runtime.guest() is guest and len(guest.files) == 0
    assert len(os.listdir("/proc/self/fd")) <= files + 2
    assert guest.memory_size <= inside + (8 << 20)


@pytest.mark.parametrize("what", ["trap", "exit", "out of memory"])
def test_the_call_after_a_trap(directory, what, monkeypatch):
    """Of arrays and containers, those that were open before included."""
    memory = (96 << 20) + 2
    with gridhold.open_array(directory, memory=memory) as array, gridhold.asarray(np.arange(5), memory=memory) as c:
        cache = array.shard_cache()
        array.retrieve_subchunk((1, 1), shard_cache=cache)
        guest = array._node.runtime.guest()
        call = guest._instance._exports["gh_call"]

        def dies(*args):
            if what == "exit":
                raise gridhold.InternalError("guest: Exited with i32 exit status 3")
            import wasmtime

            raise wasmtime.WasmtimeError("wasm trap: unreachable" if what == "trap" else "out of memory")

        monkeypatch.setitem(guest._instance._exports, "gh_call", dies)
        with pytest.raises(gridhold.InternalError):
            array.retrieve_subchunk((2, 2))
        monkeypatch.setitem(guest._instance._exports, "gh_call", call)
        assert guest.dead and array._node.runtime.guest() is not guest
        assert np.array_equal(array.retrieve_subchunk((2, 2)), block(VALUES, (2, 2)))
        assert np.array_equal(array.retrieve_subchunk((1, 2), shard_cache=cache), block(VALUES, (1, 2)))
        with pytest.raises(gridhold.NotFoundError):
            c[0]  # it lay in the memory of the guest that died


def test_an_import_that_fails_now_and_then(objects):
    """The guest lives on; what failed is told as what the store raised, with that as its cause."""

    class Every:
        inner, n = gridhold.MemoryStore(objects), 0

        def read_ranges(self, key, ranges, version):
            self.n += 1
            if key.startswith("c/") and self.n % 3 == 0:
                raise ConnectionError("gone")
            return self.inner.read_ranges(key, ranges, version)

    with gridhold.open_array(Every(), memory=(64 << 20) + 5) as array:
        guest, failed = array._node.runtime.guest(), 0
        for k in range(200):
            try:
                assert np.array_equal(array.retrieve_subchunk((k % 16, 3)), block(VALUES, (k % 16, 3)))
            except gridhold.IOFailedError as e:
                assert isinstance(e, OSError) and isinstance(e.__cause__, ConnectionError)
                failed += 1
        assert 50 < failed < 200 and array._node.runtime.guest() is guest and guest.memory_size < 64 << 20
