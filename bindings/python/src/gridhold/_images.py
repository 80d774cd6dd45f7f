"""Files of images, and the tables that point at them."""

from __future__ import annotations

import json
import math
import operator
import os
import struct
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import numpy as np

from . import _abi
from ._container import local_path
from ._errors import ClosedError, InvalidError, NotAllowedError, OutOfRangeError, from_number
from ._filesystem import FileSystem
from ._guest import Done, Guest
from ._handle import Handle
from ._http import HTTPStore
from ._place import Place
from ._repr import Shown
from ._runtime import DEFAULT_MEMORY, Runtime, blocking
from ._threads import blocking_runtime
from ._types import NDArray

_LOCATE = 1
_LOCATED = 3
_HEAD = struct.Struct("<II")
_ROW = np.dtype(
    [("index", "<i8"), ("line", "<i8"), ("group", "<i8"), ("pixel_size", "<f8"), ("uid", "<u8"), ("key", "<u4"), ("", "<u4")]
)
_COMPLEX_INT16 = np.dtype([("re", "<i2"), ("im", "<i2")])


def image_dtype(name: str) -> np.dtype[Any]:
    """The numpy type of pixels. Pairs of int16 have none: they are records of ``re`` and ``im``."""
    return _COMPLEX_INT16 if name == "complex_int16" else np.dtype(name).newbyteorder("<")


class Machine(FileSystem):
    """All files of the machine, for reading, under their absolute names; links are followed. See ``Files``."""

    def __init__(self) -> None:
        super().__init__("/")

    def open(self, name: str, flags: int) -> int:
        if flags != 1:  # read
            raise NotAllowedError(f"file: {name}: lent for reading only", item=name)
        return super().open(self._real(name), flags)

    def stat(self, name: str) -> os.stat_result:
        return super().stat(self._real(name))

    @staticmethod
    def _real(name: str) -> str:
        return os.path.realpath("/" + name).lstrip("/")


class Files:
    """Where image files are looked for: on this machine, or in a store.

    A key that begins with ``/`` is an absolute path. Any other is looked for in each directory of
    ``roots`` in turn; without them in the working directory. In a ``store`` (a URL, or an object that is
    one) roots are prefixes. ``bytes`` says whether pixels of one byte have a sign: ``"marked"`` (as the
    file has it), ``"signed"``, ``"unsigned"``. ``partial`` opens files that are cut short.
    """

    def __init__(
        self, roots: Iterable[str | os.PathLike[str]] | None = None, *, store: Any = None, bytes: str = "marked", partial: bool = False
    ) -> None:
        if bytes not in ("marked", "signed", "unsigned"):
            raise InvalidError(f"bytes: {bytes!r}: 'marked', 'signed' or 'unsigned' is needed")
        self._store = HTTPStore(store) if isinstance(store, str) and "://" in store else store
        if self._store is None:
            self._roots = [os.path.abspath(r).lstrip("/") for r in ([os.getcwd()] if roots is None else roots)]
        else:
            self._roots = [os.fspath(r).strip("/") for r in roots or ()]
        self._how = {"roots": self._roots, "bytes": bytes, "partial": partial}

    def lend(self, runtime: Runtime) -> tuple[dict[str, Any], object]:
        """How a request says it, and what must be kept as long as it is used."""
        if self._store is None:
            system = runtime.lend_system(Machine())
            return {**self._how, "fs": system.id}, system
        place = Place(self._store, "")
        place.lend(runtime)
        return {**self._how, "store": place.spec()}, place


def place_of(source: Any, key: str, roots: Any, **how: Any) -> tuple[Files, str]:
    """Where a named file, or object of a store, is opened, and by what key."""
    local = local_path(source)
    if local is not None:
        return Files(roots, **how), os.path.abspath(local)
    if isinstance(source, str):
        parts = urlsplit(source)
        above, _, name = parts.path.rpartition("/")
        if parts.scheme not in ("http", "https") or not name:
            raise InvalidError(f"images: {source}: no such kind of URL here", item=source)
        return Files(roots, store=HTTPStore(parts._replace(path=above).geturl()), **how), unquote(name)
    return Files(roots, store=source, **how), key


