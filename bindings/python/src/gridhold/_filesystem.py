"""A directory as a file system that is lent to a guest.

No name and no symbolic link leads out of the directory.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import itertools
import os
import stat
import sys
from collections.abc import Iterator
from typing import Any

from ._beneath import closing, open_beneath
from ._errors import ExistsError, InvalidError, IOFailedError, NotAllowedError, ReadOnlyError, UnsupportedError, from_number, number_of

READ, WRITE, CREATE, EXCLUSIVE, TRUNCATE = 1, 2, 4, 8, 16
"""How a file is opened."""
_RENAME_NOREPLACE = 1
_serial = itertools.count(1)


class FileSystem:
    """The directory that a container lies in. The guest reaches nothing else."""

    def __init__(self, directory: str) -> None:
        self.id = next(_serial) & 0xFFFFFFFF
        self.path = directory
        with told(directory):
            self._root = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def __del__(self) -> None:
        root, self._root = getattr(self, "_root", -1), -1
        if root >= 0:
            os.close(root)

    def open(self, name: str, flags: int) -> int:
        """A descriptor of a regular file."""
        how = os.O_RDWR if flags & (WRITE | TRUNCATE) else os.O_RDONLY
        how |= (os.O_CREAT if flags & CREATE else 0) | (os.O_EXCL if flags & EXCLUSIVE else 0) | (os.O_TRUNC if flags & TRUNCATE else 0)
        with told(name):
            fd = open_beneath(self._root, _checked(name), how)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise IOFailedError(f"file: {name}: is not a regular file", item=name)
        return fd

    def stat(self, name: str) -> os.stat_result:
        with told(name), closing(open_beneath(self._root, name and _checked(name))) as fd:
            return os.fstat(fd)

    def names(self, name: str) -> list[str]:
        with told(name), closing(open_beneath(self._root, name and _checked(name), directory=True)) as fd, os.scandir(fd) as entries:
            found = []
            for e in entries:
                with contextlib.suppress(OSError, NotAllowedError):  # it is not to be opened, so it is not there
                    mode = self._mode(f"{name}/{e.name}" if name else e.name)
                    if stat.S_ISDIR(mode):
                        found.append(e.name + "/")
                    elif stat.S_ISREG(mode):
                        found.append(e.name)
            return sorted(found)

    def _mode(self, name: str) -> int:
        with closing(open_beneath(self._root, name)) as fd:
            return os.fstat(fd).st_mode

    @contextlib.contextmanager
    def _parent(self, name: str) -> Iterator[tuple[int, str]]:
        above, _, last = _checked(name).rpartition("/")
        with told(name), closing(open_beneath(self._root, above, directory=True)) as fd:
            yield fd, last

    def rename(self, name: str, to: str, replace: bool) -> None:
        with self._parent(name) as (fd, last), self._parent(to) as (to_fd, to_last):
            if replace:
                with contextlib.suppress(FileNotFoundError):  # POSIX would replace one that is empty
                    if stat.S_ISDIR(os.stat(to_last, dir_fd=to_fd, follow_symlinks=False).st_mode):
                        raise ExistsError(f"file: {to}: is a directory", item=to)
                os.rename(last, to_last, src_dir_fd=fd, dst_dir_fd=to_fd)
            elif not _rename_no_replace(fd, last, to_fd, to_last):
                os.link(last, to_last, src_dir_fd=fd, dst_dir_fd=to_fd, follow_symlinks=False)
                os.unlink(last, dir_fd=fd)

    def remove(self, name: str) -> None:
        with self._parent(name) as (fd, last):
            try:
                os.unlink(last, dir_fd=fd)
            except (IsADirectoryError, PermissionError):
                if not stat.S_ISDIR(os.stat(last, dir_fd=fd, follow_symlinks=False).st_mode):
                    raise
                os.rmdir(last, dir_fd=fd)

    def mkdir(self, name: str) -> None:
        with self._parent(name) as (fd, last):
            os.mkdir(last, dir_fd=fd)

    def sync(self, name: str) -> None:
        with told(name), closing(open_beneath(self._root, name and _checked(name), directory=True)) as fd:
            os.fsync(fd)

    def free(self, name: str) -> int:
        with told(name), closing(open_beneath(self._root, name and _checked(name))) as fd:
            s = os.fstatvfs(fd)
            return s.f_bavail * s.f_frsize


def _checked(name: str) -> str:
    """Names are those of keys: no empty part, none that points elsewhere."""
    if not name or "\0" in name or any(part in ("", ".", "..") for part in name.split("/")):
        raise InvalidError(f"file: {name!r}: not a name", item=name)
    return name


def failed(name: str, e: OSError) -> Exception:
    """An error of the system as one of ours, about a name."""
    number = ReadOnlyError.number if e.errno == errno.EROFS else number_of(e)
    if e.errno == errno.EOPNOTSUPP:
        number = UnsupportedError.number
    if e.errno == errno.ENOTEMPTY:
        number = ExistsError.number
    return from_number(number, f"file: {name}: {(e.strerror or str(e)).lower()}", item=name)


class told:
    """Turns errors of the system into ours, which name the file."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, e: BaseException | None, trace: Any) -> None:
        if isinstance(e, OSError) and not hasattr(e, "number"):
            raise failed(self._name, e) from None


libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
"""The C library: for what the interpreter does not offer."""


def _rename_no_replace(fd: int, name: str, to_fd: int, to: str) -> bool:
    """False where the system cannot do it in one step."""
    rename = getattr(libc, "renameat2", None)
    if rename is None:
        return False
    if rename(fd, os.fsencode(name), to_fd, os.fsencode(to), _RENAME_NOREPLACE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL):
        return False
    raise OSError(number, os.strerror(number))
