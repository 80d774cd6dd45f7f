"""Many small pieces of mapped files in one call, which lets go of the interpreter.

Two threads that read piece by piece wait for each other at every one. The kernel copies out of this process's own
mappings instead, all pieces at once: what a file was cut of since is then an answer, where touching it would end the
program. Linux; elsewhere, and where such calls are forbidden, there is none of this.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable

import numpy as np

from ._types import NDArray

_AT_ONCE = 1024  # pieces that the kernel takes in a call


def _gather() -> Callable[[NDArray], bytearray | None] | None:
    if not sys.platform.startswith("linux") or sys.maxsize < 2**32:
        return None
    try:
        read = ctypes.CDLL(None).process_vm_readv
    except (OSError, AttributeError):  # a C library without it
        return None
    read.argtypes = ctypes.c_int, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong
    read.restype = ctypes.c_ssize_t

    def gather(pieces: NDArray) -> bytearray | None:
        """Bytes at addresses, one after another; None if not all are there. ``pieces``: uint64, an address and a length a row."""
        pieces = np.ascontiguousarray(pieces, np.uint64)
        out = bytearray(int(pieces[:, 1].sum()))
        if not out:
            return out
        pinned = np.frombuffer(out, np.uint8)
        at = pinned.ctypes.data
        for first in range(0, len(pieces), _AT_ONCE):
            some = pieces[first : first + _AT_ONCE]
            size = int(some[:, 1].sum())
            to = np.array([at, size], np.uint64)
            if size and read(os.getpid(), to.ctypes.data, 1, some.ctypes.data, len(some), 0) != size:
                return None
            at += size
        return out

    return gather


gather = _gather()
"""None where there is none."""
