"""Making containers, by the names of python-blosc2."""

from __future__ import annotations

import itertools
import operator
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _container as c
from . import _msgpack
from ._container import Container
from ._errors import InvalidError, NotFoundError, UnsupportedError
from ._filesystem import FileSystem
from ._frames import _bytes_of
from ._ndarray import NDArray
from ._runtime import DEFAULT_MEMORY, Runtime
from ._threads import blocking_runtime
from ._types import NDArray as Numpy

_CODECS = ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")
_FILTERS = {"nofilter": 0, "shuffle": 1, "bitshuffle": 2, "delta": 3, "trunc_prec": 4, "bytedelta": 35}
_SPLITS = {"always_split": 1, "never_split": 2, "auto_split": 3, "forward_compat_split": 4}
_MODES = {"a": {"or_open": True}, "w": {"replace": True}, "x": {}}
_LOCKINGS = {None: "", False: "never", True: "always", "if_possible": "if_possible"}
_serial = itertools.count(1)


def locking_of(locking: bool | str | None) -> str:
    """How to lock: as said, or else as the variable ``BLOSC_LOCKING`` says, as python-blosc2 reads it."""
    if locking is None:
        return "if_possible" if os.environ.get("BLOSC_LOCKING", "0") not in ("", "0") else "never"
    if locking not in _LOCKINGS:
        raise InvalidError(f"locking: {locking!r}: True, False or 'if_possible' is needed")
    return _LOCKINGS[locking]


def how(durability: str, locking: bool | str | None, lock_timeout: float | None) -> dict[str, Any]:
    """The part of a request that says how to write and lock."""
    if durability not in ("close", "never", "commit"):
        raise InvalidError(f"durability: {durability!r}: 'close', 'never' or 'commit' is needed")
    return {
        "durability": durability,
        "locking": locking_of(locking),
        "lock_timeout_ms": 0 if lock_timeout is None else max(1, round(lock_timeout * 1000)),
    }


def find_container(runtime: Runtime, source: Any, path: str, mode: str, *, repair: bool = False, **options: Any) -> Container | None:
    """What a source names, to be opened, if that is a container. ``path`` is a key of it, unless it is that of an object."""
    if mode not in ("r", "a"):
        raise InvalidError(f"mode: {mode!r}: 'r' or 'a' opens what is there")
    local = c.local_path(source)
    if local is not None:
        if not c.is_container(local):
            return None
        directory, name = c.split(local)
        system = runtime.lend_files(directory)
        recipe = {"fs": system.id, "name": name, "write": mode == "a", **how(**options)}
        return Container(runtime, recipe, system=system, once={"repair": True} if repair else None)
    remote = c.remote_name(source, path)
    if remote is None:
        return None
    if mode != "r" or repair:
        raise UnsupportedError("mode: 'a', repair: objects of a store are only read")
    from ._place import Place

    store, name = remote
    place = Place(store, "")
    place.lend(runtime)
    return Container(runtime, {"store": place.spec(), "name": name}, lent=place.lent)


async def opening_container(runtime: Runtime, source: Any, path: str, mode: str, **options: Any) -> Container | None:
    """Opens what ``find_container`` found, or what lies in that under the key ``path``."""
    core = find_container(runtime, source, path, mode, **options)
    if core is None:
        return None
    await core.opening()
    key = path.strip("/")
    return await core.leaf("/" + key).opening() if key and core.local else core


def _create(
    spec: dict[str, Any],
    data: bytes,
    *,
    urlpath: Any = None,
    mode: str = "x",
    memory: int = DEFAULT_MEMORY,
    strict: bool = False,
    runtime: Runtime | None = None,
    **options: Any,
) -> Container:
    """A container to be made; without ``urlpath`` it lies in the guest's memory, and goes with it."""
    runtime = runtime or blocking_runtime(memory, strict)
    recipe, system = _place(runtime, spec["kind"], urlpath, options)
    request = {**spec, **_how_made(mode, **options), **recipe}
    return Container(runtime, {**recipe, "write": True}, system=system, made=c.create_request(request, data))


