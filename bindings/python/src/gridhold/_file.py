"""A directory as a store.

One ``pread`` and one ``fstat`` a range, on a handle that is kept. No key and
no symbolic link leads out of the directory.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import stat
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _fork
from ._beneath import closing, open_beneath
from ._errors import ClosedError, IOFailedError, NotAllowedError, NotFoundError, StaleError, from_number, number_of
from ._gathered import gather
from ._held import READ_MAX, calls
from ._store import Answer, Range, check_key
from ._types import NDArray

_SETTLED_NS = 20_000_000
_RECHECK_S = 1.0
_TRIES = 5
_ONE_READ = 1 << 30
_NOWAIT = getattr(os, "RWF_NOWAIT", 0)

_Stamp = tuple[int, int, int, int]  # size, mtime in ns, inode, device


class _Handle:
    """An open file. It is closed when nobody refers to it, so never under a reader."""

    __slots__ = ("checked", "fd", "mapping", "state")

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.checked = time.monotonic()
        # One reference, replaced whole: threads look at it without a lock.
        self.state: tuple[_Stamp, str] = ((-1, -1, -1, -1), "")
        self.mapping: tuple[int, int, Any] = -1, 0, None  # how many bytes, where, and what holds them

    def __del__(self) -> None:
        os.close(self.fd)

    def stat(self) -> tuple[os.stat_result, str]:
        """What it is now, and the version that goes with it."""
        s = os.fstat(self.fd)
        stamp = (s.st_size, s.st_mtime_ns, s.st_ino, s.st_dev)
        known, version = self.state
        if stamp != known:
            version = "%x-%x-%x-%x" % stamp
            self.state = stamp, version
        return s, version


    def mapped(self, size: int) -> tuple[int, Any]:
        """The address of ``size`` bytes of the file, for the kernel alone to read, as long as what comes with it is held.

        Raises OSError and ValueError.
        """
        known, address, mapping = self.mapping
        if known != size:
            mapping = np.frombuffer(mmap.mmap(self.fd, size, prot=mmap.PROT_READ), np.uint8)
            address = mapping.ctypes.data
            self.mapping = size, address, mapping
        return address, mapping


class FileStore:
    """The files below a directory. Safe for use by several threads.

    A version is size, modification time, inode and device: a file that was
    replaced, rewritten or cut is noticed at the next read. Two writes within
    the file system's clock tick would look alike, so a file younger than 20 ms
    is waited for before its version is told. Writing through a memory mapping
    is not noticed until the kernel updates the time.

    ``handles`` bounds the files kept open. Raises NotFoundError if the
    directory is not there.
    """

    def __init__(self, directory: str | os.PathLike[str], *, handles: int = 256) -> None:
        self._path = os.fspath(directory)
        self._bound = max(1, handles)
        self._lock = threading.Lock()
        self._open: OrderedDict[str, _Handle] = OrderedDict()
        try:
            fd = os.open(self._path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0))
        except OSError as e:
            raise self._error(self._path, e) from None
        self._root: _Handle | None = _Handle(fd)
        _fork.register(self)

    def __repr__(self) -> str:
        return f"FileStore({self._path!r})"

    def close(self) -> None:
        """Closes the files; later reads raise ClosedError. Closing twice is fine."""
        with self._lock:
            self._root = None
            self._open.clear()

    def moved(self) -> bool:
        """Whether the path leads elsewhere by now, or nowhere."""
        root = self._root
        try:
            return root is None or not os.path.samestat(os.stat(self._path), os.fstat(root.fd))
        except OSError:
            return True

    def __enter__(self) -> FileStore:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _restart(self) -> None:
        self._lock = threading.Lock()

    def read_ranges(self, key: str, ranges: Sequence[Range], version: str) -> Answer:
        """See ``Store``."""
        answer = self._read_now(key, ranges, version, True)
        assert answer is not None
        return answer

    def list(self, prefix: str) -> list[str]:
        """See ``Store``. A directory that is not there has no names."""
        try:
            with closing(self._beneath(prefix.rstrip("/"), directory=True)) as fd, os.scandir(fd) as entries:
                return sorted(e.name + "/" * self._is_directory(prefix, e) for e in entries)
        except OSError as e:
            error = self._error(prefix, e)
            if isinstance(error, NotFoundError):
                return []
            raise error from None

    def _is_directory(self, prefix: str, entry: os.DirEntry[str]) -> bool:
        if not entry.is_symlink():
            return entry.is_dir(follow_symlinks=False)
        try:
            with closing(self._beneath(prefix + entry.name, directory=True)):
                return True
        except (OSError, NotAllowedError):
            return False

    def _read_now(self, key: str, ranges: Sequence[Range], version: str, may_block: bool) -> Answer | None:
        """Reads; without ``may_block`` only what is in memory, and None otherwise."""
        try:
            for _ in range(_TRIES):
                handle = self._handle(key, may_block)
                if handle is None:
                    return None
                if not version:
                    before, has = handle.stat()
                    age = time.time_ns() - before.st_mtime_ns
                    if 0 <= age < _SETTLED_NS:
                        if not may_block:
                            return None
                        time.sleep((_SETTLED_NS - age) / 1e9)
                        continue
                data = []
                for off, length in ranges:
                    if off < 0 or length < 0:
                        off, length = _resolve(off, length, os.fstat(handle.fd).st_size)
                    piece = _pread(handle.fd, length, off) if may_block else _pread_cached(handle.fd, length, off)
                    if piece is None:
                        return None
                    data.append(piece)
                # The time of a file changes before its bytes do, so a stat after the read vouches for the bytes.
                after, now = handle.stat()
                if after.st_nlink == 0:  # the name belongs to another file by now
                    self._forget(key, handle)
                elif version:
                    if now == version:
                        return Answer(data, after.st_size, now)
                    break
                elif now == has:
                    return Answer(data, after.st_size, now)
        except OSError as e:
            raise self._error(key, e) from None
        raise StaleError(f"store: {key}: changed between reads that must agree", item=key)

    def _read_warm(self, key: str, ranges: Sequence[Range], version: str) -> Sequence[Any] | None:
        """Ranges of a file that is open and was looked for lately, if it is still of that version.

        None: ask ``read_ranges``. It takes no lock. What is short and in memory is read without letting go of the
        interpreter; see ``_held``.
        """
        handle = self._open.get(key)
        if handle is None or time.monotonic() - handle.checked >= _RECHECK_S:
            return None
        fd = handle.fd
        data: list[Any] = []
        try:
            for off, length in ranges:
                small = calls is not None and length <= READ_MAX
                piece = calls.read(fd, off, length) if small else None  # type: ignore[union-attr]
                data.append(os.pread(fd, length, off) if piece is None else piece)
            if calls is not None:
                links, size, mtime = calls.stat(fd)
            else:
                s = os.fstat(fd)
                links, size, mtime = s.st_nlink, s.st_size, s.st_mtime_ns
        except (OSError, OverflowError, ctypes.ArgumentError):
            return None
        (known_size, known_mtime, *_), known = handle.state  # an open file does not change its inode and device
        return data if links and size == known_size and mtime == known_mtime and known == version else None

    def _gather_warm(self, files: Sequence[tuple[str, str, int]], spans: NDArray) -> bytearray | None:
        """``_read_warm`` of several files: of each, by its key and version, the next so many of the ranges ``spans``.

        The bytes lie one after another.
        """
        if gather is None or calls is None:
            return None
        now, opened, used, places = time.monotonic(), self._open, [], []
        try:
            for key, version, _ in files:
                handle = opened.get(key)
                if handle is None or now - handle.checked >= _RECHECK_S:
                    return None
                stamp, known = handle.state
                if known != version:
                    return None
                size = stamp[0]
                mapped, address, mapping = handle.mapping
                if mapped != size:
                    address, mapping = handle.mapped(size)
                used.append((handle, stamp, mapping))
                places.append((address, size))
            counts = [count for _, _, count in files]
            starts, sizes = (np.repeat(np.array(each, np.uint64), counts) for each in zip(*places))
            offs, lengths = spans[:, 0], spans[:, 1]
            if (lengths > sizes).any() or (offs > sizes - lengths).any():
                return None
            pieces = np.empty((len(spans), 2), np.uint64)
            pieces[:, 0], pieces[:, 1] = starts + offs, lengths
            data = gather(pieces)
            stat = calls.stat
            for handle, stamp, _ in used:
                links, size, mtime = stat(handle.fd)
                if not links or size != stamp[0] or mtime != stamp[1]:
                    return None
            return data
        except (OSError, ValueError, OverflowError):
            return None

    def _handle(self, key: str, may_block: bool) -> _Handle | None:
        with self._lock:
            handle = self._open.get(key)
            if handle is not None:
                self._open.move_to_end(key)
        if handle is not None:
            if time.monotonic() - handle.checked < _RECHECK_S:
                return handle
            if may_block and self._still(key, handle):
                return handle
        if not may_block:
            return None
        try:
            handle = _Handle(self._beneath(check_key(key)))
        except OSError as e:
            if e.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            with self._lock:
                for _ in range((len(self._open) + 1) // 2):
                    self._open.popitem(last=False)
            handle = _Handle(self._beneath(key))
        if not stat.S_ISREG(handle.stat()[0].st_mode):
            raise IOFailedError(f"store: {key}: not a regular file", item=key)
        with self._lock:
            if self._root is not None:
                self._open[key] = handle
                while len(self._open) > self._bound:
                    self._open.popitem(last=False)
        return handle

    def _still(self, key: str, handle: _Handle) -> bool:
        """Whether the name still leads to the open file: a rename may leave the old one alive elsewhere."""
        with closing(self._beneath(key)) as fd:
            same = os.path.samestat(os.fstat(fd), os.fstat(handle.fd))
        if same:
            handle.checked = time.monotonic()
        else:
            self._forget(key, handle)
        return same

    def _forget(self, key: str, handle: _Handle) -> None:
        with self._lock:
            if self._open.get(key) is handle:
                del self._open[key]

    def _beneath(self, key: str, *, directory: bool = False) -> int:
        root = self._root
        if root is None:
            raise ClosedError(f"store: {self._path}: closed")
        return open_beneath(root.fd, key, directory=directory)

    @staticmethod
    def _error(item: str, e: OSError) -> Exception:
        return from_number(number_of(e), f"store: {item}: {(e.strerror or str(e)).lower()}", item=item)


def _resolve(off: int, length: int, size: int) -> Range:
    if off < 0:
        off = max(0, size - length)
    return off, max(0, size - off)


def _pread(fd: int, length: int, off: int) -> bytes:
    if length < _ONE_READ:
        return os.pread(fd, length, off)
    size = os.fstat(fd).st_size  # one call moves at most 2 GiB
    out = bytearray(max(0, min(length, size - off)))
    done = 0
    while done < len(out):
        n = os.preadv(fd, [memoryview(out)[done : done + _ONE_READ]], off + done)
        if n == 0:
            break
        done += n
    return bytes(memoryview(out)[:done])


def _pread_cached(fd: int, length: int, off: int) -> bytes | None:
    """Only what the kernel has in memory: an event loop must not wait for a disk."""
    if not _NOWAIT or length >= _ONE_READ:
        return None
    out = bytearray(length)
    try:
        n = os.preadv(fd, [out], off, _NOWAIT) if length else 0
    except OSError:  # EAGAIN: not in memory; EOPNOTSUPP: this file system cannot say
        return None
    if n < length and off + n < os.fstat(fd).st_size:
        return None
    return bytes(out[:n]) if n < length else bytes(out)
