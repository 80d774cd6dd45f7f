"""Holding a container's lock: whoever is in the block may use the very object, and nobody else."""

import asyncio
import contextvars
import threading

import numpy as np
import pytest

import gridhold


@pytest.fixture
def array(tmp_path):
    with gridhold.asarray(np.arange(10), urlpath=tmp_path / "a.b2nd", locking=True, lock_timeout=120) as array:
        yield array


def test_another_thread_of_the_same_object_stays_out(array):
    inside, seen, done = threading.Event(), [], threading.Event()

    def other():
        assert inside.wait(300)
        seen.append(list(array[:2]))
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    with array.holding_lock():
        array[0] = 7
        inside.set()
        assert not done.wait(0.2)
        array[1] = array[0] + 1
    thread.join(300)
    assert seen == [[7, 8]]


def test_grows_within(array):
    with array.holding_lock() as held:
        assert array.append([10, 11]) == (12,) and array.shape == held.shape == (12,)
        array.vlmeta["n"] = 12
        array.resize((13,))
    assert array.shape == (13,) and array.vlmeta["n"] == 12 and array[11] == 11
    with pytest.raises(gridhold.ClosedError):
        held[0]


def test_blocks_in_blocks(array):
    with array.holding_lock():
        with array.holding_lock() as inner, array.holding_shared_lock():
            inner[0] = 5
        assert array[0] == 5
    with array.holding_shared_lock():
        with pytest.raises(gridhold.LockedError), array.holding_lock():
            pass
        with pytest.raises(gridhold.LockedError):
            array[0] = 1
    with pytest.raises(ZeroDivisionError), array.holding_lock():
        1 / 0  # noqa: B018
    array[0] = 6
    assert array[0] == 6


def test_stores(tmp_path):
    with gridhold.DictStore(tmp_path / "d.b2d", "w", locking=True) as store, store.holding_lock():
        store["/a"] = np.arange(3)
        assert list(store) == ["/a"] and store["/a"][2] == 2
        del store["/a"]
        assert len(store) == 0


def test_snapshots_stand_still(array):
    with array.snapshot() as before:
        array[:] = 0
        assert list(before[:3]) == [0, 1, 2] and list(array[:3]) == [0, 0, 0]
        with array.holding_lock(), array.snapshot() as within:
            array[0] = 3
            assert within[0] == 0


def test_a_context_that_is_handed_on(array):
    """Whoever runs in a copy of the holder's context is within; that is how a holder shares its work."""
    with array.holding_lock():
        within = contextvars.copy_context()
        thread = threading.Thread(target=within.run, args=(array.__setitem__, 0, 42))
        thread.start()
        thread.join(300)
        assert not thread.is_alive() and array[0] == 42


def test_a_block_that_ends_elsewhere(array):
    """In another thread than it began in; the first is not within any more, and the lock is free."""
    entered = array.holding_lock()
    entered.__enter__()
    array[0] = 1
    thread = threading.Thread(target=entered.__exit__, args=(None, None, None))
    thread.start()
    thread.join(300)
    array[1] = 2
    with gridhold.open(array._core._system.path + "/a.b2nd", locking=True, lock_timeout=5) as other:
        assert list(other[:3]) == [1, 2, 2]


def test_without_locking(tmp_path):
    """As in python-blosc2 there is nothing to hold then, but the block runs."""
    with gridhold.zeros((2,), urlpath=tmp_path / "a.b2nd") as array:
        with array.holding_lock():
            array[0] = 1
        assert array[0] == 1


def test_tasks_of_one_loop(tmp_path):
    """A task that holds the lock keeps the others out, and they wait without holding up the loop."""
    gridhold.zeros((1,), "i8", urlpath=tmp_path / "n.b2nd", locking=True).close()

    async def main():
        async with await gridhold.aio.open(tmp_path / "n.b2nd", mode="a", locking=True) as array:
            over = asyncio.Event()

            async def outlives():
                await over.wait()
                return await array[0]

            async with array.holding_lock():
                late = asyncio.ensure_future(outlives())
            over.set()
            assert await late == 0

            async def count():
                for _ in range(5):
                    async with array.holding_lock():
                        n = await array[0]
                        await asyncio.sleep(0)
                        await array.set(0, n + 1)

            await asyncio.gather(*(count() for _ in range(6)))
            assert await array[0] == 30

    asyncio.run(main())
