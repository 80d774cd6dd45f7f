"""Locks of open files, as the system has them. They wait for nobody, and go with whoever dies.

On Unix ``flock`` for whole files and open file description locks for single
bytes; on Windows ``LockFileEx`` for both, a whole file being its first byte,
as the C library of Blosc2 has it.
"""

from __future__ import annotations

import ctypes
import errno
import importlib
import os
import struct
from typing import Any, Protocol

_FLOCK = struct.Struct("hhxxxxqqixxxx")  # a struct flock of 64-bit Linux
_FAIL_IMMEDIATELY, _EXCLUSIVE = 1, 2  # flags of LockFileEx
_LOCK_VIOLATION, _IO_PENDING, _NOT_LOCKED = 33, 997, 158  # its errors


class Locks(Protocol):
    """What a system gives."""

    whole: bool
    """There are locks of whole files."""
    single: bool
    """There are locks of single bytes, which belong to the open file and not to the process."""

    def take(self, fd: int, exclusive: bool) -> bool:
        """Locks the file; False where another has it. Raises OSError."""

    def give(self, fd: int) -> None:
        """Gives that lock back, whoever else has a copy of the descriptor."""

    def take_byte(self, fd: int, off: int, exclusive: bool) -> bool:
        """Locks one byte; False where another has it."""

    def give_byte(self, fd: int, off: int) -> None:
        """Gives that back."""


class Unix:
    """``fcntl``."""

    def __init__(self, fcntl: Any) -> None:
        self._fcntl = fcntl
        self.whole = hasattr(fcntl, "flock")
        self.single = hasattr(fcntl, "F_OFD_SETLK")

    def take(self, fd: int, exclusive: bool) -> bool:
        f = self._fcntl
        return _taken(lambda: f.flock(fd, (f.LOCK_EX if exclusive else f.LOCK_SH) | f.LOCK_NB))

    def give(self, fd: int) -> None:
        self._fcntl.flock(fd, self._fcntl.LOCK_UN)

    def take_byte(self, fd: int, off: int, exclusive: bool) -> bool:
        f = self._fcntl
        return _taken(lambda: self._byte(fd, off, f.F_WRLCK if exclusive else f.F_RDLCK))

    def give_byte(self, fd: int, off: int) -> None:
        self._byte(fd, off, self._fcntl.F_UNLCK)

    def _byte(self, fd: int, off: int, kind: int) -> None:
        self._fcntl.fcntl(fd, self._fcntl.F_OFD_SETLK, _FLOCK.pack(kind, os.SEEK_SET, off, 1, 0))


def _taken(lock: Any) -> bool:
    try:
        lock()
        return True
    except OSError as e:
        if e.errno in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES):
            return False
        raise


class Overlapped(ctypes.Structure):
    """Where ``LockFileEx`` locks."""

    _fields_ = [
        ("internal", ctypes.c_void_p),
        ("internal_high", ctypes.c_void_p),
        ("offset", ctypes.c_uint32),
        ("offset_high", ctypes.c_uint32),
        ("event", ctypes.c_void_p),
    ]


class Windows:
    """``kernel32``, and what makes a handle of a descriptor."""

    whole = single = True

    def __init__(self, kernel32: Any, handle_of: Any, last_error: Any) -> None:
        self._kernel32, self._handle_of, self._last_error = kernel32, handle_of, last_error

    def take(self, fd: int, exclusive: bool) -> bool:
        return self.take_byte(fd, 0, exclusive)

    def give(self, fd: int) -> None:
        self.give_byte(fd, 0)

    def take_byte(self, fd: int, off: int, exclusive: bool) -> bool:
        flags = _FAIL_IMMEDIATELY | (_EXCLUSIVE if exclusive else 0)
        if self._kernel32.LockFileEx(*self._arguments(fd), flags, 0, 1, 0, _at(off)):
            return True
        number = self._last_error()
        if number in (_LOCK_VIOLATION, _IO_PENDING):
            return False
        raise OSError(errno.EIO, f"LockFileEx: error {number}")

    def give_byte(self, fd: int, off: int) -> None:
        if not self._kernel32.UnlockFileEx(*self._arguments(fd), 0, 1, 0, _at(off)):
            number = self._last_error()
            if number != _NOT_LOCKED:
                raise OSError(errno.EIO, f"UnlockFileEx: error {number}")

    def _arguments(self, fd: int) -> tuple[Any, ...]:
        return (ctypes.c_void_p(self._handle_of(fd)),)


def _at(off: int) -> Any:
    return ctypes.byref(Overlapped(None, None, off & 0xFFFFFFFF, off >> 32, None))


class Nothing:
    """A system without locks."""

    whole = single = False

    def take(self, fd: int, exclusive: bool) -> bool:
        raise OSError(errno.EOPNOTSUPP, "no locks")

    def give(self, fd: int) -> None:
        """Nothing was taken."""

    def take_byte(self, fd: int, off: int, exclusive: bool) -> bool:
        raise OSError(errno.EOPNOTSUPP, "no locks")

    def give_byte(self, fd: int, off: int) -> None:
        """Nothing was taken."""


def locks_of(platform: str) -> Locks:
    """Those of a system, by the name that ``sys.platform`` has for it."""
    if platform == "win32":
        windows: Any = ctypes
        kernel32 = windows.WinDLL("kernel32", use_last_error=True)
        return Windows(kernel32, importlib.import_module("msvcrt").get_osfhandle, windows.get_last_error)
    try:
        return Unix(importlib.import_module("fcntl"))
    except ImportError:
        return Nothing()
