"""What happens when the guest dies, a store fails under it, or its caller leaves."""

import asyncio
import json
import os
import threading

import numpy as np
import pytest
import wasmtime
from conftest import FIXTURES, SHARD, SUB, VALUES, AsyncCounting, Counting, block, sharded
from test_cache import Gated, until

import gridhold
from gridhold._imports import Job

HUGE = np.zeros((4096, 4096), "<u2")  # 32 MiB
TINY = 24 << 20


def runtime_of(array):
    return array._node.runtime


def kill(array):
    """A trap: everything the guest remembers is overwritten, then it is called."""
    guest = runtime_of(array).guest()
    with guest.lock:
        memory = guest._instance.memory
        memory.write(0, b"\xff" * memory.size())
        with pytest.raises(gridhold.InternalError):
            guest._call("gh_run", 0, 0)
    assert guest.dead
    return guest


def test_more_than_the_cap_is_refused(objects):
    big = gridhold.MemoryStore(sharded(HUGE, (4096, 4096), (4096, 4096), codec="gzip"))
    small = gridhold.MemoryStore(objects)
    with gridhold.open_array(big, memory=TINY) as array, gridhold.open_array(small, memory=TINY) as other:
        for cache in (None, array.shard_cache()):
            with pytest.raises(gridhold.LimitError):
                array.retrieve_subchunk((0, 0), shard_cache=cache)
            assert np.array_equal(other.retrieve_subchunk((2, 3)), block(VALUES, (2, 3)))
        assert runtime_of(array).guest().memory_size <= TINY


def test_out_of_memory(objects, monkeypatch):
    """A guest that was promised more than there is dies of it, says why, and the next call is right."""
    set_limits = wasmtime.Store.set_limits
    monkeypatch.setattr(wasmtime.Store, "set_limits", lambda store, memory_size: set_limits(store, TINY))
    options = {"memory": (192 << 20) + 1}  # no other test has this guest
    big = gridhold.MemoryStore(sharded(HUGE, (4096, 4096), (4096, 4096), codec="gzip"))
    small = gridhold.MemoryStore(objects)
    with gridhold.open_array(big, **options) as array, gridhold.open_array(small, **options) as other:
        cache = other.shard_cache()
        assert np.array_equal(other.retrieve_subchunk((2, 3), shard_cache=cache), block(VALUES, (2, 3)))
        guest = runtime_of(array).guest()
        with pytest.raises(gridhold.InternalError, match="out of memory"):
            array.retrieve_subchunk((0, 0))
        assert guest.dead
        for held in (None, cache):
            assert np.array_equal(other.retrieve_subchunk((9, 3), shard_cache=held), block(VALUES, (9, 3)))
        assert runtime_of(array).guest() is not guest


def test_cap_too_small_to_start():
    for memory in (1 << 16, 1 << 20):
        with pytest.raises(gridhold.Error):
            gridhold.open_array(gridhold.MemoryStore({}), memory=memory)


def test_dead_guest_takes_its_operations_along(objects):
    """Operations under way fail with InternalError; the handles open again in a fresh guest."""

    async def main():
        store = Gated(objects, {"c/3/3"})
        async with await gridhold.aio.open_array(store) as array:
            cache = array.shard_cache()
            assert np.array_equal(await array.retrieve_subchunk((0, 0), shard_cache=cache), block(VALUES, (0, 0)))
            waiting = asyncio.create_task(array.retrieve_subchunk((15, 15)))
            await until(lambda: store.entered)
            dead = kill(array)
            with pytest.raises(gridhold.InternalError):
                await waiting
            assert np.array_equal(await array.retrieve_subchunk((4, 4), shard_cache=cache), block(VALUES, (4, 4)))
            assert np.array_equal(await array.retrieve_subchunk((0, 1)), block(VALUES, (0, 1)))
            assert array._node.runtime.guest() is not dead

    asyncio.run(asyncio.wait_for(main(), 300))