def _place(runtime: Runtime, kind: str, urlpath: Any, options: dict[str, Any]) -> tuple[dict[str, Any], FileSystem | None]:
    """Where a container is made and how it is opened, and what must be kept for that. Takes what it needs of the options."""
    locking = options.pop("locking", None)
    opened = how(options.pop("durability", "close"), locking if urlpath is not None else False, options.pop("lock_timeout", None))
    if urlpath is None:
        return {"fs": 0, "name": f"{kind}{next(_serial)}", **opened}, None
    local = c.local_path(urlpath)
    if local is None:
        raise UnsupportedError(f"urlpath: {urlpath}: containers are made in directories of this machine")
    directory, name = c.split(local)
    system = runtime.lend_files(directory)
    return {"fs": system.id, "name": name, **opened}, system


def _how_made(
    mode: str,
    *,
    contiguous: bool = True,
    meta: Mapping[str, Any] | None = None,
    cparams: Mapping[str, Any] | None = None,
    checksums: bool = False,
) -> dict[str, Any]:
    """The part of a request that says how a container is made."""
    if mode not in _MODES:
        raise InvalidError(f"mode: {mode!r}: 'a', 'w' or 'x' makes a container")
    layers = [{"name": k, "hex": _msgpack.encode(v).hex()} for k, v in (meta or {}).items()]
    return {**_packing(cparams), **_MODES[mode], "sparse": not contiguous, "meta": layers, "checksums": bool(checksums)}


def copy_of(core: Container, *, urlpath: Any = None, mode: str = "x", chunks: Any = None, blocks: Any = None, **options: Any) -> Container:
    """A copy of a frame, to be made."""
    if mode == "a":
        raise InvalidError("mode: 'a': a copy is made; 'x' and 'w' do that")
    recipe, system = _place(core.runtime, core.kind, urlpath, options)
    options.setdefault("contiguous", core.state["contiguous"])
    boxes = _boxes(chunks, blocks)
    return core.copied({**_how_made(mode, **options), **boxes, **recipe}, system=system)


def _packing(cparams: Mapping[str, Any] | None) -> dict[str, Any]:
    """``cparams`` of python-blosc2 as the core has them."""
    if cparams is None:
        return {}
    left = dict(cparams)
    codec = left.pop("codec", "zstd")
    codec = _CODECS[int(codec)] if not isinstance(codec, str) else codec.lower()
    filters = [_number(f, _FILTERS) for f in left.pop("filters", [0, 0, 0, 0, 0, 1])]
    metas = list(left.pop("filters_meta", [0] * len(filters)))
    packing = {
        "codec": codec,
        "level": operator.index(left.pop("clevel", 5)),
        "filters": [[f, m] for f, m in zip(filters, metas)],
        "split": _number(left.pop("splitmode", 0), _SPLITS),
        "dictionary": bool(left.pop("use_dict", False)),
    }
    for name in ("blocksize", "typesize"):
        if left.get(name):
            packing[name] = operator.index(left[name])
        left.pop(name, None)
    left.pop("nthreads", None)
    if left:
        raise InvalidError(f"cparams: {', '.join(left)}: not known here")
    return packing


def _number(value: Any, names: Mapping[str, int]) -> int:
    if isinstance(value, str):
        if value.lower() not in names:
            raise InvalidError(f"cparams: {value!r}: one of {', '.join(names)} is needed")
        return names[value.lower()]
    return int(value)


