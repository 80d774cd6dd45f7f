"""The locks of the system: this one's, and what is asked of Windows, by a kernel that is none."""

import ctypes
import errno
import fcntl
import os

import pytest

from gridhold import _flock

SHARED, EXCLUSIVE = 0, 2


class Kernel:
    """``LockFileEx`` as its documents have it: ranges of a file, owned by handles, and never waited for."""

    def __init__(self):
        self.held = []  # file, handle, offset, exclusive
        self.error = 0

    def LockFileEx(self, handle, flags, reserved, low, high, overlapped):  # noqa: N802
        assert flags & 1 and reserved == 0 and (low, high) == (1, 0)
        o, exclusive = overlapped._obj, bool(flags & EXCLUSIVE)
        off, file = o.offset | o.offset_high << 32, handle.value // 10
        if any(f == file and at == off and (exclusive or e) for f, _, at, e in self.held):
            self.error = 33
            return 0
        self.held.append((file, handle.value, off, exclusive))
        return 1

    def UnlockFileEx(self, handle, reserved, low, high, overlapped):  # noqa: N802
        assert reserved == 0 and (low, high) == (1, 0)
        off = overlapped._obj.offset | overlapped._obj.offset_high << 32
        mine = [h for h in self.held if h[1:3] == (handle.value, off)]
        if not mine:
            self.error = 158
            return 0
        self.held.remove(mine[0])
        return 1


@pytest.fixture(params=["here", "windows"])
def files(request, tmp_path):
    """Locks, and three descriptors: two of one file, and one of another."""
    if request.param == "windows":
        kernel = Kernel()
        yield _flock.Windows(kernel, lambda fd: fd, lambda: kernel.error), 10, 11, 20
        return
    paths = [tmp_path / n for n in ("a", "a", "b")]
    fds = [os.open(p, os.O_RDWR | os.O_CREAT) for p in paths]
    yield _flock.Unix(fcntl), *fds
    for fd in fds:
        os.close(fd)


def test_whole_files(files):
    locks, a, again, b = files
    assert locks.whole
    assert locks.take(a, False) and locks.take(again, False) and locks.take(b, True)
    locks.give(again)
    assert not locks.take(again, True)
    locks.give(a)
    assert locks.take(again, True) and not locks.take(a, False)
    locks.give(again)
    assert locks.take(a, True)
    locks.give(a)
    locks.give(a)  # what is not held is given back in vain


def test_bytes(files):
    locks, a, again, _ = files
    if not locks.single:
        pytest.skip("no such locks here")
    far = (1 << 61) + 5
    assert locks.take_byte(a, far, True) and not locks.take_byte(again, far, True) and locks.take_byte(again, far + 1, True)
    locks.give_byte(a, far)
    assert locks.take_byte(again, far, True)


def test_what_windows_says_else():
    kernel = Kernel()
    locks = _flock.Windows(kernel, lambda fd: fd, lambda: 5)
    kernel.LockFileEx = lambda *_: 0
    with pytest.raises(OSError, match="error 5"):
        locks.take(10, True)
    kernel.UnlockFileEx = lambda *_: 0
    with pytest.raises(OSError, match="error 5"):
        locks.give(10)
    assert ctypes.sizeof(_flock.Overlapped) == (32 if ctypes.sizeof(ctypes.c_void_p) == 8 else 20)


def test_of_which_system(monkeypatch):
    assert isinstance(_flock.locks_of("linux"), _flock.Unix)

    def none(name):
        raise ImportError(name)

    monkeypatch.setattr(_flock.importlib, "import_module", none)
    nothing = _flock.locks_of("somewhere")
    assert not nothing.whole and not nothing.single
    with pytest.raises(OSError) as caught:
        nothing.take(0, True)
    assert caught.value.errno == errno.EOPNOTSUPP
