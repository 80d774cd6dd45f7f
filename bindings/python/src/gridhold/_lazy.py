"""Arrays that are named, not open: small when pickled, opened once a process, wherever somebody reads them.

The schedulers of others (dask's workers, xarray's, data loaders) get these. All that one process reads of one array
goes through one open array, and so through one cache of shard indexes.
"""

from __future__ import annotations

import hashlib
import math
import os
import pickle
import threading
import weakref
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np

from . import _fork
from ._container import is_container
from ._errors import InvalidError, StaleError
from ._file import FileStore

_OPEN_MAX = 512  # arrays that a process keeps open for those who only name them
_STACK_BYTES = 16 << 20  # of the images in one chunk of a stack


class Recipe(NamedTuple):
    """How to open it: by ``gridhold.open`` or ``gridhold.open_stack``."""

    kind: str  # "any", "stack"
    source: Any
    path: str
    options: tuple[tuple[str, Any], ...] = ()

    def open(self) -> Any:
        import gridhold

        how = dict(self.options)
        if self.kind == "stack":
            return gridhold.open_stack(self.source, self.path, **how)
        return gridhold.open(_directory(self.source), self.path, **how)


_directories: weakref.WeakValueDictionary[str, FileStore] = weakref.WeakValueDictionary()


def _directory(source: Any) -> Any:
    """A store for a directory of Zarr: one for all arrays in it, for each keeps files open."""
    if not isinstance(source, str) or "://" in source or is_container(source) or not os.path.isdir(source):
        return source
    store = _directories.get(source)
    if store is None or store.moved():
        store = _directories[source] = FileStore(source)
    return store


def recipe(kind: str, source: Any, path: str, **options: Any) -> Recipe:
    """A recipe that means the same in another process, whose working directory may be another one."""
    if isinstance(source, FileStore):
        source = source._path
    if isinstance(source, (str, os.PathLike)):
        source = os.fspath(source)
        if "://" not in source:
            source = os.path.abspath(source)
    return Recipe(kind, source, path, tuple(sorted((k, v) for k, v in options.items() if v is not None)))


class _Opened:
    """What is open for the recipes of this process, the least recently used leaving first. Safe for use by several threads."""

    def __init__(self) -> None:
        self._restart()
        _fork.register(self)

    def _restart(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, Any] = OrderedDict()
        self._opening: dict[bytes, threading.Lock] = {}

    def get(self, token: bytes, recipe: Recipe) -> Any:
        with self._lock:
            found = self._kept.get(token)
            if found is not None:
                self._kept.move_to_end(token)
                return found
            turn = self._opening.setdefault(token, threading.Lock())
        with turn:  # one opens, the others wait for him
            with self._lock:
                found = self._kept.get(token)
            return found if found is not None else self.keep(token, recipe.open())

    def keep(self, token: bytes, opened: Any) -> Any:
        with self._lock:
            self._kept[token] = opened
            self._kept.move_to_end(token)
            self._opening.pop(token, None)
            while len(self._kept) > _OPEN_MAX:
                self._kept.popitem(last=False)  # whoever reads it keeps it until then
        return opened

    def forget(self, token: bytes, opened: Any) -> None:
        with self._lock:
            if self._kept.get(token) is opened:
                del self._kept[token]


_opened = _Opened()


class Lazy:
    """An array by its recipe: ``shape``, ``dtype``, ``chunks`` (lengths along each axis), and ``[...]``.

    It reads as what is opened does: basic indexing. Raises StaleError where there is another array by now: of another
    type or shape. A container that has grown since is read as it was named. Safe for use by several threads.
    """

    __slots__ = ("_grows", "_recipe", "_token", "chunks", "dtype", "shape")

    def __init__(
        self, how: Recipe, token: bytes, shape: tuple[int, ...], dtype: np.dtype[Any], chunks: tuple[tuple[int, ...], ...], grows: bool
    ) -> None:
        self._recipe = how
        self._token = token
        self.shape = shape
        self.dtype = dtype
        self.chunks = chunks
        self._grows = grows

    def __reduce__(self) -> tuple[Any, ...]:
        # What lies where is asked where it is read: the lengths of a million chunks would travel with each task.
        return _named, (self._recipe, self._token, self.shape, self.dtype, self._grows)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without axes has no length")
        return self.shape[0]

    def opened(self) -> Any:
        """The array as it is open in this process."""
        for _ in range(2):
            found = _opened.get(self._token, self._recipe)
            if self._grows:
                found.refresh()
            if self._is(found):
                return found
            _opened.forget(self._token, found)
        raise StaleError(f"gridhold: {self._recipe.source}: another array by now than the one that was named")

    def _is(self, found: Any) -> bool:
        shape, dtype = shape_of(found), found.dtype
        if dtype != self.dtype or len(shape) != len(self.shape):
            return False
        return shape == self.shape or (self._grows and all(a >= b for a, b in zip(shape, self.shape)))

    def __getitem__(self, key: Any) -> Any:
        found = self.opened()
        if self._recipe.kind == "stack":
            return _of_stack(found, key)
        if self._grows and found.shape != self.shape:
            key = _within(key, self.shape)
        return found[key]

    def __repr__(self) -> str:
        return f"<gridhold Lazy of {self._recipe.source!r} {self._recipe.path!r}: {self.shape} {self.dtype}>"


