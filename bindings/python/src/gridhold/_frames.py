"""Sequences and arrays in Blosc2 frames, by the names of python-blosc2."""

from __future__ import annotations

import ast
import contextlib
import math
import operator
import time
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from . import _container as c
from ._container import Container
from ._errors import InvalidError, OutOfRangeError
from ._metalayers import Meta, VLMeta
from ._select import basic_of
from ._types import NDArray as Numpy

S = TypeVar("S", bound="Opened")
F = TypeVar("F", bound="_Frame")
_PART = 4  # of the guest's memory, one share of this many is what one read or write carries
_LITTLE = 256


class Opened:
    """A container that is open. Use it in a ``with``, or close it."""

    def __init__(self, core: Container) -> None:
        self._core = core

    @property
    def urlpath(self) -> str:
        """The name under which it was opened."""
        return self._core.name

    @property
    def info(self) -> dict[str, Any]:
        """The whole description, as ``gridhold info --json`` prints it."""
        return self._core.do("describe")  # type: ignore[no-any-return]

    @property
    def change_tick(self) -> int:
        """Counts the changes that were taken over since it was opened."""
        return self._core.do("state")["tick"]  # type: ignore[no-any-return]

    def refresh(self) -> bool:
        """Looks whether it was changed, by another process or handle, takes that over, and says whether there was anything."""
        return self._core.refresh()

    @contextlib.contextmanager
    def holding_lock(self: S) -> Iterator[S]:
        """Its lock, exclusively, for the block; gives the container as those use it who hold the lock.

        With ``locking`` nobody else who locks reads or writes it meanwhile; the
        container itself would wait for the block to end.
        """
        with self._core.holding(False) as held:
            yield type(self)._of(held)

    @contextlib.contextmanager
    def holding_shared_lock(self: S) -> Iterator[S]:
        """As ``holding_lock``, for reading: others may read too."""
        with self._core.holding(True) as held:
            yield type(self)._of(held)

    @classmethod
    def _of(cls: type[S], core: Container) -> S:
        opened = cls.__new__(cls)
        Opened.__init__(opened, core)
        return opened

    def verify(self) -> dict[str, Any]:
        """Decodes everything: ``{"checked": n, "damaged": [{"item", "off", "text"}, …]}``.

        What may be whole, but takes a codec or filter that is not there, has ``"unchecked": True``.
        """
        return self._core.do("verify")  # type: ignore[no-any-return]

    def close(self) -> None:
        """Makes what was written safe, by ``durability``, and raises what kept it from being. Twice is fine."""
        self._core.close()

    def __enter__(self: S) -> S:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<gridhold {type(self).__name__} {self.urlpath!r}>"


class _Frame(Opened):
    """What sequences and arrays have in common."""

    @property
    def vlmeta(self) -> VLMeta:
        """Metadata of any length, by name."""
        return VLMeta(self._core)

    @property
    def meta(self) -> Meta:
        """Metadata that keep their length, by name."""
        return Meta(self._core)

    def _state(self, name: str) -> Any:
        self._core.check_open()
        return self._core.state[name]

    typesize = property(lambda self: self._state("typesize"), doc="Bytes of an item.")
    chunksize = property(lambda self: self._state("chunksize"), doc="Bytes of a chunk; 0 where they vary, -1 before the first.")
    blocksize = property(lambda self: self._state("blocksize"), doc="Bytes of a block; 0 where it was not recorded.")
    nchunks = property(lambda self: self._state("nchunks"), doc="How many chunks there are.")
    nbytes = property(lambda self: self._state("nbytes"), doc="Bytes of all items.")
    cbytes = property(lambda self: self._state("cbytes"), doc="Bytes that they take, packed.")
    contiguous = property(lambda self: self._state("contiguous"), doc="Whether it is one file.")

    @property
    def cratio(self) -> float:
        """How many times smaller it is, packed."""
        return self.nbytes / self.cbytes if self.cbytes else 0.0

    @property
    def cparams(self) -> dict[str, Any]:
        """How chunks are packed."""
        return {"codec": self._state("codec"), "clevel": self._state("level"), "typesize": self.typesize}

    def get_chunk(self, nchunk: int) -> bytes:
        """A chunk as it is stored: a Blosc2 chunk."""
        return self._core.read(c.ENCODED, [operator.index(nchunk)])

    def decompress_chunk(self, nchunk: int) -> bytes:
        """The decoded bytes of a chunk."""
        return self._core.read(c.CHUNK, [operator.index(nchunk)])

    def to_cframe(self) -> bytes:
        """All of it as the bytes of one frame, which python-blosc2 opens too."""
        return self._core.read(c.FRAME)

    @contextlib.contextmanager
    def snapshot(self: F) -> Iterator[F]:
        """What it is now, to be read for the block, whatever is written meanwhile; that waits for nobody."""
        with self._core.snapshot() as held:
            yield type(self)._of(held)

    def watch(self, interval: float = 0.02) -> Iterator[int]:
        """Gives ``change_tick``, now and after each change; looks about every ``interval`` seconds, and never ends by itself."""
        tick = self.change_tick
        yield tick
        while True:
            time.sleep(interval)
            self.refresh()
            if self._core.state["tick"] != tick:
                tick = self._core.state["tick"]
                yield tick

    def keep_checksums(self, keep: bool = True) -> None:
        """Keeps a CRC-32C of each chunk in a metalayer, for ``verify``, or no longer; python-blosc2 minds neither."""
        self._core.state = self._core.do("checksums", keep=bool(keep))

    def repair(self) -> None:
        """Puts back the state that this handle last saw, where another program has written an old header over it.

        Raises NotFoundError if this handle found no such thing, StaleError if the bytes do not allow it.
        """
        self._core.state = self._core.do("repair")

    def compact(self) -> None:
        """Writes it anew without the bytes that changes have left behind."""
        self._core.state = self._core.do("compact")


