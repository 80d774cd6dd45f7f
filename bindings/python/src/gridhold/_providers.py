"""Files of images that a program opens itself, as the guest reads them."""

from __future__ import annotations

import posixpath
import struct
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from . import _images
from ._errors import InvalidError, IOFailedError, NotFoundError, UnsupportedError
from ._lent import Lent
from ._locations import ImageLocationGrouping
from ._runtime import Runtime
from ._store import Answer, Range
from ._types import NDArray

_HEAD = 1024
_MODES = {"int8": 0, "uint8": 0, "int16": 1, "float32": 2, "complex64": 4, "uint16": 6, "float16": 12}
_IMOD = 1146047817  # where it stands, bytes have no sign


class ImageReader(Protocol):
    """An open file of images: ``shape`` is (images, rows, columns)."""

    shape: tuple[int, int, int]
    dtype: Any

    def read(self, first: int, count: int) -> NDArray:
        """``count`` images from ``first`` on."""


class ImageReaderProvider(Protocol):
    """What opens the files that keys name. Called from several threads at once."""

    def open(self, key: str) -> ImageReader | None:
        """None where there is no such file."""


class Virtual:
    """A provider's files as objects in MRC format: a header, and pixels as they are asked for."""

    def __init__(self, provider: ImageReaderProvider, grouping: ImageLocationGrouping) -> None:
        self._provider = provider
        self._keys: dict[str, str] = {}
        for g in grouping:
            name = posixpath.normpath("/" + g.key).lstrip("/")
            if self._keys.setdefault(name, g.key) != g.key:
                raise InvalidError(f"files: {g.key} and {self._keys[name]}: the same file by two keys", item=g.key)
        self._readers: dict[str, ImageReader] = {}

    def _open(self, name: str) -> ImageReader:
        reader = self._readers.get(name)
        if reader is None:
            key = self._keys.get(name)
            reader = self._provider.open(key) if key is not None else None
            if reader is None:
                raise NotFoundError(f"image: {key or name}: not found", item=key or name)
            self._readers[name] = reader
        return reader

    def read_ranges(self, name: str, ranges: Sequence[Range], version: str) -> Answer:
        """See ``Store``."""
        reader = self._open(name)
        count, rows, columns = reader.shape
        dtype = np.dtype(reader.dtype)
        one = rows * columns * dtype.itemsize
        size = _HEAD + count * one
        head = _header(self._keys[name], count, rows, columns, dtype)
        out = []
        for off, n in ranges:
            start = max(0, size - n) if off < 0 else off
            stop = size if n < 0 or off < 0 else min(size, off + n)
            raw = head[start:stop] if start < _HEAD else b""
            if stop > max(start, _HEAD):
                a, b = max(start, _HEAD) - _HEAD, stop - _HEAD
                first, last = a // one, -(-b // one)
                images = np.asarray(reader.read(first, last - first))
                if images.shape != (last - first, rows, columns) or images.dtype != dtype:
                    raise IOFailedError(f"image: {self._keys[name]}: answered {images.dtype} of {images.shape}")
                pixels = np.ascontiguousarray(images).astype(dtype.newbyteorder("<"), copy=False)
                raw += pixels.tobytes()[a - first * one : b - first * one]
            out.append(raw)
        return Answer(out, size, "")


def _header(key: str, count: int, rows: int, columns: int, dtype: np.dtype[Any]) -> bytes:
    if dtype.name not in _MODES:
        raise UnsupportedError(f"image: {key}: pixels of {dtype.name}: not of a type that MRC has", item=key)
    head = bytearray(_HEAD)
    struct.pack_into("<4i", head, 0, columns, rows, count, _MODES[dtype.name])
    struct.pack_into("<3i", head, 64, 1, 2, 3)
    struct.pack_into("<i", head, 108, 20141)
    if dtype.name == "uint8":
        struct.pack_into("<i", head, 152, _IMOD)
    head[208:216] = b"MAP \x44\x44\x00\x00"
    return bytes(head)


def lend(runtime: Runtime, files: Any, grouping: ImageLocationGrouping) -> tuple[dict[str, Any], object]:
    """How a request names what opens files, and what must be kept as long as it is used."""
    if files is None:
        files = _images.Files()
    if isinstance(files, _images.Files):
        return files.lend(runtime)
    if not callable(getattr(files, "open", None)):
        raise TypeError(f"files: something with a method open is needed, not {type(files).__name__}")
    lent: Lent = runtime.lend(Virtual(files, grouping))
    return {"store": {"kind": "host", "id": lent.id}}, lent
