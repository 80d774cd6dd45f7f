"""Containers in ``gridhold.aio``: the same as for callers that block, and many at once."""

import asyncio

import numpy as np
import pytest
from test_containers import CONTAINERS, ENTRIES, sha

import gridhold
from gridhold import aio


def test_fixtures():
    """Every array and sequence of the peers, all in flight at once."""

    async def read(e):
        async with await aio.open(CONTAINERS / e["file"]) as opened:
            if isinstance(opened, aio.AsyncNDArray):
                array = await opened[...]
                raw = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
            else:
                raw = b"".join([await opened.decompress_chunk(i) for i in range(opened.nchunks)])
            assert sha(raw) == e["sha256"], e["file"]

    async def main():
        entries = [e for e in ENTRIES if e.get("sha256") and "keys" not in e and e["file"].split("/")[0] in ("ndim", "schunk", "dtype", "sparse")]
        assert len(entries) > 20
        await asyncio.gather(*(read(e) for e in entries))

    asyncio.run(main())


def test_arrays_and_sequences(tmp_path):
    async def main():
        values = np.arange(600, dtype="i4").reshape(60, 10)
        async with await aio.asarray(values, urlpath=tmp_path / "a.b2nd", chunks=(16, 10), checksums=True) as array:
            await array.set(np.s_[::2, -1], 7)
            values[::2, -1] = 7
            assert np.array_equal(await array[::-1, 3:], values[::-1, 3:]) and await array[0, 9] == 7
            assert await array.append(np.ones((2, 10))) == (62, 10) and array.shape == (62, 10)
            await array.resize((60, 10))
            await array.vlmeta.set("a", {"b": [1]})
            assert await array.vlmeta["a"] == {"b": [1]} and "a" in await array.vlmeta.names()
            await array.vlmeta.delete("a")
            with pytest.raises(KeyError):
                await array.vlmeta["a"]
            async with array.snapshot() as before:
                await array.set(..., 0)
                assert np.array_equal(await before[...], values)
            async with await array.copy(chunks=(60, 5)) as copy:
                assert copy.chunks == (60, 5) and not (await copy[...]).any() and (await copy.verify())["damaged"] == []
            async with await aio.open(tmp_path / "a.b2nd") as other:
                await array.set(0, 3)
                assert await other.refresh() and await other.change_tick() > 0 and (await other[0]).tolist() == [3] * 10
                with pytest.raises(OSError):
                    await other.set(0, 1)
            await array.compact()
            assert (await array.info())["kind"] == "ndarray" and "(60, 10)" in repr(array)
        with pytest.raises(gridhold.ClosedError):
            await array[0]
        with gridhold.SChunk(64, np.arange(32), urlpath=tmp_path / "s.b2frame") as s:
            s.close()
        async with await aio.open(tmp_path / "s.b2frame", mode="a") as s:
            assert await s.append(np.arange(4)) == 36 and len(await s[:]) == 36 * 8
            await s.set(0, np.int64(9).tobytes())
            assert await s[0] == np.int64(9).tobytes() and await s.append_data(np.arange(3)) == 6

    asyncio.run(main())


@pytest.mark.parametrize("kind", ["embedstore", "dictstore", "treestore"])
def test_stores(tmp_path, kind):
    async def main():
        async with await aio.open_store(kind, tmp_path / "store", "w") as store:
            await store.set("/a/b", np.arange(6).reshape(2, 3))
            async with await aio.zeros((3,)) as leaf:
                await store.set("c", leaf)
            assert "/a/b" in await store.keys() and (await (await store["/a/b"])[1]).tolist() == [3, 4, 5]
            await store.delete("c")
            with pytest.raises(KeyError):
                await store["c"]
            if kind != "embedstore":
                await store.to_b2z(tmp_path / "z.b2z")
            if kind == "treestore":
                assert await store.get_children("/") == ["/a"]
        async with await aio.open(tmp_path / ("z.b2z" if kind != "embedstore" else "store")) as store:
            assert store.kind == kind and await (await store["/a/b"])[0, 1] == 1

    asyncio.run(main())


def test_who_waits_for_a_lock_can_leave(tmp_path):
    async def main():
        path = tmp_path / "a.b2nd"
        async with await aio.zeros((2,), "i8", urlpath=path, locking=True) as array:
            async with await aio.open(path, mode="a", locking=True) as other:
                async with array.holding_lock():
                    waiting = [asyncio.ensure_future(other.set(0, n)) for n in range(40)]
                    await array.set(1, 5)
                    assert await array[1] == 5 and not any(w.done() for w in waiting)
                    for w in waiting[1:]:
                        w.cancel()
                await asyncio.wait(waiting)
                assert [w.cancelled() for w in waiting] == [False] + [True] * 39
                assert (await array[:]).tolist() == [0, 5]

    asyncio.run(main())