def _named(how: Recipe, token: bytes, shape: tuple[int, ...], dtype: np.dtype[Any], grows: bool) -> Lazy:
    return Lazy(how, token, shape, dtype, (), grows)


def shape_of(opened: Any) -> tuple[int, ...]:
    """Of an array, or of the images of a stack."""
    count = getattr(opened, "image_shape", None)
    return opened.shape if count is None else (len(opened), *opened.image_shape)


def _of_stack(stack: Any, key: Any) -> Any:
    """Images first, which are read; then what is wanted of each."""
    first, *rest = key if isinstance(key, tuple) else (key,)
    if first is Ellipsis:
        first, rest = slice(None), [Ellipsis, *rest]
    images = stack[first]
    if not rest:
        return images
    return images[(slice(None), *rest)] if isinstance(first, slice) else images[tuple(rest)]


def _within(key: Any, shape: tuple[int, ...]) -> Any:
    """A key of an array of this shape, as one of a larger array whose corner that is."""
    from ._select import basic_of

    positions, drop = basic_of(key, shape)
    return tuple(p.start if d == 0 else slice(p.start, p.stop, p.step) for p, d in zip(positions, drop))


def lazy(how: Recipe, opened: Any = None) -> Lazy:
    """Names what a recipe opens. It is opened here for its shape, and stays so for reads in this process."""
    try:
        token = hashlib.sha256(pickle.dumps(how)).digest()[:16]
    except Exception:  # a store that stays in this process
        token = os.urandom(16)
    opened = how.open() if opened is None else opened
    if not hasattr(opened, "shape"):
        raise InvalidError(f"gridhold: {how.source}: a {type(opened).__name__} is no array; name one in it")
    named = Lazy(how, token, shape_of(opened), opened.dtype, chunks_of(opened), hasattr(opened, "refresh"))
    _opened.keep(token, opened)
    return named


def chunks_of(opened: Any) -> tuple[tuple[int, ...], ...]:
    """What is stored together, as lengths along each axis: shards, chunks of containers, images of some 16 MiB."""
    shape = shape_of(opened)
    if hasattr(opened, "image_shape"):
        one = max(1, math.prod(opened.image_shape) * opened.dtype.itemsize)
        return even(shape, (max(1, _STACK_BYTES // one), *opened.image_shape))
    edges = opened.info.get("chunk_edges") if hasattr(opened, "chunk_grid_shape") else None
    if edges is not None:
        return tuple(_clipped(n, (length for length, count in axis for _ in range(count))) for n, axis in zip(shape, edges))
    return even(shape, opened.chunk_shape if hasattr(opened, "chunk_shape") else opened.chunks)


def even(shape: tuple[int, ...], chunk: Any) -> tuple[tuple[int, ...], ...]:
    """The lengths of chunks that are all alike, but for the last ones."""
    return tuple(((c,) * (n // c) + ((n % c,) if n % c else ()) or (0,)) if n else (0,) for n, c in zip(shape, chunk))


def _clipped(n: int, lengths: Any) -> tuple[int, ...]:
    out: list[int] = []
    for length in lengths:
        if n <= 0:
            break
        out.append(min(length, n))
        n -= out[-1]
    return tuple(out) or (0,)


def recipe_of(opened: Any) -> Recipe:
    """How to open again what is open. Raises InvalidError for what only this process has."""
    if hasattr(opened, "_node"):
        node = opened._node
        if node.how.pack is not None:
            raise InvalidError("gridhold: opened with an index pack: name it, with the pack, instead of opening it")
        return recipe("any", node.place.store, node.path, memory=node.runtime.memory, strict=node.runtime.strict or None)
    if hasattr(opened, "image_shape"):
        place = opened._kept
        source, key = (opened.key, "") if not hasattr(place, "store") else (place.store, opened.key)
        if source == key or (not key and not os.path.isabs(source)):
            raise InvalidError(f"gridhold: {opened.key}: found by roots; open it by its path")
        return recipe("stack", source, key, memory=opened._runtime.memory, strict=opened._runtime.strict or None)
    keys: list[str] = []
    core = opened._core
    while core.parent is not None:
        keys.insert(0, core._recipe.get("key", "").strip("/"))
        core = core.parent
    how = {"memory": core.runtime.memory, "strict": core.runtime.strict or None}
    if core._system is not None:
        return recipe("any", os.path.join(core._system.path, core._recipe["name"]), "/".join(keys), **how)
    if core._lent is None or keys:
        raise InvalidError(f"gridhold: {core.name}: lies in this process alone; name it by a path or a store")
    return recipe("any", core._lent.store, core._recipe["name"], **how)