class ImageStack(Shown):
    """An open file of images. Safe for use by several threads. Made by ``open_stack``.

    ``len(stack)`` images of ``image_shape``; ``stack[3]`` is one, ``stack[2:7]`` are several. ``shape`` is
    the whole file's. What is read is the caller's, in the type of the file, native byte order.
    """

    def __init__(self, runtime: Runtime, files: Files, key: str) -> None:
        self._runtime = runtime
        where, self._kept = files.lend(runtime)
        request = json.dumps({**where, "key": key}).encode()

        async def build(_: Guest) -> bytes:
            return request

        self._handle = Handle(runtime, _abi.IMAGES_OPEN, build)
        self._closed = False
        self.key = key
        blocking(self._handle.open())
        self._info = json.loads(self._handle.description)
        self.shape: tuple[int, ...] = tuple(self._info["shape"])
        self.image_shape: tuple[int, ...] = tuple(self._info["image_shape"])
        self.dtype = image_dtype(self._info["data_type"])

    @property
    def info(self) -> dict[str, Any]:
        """The whole description, as ``gridhold info --json`` prints it. A copy."""
        return json.loads(self._handle.description)  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        return self._info["images"]  # type: ignore[no-any-return]

    def read(self, first: int, count: int) -> NDArray:
        """Images one after another, as many at a time as the guest has memory for. Raises OutOfRangeError."""
        first, count = operator.index(first), operator.index(count)
        if first < 0 or count < 0 or first + count > len(self):
            raise OutOfRangeError(f"image: {self.key}: the file has {len(self)} images", item=self.key)
        out: NDArray = np.empty((count, *self.image_shape), self.dtype)
        raw = out.reshape(-1).view(np.uint8)
        size = math.prod(self.image_shape) * self.dtype.itemsize
        most = max(1, self._runtime.memory // 8 // size)
        for at in range(0, count, most):
            n = min(most, count - at)
            done = self._read(0, first + at, n)
            raw[at * size : (at + n) * size] = np.frombuffer(done.data, np.uint8)
        return out

    def _read(self, flags: int, first: int, count: int) -> Done:
        if self._closed:
            raise ClosedError(f"images: {self.key}: closed", item=self.key)

        async def build(guest: Guest) -> bytes:
            return struct.pack("<IIqq", await self._handle.on(guest), flags, first, count)

        return blocking(self._runtime.call(_abi.IMAGES_READ, build))

    def view(self) -> NDArray | None:
        """All images without a copy, read-only, mapped from the file; None where they do not lie there as they are.

        It stays valid after ``close``. A program that looks at it while another one cuts the file short is ended by
        the system; ``read`` raises then.
        """
        if not isinstance(self._kept, Machine):
            return None
        done = self._read(_LOCATE, 0, len(self)) if len(self) else None
        if done is None or done.kind != _LOCATED:
            return None
        (n,) = struct.unpack_from("<I", done.data)
        path = "/" + Machine._real(done.data[8 : 8 + n].decode())
        return np.memmap(path, self.dtype, "r", done.off, (len(self), *self.image_shape))

    def __getitem__(self, which: Any) -> NDArray:
        if isinstance(which, slice):
            picked = range(len(self))[which]
            if picked.step == 1:
                return self.read(picked.start, len(picked))
            return np.stack([self[i] for i in picked]) if picked else np.empty((0, *self.image_shape), self.dtype)
        i = operator.index(which)
        return self.read(i + len(self) if i < 0 else i, 1)[0]  # type: ignore[no-any-return]

    def close(self) -> None:
        """Twice is fine."""
        self._closed = True
        self._handle.close()

    def __enter__(self) -> ImageStack:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rows(self) -> Sequence[tuple[str, Any]]:
        images = [("images", len(self)), ("image shape", self.image_shape), ("shape", self.shape)]
        return [("file", self.key), ("kind", self._info["kind"]), *images, ("pixels", self._info["data_type"])]

    def __repr__(self) -> str:
        return f"<gridhold ImageStack {self.key}: {self._info['kind']}, {self.shape} {self._info['data_type']}>"


def open_stack(
    source: Any,
    key: str = "",
    *,
    bytes: str = "marked",
    partial: bool = False,
    memory: int = DEFAULT_MEMORY,
    strict: bool = False,
) -> ImageStack:
    """Opens an MRC file: a path, a URL, or an object of a store under ``key``.

    Raises NotFoundError, CorruptError, UnsupportedError.
    """
    files, name = place_of(source, key, None, bytes=bytes, partial=partial)
    return ImageStack(blocking_runtime(memory, strict), files, name)


class ImageTable(NamedTuple):
    """A table of images, read whole: row ``i`` is image ``indices[i]`` (-1: all) of ``keys[files[i]]``."""

    kind: str
    """``star``, ``cryosparc`` or ``list``."""
    keys: Sequence[str]
    files: NDArray
    indices: NDArray
    groups: NDArray
    """Optics groups; 0 where there are none."""
    pixel_sizes: NDArray
    """In Å; 0 where unknown."""
    uids: NDArray
    optics: dict[int, tuple[str, float]]
    """Name and pixel size of each optics group."""


def read_table(
    source: Any,
    key: str = "",
    *,
    column: str = "",
    clean: bool = False,
    memory: int = DEFAULT_MEMORY,
    strict: bool = False,
) -> ImageTable:
    """Reads a STAR file, a .cs file or a list of locations. Raises CorruptError and InvalidError, which name the line."""
    files, name = place_of(source, key, None)
    runtime = blocking_runtime(memory, strict)
    where, kept = files.lend(runtime)
    where.pop("roots")
    if kept is not None and isinstance(kept, Machine):
        name = name.lstrip("/")
    places: dict[str, int] = {}
    parts: list[NDArray] = []
    first = 0
    while True:
        request = json.dumps(
            {**where, "key": name, "title": os.path.basename(name), "column": column, "clean": clean, "first": first}
        ).encode()

        async def build(_: Guest, request: bytes_ = request) -> bytes_:
            return request

        raw = blocking(runtime.call(_abi.TABLE_READ, build)).data
        n, rows = _HEAD.unpack_from(raw)
        head = json.loads(raw[8 : 8 + n])
        if "failure" in head:
            d = head["failure"]
            raise from_number(d["code"], d["text"], item=d.get("item", ""))
        part = np.frombuffer(raw, _ROW, rows, (8 + n + 7) & ~7)
        of = np.array([places.setdefault(k, len(places)) for k in head["keys"]] or [0], np.uint32)
        parts.append(part.copy())
        parts[-1]["key"] = of[part["key"]]
        first += rows
        if head["end"]:
            break
    all_rows = np.concatenate(parts)
    optics = {g["group"]: (g["name"], g["pixel_size"]) for g in head["groups"]}
    of_files, indices, groups, sizes, uids = (
        np.ascontiguousarray(all_rows[c]) for c in ("key", "index", "group", "pixel_size", "uid")
    )
    return ImageTable(head["kind"], list(places), of_files, indices, groups, sizes, uids, optics)


bytes_ = bytes  # the name is an argument above
