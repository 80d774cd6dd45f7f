"""The closed set of errors, the same in every language of Gridhold.

Each class also derives from the built-in exception that a caller would catch
anyway. The numbers are those of docs/abi.md, section "Codes".
"""

from __future__ import annotations

import errno

NOT_FOUND, CORRUPT, UNSUPPORTED, STALE, WRONG_ARRAY, OUT_OF_RANGE, LIMIT = range(-1, -8, -1)
LOCK_TIMEOUT, LOCKED, NO_SPACE, READ_ONLY, CLOSED, INVALID, CANCELLED = range(-8, -15, -1)
IO, INTERNAL, TOO_SMALL, NOT_ALLOWED, EXISTS = range(-15, -20, -1)


class Error(Exception):
    """Base of all errors of this package.

    ``code`` is the name of the kind (``"Corrupt"``), ``item`` what was being
    read (a key, a coordinate, a field; may be empty), ``offset`` the byte in
    it or ``None``.
    """

    code: str = "IO"
    number: int = IO

    def __init__(self, text: str = "", *, item: str = "", offset: int | None = None, format: str = "") -> None:
        super().__init__(text)
        self.item = item
        self.offset = offset
        self.format = format

    def __str__(self) -> str:  # KeyError and OSError, among the bases, would print otherwise
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), str(self), self.item, self.offset, self.format)


def _rebuild(cls: type[Error], text: str, item: str, offset: int | None, format: str) -> Error:
    return cls(text, item=item, offset=offset, format=format)


class NotFoundError(Error, FileNotFoundError):
    """There is no such object or node."""

    code, number = "NotFound", NOT_FOUND


class CorruptError(Error, ValueError):
    """The bytes contradict the format."""

    code, number = "Corrupt", CORRUPT


class UnsupportedError(Error, NotImplementedError):
    """Valid, but not done here."""

    code, number = "Unsupported", UNSUPPORTED


class StaleError(Error):
    """The object changed between reads that must agree."""

    code, number = "Stale", STALE


class WrongArrayError(Error, ValueError):
    """The shard cache belongs to another array."""

    code, number = "WrongArray", WRONG_ARRAY


class OutOfRangeError(Error, IndexError):
    """An index lies outside the grid."""

    code, number = "OutOfRange", OUT_OF_RANGE


class LimitError(Error, ValueError):
    """Over a budget, or an absurd size was claimed."""

    code, number = "Limit", LIMIT


class LockTimeoutError(Error, TimeoutError):
    """A lock was not obtained in time."""

    code, number = "LockTimeout", LOCK_TIMEOUT


class LockedError(Error):
    """Another one holds the lock."""

    code, number = "Locked", LOCKED


class NoSpaceError(Error, OSError):
    """No space is left."""

    code, number = "NoSpace", NO_SPACE


class ReadOnlyError(Error, OSError):
    """The place cannot be written."""

    code, number = "ReadOnly", READ_ONLY


class ClosedError(Error, ValueError):
    """Used after ``close()``."""

    code, number = "Closed", CLOSED


class InvalidError(Error, ValueError):
    """An argument makes no sense."""

    code, number = "Invalid", INVALID


class CancelledError(Error):
    """The operation was stopped from outside."""

    code, number = "Cancelled", CANCELLED


class IOFailedError(Error, OSError):
    """Any other failure of the outside: 5xx, a cut line, EIO."""

    code, number = "IO", IO


class InternalError(Error, RuntimeError):
    """The core itself failed. The next call uses a fresh one."""

    code, number = "Internal", INTERNAL


class NotAllowedError(Error, PermissionError):
    """Access was denied: 403, EACCES, a name that leads out of a store."""

    code, number = "NotAllowed", NOT_ALLOWED


class ExistsError(Error, FileExistsError):
    """There is one already."""

    code, number = "Exists", EXISTS


_BY_NUMBER: dict[int, type[Error]] = {
    cls.number: cls
    for cls in (
        NotFoundError, CorruptError, UnsupportedError, StaleError, WrongArrayError, OutOfRangeError, LimitError,
        LockTimeoutError, LockedError, NoSpaceError, ReadOnlyError, ClosedError, InvalidError, CancelledError,
        IOFailedError, InternalError, NotAllowedError, ExistsError,
    )
}  # fmt: skip

_BY_ERRNO = {
    errno.ENOENT: NOT_FOUND,
    errno.ENOTDIR: NOT_FOUND,  # a parent of the key is a file: there is no such object
    errno.EACCES: NOT_ALLOWED,
    errno.EPERM: NOT_ALLOWED,
    errno.EEXIST: EXISTS,
    errno.ENOSPC: NO_SPACE,
    getattr(errno, "EDQUOT", errno.ENOSPC): NO_SPACE,
    errno.EFBIG: NO_SPACE,
    errno.EROFS: READ_ONLY,
}


def from_number(number: int, text: str, *, item: str = "", offset: int | None = None, format: str = "") -> Error:
    """The error of a code of the ABI; an unknown code is IO."""
    return _BY_NUMBER.get(number, IOFailedError)(text, item=item, offset=offset, format=format)


def number_of(exc: BaseException) -> int:
    """The code under which an exception of a store, or of ours, crosses the ABI."""
    if isinstance(exc, Error):
        return exc.number
    if isinstance(exc, OSError) and exc.errno in _BY_ERRNO:
        return _BY_ERRNO[exc.errno]
    if isinstance(exc, (FileNotFoundError, KeyError)):
        return NOT_FOUND
    if isinstance(exc, PermissionError):
        return NOT_ALLOWED
    if isinstance(exc, NotImplementedError):
        return UNSUPPORTED
    if isinstance(exc, Exception):
        return IO
    return CANCELLED  # KeyboardInterrupt, asyncio.CancelledError: somebody wants out


def wrapped(exc: Exception, item: str) -> Error:
    """What a store of the user's raised, as an error of ours with that as its cause."""
    if isinstance(exc, Error):
        return exc
    error = from_number(number_of(exc), f"store: {item}: {type(exc).__name__}: {exc}", item=item)
    error.__cause__ = exc
    return error
