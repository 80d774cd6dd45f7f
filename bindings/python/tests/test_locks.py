"""Locks of files: who waits, and who waits for whom."""

import fcntl
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import gridhold


def _until(condition, what):
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0)


def _is_shut(gate):
    """Whether somebody is in it: the file is there a moment earlier."""
    try:
        fd = os.open(gate, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(fd)


def test_readers_make_way_for_a_writer(tmp_path):
    path = tmp_path / "a.b2nd"
    lock, gate = f"{path}.b2lock", f"{path}.b2lock.gate"
    with gridhold.zeros((4,), dtype="<i8", urlpath=path, locking=True) as array:
        reader = os.open(lock, os.O_RDWR)  # one that knows no gate
        fcntl.flock(reader, fcntl.LOCK_SH)
        with gridhold.open(path, locking=True, lock_timeout=2) as other:
            assert list(other[...]) == [0, 0, 0, 0]

            def write():
                array[0] = 1

            writer = threading.Thread(target=write)
            writer.start()
            _until(lambda: _is_shut(gate), "the gate is not shut")
            with pytest.raises(gridhold.LockTimeoutError):
                other[...]  # the lock could be shared, but somebody waits for it
            fcntl.flock(reader, fcntl.LOCK_UN)
            writer.join()
            assert list(other[...]) == [1, 0, 0, 0]
        os.close(reader)
        assert not os.path.exists(gate)


def test_a_gate_that_was_left_behind_keeps_nobody(tmp_path):
    path = tmp_path / "a.b2nd"
    with gridhold.zeros((4,), dtype="<i8", urlpath=path, locking=True) as array:
        open(f"{path}.b2lock.gate", "w").close()
        assert np.array_equal(array[...], np.zeros(4))


def test_who_gives_up_leaves_the_gate(tmp_path):
    path = tmp_path / "a.b2nd"
    with gridhold.zeros((4,), dtype="<i8", urlpath=path, locking=True):
        with gridhold.open(path, mode="a", locking=True, lock_timeout=2) as array:
            reader = os.open(f"{path}.b2lock", os.O_RDWR)
            fcntl.flock(reader, fcntl.LOCK_SH)
            with pytest.raises(gridhold.LockTimeoutError):
                array[0] = 1
            _until(lambda: not os.path.exists(f"{path}.b2lock.gate"), "the gate is still there")
            assert list(array[...]) == [0, 0, 0, 0]
            os.close(reader)


def test_container_opened_by_hand(tmp_path):
    """Report 59: who may write the container may lock it, when its owner has locked it since."""
    path = tmp_path / "a.b2nd"
    lock = f"{path}.b2lock"
    old = os.umask(0o022)
    try:
        with gridhold.zeros((4,), dtype="<i8", urlpath=path, locking=True) as array:
            array[0] = 1
        assert os.stat(lock).st_mode & 0o777 == 0o644
        os.chmod(path, 0o664)
        if os.getuid() == 0:
            os.chown(path, -1, 54321)
        program = "import gridhold, sys; gridhold.open(sys.argv[1], mode='a', locking=True)[1] = 2"
        subprocess.run([sys.executable, "-c", program, str(path)], check=True)
    finally:
        os.umask(old)
    assert os.stat(lock).st_mode & 0o777 == 0o664
    assert os.stat(lock).st_gid == os.stat(path).st_gid
    assert os.stat(path).st_mode & 0o777 == 0o664
    with gridhold.open(path) as array:
        assert list(array[...]) == [1, 2, 0, 0]
