"""Blosc2 by the names of python-blosc2, so that a program moves by changing its import.

    import gridhold.blosc2 as blosc2

    array = blosc2.zeros((0, 1000), dtype="f4", urlpath="grows.b2nd", mode="w", locking=True)
    with array.holding_lock():
        array.append(rows)

docs/python-blosc2.md says what is the same, what is stricter, and what is not there.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import shutil
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np

from . import _array, _creating, _frames, _keyed, _ndarray
from . import _container as c
from ._container import Container
from ._creating import fits
from ._errors import InvalidError, NotFoundError, UnsupportedError
from ._metalayers import NodeMeta
from ._params import Codec, CParams, DParams, Filter, SpecialValue, SplitMode, Storage
from ._runtime import DEFAULT_MEMORY, blocking
from ._store import MemoryStore
from ._threads import blocking_runtime

__all__ = [
    "CParams",
    "Codec",
    "DParams",
    "DictStore",
    "EmbedStore",
    "Filter",
    "NDArray",
    "SChunk",
    "SpecialValue",
    "SplitMode",
    "Storage",
    "TreeStore",
    "arange",
    "array",
    "asarray",
    "copy",
    "empty",
    "frombuffer",
    "full",
    "linspace",
    "nans",
    "ndarray_from_cframe",
    "ones",
    "open",
    "remove_urlpath",
    "save",
    "schunk_from_cframe",
    "uninit",
    "zeros",
]


T = TypeVar("T")
_HOW_OPENED: dict[str, Any] = {"durability": "close", "locking": None, "lock_timeout": None, "repair": False}
_MMAP = {"r": "r", "r+": "a", "w+": "w"}
_IGNORED = ("dparams", "nthreads", "initial_mapping_size", "c_order", "deserialize", "tmpdir")  # they say how the C library works, or what it trusts


def _mode(mode: str, mmap_mode: str | None, locking: object = None) -> str:
    """The mode that a kind of mapping means. The core reads and writes with system calls, which see the same bytes."""
    if mmap_mode is None:
        return mode
    if locking:
        raise UnsupportedError("mmap_mode: not together with locking")
    if mmap_mode not in _MMAP:
        raise UnsupportedError(f"mmap_mode: {mmap_mode!r}: 'r', 'r+' and 'w+' are known here")
    return _MMAP[mmap_mode]


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """Options of python-blosc2 as this package has them."""
    storage = given.pop("storage", None)
    if storage is not None:
        fields = dataclasses.asdict(storage) if dataclasses.is_dataclass(storage) and not isinstance(storage, type) else dict(storage)
        given = {**{k: v for k, v in fields.items() if v is not None}, **given}
    for name in _IGNORED:
        given.pop(name, None)
    locking = given.get("locking")
    given["mode"] = _mode(given.pop("mode", "a"), given.pop("mmap_mode", None), locking)
    if given.get("urlpath") is None:
        given.pop("urlpath", None)
        given["mode"] = "x"
        given["locking"] = False
    elif locking is False:
        given["locking"] = None  # the variable BLOSC_LOCKING may still ask for it
    if given.get("contiguous", 0) is None:
        del given["contiguous"]
    cparams = given.get("cparams")
    if cparams is not None and not isinstance(cparams, dict):
        cparams = dataclasses.asdict(cparams)
    if cparams is not None:
        given["cparams"] = {k: v for k, v in cparams.items() if v or k not in ("typesize", "blocksize")}
    return given


class _Attrs:
    """Members that frames of both kinds have."""

    _core: Container

    @property
    def attrs(self: Any) -> Any:
        """The same as ``vlmeta``."""
        return self.vlmeta

    @property
    def mode(self) -> str:
        """``r``, or ``a`` for one that can be written."""
        return "a" if self._core._recipe.get("write") else "r"


class SChunk(_Attrs, _frames.SChunk):
    """As blosc2.SChunk."""

    def __init__(self, chunksize: int | None = None, data: Any = None, **kwargs: Any) -> None:
        options = _options(kwargs)
        if options["mode"] == "a" and os.path.exists(options["urlpath"]):
            options.pop("meta", None)
        if chunksize is None and data is None:
            chunksize = 2**18
        super().__init__(chunksize, data, **options)

    def fill_special(self, nitems: int, special_value: SpecialValue, value: Any = None) -> int:
        """Adds that many items of one value, of which nothing is stored; returns how many chunks there are."""
        raw = b""
        if special_value == SpecialValue.VALUE:
            raw = value if isinstance(value, bytes) else np.asarray(value).tobytes()
        self._core.write(c.SPECIAL, [SpecialValue(special_value), int(nitems)], raw)
        return int(self.nchunks)

    def insert_data(self, nchunk: int, data: Any, copy: bool = True) -> int:
        """See ``gridhold.SChunk.insert_data``."""
        return super().insert_data(nchunk, data)

    def update_data(self, nchunk: int, data: Any, copy: bool = True) -> int:
        """See ``gridhold.SChunk.update_data``."""
        return super().update_data(nchunk, data)


class NDArray(_Attrs, _ndarray.NDArray):
    """As blosc2.NDArray."""

    @property
    def ext_shape(self) -> tuple[int, ...]:
        """The shape, filled up to whole chunks."""
        return tuple(-(-n // k) * k if k else 0 for n, k in zip(self.shape, self.chunks))

    @property
    def schunk(self) -> SChunk:
        """What the array lies in; closing either closes both."""
        return SChunk._of(self._core)

    def append(self, values: Any, axis: int = 0) -> Any:
        """Adds items, or slices along an axis. Returns the new length of an array of one axis, of others the shape."""
        if self.ndim == 1 and np.ndim(values) != 1:
            values = np.reshape(values, -1)
        shape = super().append(values, axis)
        return shape[0] if len(shape) == 1 else shape

    def slice(self, key: Any, **kwargs: Any) -> NDArray:
        """A new array of what basic indexing selects."""
        return asarray(self[key], **kwargs)

    def copy(self, dtype: Any = None, **kwargs: Any) -> NDArray:
        """A copy; of another dtype it is made item by item."""
        options = _options(kwargs)
        if options["mode"] == "a":
            options["mode"] = "x"
        if dtype is not None and np.dtype(dtype) != self.dtype:
            return _made(self[...].astype(dtype), options)
        return super().copy(**options)


class EmbedStore(_keyed.EmbedStore):
    """As blosc2.EmbedStore."""

    def __init__(self, urlpath: Any = None, mode: str = "a", **kwargs: Any) -> None:
        super().__init__(urlpath, **_store_options(mode, kwargs))


class DictStore(_keyed.DictStore):
    """As blosc2.DictStore."""

    def __init__(self, localpath: Any, mode: str = "a", **kwargs: Any) -> None:
        super().__init__(localpath, **_store_options(mode, kwargs))

    def to_b2z(self, overwrite: Any = False, filename: Any = None, **named: Any) -> str:  # type: ignore[override]
        """Writes it as a zip, which appears in one step; returns its name."""
        return _to_b2z(self, overwrite, filename)


class TreeStore(_keyed.TreeStore):
    """As blosc2.TreeStore."""

    def __init__(self, localpath: Any, mode: str = "a", **kwargs: Any) -> None:
        super().__init__(localpath, **_store_options(mode, kwargs))

    def to_b2z(self, overwrite: Any = False, filename: Any = None, **named: Any) -> str:  # type: ignore[override]
        """Writes it as a zip, which appears in one step; returns its name."""
        return _to_b2z(self, overwrite, filename)

    @property
    def vlmeta(self) -> NodeMeta:
        """The metadata of the root; of others ``node_vlmeta`` has them."""
        return self.node_vlmeta("/")

    def get_descendants(self, path: str = "/") -> list[str]:
        """All nodes below a node, by their keys, each after the one that it lies in."""
        inside = path.rstrip("/") + "/"
        return [key for key in sorted(self) if key.startswith(inside) and key != inside]

    def walk(self, path: str = "/", topdown: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
        """Node by node its key, the names of the nodes in it, and the names of its leaves."""
        nodes: list[str] = []
        leaves: list[str] = []
        for key in self.get_children(path):
            (nodes if self._leads_on(key) else leaves).append(key.rpartition("/")[2])
        if topdown:
            yield path, nodes, leaves
        for name in nodes:
            yield from self.walk(f"{path.rstrip('/')}/{name}", topdown)
        if not topdown:
            yield path, nodes, leaves

    def _leads_on(self, key: str) -> bool:
        return any(other.startswith(key + "/") for other in self)


def _store_options(mode: str, given: dict[str, Any]) -> dict[str, Any]:
    options = _options({**given, "mode": mode, "urlpath": "."})  # where it lies is said apart
    for name in ("urlpath", "cparams", "chunksize", "contiguous", "meta"):
        options.pop(name, None)
    return options


def _to_b2z(store: Any, overwrite: Any, filename: Any) -> str:
    """Either may come first, as they do in different releases."""
    if isinstance(overwrite, (str, os.PathLike)):
        overwrite, filename = bool(filename), overwrite
    if filename is None:
        root = store._core
        filename = f"{root._system.path}/{root.name.removesuffix('.b2d')}.b2z"
    return str(_keyed.DictStore.to_b2z(store, filename, overwrite=bool(overwrite)))


def _of(core: Container) -> Any:
    kinds: dict[str, Any] = {"ndarray": NDArray, "embedstore": EmbedStore, "dictstore": DictStore, "treestore": TreeStore}
    return kinds.get(core.kind, SChunk)._of(core)


def open(urlpath: Any, mode: str = "r", offset: int = 0, *, mmap_mode: str | None = None, **kwargs: Any) -> Any:
    """Opens a container: an SChunk, NDArray, EmbedStore, DictStore or TreeStore. Raises NotFoundError, InvalidError."""
    if offset:
        raise UnsupportedError("offset: a frame begins where its file begins")
    memory, strict = kwargs.pop("memory", DEFAULT_MEMORY), kwargs.pop("strict", False)
    options = _options({**kwargs, "mode": mode, "mmap_mode": mmap_mode, "urlpath": urlpath})
    how = {k: options.get(k, v) for k, v in _HOW_OPENED.items()}
    core = blocking(_creating.opening_container(blocking_runtime(_array.check_memory(memory), strict), urlpath, "", options["mode"], **how))
    if core is None:
        if isinstance(urlpath, (str, os.PathLike)) and not os.path.exists(urlpath):
            raise NotFoundError(f"blosc2: {urlpath}: not found", item=str(urlpath))
        raise InvalidError(f"blosc2: {urlpath}: no container", item=str(urlpath))
    return _of(core)


def _made(items: np.ndarray[Any, Any], options: dict[str, Any]) -> NDArray:
    """An array of items; what does not go into one request is written after it is there."""
    options.pop("shape", None)
    if fits(items, options.get("memory", DEFAULT_MEMORY)):
        return NDArray._of(_creating.create_array(items.shape, items.dtype, np.ascontiguousarray(items).tobytes(), **options).open())
    made = NDArray._of(_creating.create_array(items.shape, items.dtype, **options).open())
    made[...] = items
    return made


def zeros(shape: Any, dtype: Any = np.float64, **kwargs: Any) -> NDArray:
    """An array of zeros, of which nothing is stored."""
    return NDArray._of(_creating.create_array(shape, dtype, **_options(kwargs)).open())


empty = uninit = zeros


def full(shape: Any, fill_value: Any, dtype: Any = None, **kwargs: Any) -> NDArray:
    """An array of one value."""
    return _made(np.full(shape, fill_value, dtype), _options(kwargs))


def ones(shape: Any, dtype: Any = None, **kwargs: Any) -> NDArray:
    return full(shape, 1, np.float64 if dtype is None else dtype, **kwargs)


def nans(shape: Any, dtype: Any = np.float64, **kwargs: Any) -> NDArray:
    return full(shape, math.nan, dtype, **kwargs)


def asarray(array: Any, **kwargs: Any) -> NDArray:
    """An array with the items of another."""
    kwargs.pop("copy", None)
    return _made(np.asarray(array, kwargs.pop("dtype", None)), _options(kwargs))


array = asarray


def frombuffer(buffer: Any, shape: Any, dtype: Any = np.uint8, **kwargs: Any) -> NDArray:
    """An array of the items in a buffer."""
    return asarray(np.frombuffer(buffer, dtype).reshape(shape), **kwargs)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, shape: Any = None, **kwargs: Any) -> NDArray:
    """As ``numpy.arange``, perhaps of another shape."""
    items: Any = np.arange(*((start,) if stop is None else (start, stop, step)), dtype=dtype)
    return asarray(items if shape is None else items.reshape(shape), **kwargs)


def linspace(start: Any, stop: Any, num: int | None = None, dtype: Any = None, endpoint: bool = True, shape: Any = None, **kwargs: Any) -> NDArray:
    """As ``numpy.linspace``, perhaps of another shape."""
    count = num if num is not None else math.prod((shape,) if isinstance(shape, int) else shape or (50,))
    items = np.linspace(start, stop, count, endpoint=endpoint, dtype=dtype)
    return asarray(items if shape is None else items.reshape(shape), **kwargs)


def copy(array: NDArray, dtype: Any = None, **kwargs: Any) -> NDArray:
    return array.copy(dtype, **kwargs)


def save(array: NDArray, urlpath: Any, contiguous: bool = True, **kwargs: Any) -> None:
    """A copy in a file."""
    array.copy(urlpath=urlpath, contiguous=contiguous, **kwargs).close()


def _from_cframe(cframe: bytes) -> Any:
    name = "memory.b2frame"
    runtime = blocking_runtime(DEFAULT_MEMORY, False)
    core = blocking(_creating.opening_container(runtime, MemoryStore({name: bytes(cframe)}), name, "r", **_HOW_OPENED))
    assert core is not None
    try:
        return _of(_creating.copy_of(core).open())
    finally:
        core.close()


def schunk_from_cframe(cframe: bytes, copy: bool = False, **kwargs: Any) -> SChunk:
    """A sequence in memory, of the bytes that ``to_cframe`` gave. They are copied. Raises CorruptError, InvalidError."""
    return _like(_from_cframe(cframe), SChunk)


def ndarray_from_cframe(cframe: bytes, copy: bool = False, **kwargs: Any) -> NDArray:
    """The same for an array."""
    return _like(_from_cframe(cframe), NDArray)


def _like(found: Any, wanted: type[T]) -> T:
    if not isinstance(found, wanted):
        found.close()
        raise InvalidError(f"blosc2: the frame is of {type(found).__name__}, not {wanted.__name__}")
    return found


def remove_urlpath(path: Any) -> None:
    """Removes a container, with its lock file; nothing happens where there is none."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{os.fspath(path)}.b2lock")
