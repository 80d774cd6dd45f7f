"""The files that a guest has open, and what it asks of file systems.

All of it answers at once, also in an event loop: a local disk is waited for.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import stat
from typing import Any

from . import _abi
from ._errors import UNSUPPORTED, ClosedError, InvalidError, LockedError, ReadOnlyError
from ._filesystem import WRITE, FileSystem, failed, libc, told
from ._locks import FileLock, system_locks
from ._memory import Memory

google_crc32c: Any = None
with contextlib.suppress(ImportError):  # the guest copies by itself then
    google_crc32c = importlib.import_module("google_crc32c")

_COPIED_AT_ONCE = 1 << 20
_FALLOC_KEEP_SIZE, _FALLOC_PUNCH_HOLE = 1, 2
_MOST = (1 << 63) - 1


class _Open:
    """One open file, which knows whether it may be written to."""

    __slots__ = ("fd", "locks", "name", "write")

    def __init__(self, fd: int, name: str, write: bool) -> None:
        self.fd = fd
        self.name = name
        self.write = write
        self.locks: set[int] = set()


class Files:
    """The files that one guest has open, and its imports that are about files.

    The imports get the guest's memory and unsigned numbers; see docs/abi.md.
    """

    def __init__(self, system: Any) -> None:
        self._system = system  # the file system of a number
        self._open: dict[int, _Open] = {}
        self._locks: dict[int, FileLock] = {}
        self._last = 0

    def close_all(self) -> None:
        """Closes all and gives locks back: the guest has died."""
        locks, self._locks = self._locks, {}
        for lock in locks.values():
            lock.release()
        files, self._open = self._open, {}
        for f in files.values():
            with contextlib.suppress(OSError):
                os.close(f.fd)

    def disown(self) -> None:
        """Closes a forked child's copies of what the parent has open and locked, and keeps nothing of that from it."""
        locks, self._locks = self._locks, {}
        for lock in locks.values():
            lock.disown()
        files, self._open = self._open, {}
        for f in files.values():
            with contextlib.suppress(OSError):
                os.close(f.fd)

    def __del__(self) -> None:
        self.close_all()

    def __len__(self) -> int:
        return len(self._open)

    def _path(self, memory: Memory, req: int) -> tuple[FileSystem, int, str, str, int, int]:
        fs, flags, name, name_len, to, to_len, buf, cap = _abi.PATH.unpack(memory.read(req, _abi.PATH.size))
        return self._system(fs), flags, memory.read(name, name_len).decode(), memory.read(to, to_len).decode(), buf, cap

    def _file(self, number: int, *, write: bool = False) -> _Open:
        f = self._open.get(number)
        if f is None:
            raise ClosedError("file: closed")
        if write and not f.write:
            raise ReadOnlyError(f"file: {f.name}: not open for writing", item=f.name)
        return f

    def open(self, memory: Memory, token: int, req: int, into: int) -> int:
        fs, flags, name, _, _, _ = self._path(memory, req)
        f = _Open(fs.open(name, flags), name, bool(flags & WRITE))
        self._last += 1
        self._open[self._last] = f
        memory.write(into, _abi.stat_number(self._last))
        return 0

    def stat(self, memory: Memory, token: int, req: int, into: int) -> int:
        fs, _, name, _, _, _ = self._path(memory, req)
        memory.write(into, _packed(fs.stat(name)))
        return 0

    def rename(self, memory: Memory, token: int, req: int) -> int:
        fs, flags, name, to, _, _ = self._path(memory, req)
        fs.rename(name, to, not flags & 1)
        return 0

    def remove(self, memory: Memory, token: int, req: int) -> int:
        fs, _, name, _, _, _ = self._path(memory, req)
        fs.remove(name)
        return 0

    def mkdir(self, memory: Memory, token: int, req: int) -> int:
        fs, _, name, _, _, _ = self._path(memory, req)
        fs.mkdir(name)
        return 0

    def list_dir(self, memory: Memory, token: int, req: int, into: int) -> int:
        fs, _, name, _, buf, cap = self._path(memory, req)
        packed = _abi.pack_names(fs.names(name))
        if len(packed) > cap:
            memory.write(into, _abi.stat_size(len(packed)))
            return _abi.TOO_SMALL
        memory.write(buf, packed)
        return len(packed)

    def sync_dir(self, memory: Memory, token: int, req: int) -> int:
        fs, _, name, _, _, _ = self._path(memory, req)
        fs.sync(name)
        return 0

    def statfs(self, memory: Memory, token: int, req: int, into: int) -> int:
        fs, _, name, _, _, _ = self._path(memory, req)
        memory.write(into, _abi.stat_size(fs.free(name)))
        return 0  # of what kind it is, is not known

    def stat_file(self, memory: Memory, token: int, file: int, into: int) -> int:
        memory.write(into, _packed(os.fstat(self._file(file).fd)))
        return 0

    def read_at(self, memory: Memory, token: int, file: int, lo: int, hi: int, ptr: int, n: int) -> int:
        f = self._file(file)
        with told(f.name):
            window, done = memory.window(ptr, n), 0
            while done < n:
                k = os.preadv(f.fd, [window[done:]], _off(lo, hi) + done)
                if k == 0:
                    break
                done += k
            return done

    def write_at(self, memory: Memory, token: int, file: int, lo: int, hi: int, ptr: int, n: int) -> int:
        f = self._file(file, write=True)
        with told(f.name):
            window, done = memory.window(ptr, n), 0
            while done < n:
                done += os.pwrite(f.fd, window[done:], _off(lo, hi) + done)
            return done

    def truncate(self, memory: Memory, token: int, file: int, lo: int, hi: int) -> int:
        f = self._file(file, write=True)
        with told(f.name):
            os.ftruncate(f.fd, _off(lo, hi))
        return 0

    def sync(self, memory: Memory, token: int, file: int) -> int:
        f = self._file(file)
        with told(f.name):
            os.fsync(f.fd)
        return 0

    def close(self, memory: Memory, token: int, file: int) -> int:
        f = self._file(file)
        del self._open[file]
        with told(f.name):
            os.close(f.fd)
        return 0

    def add_lock(self, lock: FileLock) -> int:
        """The number of a lock that is held."""
        self._last += 1
        self._locks[self._last] = lock
        return self._last

    def unlock(self, memory: Memory, token: int, lock: int) -> int:
        held = self._locks.pop(lock, None)
        if held is None:
            raise ClosedError("lock: is not held")
        held.release()
        return 0

    def allocate(self, memory: Memory, token: int, file: int, lo: int, hi: int, n_lo: int, n_hi: int) -> int:
        f, n = self._file(file, write=True), _off(n_lo, n_hi)
        if not hasattr(os, "posix_fallocate"):
            return UNSUPPORTED
        if n:
            with told(f.name):
                os.posix_fallocate(f.fd, _off(lo, hi), n)
        return 0

    def punch(self, memory: Memory, token: int, file: int, lo: int, hi: int, n_lo: int, n_hi: int) -> int:
        f, n = self._file(file, write=True), _off(n_lo, n_hi)
        punch = getattr(libc, "fallocate64", None) or getattr(libc, "fallocate", None)
        if punch is None:
            return UNSUPPORTED
        if n:
            mode = _FALLOC_KEEP_SIZE | _FALLOC_PUNCH_HOLE
            if punch(f.fd, mode, ctypes.c_int64(_off(lo, hi)), ctypes.c_int64(n)):
                raise failed(f.name, OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno())))
        return 0

    def lock_range(self, memory: Memory, token: int, file: int, lo: int, hi: int, mode: int) -> int:
        f, off = self._file(file, write=mode == 2), _off(lo, hi)
        if not system_locks.single:
            return UNSUPPORTED
        if (off in f.locks) != (mode == 0):
            raise LockedError(f"file: {f.name}: locked by the same open file", item=f.name, offset=off)
        with told(f.name):
            if mode == 0:
                system_locks.give_byte(f.fd, off)
            elif not system_locks.take_byte(f.fd, off, mode == 2):
                raise LockedError(f"file: {f.name}: locked by another", item=f.name, offset=off)
        (f.locks.discard if mode == 0 else f.locks.add)(off)
        return 0

    def copy(self, memory: Memory, token: int, req: int, into: int) -> int:
        if google_crc32c is None:
            return UNSUPPORTED
        off, from_off, n, to, source = _abi.COPY.unpack(memory.read(req, _abi.COPY.size))
        f, src = self._file(to, write=True), self._file(source)
        done, crc = 0, 0
        with told(f.name):
            while done < n:
                part = os.pread(src.fd, min(n - done, _COPIED_AT_ONCE), from_off + done)
                if not part:
                    break
                os.pwrite(f.fd, part, off + done)
                crc = google_crc32c.extend(crc, part)
                done += len(part)
        memory.write(into, _abi.stat_size(done, crc))
        return 0


IMPORTS = (
    "open stat rename remove mkdir list_dir sync_dir statfs stat_file read_at write_at truncate sync close allocate punch lock_range copy unlock"
).split()
"""The imports that are methods of ``Files``."""


def _off(lo: int, hi: int) -> int:
    off = hi << 32 | lo
    if off > _MOST:
        raise InvalidError("file: not a part of a file")
    return off


def _packed(s: os.stat_result) -> bytes:
    kind = 2 if stat.S_ISDIR(s.st_mode) else 1
    mask = (1 << 64) - 1
    allocated = getattr(s, "st_blocks", 0) * 512
    return _abi.STAT.pack(
        s.st_size, s.st_mtime_ns, s.st_ctime_ns, allocated, s.st_dev & mask, s.st_ino & mask, s.st_nlink, kind, 0
    )
