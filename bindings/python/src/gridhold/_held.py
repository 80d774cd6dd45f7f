"""Calls that keep the interpreter, for what takes a microsecond or two.

The interpreter's own ``pread`` and ``fstat`` let go of it. Where another thread wants it, each of them then waits until
that one lets go in turn, which takes several times what the call does: two threads that read small things together were
half as fast as one alone. These here ask the kernel for what it has in memory, and for nothing else, so they
never wait for a disk. Linux; elsewhere there are none.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import threading
from collections.abc import Callable
from typing import Any

READ_MAX = 64 << 10
"""Bytes of one read. Copying more takes so long that others should have their turn."""

_NOWAIT = getattr(os, "RWF_NOWAIT", 0)
_EMPTY_PATH = 0x1000
_WANTED = 0x0004 | 0x0040 | 0x0200  # links, time of modification, size
_STATX = struct.Struct("=16xI20xQ64xqI")  # what of them lies where, on every architecture


class _Calls(threading.local):
    """Buffers of one thread, and the calls into them."""

    def __init__(self, preadv2: Any, statx: Any) -> None:
        self.preadv2, self.statx = preadv2, statx
        self.data, self.about = bytearray(READ_MAX), bytearray(256)
        self._pinned = [(ctypes.c_char * len(b)).from_buffer(b) for b in (self.data, self.about)]
        self.vector = (ctypes.c_size_t * 2)(ctypes.addressof(self._pinned[0]), 0)
        self.vector_at = ctypes.addressof(self.vector)
        self.about_at = ctypes.addressof(self._pinned[1])

    def read(self, fd: int, off: int, length: int) -> bytearray | None:
        """Bytes of a file, fewer at its end; None if the kernel does not have them in memory, or cannot say."""
        self.vector[1] = length
        n = self.preadv2(fd, self.vector_at, 1, off, _NOWAIT)
        return self.data[:n] if n >= 0 else None

    def stat(self, fd: int) -> tuple[int, int, int]:
        """Links, size, and the time of modification in nanoseconds; zeros where that failed."""
        if self.statx(fd, b"", _EMPTY_PATH, _WANTED, self.about_at):
            return 0, 0, 0
        links, size, seconds, ns = _STATX.unpack_from(self.about)
        return links, size, seconds * 1_000_000_000 + ns


def _calls() -> _Calls | None:
    if not sys.platform.startswith("linux") or not _NOWAIT or sys.maxsize < 2**32:
        return None  # where addresses have 32 bits, so may offsets
    try:
        libc = ctypes.PyDLL(None)
        preadv2, statx = libc.preadv2, libc.statx
    except (OSError, AttributeError):  # a C library without them
        return None
    preadv2.argtypes = ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_int
    preadv2.restype = ctypes.c_ssize_t
    statx.argtypes = ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p
    statx.restype = ctypes.c_int
    return _Calls(preadv2, statx)


calls = _calls()
"""None where there are none."""


class _Zstd(threading.local):
    """A context of Zstandard for one thread."""

    def __init__(self, library: Any) -> None:
        self.decompress = library.ZSTD_decompressDCtx
        self.context = library.ZSTD_createDCtx()
        self._free = library.ZSTD_freeDCtx
        self.data = bytearray(READ_MAX)
        self._pinned = (ctypes.c_char * READ_MAX).from_buffer(self.data)
        self.at = ctypes.addressof(self._pinned)

    def __del__(self) -> None:
        context, self.context = getattr(self, "context", None), None
        if context:
            self._free(context)


def zstd(path: str) -> Callable[[bytes | bytearray, int], bytearray | None] | None:
    """``decompress(frame, limit)`` of at most READ_MAX bytes, with the library at ``path`` if that has what is needed.

    None is for damage, for more than ``limit``, and for what is not one frame and nothing else.
    """
    try:
        library = ctypes.PyDLL(path)
        library.ZSTD_createDCtx.restype = ctypes.c_void_p
        library.ZSTD_createDCtx.argtypes = ()
        library.ZSTD_freeDCtx.argtypes = (ctypes.c_void_p,)
        call, end = library.ZSTD_decompressDCtx, library.ZSTD_findFrameCompressedSize
    except (OSError, AttributeError):
        return None
    call.restype = ctypes.c_size_t
    call.argtypes = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t
    end.restype = ctypes.c_size_t
    end.argtypes = ctypes.c_char_p, ctypes.c_size_t
    local = _Zstd(library)

    def decompress(frame: bytes | bytearray, limit: int) -> bytearray | None:
        raw = bytes(frame)
        if end(raw, len(raw)) != len(raw):
            return None
        n = local.decompress(local.context, local.at, limit, raw, len(raw))
        return local.data[:n] if n <= limit else None  # an error is a number near the largest

    return decompress