class SChunk(_Frame):
    """A sequence of items in chunks."""

    def __init__(self, chunksize: int | None = None, data: Any = None, **options: Any) -> None:
        from ._creating import create_schunk

        super().__init__(create_schunk(chunksize, data, **options))

    def __len__(self) -> int:
        """Whole items."""
        return int(self.nbytes // self.typesize)

    def __getitem__(self, key: int | slice) -> bytes:
        """The bytes of an item, or of those that a slice selects."""
        ((only,), _) = basic_of(key, (len(self),), backwards=True)
        return self._core.read(c.SLICE, [only.start, only.stop, only.step])

    def __setitem__(self, key: int | slice, value: Any) -> None:
        """Replaces items; a slice has no step."""
        ((only,), _) = basic_of(key, (len(self),))
        raw = _bytes_of(value)
        if only.step != 1 or len(raw) != len(only) * self.typesize:
            raise InvalidError(f"schunk: {len(raw)} bytes for {len(only)} items of {self.typesize}, without steps")
        self._core.write(c.PUT_SLICE, [only.start], raw)

    def get_slice(self, start: int | None = None, stop: int | None = None) -> bytes:
        return self[slice(start, stop)]

    def append_data(self, data: Any) -> int:
        """Adds a chunk at the end; returns how many there are."""
        self._core.write(c.ADD_CHUNK, (), _bytes_of(data))
        return int(self.nchunks)

    def append(self, data: Any) -> int:
        """Adds items at the end: fills up the last chunk, then makes others. Returns how many items there are."""
        self._core.write(c.APPEND, (), _bytes_of(data))
        return len(self)

    def insert_data(self, nchunk: int, data: Any) -> int:
        """Puts a chunk before another one; returns how many there are."""
        self._core.write(c.INSERT, [operator.index(nchunk)], _bytes_of(data))
        return int(self.nchunks)

    def update_data(self, nchunk: int, data: Any) -> int:
        """Replaces a chunk; returns how many there are."""
        self._core.write(c.UPDATE, [operator.index(nchunk)], _bytes_of(data))
        return int(self.nchunks)

    def delete_chunk(self, nchunk: int) -> int:
        """Removes a chunk; returns how many there are."""
        self._core.write(c.DELETE, [operator.index(nchunk)])
        return int(self.nchunks)

    def iterchunks(self, dtype: Any = None) -> Iterator[Any]:
        """The chunks in turn: arrays of ``dtype``, or bytes."""
        for i in range(self.nchunks):
            raw = self.decompress_chunk(i)
            yield raw if dtype is None else np.frombuffer(raw, dtype)


class NDArray(_Frame):
    """An array of any number of axes, in chunks that are boxes, of blocks that are boxes."""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._state("shape"))

    @property
    def chunks(self) -> tuple[int, ...]:
        """Items of a chunk along each axis."""
        return tuple(self._state("chunks"))

    @property
    def blocks(self) -> tuple[int, ...]:
        """Items of a block along each axis."""
        return tuple(self._state("blocks"))

    @property
    def dtype(self) -> np.dtype[Any]:
        return dtype_of(self._state("dtype"))

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def schunk(self) -> SChunk:
        """What the array lies in; closing either closes both."""
        return SChunk._of(self._core)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without axes has no length")
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        """Basic indexing: integers, slices with steps of either sign, an ellipsis."""
        positions, drop = basic_of(key, self.shape, backwards=True)
        out = np.empty([len(p) for p in positions], self.dtype)
        self._fill(out, positions)
        return out[drop]

    def _fill(self, out: Numpy, positions: Sequence[range]) -> None:
        """Reads what is larger than the guest can carry in parts, along the first axis that has more than one item."""
        if not out.size:
            return
        axis = self._cut(out, positions)
        if axis is None:
            numbers = [n for p in positions for n in (p.start, p.stop, p.step)]
            raw = self._core.read(c.SLICE, numbers)
            out[...] = np.frombuffer(raw, out.dtype).reshape(out.shape)
            return
        for part, where in self._parts(positions, axis):
            self._fill(out[where], part)

    def _cut(self, items: Numpy, positions: Sequence[range]) -> int | None:
        if items.nbytes <= self._core.runtime.memory // _PART:
            return None
        return next((axis for axis, p in enumerate(positions) if len(p) > 1), None)

    def _parts(self, positions: Sequence[range], axis: int) -> Iterator[tuple[list[range], Any]]:
        """Two halves, divided where a chunk begins if one does."""
        p = positions[axis]
        half, chunk = len(p) // 2, self.chunks[axis]
        if abs(p.step) == 1 and half > chunk:
            half -= (p[half] % chunk) if p.step == 1 else 0
        for some in (slice(0, half), slice(half, None)):
            part = [*positions[:axis], p[some], *positions[axis + 1 :]]
            yield part, (*[slice(None)] * axis, some)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Basic indexing; the value is broadcast. One commit, if it is no more than the guest can carry at once."""
        positions, drop = basic_of(key, self.shape, backwards=True)
        shape = [len(p) for p in positions]
        wanted = np.asarray(value, self.dtype)
        whole = np.empty(shape, self.dtype)
        whole[drop] = wanted
        self._store(whole, positions)

    def _store(self, items: Numpy, positions: Sequence[range]) -> None:
        if not items.size:
            return
        axis = self._cut(items, positions)
        if axis is None:
            numbers = [n for p in positions for n in (p.start, p.stop, p.step)]
            self._core.write(c.PUT_SLICE, numbers, np.ascontiguousarray(items).tobytes())
            return
        for part, where in self._parts(positions, axis):
            self._store(items[where], part)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Numpy:
        if copy is False:
            raise ValueError("an array in a container is always copied")
        whole: Numpy = self[...]
        return whole if dtype is None else whole.astype(dtype, copy=False)

    def tobytes(self) -> bytes:
        """All items in C order."""
        return np.ascontiguousarray(self[...]).tobytes()

    def resize(self, newshape: Sequence[int]) -> None:
        """Another shape; what it grows by is zero."""
        self._core.write(c.RESIZE, [operator.index(n) for n in newshape])

    def squeeze(self, axis: int | Sequence[int] | None = None) -> None:
        """Takes axes of one item out, or all of those. The container is changed, not copied; see ``expand_dims``."""
        axes = () if axis is None else (axis,) if hasattr(axis, "__index__") else tuple(axis)  # type: ignore[arg-type]
        if axis is None or axes:
            self._core.state = self._core.do("squeeze", axes=[_axis(a, self.ndim) for a in axes])

    def expand_dims(self, axis: int | Sequence[int]) -> None:
        """Puts axes of one item in, at those places of the axes that there are afterwards. Other handles see a StaleError."""
        axes = (axis,) if hasattr(axis, "__index__") else tuple(axis)  # type: ignore[arg-type]
        self._core.state = self._core.do("expand", axes=[_axis(a, self.ndim + len(axes)) for a in axes])

    def append(self, values: Any, axis: int = 0) -> tuple[int, ...]:
        """Adds slices along an axis; returns the shape."""
        items = np.asarray(values, self.dtype)
        axis = operator.index(axis)
        if not -self.ndim <= axis < self.ndim:
            raise OutOfRangeError(f"append: no axis {axis}")
        axis %= self.ndim
        others = [n for i, n in enumerate(self.shape) if i != axis]
        if items.ndim == self.ndim - 1:
            items = np.expand_dims(items, axis)
        if items.ndim != self.ndim or [n for i, n in enumerate(items.shape) if i != axis] != others:
            raise InvalidError(f"append: {list(items.shape)} does not go with {list(self.shape)} along axis {axis}")
        self._core.write(c.APPEND, [axis], np.ascontiguousarray(items).tobytes())
        return self.shape


def _bytes_of(data: Any) -> bytes:
    return data if isinstance(data, bytes) else memoryview(np.ascontiguousarray(data) if isinstance(data, np.ndarray) else data).tobytes()


def _axis(axis: Any, ndim: int) -> int:
    at = operator.index(axis)
    if not -ndim <= at < ndim:
        raise OutOfRangeError(f"no axis {at}")
    return at % ndim


def dtype_of(text: str) -> np.dtype[Any]:
    """The dtype that numpy wrote as ``text``; text is never evaluated, only read as literals."""
    return np.dtype(ast.literal_eval(text) if text.startswith("[") else text)