def test_cache_of_the_guest_outlives_it(objects):
    """An array that only the guest can read keeps its cache there; with a new guest the cache starts anew."""
    with only_the_guest_reads() as array:
        assert not array.info["host_readable"]
        cache = array.shard_cache()
        want = array.retrieve_subchunk((0,) * array.ndim, shard_cache=cache)
        array.retrieve_subchunk((0,) * array.ndim, shard_cache=cache)
        assert cache.stats()["hits"] >= 1
        kill(array)
        assert np.array_equal(array.retrieve_subchunk((0,) * array.ndim, shard_cache=cache), want)
        assert cache.stats()["loads"] >= 1


def only_the_guest_reads():
    """Any of the peers' arrays that is sharded but not for this host to read."""
    for entry in json.loads((FIXTURES / "manifest.json").read_text())["arrays"]:
        try:
            array = gridhold.open_array(FIXTURES, entry["path"])
        except gridhold.Error:
            continue
        if array.is_sharded and not array.info["host_readable"] and array.info["exclusively_sharded"]:
            return array
    raise AssertionError("no such array among the fixtures")


def test_metadata_that_changed_is_not_the_same_array(objects):
    store = gridhold.MemoryStore(objects)
    with gridhold.open_array(store) as array:
        store.put("zarr.json", objects["zarr.json"].replace(b"64", b"32"))
        assert np.array_equal(array.retrieve_subchunk((0, 0)), block(VALUES, (0, 0)))
        kill(array)
        with pytest.raises(gridhold.StaleError):
            array.retrieve_subchunk((0, 0))


@pytest.mark.parametrize(
    "error",
    [RuntimeError("boom"), RuntimeError("\u4e2d" * 5000), OSError(5, "EIO"), PermissionError(13, "no"), ValueError("x")],
    ids=["bug", "long", "EIO", "EACCES", "value"],
)
@pytest.mark.parametrize("cached", [False, True])
def test_store_fails_in_the_middle(objects, error, cached):
    """The index comes, the data does not."""
    store = Counting(objects)
    with gridhold.open_array(store) as array:
        cache = array.shard_cache() if cached else None
        array.retrieve_subchunk((0, 0), shard_cache=cache)

        def fail(key, ranges):
            if key.startswith("c/") and ranges[0][0] >= 0:
                raise error

        store.fail = fail
        with pytest.raises(Exception) as caught:
            array.retrieve_subchunk((0, 1), shard_cache=cache)
        assert isinstance(caught.value, gridhold.Error)
        assert (caught.value.code == "NotAllowed") == isinstance(error, PermissionError)
        assert caught.value.__cause__ is error
        store.fail = None
        assert np.array_equal(array.retrieve_subchunk((0, 1), shard_cache=cache), block(VALUES, (0, 1)))


@pytest.mark.parametrize(
    "answer",
    [3, (b"", 0), ([], 10, "v"), ([b"x" * 10**6], 10**6, "v"), ([None], 3, "v"), ([b""], 0, "v" * 200), ([b""], 0, "v")],
    ids=["number", "pair", "none", "too long", "no bytes", "long version", "short"],
)
@pytest.mark.parametrize("cached", [False, True])
def test_store_breaks_its_contract(objects, answer, cached):
    inner = gridhold.MemoryStore(objects)
    broken = []

    class Store:
        def read_ranges(self, key, ranges, version):
            if broken and key.startswith("c/"):
                return answer
            return inner.read_ranges(key, ranges, version)

    with gridhold.open_array(Store()) as array:
        cache = array.shard_cache() if cached else None
        broken.append(True)
        with pytest.raises(gridhold.Error) as caught:
            array.retrieve_subchunk((0, 0), shard_cache=cache)
        assert not isinstance(caught.value, gridhold.InternalError)
        broken.clear()
        assert np.array_equal(array.retrieve_subchunk((0, 0), shard_cache=cache), block(VALUES, (0, 0)))


