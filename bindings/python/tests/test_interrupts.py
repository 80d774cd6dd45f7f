"""Ctrl-C: it ends the thread it is meant for, and nobody else waits for what will not come."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from conftest import VALUES, block, sharded, write

import gridhold
from gridhold import _threads
from gridhold._guest import Guest

CHILD = """
import faulthandler, random, signal, sys, threading
import numpy as np
import gridhold

directory, rounds = sys.argv[1], int(sys.argv[2])
faulthandler.dump_traceback_later(400, exit=True)
signal.signal(signal.SIGALRM, signal.default_int_handler)
values = np.arange(64 * 64, dtype="<u2").reshape(64, 64)
random.seed(1)
stop = threading.Event()
read = [0, 0, 0]

def one(array, cache, k):
    i, j = k * 7 % 16, k * 3 % 16
    got = array.retrieve_subchunk((i, j), shard_cache=cache)
    assert np.array_equal(got, values[4 * i : 4 * i + 4, 4 * j : 4 * j + 4])

def other(number, array, cache):
    while not stop.is_set():
        try:
            one(array, cache, read[number])
        except gridhold.InternalError:  # the interrupt came in the midst of the guest, which is replaced
            continue
        read[number] += 1

array = gridhold.open_array(directory)
caches = [array.shard_cache(budget=2000), None]
threads = [threading.Thread(target=other, args=(n, array, c), daemon=True) for n, c in enumerate(caches)]
for t in threads:
    t.start()
for k in range(rounds):
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-5, 2e-3))
        for _ in range(100):  # ctypes may lose an interrupt, with a line on stderr
            one(array, caches[0] if k % 3 else None, read[2])
            read[2] += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        pass
while not all(read):  # where all is slow, every interrupt may have come in the midst
    one(array, caches[0], read[2])
    read[2] += 1
stop.set()
for t in threads:
    t.join(300)
assert not any(t.is_alive() for t in threads)
assert all(read), read
one(array, array.shard_cache(), 5)
"""


def test_at_any_time(tmp_path, objects):
    write(tmp_path, objects)
    source = Path(gridhold.__file__).resolve().parents[1]
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path), "150"],
        env={"PYTHONPATH": str(source), "PATH": "", "HOME": str(Path.home())}, capture_output=True, text=True, timeout=450,
    )  # fmt: skip
    assert child.returncode == 0, child.stderr


@pytest.mark.parametrize("when", ["before it starts", "while it loads"])
def test_waiters_of_an_interrupted_load(objects, monkeypatch, when):
    """The first of two is interrupted once the second waits for it; the second loads by itself."""
    second_waits, registered = threading.Event(), threading.Event()
    started = []
    start, wait = _threads._ThreadFlight.start, _threads._ThreadFlight.__await__

    def interrupted():
        assert second_waits.wait(300)
        raise KeyboardInterrupt

    def first_is_interrupted(flight):
        started.append(flight)
        registered.set()
        if len(started) == 1:
            if when == "before it starts":
                interrupted()
            flight._load = interrupted
        start(flight)

    def noted(flight):
        if threading.current_thread().name == "second":
            second_waits.set()
        return wait(flight)

    monkeypatch.setattr(_threads._ThreadFlight, "start", first_is_interrupted)
    monkeypatch.setattr(_threads._ThreadFlight, "__await__", noted)
    with gridhold.open_array(gridhold.MemoryStore(objects)) as array:
        cache = array.shard_cache()
        got, caught = [], []

        def first():
            try:
                array.retrieve_subchunk((0, 0), shard_cache=cache)
            except KeyboardInterrupt as e:
                caught.append(e)

        one = threading.Thread(target=first)
        one.start()
        assert registered.wait(300)
        two = threading.Thread(target=lambda: got.append(array.retrieve_subchunk((0, 1), shard_cache=cache)), name="second")
        two.start()
        one.join(300)
        two.join(300)
        assert not one.is_alive() and not two.is_alive()
        assert caught and len(started) == 2
        assert np.array_equal(got[0], block(VALUES, (0, 1)))
        assert cache.stats()["loads"] == 1 and not cache._core.tables._flights


def test_an_interrupt_of_the_host_tells_who_waits(objects):
    """An interrupt in the midst of a call kills the guest; an operation of another thread fails at once."""
    entered, leave = threading.Event(), threading.Event()

    class Slow:
        inner = gridhold.MemoryStore(objects)

        def read_ranges(self, key, ranges, version):
            if key == "c/0/0":
                entered.set()
                assert leave.wait(300)
            return self.inner.read_ranges(key, ranges, version)

    with gridhold.open_array(Slow(), memory=(80 << 20) + 3) as array:
        errors = []

        def waits():
            try:
                array.retrieve_subchunk((0, 0))
            except gridhold.Error as e:
                errors.append(e)

        thread = threading.Thread(target=waits)
        thread.start()
        assert entered.wait(300)
        guest = array._node.runtime._guest

        def interrupted(*args):
            raise KeyboardInterrupt

        guest._instance._exports["gh_call"] = interrupted
        with pytest.raises(KeyboardInterrupt):
            array.retrieve_subchunk((5, 5))
        thread.join(300)
        leave.set()
        assert not thread.is_alive() and isinstance(errors[0], gridhold.InternalError) and guest.dead
        assert np.array_equal(array.retrieve_subchunk((5, 5)), block(VALUES, (5, 5)))


def test_while_the_guest_computes(monkeypatch):
    """The operation ends at the next tick, not when all is decoded; the next read is right."""
    ticks, armed = [], []
    own = Guest.import_tick

    def signalled(guest, op):
        ticks.append(op)
        if armed:
            armed.clear()
            signal.raise_signal(signal.SIGINT)
        return own(guest, op)

    monkeypatch.setattr(Guest, "import_tick", signalled)
    values = np.zeros((2048, 2048), "<u2")
    store = gridhold.MemoryStore(sharded(values, (2048, 2048), (1024, 1024), codec="gzip"))
    with gridhold.open_array(store, strict=True, memory=(512 << 20) - 3) as array:
        ticks.clear()
        armed.append(True)
        with pytest.raises(KeyboardInterrupt):
            array.retrieve_region((0, 0), values.shape)
        stopped = len(ticks)
        assert np.array_equal(array.retrieve_region((0, 0), values.shape), values)
        assert len(ticks) - stopped > stopped and not array._node.runtime._guest.dead