def create_schunk(chunksize: int | None, data: Any, **options: Any) -> Container:
    """The container of a new SChunk, to be made."""
    raw = b"" if data is None else _bytes_of(data)
    item: int = getattr(getattr(data, "dtype", None), "itemsize", 1)
    item = (options.get("cparams") or {}).get("typesize") or item
    if chunksize is None and raw:
        chunksize = max(len(raw) // item * item, item)
    options["cparams"] = {**(options.get("cparams") or {}), "typesize": item}
    return _create({"kind": "schunk", "chunksize": chunksize or 0}, raw, **options)


def _text(dtype: np.dtype[Any]) -> str:
    if dtype.hasobject:
        raise UnsupportedError("dtype: objects do not go into a container")
    return str(dtype.descr) if dtype.names else dtype.str


def _boxes(chunks: Any, blocks: Any) -> dict[str, Any]:
    return {name: _numbers(value) for name, value in (("chunks", chunks), ("blocks", blocks)) if value is not None}


def _numbers(value: Any) -> list[int]:
    return [operator.index(n) for n in ((value,) if hasattr(value, "__index__") else value)]


def create_array(shape: Any, dtype: Any, data: bytes = b"", *, chunks: Any = None, blocks: Any = None, **options: Any) -> Container:
    """The container of a new NDArray, to be made."""
    spec = {"kind": "ndarray", "shape": _numbers(shape), "dtype": _text(np.dtype(dtype)), **_boxes(chunks, blocks)}
    return _create(spec, data, **options)


def fits(items: Numpy, memory: int) -> bool:
    """Whether they go into the request that makes an array of them; more are written after that."""
    return items.nbytes <= memory // 8


def zeros(shape: Any, dtype: Any = np.float64, **options: Any) -> NDArray:
    """A new array of zeros, of which nothing is stored.

    ``urlpath`` is where: None is the core's memory. ``mode`` is "x" (there
    must be nothing), "w" (what is there is replaced) or "a" (what is there is
    opened). Also ``chunks``, ``blocks``, ``cparams``, ``meta``, ``contiguous``,
    ``checksums`` (kept of each chunk, for ``verify``), ``durability``,
    ``locking``, ``lock_timeout``, ``memory`` and ``strict``.
    """
    return NDArray._of(create_array(shape, dtype, **options).open())


def full(shape: Any, fill_value: Any, dtype: Any = None, **options: Any) -> NDArray:
    """A new array of one value; otherwise as ``zeros``."""
    return asarray(np.full(shape, fill_value, dtype), **options)


def asarray(array: Any, **options: Any) -> NDArray:
    """A new array with the items of another; otherwise as ``zeros``.

    It appears with all of them, unless they are more than an eighth of
    ``memory``: then they are written one part after the other.
    """
    items = np.asarray(array)
    if fits(items, options.get("memory", DEFAULT_MEMORY)):
        return NDArray._of(create_array(items.shape, items.dtype, np.ascontiguousarray(items).tobytes(), **options).open())
    made = zeros(items.shape, items.dtype, **options)
    try:
        made[...] = items
        return made
    except BaseException:
        made.close()
        raise


async def opening_store(
    kind: str, urlpath: Any, mode: str, *, threshold: int = 0, memory: int = DEFAULT_MEMORY, strict: bool = False,
    runtime: Runtime | None = None, **options: Any,
) -> Container:  # fmt: skip
    """The container of a store: opened, or made where there is none and the mode says so."""
    runtime = runtime or blocking_runtime(memory, strict)
    if urlpath is not None and mode in ("r", "a"):
        local = c.local_path(urlpath)
        if mode == "r" or (local is not None and os.path.exists(local)):
            names: dict[str, Any] = {"durability": "close", "locking": None, "lock_timeout": None, "repair": False}
            core = find_container(runtime, urlpath, "", mode, **{k: options.get(k, v) for k, v in names.items()})
            if core is None:
                raise NotFoundError(f"blosc2: {urlpath}: no container", item=str(urlpath))
            await core.opening()
            if core.kind != kind:
                await core.closing()
                raise InvalidError(f"blosc2: {urlpath}: it is a {core.kind}", item=str(urlpath))
            return core
    options.pop("repair", None)
    spec = {"kind": kind, "threshold": threshold}
    return await _create(spec, b"", urlpath=urlpath, mode="x" if mode == "a" else mode, runtime=runtime, **options).opening()
