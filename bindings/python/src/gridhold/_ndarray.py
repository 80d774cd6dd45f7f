"""Arrays in Blosc2 frames, by the names of python-blosc2."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from . import _container as c
from ._errors import InvalidError, OutOfRangeError
from ._frames import Framed, SChunk, _Frame
from ._progress import Progress
from ._select import basic_of, lies_within
from ._types import NDArray as Numpy

A = TypeVar("A", bound="NDArray")
_PART = 4  # of the guest's memory, one share of this many is what one read or write carries


class Boxed(Framed):
    """What can be said of an array without a look, and what is to be read and written."""

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

    def _rows(self) -> Sequence[tuple[str, Any]]:
        boxes = [("shape", self.shape), ("dtype", self.dtype), ("chunks", self.chunks), ("blocks", self.blocks)]
        return [*super()._rows(), *boxes, *self._packed()]

    def _outgrown(self, key: Any) -> bool:
        """Whether what a key selects depends on what others have done to the shape, so that one must look."""
        return self._core.follows and not lies_within(key, self.shape)

    def _wanted(self, key: Any) -> tuple[Numpy, list[range], Any]:
        """An array for what a key selects, the positions, and what drops the axes of integers."""
        positions, drop = basic_of(key, self.shape, backwards=True)
        return np.empty([len(p) for p in positions], self.dtype), list(positions), drop

    def _given(self, key: Any, value: Any) -> tuple[Numpy, list[range]]:
        """A value, broadcast to what a key selects, and the positions."""
        whole, positions, drop = self._wanted(key)
        whole[drop] = np.asarray(value, self.dtype)
        return whole, positions

    def _parts(self, positions: Sequence[range]) -> Iterator[tuple[list[int], tuple[slice, ...]]]:
        """What is larger than the guest can carry, in parts: the numbers of each, and where it lies in the whole."""
        most = self._core.runtime.memory // _PART // max(1, self.itemsize)
        for part, where in _halves(list(positions), [range(len(p)) for p in positions], self.chunks, most):
            yield [n for p in part for n in (p.start, p.stop, p.step)], tuple(slice(w.start, w.stop) for w in where)

    def _appended(self, values: Any, axis: int) -> tuple[list[int], bytes]:
        """The numbers and bytes of an append."""
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
        return [axis], np.ascontiguousarray(items).tobytes()


class NDArray(Boxed, _Frame):
    """An array of any number of axes, in chunks that are boxes, of blocks that are boxes."""

    @property
    def schunk(self) -> SChunk:
        """What the array lies in; closing either closes both."""
        return SChunk._of(self._core)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without axes has no length")
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        """Basic indexing: integers, slices with steps of either sign, an ellipsis.

        What depends on the shape is of the shape that there is now, if the array is a file.
        """
        if self._outgrown(key):
            self.refresh()
        out, positions, drop = self._wanted(key)
        for numbers, where in self._parts(positions):
            out[where] = _items(self._core.read(c.SLICE, numbers), out[where])
        return out[drop]

    def __setitem__(self, key: Any, value: Any) -> None:
        """Basic indexing; the value is broadcast. One commit, if it is no more than the guest can carry at once."""
        if self._outgrown(key):
            self.refresh()
        items, positions = self._given(key, value)
        for numbers, where in self._parts(positions):
            self._core.write(c.PUT_SLICE, numbers, np.ascontiguousarray(items[where]).tobytes())

    def __array__(self, dtype: Any = None, copy: Any = None) -> Numpy:
        if copy is False:
            raise ValueError("an array in a container is always copied")
        whole: Numpy = self[...]
        return whole if dtype is None else whole.astype(dtype, copy=False)

    def copy(self: A, *, urlpath: Any = None, mode: str = "x", progress: Progress = False, **options: Any) -> A:
        """A copy that is open: at ``urlpath``, else in the core's memory. What is not said is as it is here.

        Metalayers come along. ``options`` are those of making one (``chunks``, ``blocks``, ``cparams``, ``contiguous``,
        ``checksums``, ``locking`` …). ``progress`` shows a bar of tqdm, if that is installed, or is called with the bytes
        that are copied and how many there are.
        """
        from ._copying import copied

        return type(self)._of(copied(self, progress, urlpath, mode, **options))

    def tobytes(self) -> bytes:
        """All items in C order."""
        return np.ascontiguousarray(self[...]).tobytes()

    def resize(self, newshape: Sequence[int]) -> None:
        """Another shape; what it grows by is zero."""
        self._core.write(c.RESIZE, [operator.index(n) for n in newshape])

    def squeeze(self, axis: int | Sequence[int] | None = None) -> None:
        """Takes axes of one item out, or all of those. The container is changed, not copied; see ``expand_dims``."""
        axes = () if axis is None else (axis,) if hasattr(axis, "__index__") else tuple(axis)
        if axis is None or axes:
            self._core.change("squeeze", axes=[_axis(a, self.ndim) for a in axes])

    def expand_dims(self, axis: int | Sequence[int]) -> None:
        """Puts axes of one item in, at those places of the axes that there are afterwards. Other handles see a StaleError."""
        axes = (axis,) if hasattr(axis, "__index__") else tuple(axis)
        self._core.change("expand", axes=[_axis(a, self.ndim + len(axes)) for a in axes])

    def append(self, values: Any, axis: int = 0) -> tuple[int, ...]:
        """Adds slices along an axis; returns the shape."""
        self._core.write(c.APPEND, *self._appended(values, axis))
        return self.shape


def _halves(part: list[range], where: list[range], chunks: Sequence[int], most: int) -> Iterator[tuple[list[range], list[range]]]:
    """Divides along the first axis that has more than one item, where a chunk begins if one does."""
    count = math.prod(map(len, part))
    axis = next((i for i, p in enumerate(part) if len(p) > 1), None) if count > most else None
    if axis is None:
        if count:
            yield part, where
        return
    p, half = part[axis], len(part[axis]) // 2
    if p.step == 1 and half > chunks[axis]:
        half -= p[half] % chunks[axis]
    for some in (slice(0, half), slice(half, None)):
        below, there = ([*of[:axis], of[axis][some], *of[axis + 1 :]] for of in (part, where))
        yield from _halves(below, there, chunks, most)


def _items(raw: bytes, like: Numpy) -> Numpy:
    return np.frombuffer(raw, like.dtype).reshape(like.shape)


def _axis(axis: Any, ndim: int) -> int:
    at = operator.index(axis)
    if not -ndim <= at < ndim:
        raise OutOfRangeError(f"no axis {at}")
    return at % ndim


def dtype_of(text: str) -> np.dtype[Any]:
    """The dtype that numpy wrote as ``text``; text is never evaluated, only read as literals."""
    return np.dtype(ast.literal_eval(text) if text.startswith("[") else text)
