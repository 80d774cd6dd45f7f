"""The shard cache: one load a shard however many ask, nothing kept of a failure, bounded, and of one array."""

import asyncio
import threading

import numpy as np
import pytest
from conftest import SHARD, SUB, VALUES, AsyncCounting, Counting, block, sharded, write

import gridhold


def many_threads(n, work):
    """Runs ``work(i)`` on n threads that start together; returns what each returned, raises what one raised."""
    barrier = threading.Barrier(n)
    results, errors = [None] * n, []

    def run(i):
        try:
            barrier.wait()
            results[i] = work(i)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]
    return results


def test_without_a_cache_each_read_loads(objects):
    store = Counting(objects)
    with gridhold.open_array(store) as array:
        for _ in range(3):
            array.retrieve_subchunk((0, 0))
    assert len(store.indexes) == 3


def test_32_threads_load_once(objects):
    store = Counting(objects)
    with gridhold.open_array(store) as array:
        cache = array.shard_cache()
        assert cache.is_empty()
        for expected_loads in (1, 1):  # cold, then warm
            got = many_threads(32, lambda i: array.retrieve_subchunk((i % 4, i // 8), shard_cache=cache))
            assert all(np.array_equal(g, block(VALUES, (i % 4, i // 8))) for i, g in enumerate(got))
            assert store.indexes == ["c/0/0"] * expected_loads
        stats = cache.stats()
        assert stats["loads"] == 1 and stats["entries"] == 1 == cache.size()
        assert stats["hits"] + stats["misses"] == 64 and stats["hits"] >= 32
        assert 0 < stats["bytes"] <= stats["budget"] == 256 << 20


@pytest.mark.parametrize("kind", [Counting, AsyncCounting])
def test_32_tasks_load_once(objects, kind):
    async def main():
        store = kind(objects)
        async with await gridhold.aio.open_array(store) as array:
            cache = array.shard_cache()
            assert await cache.is_empty()
            picks = [(i % 16, (3 * i) % 16) for i in range(32)]
            shards = {(i // 4, j // 4) for i, j in picks}
            for _ in range(2):
                got = await asyncio.gather(*(array.retrieve_subchunk(p, shard_cache=cache) for p in picks))
                assert all(np.array_equal(g, block(VALUES, p)) for g, p in zip(got, picks))
                assert len(store.indexes) == len(set(store.indexes)) == len(shards)
            assert await cache.size() == len(shards) == (await cache.stats())["loads"]
            await cache.clear()
            assert await cache.is_empty()

    asyncio.run(main())


class Gated(AsyncCounting):
    """Reads of some keys wait until ``opened`` is set; ``entered`` counts those that wait."""

    def __init__(self, objects, gated):
        super().__init__(objects)
        self.gated, self.entered, self.opened = gated, 0, asyncio.Event()

    async def read_ranges(self, key, ranges, version):
        if key in self.gated:
            self.entered += 1
            await self.opened.wait()
        return await super().read_ranges(key, ranges, version)


async def until(condition):
    while not condition():
        await asyncio.sleep(0)


def test_cold_shards_load_side_by_side(objects):
    """16 cold shards are 16 loads in flight, none behind another."""

    async def main():
        store = Gated(objects, {f"c/{i}/{j}" for i in range(4) for j in range(4)})
        async with await gridhold.aio.open_array(store) as array:
            cache = array.shard_cache()
            picks = [(4 * i, 4 * j) for i in range(4) for j in range(4)]
            tasks = [asyncio.create_task(array.retrieve_subchunk(p, shard_cache=cache)) for p in picks]
            await until(lambda: store.entered == 16)
            store.opened.set()
            got = await asyncio.gather(*tasks)
            assert all(np.array_equal(g, block(VALUES, p)) for g, p in zip(got, picks))
            assert len(store.indexes) == 16

    asyncio.run(asyncio.wait_for(main(), 300))


def test_a_warm_read_does_not_wait_for_a_load(objects):
    async def main():
        store = Gated(objects, {"c/1/1"})
        async with await gridhold.aio.open_array(store) as array:
            cache = array.shard_cache()
            await array.retrieve_subchunk((0, 0), shard_cache=cache)
            cold = asyncio.create_task(array.retrieve_subchunk((4, 4), shard_cache=cache))
            await until(lambda: store.entered)
            assert np.array_equal(await array.retrieve_subchunk((1, 1), shard_cache=cache), block(VALUES, (1, 1)))
            assert not cold.done()
            store.opened.set()
            assert np.array_equal(await cold, block(VALUES, (4, 4)))

    asyncio.run(asyncio.wait_for(main(), 300))


def test_failed_load_leaves_nothing(objects):
    store = Counting(objects)
    with gridhold.open_array(store) as array:
        cache = array.shard_cache()

        def fail(key, ranges):
            if ranges[0][0] < 0:
                raise RuntimeError("the cable is out")

        store.fail = fail
        with pytest.raises(gridhold.IOFailedError, match="the cable is out") as caught:
            array.retrieve_subchunk((0, 0), shard_cache=cache)
        assert isinstance(caught.value.__cause__, RuntimeError)
        assert cache.is_empty() and cache.stats()["loads"] == 0
        store.fail = None
        assert np.array_equal(array.retrieve_subchunk((0, 0), shard_cache=cache), block(VALUES, (0, 0)))
        assert cache.size() == 1


def test_waiters_of_a_failed_load_try_in_turn(objects):
    store = Counting(objects)
    lock, failures = threading.Lock(), [0]

    def fail(key, ranges):
        if key == "c/0/0" and ranges[0][0] < 0:
            with lock:
                failures[0] += 1
                if failures[0] <= 3:
                    raise OSError("not yet")

    with gridhold.open_array(store) as array:
        cache = array.shard_cache()
        store.fail = fail

        def read(i):
            try:
                return array.retrieve_subchunk((0, 0), shard_cache=cache)
            except gridhold.IOFailedError:
                return None

        got = many_threads(8, read)
        assert sum(g is None for g in got) == 3 and failures[0] == 4
        assert all(np.array_equal(g, block(VALUES, (0, 0))) for g in got if g is not None)


def test_cancelled_load(objects):
    """Who started a load may leave and the others get their data; when all leave, the load ends and nothing is kept."""

    async def main():
        store = Gated(objects, {"c/0/0"})
        async with await gridhold.aio.open_array(store) as array:
            cache = array.shard_cache()

            def read():
                return asyncio.create_task(array.retrieve_subchunk((0, 0), shard_cache=cache))

            first, second = read(), read()
            await until(lambda: store.entered)
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            store.opened.set()
            assert np.array_equal(await second, block(VALUES, (0, 0)))
            assert len(store.indexes) == 1

            await cache.clear()
            store.opened = asyncio.Event()
            for turns in (0, 1, 2, 5, 20):  # left at another stage each time
                lonely = [read(), read()]
                for _ in range(turns):
                    await asyncio.sleep(0)
                for task in lonely:
                    task.cancel()
                done = await asyncio.gather(*lonely, return_exceptions=True)
                assert all(isinstance(d, asyncio.CancelledError) for d in done)
            assert await cache.is_empty()
            late = read()
            store.opened.set()
            assert np.array_equal(await late, block(VALUES, (0, 0)))
            await until(lambda: not array._node.runtime._tasks and not cache._core.tables._flights)

    asyncio.run(asyncio.wait_for(main(), 300))


def test_of_another_array(tmp_path, objects):
    write(tmp_path / "a", objects)
    write(tmp_path / "b", sharded(VALUES[::-1].copy(), SHARD, SUB, codec="gzip"))
    with gridhold.open_array(tmp_path / "a") as a, gridhold.open_array(tmp_path / "b") as b:
        cache = a.shard_cache()
        a.retrieve_subchunk((0, 0), shard_cache=cache)
        for read in (b.retrieve_subchunk, b.retrieve_encoded_subchunk):
            with pytest.raises(gridhold.WrongArrayError):
                read((0, 0), shard_cache=cache)
        with pytest.raises(ValueError):
            b.retrieve_region((0, 0), (1, 1), shard_cache=cache)
        with gridhold.open_array(tmp_path / "a") as same:
            assert np.array_equal(same.retrieve_subchunk((0, 1), shard_cache=cache), block(VALUES, (0, 1)))
        assert cache.stats()["loads"] == 1
    with gridhold.open_array(tmp_path / "a") as a:
        for wrong in (3, object(), "cache"):
            with pytest.raises(TypeError):
                a.retrieve_subchunk((0, 0), shard_cache=wrong)


def test_kinds_of_cache_do_not_mix(directory):
    async def main():
        async with await gridhold.aio.open_array(directory) as array:
            with gridhold.open_array(directory) as blocking:
                with pytest.raises(TypeError):
                    await array.retrieve_subchunk((0, 0), shard_cache=blocking.shard_cache())
                with pytest.raises(TypeError):
                    blocking.retrieve_subchunk((0, 0), shard_cache=array.shard_cache())

    asyncio.run(main())


def test_bounded_by_bytes(objects):
    store = Counting(objects)
    with gridhold.open_array(store) as array:
        one = array.shard_cache()
        array.retrieve_subchunk((0, 0), shard_cache=one)
        entry = one.stats()["bytes"]
        cache = array.shard_cache(budget=2 * entry)
        for index in ((0, 0), (4, 0), (0, 0), (8, 0)):  # the shard of (4, 0) is the least recently used
            array.retrieve_subchunk(index, shard_cache=cache)
        assert cache.size() == 2 and cache.stats()["bytes"] <= 2 * entry
        before = len(store.indexes)
        array.retrieve_subchunk((0, 0), shard_cache=cache)
        assert len(store.indexes) == before
        array.retrieve_subchunk((4, 0), shard_cache=cache)
        assert len(store.indexes) == before + 1
        tiny = array.shard_cache(budget=1)
        assert np.array_equal(array.retrieve_subchunk((0, 0), shard_cache=tiny), block(VALUES, (0, 0)))
        assert tiny.is_empty()
        with pytest.raises(gridhold.InvalidError):
            array.shard_cache(budget=-1)


def test_missing_shards_are_remembered_on_request(objects):
    del objects["c/0/0"]
    store = Counting(objects)
    asked = []
    store.fail = lambda key, ranges: asked.append(key)
    with gridhold.open_array(store) as array:
        for remember, expected in ((False, 3), (True, 1)):
            asked.clear()
            cache = array.shard_cache(remember_missing=remember)
            for _ in range(3):
                assert (array.retrieve_subchunk((0, 0), shard_cache=cache) == 7).all()
            assert asked.count("c/0/0") == expected
            assert cache.size() == int(remember)
        store.inner.put("c/0/0", sharded(VALUES, SHARD, SUB, codec="gzip")["c/0/0"])
        assert (array.retrieve_subchunk((0, 0), shard_cache=cache) == 7).all()
        cache.invalidate((0, 0))
        assert np.array_equal(array.retrieve_subchunk((0, 0), shard_cache=cache), block(VALUES, (0, 0)))


def test_invalidate(objects):
    store = Counting(objects)
    with gridhold.open_array(store) as array:
        cache = array.shard_cache()
        for index in ((0, 0), (4, 4)):
            array.retrieve_subchunk(index, shard_cache=cache)
        cache.invalidate([1, 1])
        assert cache.size() == 1
        for wrong, error in (((4, 0), gridhold.OutOfRangeError), ((0,), gridhold.InvalidError), ((0.5, 0), TypeError)):
            with pytest.raises(error):
                cache.invalidate(wrong)


def test_rewritten_shard_is_noticed(objects):
    store = gridhold.MemoryStore(objects)
    with gridhold.open_array(store) as array:
        cache = array.shard_cache()
        array.retrieve_subchunk((0, 0), shard_cache=cache)
        # Another layout under the same key: the old index would cut garbage out of it.
        changed = sharded(VALUES + np.uint16(1), SHARD, SUB, codec="gzip", skip={(0, 0)})["c/0/0"]
        store.put("c/0/0", changed)
        assert np.array_equal(array.retrieve_subchunk((1, 1), shard_cache=cache), block(VALUES + 1, (1, 1)))
        assert (array.retrieve_subchunk((0, 0), shard_cache=cache) == 7).all()
        store.delete("c/0/0")
        assert (array.retrieve_subchunk((1, 1), shard_cache=cache) == 7).all()


def test_written_subchunk_is_seen_through_a_kept_index(objects):
    without = sharded(VALUES, SHARD, SUB, codec="gzip", skip={(0, 0), (1, 1)})["c/0/0"]
    store = gridhold.MemoryStore({**objects, "c/0/0": without})
    with gridhold.open_array(store) as array:
        cache = array.shard_cache()
        assert (array.retrieve_subchunk((0, 0), shard_cache=cache) == 7).all()
        store.put("c/0/0", objects["c/0/0"])
        assert np.array_equal(array.retrieve_subchunk((0, 0), shard_cache=cache), block(VALUES, (0, 0)))


def test_shard_that_never_stands_still(objects):
    class Restless(gridhold.MemoryStore):
        def read_ranges(self, key, ranges, version):
            if key.startswith("c/"):
                self.put(key, objects[key])
            return super().read_ranges(key, ranges, version)

    class Plain:
        def __init__(self):
            self.read_ranges = Restless(objects).read_ranges

    with gridhold.open_array(Plain()) as array:
        for cache in (None, array.shard_cache()):
            with pytest.raises(gridhold.StaleError):
                array.retrieve_subchunk((0, 0), shard_cache=cache)


def test_clear_during_a_load(objects):
    """A load that was under way when the cache was cleared serves its waiters and is not kept."""

    async def main():
        store = Gated(objects, {"c/0/0"})
        async with await gridhold.aio.open_array(store) as array:
            cache = array.shard_cache()
            read = asyncio.create_task(array.retrieve_subchunk((0, 0), shard_cache=cache))
            await until(lambda: store.entered)
            await cache.clear()
            store.opened.set()
            assert np.array_equal(await read, block(VALUES, (0, 0)))
            assert await cache.is_empty()

    asyncio.run(asyncio.wait_for(main(), 300))
