"""Many threads in one process, on one array and on others that come and go."""

import asyncio
import threading

import numpy as np
import pytest
from conftest import VALUES, block
from test_cache import many_threads

import gridhold


@pytest.mark.parametrize("cached", [False, True])
def test_eight_read_while_a_ninth_opens_and_closes(directory, cached):
    stop = threading.Event()
    opened = [0]

    def ninth():
        while not stop.is_set():
            with gridhold.open_array(directory) as other:
                assert np.array_equal(other.retrieve_subchunk((2, 2)), block(VALUES, (2, 2)))
                opened[0] += 1

    thread = threading.Thread(target=ninth)
    thread.start()
    try:
        with gridhold.open_array(directory) as array:
            cache = array.shard_cache(budget=2000) if cached else None  # so small that shards come and go

            def reads(i):
                for k in range(500):
                    at = ((k * 7 + i) % 16, (k * 3 + 5 * i) % 16)
                    assert np.array_equal(array.retrieve_subchunk(at, shard_cache=cache), block(VALUES, at))
                return True

            assert all(many_threads(8, reads))
    finally:
        stop.set()
        thread.join()
    assert opened[0] > 0


def test_loops_in_threads(directory):
    """An event loop in each of several threads, and blocking calls beside them."""

    async def main(i):
        async with await gridhold.aio.open_array(directory) as array:
            cache = array.shard_cache()
            for k in range(50):
                at = ((k + i) % 16, k % 16)
                assert np.array_equal(await array.retrieve_subchunk(at, shard_cache=cache), block(VALUES, at))
        return True

    assert all(many_threads(4, lambda i: asyncio.run(main(i))))


def test_closing_under_readers(directory):
    """A reader gets its data or ClosedError, and nothing else."""
    for _ in range(5):
        array = gridhold.open_array(directory)
        cache = array.shard_cache()

        def work(i, array=array, cache=cache):
            if i == 0:
                array.close()
                return
            for k in range(30):
                try:
                    got = array.retrieve_subchunk((k % 16, i), shard_cache=cache if i % 2 else None)
                except gridhold.ClosedError:
                    return
                assert np.array_equal(got, block(VALUES, (k % 16, i)))

        many_threads(5, work)
