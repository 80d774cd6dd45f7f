"""The locks of this process, as the core's other hosts take them.

Every lock is a file opened for itself, so the system keeps two of one process
apart as it does two processes. It waits for nobody and frees what a process
leaves behind.

One who waits to have a lock alone makes a file beside it, NAME.gate, and holds
a lock on that: readers look there first, and wait. Gridhold's other hosts do
the same; nothing but fairness rests on it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from typing import TYPE_CHECKING

from . import _abi, _fork
from ._errors import ClosedError, Error, LockedError, UnsupportedError
from ._flock import locks_of
from ._imports import Job

if TYPE_CHECKING:
    from ._files import Files
    from ._filesystem import FileSystem
    from ._memory import Memory
    from ._runtime import Runtime

_SHARED, _EXCLUSIVE = 1, 2
_FIRST_S, _LAST_S = 0.001, 0.025
_GATE = ".gate"
_Inode = tuple[int, int]
system_locks = locks_of(sys.platform)
"""The locks of this system."""


class _Owners:
    """Who holds what in this process, to find whoever would wait for himself."""

    def __init__(self) -> None:
        self._restart()
        _fork.register(self)

    def _restart(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[_Inode, list[tuple[int, int]]] = {}

    def refuses(self, inode: _Inode, owner: int, mode: int) -> bool:
        with self._lock:
            return any(o == owner and _EXCLUSIVE in (m, mode) for o, m in self._held.get(inode, ()))

    def add(self, inode: _Inode, owner: int, mode: int) -> None:
        with self._lock:
            self._held.setdefault(inode, []).append((owner, mode))

    def remove(self, inode: _Inode, owner: int, mode: int) -> None:
        with self._lock:
            held = self._held.get(inode, [])
            with contextlib.suppress(ValueError):
                held.remove((owner, mode))
            if not held:
                self._held.pop(inode, None)


_owners = _Owners()


class FileLock:
    """One lock that is held."""

    def __init__(self, fd: int, inode: _Inode, owner: int, mode: int) -> None:
        self._fd = fd
        self._whose = inode, owner, mode

    def release(self) -> None:
        fd, self._fd = self._fd, -1
        if fd < 0:
            raise ClosedError("lock: unlocked twice")
        try:
            system_locks.give(fd)  # closing leaves it to children that were forked since
        finally:
            os.close(fd)
            _owners.remove(*self._whose)

    def disown(self) -> None:
        """Closes a forked child's copy of the descriptor; the lock stays the parent's."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def acquire(fs: FileSystem, name: str, owner: int, mode: int) -> FileLock | None:
    """Takes a lock; None where another has it.

    Raises LockedError for an owner who would wait for himself.
    """
    if not system_locks.whole:
        raise UnsupportedError("lock: this system has none")
    if mode == _SHARED and _gate_is_shut(fs, name):
        return None
    fd = fs.open(name, 1 | 2 | 4)
    lock = None
    try:
        lock = _locked(fs, fd, name, owner, mode)
    finally:
        if lock is None:
            os.close(fd)
    return lock


_admitted: set[_Inode] = set()
"""Files of locks whose rights were looked at."""


def _admit(fs: FileSystem, fd: int, name: str, own: os.stat_result) -> None:
    """Lets those lock who may use what is locked, as the core's other hosts do.

    The file of a lock is made with what the umask leaves. Its container may
    have been opened to others by hand: it is given that group and those
    rights, and none are taken away. Where we may not, it stays as it is.
    """
    inode = own.st_dev, own.st_ino
    if inode in _admitted or not hasattr(os, "fchmod"):
        return
    if len(_admitted) >= 1000:
        _admitted.clear()
    _admitted.add(inode)
    with contextlib.suppress(Error, OSError):
        of = fs.stat(name.rpartition(".")[0].rstrip("/"))
        more = of.st_mode & 0o066
        if own.st_gid != of.st_gid and more & 0o060:
            try:
                os.fchown(fd, -1, of.st_gid)
            except OSError:
                more &= 0o006  # the group is another one
        if more & ~own.st_mode:
            os.fchmod(fd, (own.st_mode | more) & 0o7777)


def _locked(fs: FileSystem, fd: int, name: str, owner: int, mode: int) -> FileLock | None:
    s = os.fstat(fd)
    inode = s.st_dev, s.st_ino
    _admit(fs, fd, name, s)
    if _owners.refuses(inode, owner, mode):
        raise LockedError(f"lock: {name}: held by the same owner, who would wait for himself", item=name)
    if not system_locks.take(fd, mode == _EXCLUSIVE):
        return None
    now = fs.stat(name)  # it may have been replaced by one that others lock
    if (now.st_dev, now.st_ino) != inode:
        return None
    _owners.add(inode, owner, mode)
    return FileLock(fd, inode, owner, mode)


def _gate_is_shut(fs: FileSystem, name: str) -> bool:
    try:
        fd = fs.open(name + _GATE, 1)
    except (Error, OSError):
        return False  # mostly because there is none
    try:
        return not system_locks.take(fd, False)
    except OSError:
        return False
    finally:
        os.close(fd)


class _Gate:
    """The gate of one who waits, from when he enters it."""

    def __init__(self, fs: FileSystem, name: str) -> None:
        self._fs, self._name, self._fd = fs, name + _GATE, -1

    def enter(self) -> None:
        """Makes readers wait. Where that cannot be, or another writer is in it, it does nothing."""
        if self._fd >= 0:
            return
        try:
            fd = self._fs.open(self._name, 1 | 2 | 4)
        except (Error, OSError):
            return
        taken = False
        with contextlib.suppress(OSError):
            taken = system_locks.take(fd, True)
        if taken:
            _admit(self._fs, fd, self._name, os.fstat(fd))
            self._fd = fd
        else:
            os.close(fd)

    def leave(self) -> None:
        if self._fd < 0:
            return
        with contextlib.suppress(Error, OSError):
            self._fs.remove(self._name)
        os.close(self._fd)
        self._fd = -1


class LockJob(Job):
    """``lock``."""

    patient = True

    def __init__(self, memory: Memory, runtime: Runtime, files: Files, req: int, into: int) -> None:
        fs, self._mode, name, name_len, self._owner = _abi.LOCK.unpack(memory.read(req, _abi.LOCK.size))
        self._fs = runtime.file_system(fs)
        self._name = memory.read(name, name_len).decode()
        self._files = files
        self._into = into
        self._given_up = threading.Event()

    def now(self, runtime: Runtime) -> FileLock | None:
        return acquire(self._fs, self._name, self._owner, self._mode)

    async def run(self, runtime: Runtime) -> FileLock:
        pause = _FIRST_S
        gate = _Gate(self._fs, self._name)
        try:
            while True:
                lock = acquire(self._fs, self._name, self._owner, self._mode)
                if lock is not None:
                    return lock
                if self._given_up.is_set():
                    raise LockedError(f"lock: {self._name}: nobody waits for it any more", item=self._name)
                await runtime.sleep(pause, self._given_up)
                if self._mode == _EXCLUSIVE and not self._given_up.is_set():
                    gate.enter()
                pause = min(2 * pause, _LAST_S)
        finally:
            gate.leave()

    def give_up(self) -> None:
        """The guest does not want it any more."""
        self._given_up.set()

    def discard(self, outcome: object) -> None:
        """It came too late."""
        if isinstance(outcome, FileLock):
            outcome.release()

    def write(self, memory: Memory, outcome: object) -> int:
        assert isinstance(outcome, FileLock)
        memory.write(self._into, _abi.stat_number(self._files.add_lock(outcome)))
        return 0
