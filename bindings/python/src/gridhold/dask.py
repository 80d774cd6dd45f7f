"""Lazy arrays of dask: from Zarr arrays, Blosc2 containers and stacks of images.

    import gridhold.dask

    x = gridhold.dask.open_array("s3://bucket/array.zarr")
    x[:, 2000:3000].mean(axis=0).compute()

A task carries where the array is, not the array: a few hundred bytes. Each worker opens it once, and all that it reads
goes through one cache of shard indexes. A chunk of dask's is a shard, or whole ones.
"""

from __future__ import annotations

import math
import uuid
from typing import Any

import dask
import dask.array
import numpy as np

from ._lazy import Lazy, even, lazy, recipe, recipe_of

__all__ = ["from_array", "open_array", "open_stack"]


def open_array(source: Any, path: str = "", *, chunks: Any = None, name: str | None = None, **options: Any) -> dask.array.Array:
    """The array at ``path`` of a source: of Zarr, or in a Blosc2 container. ``options`` are those of ``gridhold.open``.

    ``chunks`` None: one for each shard (chunk, where there are none). "auto": whole ones, as many as make some
    ``array.chunk-size`` of dask's configuration. Else as ``dask.array.from_array`` has it; chunks that cut
    shards are right, but read more indexes. ``name``: of the dask array; None: one that no other has, for what is
    stored may change. Raises what opening raises, and later, in a task, what reading raises.
    """
    return _array(lazy(recipe("any", source, path, **options)), chunks, name)


def open_stack(source: Any, key: str = "", *, chunks: Any = None, name: str | None = None, **options: Any) -> dask.array.Array:
    """The images of a file: the first axis counts them. Otherwise as ``open_array``; ``options`` are those of ``gridhold.open_stack``."""
    return _array(lazy(recipe("stack", source, key, **options)), chunks, name)


def from_array(opened: Any, *, chunks: Any = None, name: str | None = None) -> dask.array.Array:
    """The same from what is open: an Array, an NDArray or an ImageStack, which may be closed then.

    Raises InvalidError for what another process could not open: a container in memory, say.
    """
    return _array(lazy(recipe_of(opened)), chunks, name)


def _array(named: Lazy, chunks: Any, name: str | None) -> dask.array.Array:
    if chunks is None:
        chunks = named.chunks
    elif isinstance(chunks, str) and chunks == "auto":
        chunks = _merged(named)
    return dask.array.from_array(
        named,
        chunks=chunks,
        name=name or f"gridhold-{uuid.uuid4().hex}",
        asarray=False,
        fancy=False,
        inline_array=True,
        meta=np.empty((0,) * named.ndim, named.dtype),
    )


def _merged(named: Lazy) -> tuple[tuple[int, ...], ...]:
    """Whole chunks, doubled along the axis that has most of them as long as they are small enough."""
    limit = dask.utils.parse_bytes(dask.config.get("array.chunk-size"))
    if any(len(set(axis[:-1])) > 1 for axis in named.chunks):
        return named.chunks  # of several lengths
    length = [axis[0] for axis in named.chunks]
    while True:
        counts = [-(-n // c) if c else 1 for n, c in zip(named.shape, length)]
        if max(counts, default=1) == 1 or 2 * math.prod(length) * named.dtype.itemsize > limit:
            return even(named.shape, length)
        length[counts.index(max(counts))] *= 2
