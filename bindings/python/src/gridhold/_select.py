"""What is wanted of an array: positions along each axis, and the chunks that they fall into."""

from __future__ import annotations

import bisect
import operator
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ._errors import InvalidError, OutOfRangeError

Index = tuple[int, ...]


class Edges:
    """Where the chunks along one axis begin and end. ``length`` where all are alike, else ``runs`` of (length, count)."""

    def __init__(self, length: int, runs: Sequence[Sequence[int]] | None = None) -> None:
        self._length = length
        self._ends = None if runs is None else list(accumulate(n for n, count in runs for _ in range(count)))

    def span(self, block: int) -> tuple[int, int]:
        """The first position of a chunk, and the one after its last."""
        if self._ends is None:
            return block * self._length, (block + 1) * self._length
        return (self._ends[block - 1] if block else 0), self._ends[block]

    def find(self, positions: Any) -> Any:
        """The chunk of a position, or of each of an array of them."""
        if self._ends is None:
            return positions // self._length
        if isinstance(positions, int):
            return bisect.bisect_right(self._ends, positions)
        return np.searchsorted(self._ends, positions, "right")


class Run(NamedTuple):
    """What is wanted of one chunk along one axis."""

    block: int
    into: Any  # slice or indices, of what is read
    of: Any  # slice or indices, from the start of the chunk
    origin: int  # that start
    low: int  # the first position of the array that is wanted, and the one after the last
    high: int


def runs(positions: Any, edges: Edges) -> list[Run]:
    """The chunks that positions fall into, in order, each once."""
    out = []
    if isinstance(positions, range):
        step, i = positions.step, 0
        while i < len(positions):
            first = positions[i]
            block = edges.find(first)
            low, high = edges.span(block)
            n = min(len(positions) - i, -(-(high - first) // step))
            last = first + (n - 1) * step + 1
            out.append(Run(block, slice(i, i + n), slice(first - low, last - low, step), low, first, last))
            i += n
        return out
    blocks = edges.find(positions)
    order = np.argsort(blocks, kind="stable")
    starts = np.flatnonzero(np.diff(blocks[order], prepend=-1))
    for into in np.split(order, starts[1:]):
        if len(into):
            of = positions[into]
            block = int(blocks[into[0]])
            origin = edges.span(block)[0]
            out.append(Run(block, into, of - origin, origin, int(of.min()), int(of.max()) + 1))
    return out


def paste(out: Any, run: Sequence[Run], values: Any) -> None:
    """Writes what is wanted of a chunk; ``values`` is all of it, or one value for all."""
    into = _grid([r.into for r in run])
    out[into] = values[_grid([r.of for r in run])] if values.ndim else values


def _grid(places: Sequence[Any]) -> tuple[Any, ...]:
    """An index that picks along each axis by itself."""
    if all(isinstance(p, slice) for p in places):
        return tuple(places)
    return np.ix_(*(np.arange(p.start, p.stop, p.step) if isinstance(p, slice) else p for p in places))


# Arguments.


def point_of(indices: Iterable[Any], ndim: int, what: str) -> Index:
    """Coordinates as a tuple of ints. Raises TypeError, and InvalidError for another number of them."""
    try:
        point = tuple(map(operator.index, indices))
    except TypeError:
        raise TypeError(f"{what}: integers are needed, one an axis, not {indices!r}") from None
    if len(point) != ndim:
        raise InvalidError(f"zarr: {what} {list(point)}: {len(point)} indices for {ndim} axes")
    return point


def box_of(start: Iterable[Any], stop: Iterable[Any], shape: Index) -> list[range]:
    """The positions from ``start`` up to ``stop``. Raises OutOfRangeError outside the array."""
    low = point_of(start, len(shape), "region start")
    high = point_of(stop, len(shape), "region stop")
    for a, b, n in zip(low, high, shape):
        if not 0 <= a <= b <= n:
            raise OutOfRangeError(
                f"zarr: region {list(low)} to {list(high)}: outside the array of {list(shape)}",
                item=str([list(low), list(high)]),
            )
    return [range(a, b) for a, b in zip(low, high)]


def selection_of(selectors: Iterable[Any], shape: Index) -> list[Any]:
    """The positions that slices and lists of integers select, one an axis."""
    if isinstance(selectors, slice):
        raise TypeError("region: a slice or a list of integers for each axis is needed")
    selectors = list(selectors)
    if len(selectors) != len(shape):
        raise InvalidError(f"zarr: region: {len(selectors)} selectors for {len(shape)} axes")
    return [_positions(s, n, axis) for axis, (s, n) in enumerate(zip(selectors, shape))]


def _positions(selector: Any, n: int, axis: int, backwards: bool = False) -> Any:
    if isinstance(selector, slice):
        positions = range(*selector.indices(n))
        if positions.step < 1 and not backwards:
            raise InvalidError(f"zarr: region: axis {axis}: its step {positions.step} is below 1")
        return positions or range(0)
    wanted = np.asarray(selector)
    if wanted.ndim != 1 or (wanted.size and wanted.dtype.kind not in "iu"):
        raise TypeError(f"region: axis {axis}: a slice or a list of integers is needed, not {selector!r}")
    if wanted.size and not (-n <= int(wanted.min()) and int(wanted.max()) < n):
        raise OutOfRangeError(f"zarr: region: axis {axis}: outside its length of {n}", item=str(axis))
    wanted = wanted.astype(np.int64)
    return np.where(wanted < 0, wanted + n, wanted)


def basic_of(key: Any, shape: Index, backwards: bool = False) -> tuple[list[range], tuple[Any, ...]]:
    """Basic indexing: the positions, and the index that then drops the axes that were given an integer.

    ``backwards`` allows steps below 0.
    """
    keys = list(key) if isinstance(key, tuple) else [key]
    dots = [i for i, k in enumerate(keys) if k is Ellipsis]
    if len(dots) > 1:
        raise InvalidError("zarr: index: has more than one ellipsis")
    at = dots[0] if dots else len(keys)
    given = len(keys) - len(dots)
    if given > len(shape):
        raise OutOfRangeError(f"zarr: index: {given} indices for {len(shape)} axes")
    keys[at : at + len(dots)] = [slice(None)] * (len(shape) - given)
    positions: list[range] = []
    drop: list[Any] = []
    for axis, (k, n) in enumerate(zip(keys, shape)):
        if isinstance(k, slice):
            positions.append(_positions(k, n, axis, backwards))
            drop.append(slice(None))
            continue
        if isinstance(k, (bool, np.bool_)) or not hasattr(k, "__index__"):
            raise TypeError(f"index: axis {axis}: an integer or a slice is needed, not {k!r}; retrieve_region takes lists")
        i = operator.index(k)
        if not -n <= i < n:
            raise OutOfRangeError(f"zarr: index: axis {axis}: {i} is outside its length of {n}", item=str(axis))
        positions.append(range(i % n, i % n + 1))
        drop.append(0)
    return positions, tuple(drop)


def lies_within(key: Any, shape: Sequence[int]) -> bool:
    """Whether a key selects the same whatever the shape grows to, and lies in it: it counts from no end and has all its ends."""
    parts = key if isinstance(key, tuple) else (key,)
    if len(parts) != len(shape):
        return False
    for p, n in zip(parts, shape):
        if isinstance(p, slice):
            if not all(type(end) is int for end in (p.start, p.stop)) or not 0 <= p.start <= p.stop <= n:
                return False
        elif not hasattr(p, "__index__") or not 0 <= operator.index(p) < n:
            return False
    return True
