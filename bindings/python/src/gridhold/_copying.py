"""Copies of arrays that show how far they are."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import _container as c
from ._creating import copy_of, create_array, find_container
from ._progress import Progress, bar_of

if TYPE_CHECKING:
    from ._ndarray import NDArray

_PART_BYTES = 16 << 20


def copied(array: NDArray, progress: Progress, urlpath: Any, mode: str, **options: Any) -> c.Container:
    """A copy that is open. It is filled part by part under another name, ``NAME.part``, and has its own when it is whole."""
    if not progress:
        return copy_of(array._core, urlpath=urlpath, mode=mode, **options).open()
    runtime = array._core.runtime
    local = c.local_path(urlpath) if urlpath is not None else None
    aside = None if urlpath is None else f"{local}.part"
    kept = {k: options.pop(k) for k in ("durability", "locking", "lock_timeout") if k in options}
    options.setdefault("contiguous", array.contiguous)
    options.setdefault("chunks", None if "blocks" in options else array.chunks)
    meta = {k: v for k, v in array.meta.items() if k not in ("b2nd", "caterva")} | dict(options.pop("meta", None) or {})
    made = type(array)._of(create_array(array.shape, array.dtype, urlpath=aside, mode="w", meta=meta, runtime=runtime, **options).open())
    try:
        with contextlib.closing(bar_of(progress, array.nbytes, "B", scale=True)) as bar:
            for part in _slabs(array):
                items = array[part]
                made[part] = items
                bar.step(items.nbytes)
        for name, value in array.vlmeta.items():
            made.vlmeta[name] = value
    except BaseException:
        made.close()
        raise
    if local is None:
        return made._core
    made.close()
    directory, name = c.split(local)
    runtime.lend_files(directory).rename(f"{name}.part", name, mode == "w")
    how = {"durability": "close", "locking": None, "lock_timeout": None, **kept}
    core = find_container(runtime, local, "", "a", **how)
    assert core is not None
    return core.open()


def _slabs(array: NDArray) -> Iterator[tuple[slice, ...]]:
    """Along the first axis, whole chunks at a time."""
    if not array.shape:
        yield ()
        return
    row = math.prod(array.shape[1:]) * array.itemsize
    step = max(1, _PART_BYTES // max(1, row) // array.chunks[0]) * array.chunks[0] if array.chunks[0] else 1
    for at in range(0, array.shape[0], step):
        yield (slice(at, min(at + step, array.shape[0])), *(slice(0, n) for n in array.shape[1:]))
