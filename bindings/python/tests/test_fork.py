"""Children of a process that has things open, and locks: they work or say so at once, and take nothing from it."""

import contextlib
import json
import multiprocessing
import os
import select
import subprocess
import sys
import threading
import traceback

import numpy as np
import pytest
from conftest import VALUES, block

import gridhold
from gridhold import scratch

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
TRIES = """
import sys, gridhold
try:
    with gridhold.open(sys.argv[1], mode="a", locking=True, lock_timeout=float(sys.argv[2])) as other:
        other[0] = 9
    print("written")
except gridhold.LockTimeoutError:
    print("locked")
"""


def outsider(path, patience):
    """What a process that has nothing to do with this one can do, if it waits so many seconds for the lock."""
    done = subprocess.run([sys.executable, "-c", TRIES, str(path), str(patience)], env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


class Child:
    """A forked child that does something, says how that went, and lives until it is let go."""

    def __init__(self, work):
        said, tell = os.pipe()
        wait, self._let = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(said)
            os.close(self._let)
            try:
                answer = work()
            except BaseException as e:
                answer = f"{type(e).__name__}: {e}\n{traceback.format_exc()}"
            os.write(tell, json.dumps(answer).encode())
            os.close(tell)
            select.select([wait], [], [], 600)  # it does not outlive a parent that was killed
            os._exit(0)
        os.close(tell)
        os.close(wait)
        with open(said, "rb") as f:
            self.answer = json.loads(f.read())

    def end(self):
        os.write(self._let, b".")  # later children have copies of it, so closing tells nothing
        os.close(self._let)
        os.waitpid(self.pid, 0)


def test_with_a_held_lock(tmp_path, directory):
    """Four children read, give back, and end; the lock stays the parent's, and only as long as he holds it."""
    path = tmp_path / "c.b2nd"
    array, cache = gridhold.open_array(directory), None
    cache = array.shard_cache()
    array.retrieve_subchunk((0, 0), shard_cache=cache)
    with gridhold.asarray(np.arange(8), urlpath=path, locking=True, lock_timeout=2) as c, gridhold.open(path) as reader:

        def reads():
            good = np.array_equal(array.retrieve_subchunk((9, 9), shard_cache=cache), block(VALUES, (9, 9)))
            return bool(good and reader[3] == 3)

        def gives_back():
            with pytest.raises(gridhold.ClosedError):
                c[0]  # of the hold, which is the parent's
            with contextlib.suppress(gridhold.ClosedError):
                entered.__exit__(None, None, None)
            with pytest.raises(gridhold.LockTimeoutError):
                c[0] = 1  # it does not count as the holder
            return True

        def ends():
            c.close()
            return reads()

        entered = c.holding_lock()
        held = entered.__enter__()
        children = [Child(work) for work in (reads, gives_back, ends, reads)]
        assert [child.answer for child in children] == [True] * 4
        c[1] = held[1] + 10
        assert outsider(path, 0.05) == "locked"
        entered.__exit__(None, None, None)
        assert outsider(path, 60) == "written"  # though the children are there
        for child in children:
            child.end()
        assert list(c[:3]) == [9, 11, 2]

        def writes():
            with c.holding_lock():
                c[7] = c[6] + 100
            return int(c[7])

        child = Child(writes)
        assert child.answer == 106 and c[7] == 106
        child.end()
    array.close()


def test_while_others_write(tmp_path):
    """Threads are in the midst of everything when it forks; the children count along, and no count is lost."""
    path = tmp_path / "n.b2nd"
    with gridhold.zeros((1,), "i8", urlpath=path, locking=True) as c:

        def count():
            for _ in range(8):
                with c.holding_lock():
                    c[0] = c[0] + 1
            return True

        threads = [threading.Thread(target=count) for _ in range(2)]
        for t in threads:
            t.start()
        pids = []
        for _ in range(3):
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    count()
                    code = 0
                finally:
                    os._exit(code)
            pids.append(pid)
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
        for t in threads:
            t.join()
        assert codes == [0] * 3 and c[0] == 40


def test_with_a_prefetch_under_way():
    """A child does not wait for what its parent's threads do."""
    entered, leave = threading.Event(), threading.Event()

    class Slow:
        shape, dtype = (4, 2, 2), np.dtype("float32")

        def open(self, key):
            return self

        def read(self, first, count):
            entered.set()
            assert leave.wait(300)
            return np.zeros((count, 2, 2), "f4")

    held = scratch.create_host_image_scratch([scratch.ImageLocation("x", i) for i in range(4)], 4, files=Slow())
    done = scratch.prefetch_scratch_async(held)
    assert entered.wait(300)

    def waits():
        with pytest.raises(gridhold.CancelledError):
            done.result(300)
        return True

    child = Child(waits)
    leave.set()
    assert child.answer is True
    child.end()
    done.result(300)


def _reads(directory, path, told):
    with gridhold.open_array(directory) as array, gridhold.open(path, locking=True) as c:
        told.put(bool(np.array_equal(array[:4, :4], block(VALUES, (0, 0))) and c[2] == 2))


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_multiprocessing(tmp_path, directory, method):
    context = multiprocessing.get_context(method)
    path, told = tmp_path / "c.b2nd", context.SimpleQueue()
    with gridhold.asarray(np.arange(8), urlpath=path, locking=True), gridhold.open_array(directory) as array:
        array[0, 0]
        others = [context.Process(target=_reads, args=(directory, path, told)) for _ in range(2)]
        for o in others:
            o.start()
        for o in others:
            o.join(300)
        assert [o.exitcode for o in others] == [0, 0] and [told.get(), told.get()] == [True, True]