def test_interrupted_in_a_local_store(objects, monkeypatch):
    """Ctrl-C in the midst of a read comes out as itself, and nothing is left behind."""
    store = gridhold.MemoryStore(objects)
    with gridhold.open_array(store) as array:
        monkeypatch.setattr(gridhold.MemoryStore, "read_ranges", lambda *a: (_ for _ in ()).throw(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            array.retrieve_subchunk((0, 0))
        monkeypatch.undo()
        assert np.array_equal(array.retrieve_subchunk((0, 0)), block(VALUES, (0, 0)))


def test_late_outcome_of_a_cancelled_job(objects):
    """A token that was released may be out again: what the first job brings late is not the second one's."""
    with gridhold.open_array(gridhold.MemoryStore(objects)) as array:
        guest = runtime_of(array).guest()
        first, second = Job(), object()
        with guest.lock:
            guest._out[77] = second
        guest.complete([(77, first, 1)])
        assert guest._out.pop(77) is second


def test_cancelled_task(objects):
    """Left at any stage, a read leaves nothing, and the next is right."""

    async def main():
        async with await gridhold.aio.open_array(AsyncCounting(objects)) as array:
            for turns in range(12):
                task = asyncio.create_task(array.retrieve_subchunk((5, 5)))
                for _ in range(turns):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                assert np.array_equal(await array.retrieve_subchunk((5, 5)), block(VALUES, (5, 5)))
            guest = array._node.runtime.guest()
            for _ in range(20):
                await asyncio.sleep(0)
            box = guest._instance.mailbox()
            assert (box.live, box.waiting, box.orphans, box.panics) == (0, 0, 0, 0)
            assert not guest._out and not guest._under_way

    asyncio.run(asyncio.wait_for(main(), 300))


def test_two_loops_have_guests_of_their_own(directory):
    async def main():
        array = await gridhold.aio.open_array(directory)
        assert np.array_equal(await array.retrieve_subchunk((0, 0)), block(VALUES, (0, 0)))
        return array

    arrays = [asyncio.run(main()) for _ in range(2)]
    assert arrays[0]._node.runtime is not arrays[1]._node.runtime

    async def foreign():
        await arrays[0].retrieve_subchunk((0, 0))

    with pytest.raises(gridhold.InvalidError):
        asyncio.run(foreign())


def test_asynchronous_store_needs_asyncio(objects):
    with pytest.raises(TypeError, match="aio"):
        gridhold.open_array(AsyncCounting(objects))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork(directory):
    """A child makes its own engine, though its parent's was busy."""
    array = gridhold.open_array(directory)
    cache = array.shard_cache()
    array.retrieve_subchunk((0, 0), shard_cache=cache)
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            array.retrieve_subchunk((1, 1))

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(3):
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    good = np.array_equal(array.retrieve_subchunk((9, 9)), block(VALUES, (9, 9)))
                    good &= np.array_equal(array.retrieve_subchunk((9, 9), shard_cache=cache), block(VALUES, (9, 9)))
                    code = 0 if good else 2
                finally:
                    os._exit(code)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    finally:
        stop.set()
        thread.join()
    array.close()


def test_memory_stays_flat(objects):
    with gridhold.open_array(gridhold.MemoryStore(objects), memory=64 << 20) as array:
        cache = array.shard_cache()
        guest = runtime_of(array).guest()

        def some(n):
            for i in range(n):
                array.retrieve_subchunk((i % 16, i % 7))
                array.retrieve_subchunk((i % 16, i % 7), shard_cache=cache)
                gridhold.open_array(array._node.place.store, memory=64 << 20).close()

        some(300)
        size = guest.memory_size
        guest._details.clear()  # what other tests failed at, and the guest did not ask about
        some(900)
        assert guest.memory_size <= size + (12 << 20)  # what the guest's collector lets it grow by
        assert len(guest._details) == 0 and not guest._out and not guest._under_way


def test_unsharded():
    """A whole chunk, and the cache is not touched."""
    meta = json.loads(sharded(VALUES, SHARD, SUB)["zarr.json"])
    meta["codecs"] = [{"name": "bytes", "configuration": {"endian": "big"}}]
    objects = {"zarr.json": json.dumps(meta).encode()}
    for i in range(4):
        for j in range(4):
            objects[f"c/{i}/{j}"] = block(VALUES, (i, j), SHARD).astype(">u2").tobytes()
    with gridhold.open_array(gridhold.MemoryStore(objects)) as array:
        assert not array.is_sharded and array.subchunk_shape is None and array.subchunk_grid_shape == (4, 4)
        cache = array.shard_cache()
        assert np.array_equal(array.retrieve_subchunk((1, 2), shard_cache=cache), block(VALUES, (1, 2), SHARD))
        assert cache.is_empty()
