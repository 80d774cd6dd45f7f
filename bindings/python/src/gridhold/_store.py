"""What a store is, and the store that is memory."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from . import _fork
from ._errors import InvalidError, IOFailedError, NotFoundError, StaleError

Range = tuple[int, int]
"""Offset and length in bytes. Offset below 0: the last ``length`` bytes."""


class Answer(NamedTuple):
    """What a store answers: the bytes of each range, and of what they are.

    A range that reaches past the end is answered short. ``size`` is the
    object's in bytes, -1 unknown. ``version`` names the state of the object
    that all the ranges are of; only equality means anything; ``""`` is a
    store that knows no versions, and then changes are not noticed.
    """

    data: Sequence[bytes]
    size: int = -1
    version: str = ""


@runtime_checkable
class Store(Protocol):
    """Objects under keys, read in ranges. Any object with these methods is one.

    ``read_ranges`` may be ``async`` (then for ``gridhold.aio`` alone). It
    answers an ``Answer`` or a tuple that is like one, ``None`` where there is
    no object, and raises for everything else. Given a version it raises
    ``StaleError`` if the object is another one now; it may also just answer
    its version. It is called from several threads at once.

    ``list(prefix)`` is optional: the names directly under a prefix (``""`` or
    ending in ``/``), without it; those with others below end in ``/``.
    """

    def read_ranges(
        self, key: str, ranges: Sequence[Range], version: str
    ) -> Answer | tuple[Sequence[bytes], int, str] | None | Awaitable[Answer | None]: ...


def check_key(key: str) -> str:
    """Raises InvalidError for a key that is not well formed."""
    names = key.split("/")
    if "\0" in key or "\\" in key or any(name in ("", ".", "..") for name in names):
        raise InvalidError(f"store: {key!r}: not a valid key", item=key)
    return key


def check_answer(key: str, ranges: Sequence[Range], want: str, got: Any) -> Answer:
    """Holds a store's answer to its contract, so that nothing after has to."""
    if got is None:
        raise NotFoundError(f"store: {key}: not found", item=key)
    try:
        data, size, version = got
        lengths = [memoryview(b).nbytes for b in data]
    except TypeError:
        raise IOFailedError(f"store: {key}: answered {type(got).__name__}, not data, size, version", item=key) from None
    if isinstance(version, (bytes, bytearray)):
        version = bytes(version).decode("utf-8", "surrogateescape")
    if len(lengths) != len(ranges) or any(n > length >= 0 for n, (_, length) in zip(lengths, ranges)):
        raise IOFailedError(f"store: {key}: answered other ranges than were asked for", item=key)
    if want and version and version != want:
        raise StaleError(f"store: {key}: changed between reads that must agree", item=key)
    return Answer(data, -1 if size is None else size, version or "")


class MemoryStore:
    """Objects in memory. Safe for use by several threads.

    Each ``put`` makes a new version.
    """

    def __init__(self, objects: Mapping[str, bytes] | None = None) -> None:
        self._serial = itertools.count(1)
        self._restart()
        _fork.register(self)
        self._objects: dict[str, tuple[bytes, str]] = {}
        for key, data in (objects or {}).items():
            self.put(key, data)

    def _restart(self) -> None:
        self._lock = threading.Lock()

    def put(self, key: str, data: bytes) -> None:
        """Replaces the object whole; the bytes are copied."""
        with self._lock:
            self._objects[check_key(key)] = bytes(data), f"{next(self._serial)}"

    def delete(self, key: str) -> None:
        """Removes the object; nothing happens where there is none."""
        with self._lock:
            self._objects.pop(key, None)

    def read_ranges(self, key: str, ranges: Sequence[Range], version: str) -> Answer:
        """See ``Store``. Raises NotFoundError and StaleError."""
        found = self._objects.get(check_key(key))
        if found is None:
            raise NotFoundError(f"store: {key}: not found", item=key)
        data, has = found
        if version and version != has:
            raise StaleError(f"store: {key}: changed between reads that must agree", item=key)
        return Answer([cut(data, *r) for r in ranges], len(data), has)

    def list(self, prefix: str) -> list[str]:
        """See ``Store``."""
        with self._lock:
            keys = list(self._objects)
        names = set()
        for key in keys:
            if key.startswith(prefix):
                name, slash, _ = key[len(prefix) :].partition("/")
                names.add(name + slash)
        return sorted(names)

    def _read_now(self, key: str, ranges: Sequence[Range], version: str, may_block: bool) -> Answer:
        return self.read_ranges(key, ranges, version)


def cut(data: bytes, off: int, length: int) -> bytes:
    """A range of the bytes of an object."""
    if off < 0:
        return data[max(0, len(data) - length) :]
    return data[off:] if length < 0 else data[off : off + length]
