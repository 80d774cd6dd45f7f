"""Making containers, by the names of python-blosc2."""

from __future__ import annotations

import itertools
import operator
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _container as c
from . import _msgpack
from ._container import Container
from ._errors import InvalidError, NotFoundError, UnsupportedError
from ._frames import NDArray, _bytes_of
from ._runtime import DEFAULT_MEMORY, Runtime
from ._threads import blocking_runtime

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


def open_container(source: Any, path: str, mode: str, memory: int, strict: bool, **options: Any) -> Container | None:
    """Opens what a source names, if that is a container; ``path`` is a key of it then."""
    if mode not in ("r", "a"):
        raise InvalidError(f"mode: {mode!r}: 'r' or 'a' opens what is there")
    runtime = blocking_runtime(memory, strict)
    local = c.local_path(source)
    if local is not None:
        if not c.is_container(local):
            return None
        directory, name = c.split(local)
        system = runtime.lend_files(directory)
        recipe = {"fs": system.id, "name": name, "write": mode == "a", **how(**options)}
        core = Container(runtime, recipe, system=system)
        return core.leaf("/" + path.strip("/")) if path.strip("/") else core
    remote = c.remote_name(source, path)
    if remote is None:
        return None
    if mode != "r":
        raise UnsupportedError("mode: 'a': objects of a store are only read")
    return _open_object(runtime, *remote)


def _open_object(runtime: Runtime, store: Any, name: str) -> Container:
    from ._place import Place

    place = Place(store, "")
    place.lend(runtime)
    return Container(runtime, {"store": place.spec(), "name": name}, lent=place.lent)


def _create(
    spec: dict[str, Any],
    data: bytes,
    *,
    urlpath: Any = None,
    mode: str = "x",
    contiguous: bool = True,
    meta: Mapping[str, Any] | None = None,
    cparams: Mapping[str, Any] | None = None,
    memory: int = DEFAULT_MEMORY,
    strict: bool = False,
    durability: str = "close",
    locking: bool | str | None = None,
    lock_timeout: float | None = None,
) -> Container:
    """Makes a container; without ``urlpath`` it lies in the guest's memory, and goes with it."""
    if mode not in _MODES:
        raise InvalidError(f"mode: {mode!r}: 'a', 'w' or 'x' makes a container")
    runtime = blocking_runtime(memory, strict)
    options = how(durability, locking if urlpath is not None else False, lock_timeout)
    system, number, name = None, 0, f"{spec['kind']}{next(_serial)}"
    if urlpath is not None:
        local = c.local_path(urlpath)
        if local is None:
            raise UnsupportedError(f"urlpath: {urlpath}: containers are made in directories of this machine")
        directory, name = c.split(local)
        system = runtime.lend_files(directory)
        number = system.id
    layers = [{"name": k, "hex": _msgpack.encode(v).hex()} for k, v in (meta or {}).items()]
    recipe = {"fs": number, "name": name, **options}
    request = {**spec, **_packing(cparams), **recipe, **_MODES[mode], "sparse": not contiguous, "meta": layers}
    return Container(runtime, {**recipe, "write": True}, system=system, made=c.create_request(request, data))


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
    """The container of a new SChunk."""
    raw = b"" if data is None else _bytes_of(data)
    item = (options.get("cparams") or {}).get("typesize") or getattr(getattr(data, "dtype", None), "itemsize", 1)
    if chunksize is None and raw:
        chunksize = max(len(raw) // item * item, item)
    options["cparams"] = {**(options.get("cparams") or {}), "typesize": item}
    return _create({"kind": "schunk", "chunksize": chunksize or 0}, raw, **options)


def _text(dtype: np.dtype[Any]) -> str:
    if dtype.hasobject:
        raise UnsupportedError("dtype: objects do not go into a container")
    return str(dtype.descr) if dtype.names else dtype.str


def _array(shape: Any, dtype: Any, data: bytes, chunks: Any, blocks: Any, **options: Any) -> NDArray:
    shape = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    spec: dict[str, Any] = {"kind": "ndarray", "shape": [operator.index(n) for n in shape], "dtype": _text(np.dtype(dtype))}
    for name, value in (("chunks", chunks), ("blocks", blocks)):
        if value is not None:
            spec[name] = [operator.index(n) for n in ((value,) if hasattr(value, "__index__") else value)]
    return NDArray._of(_create(spec, data, **options))


def zeros(shape: Any, dtype: Any = np.float64, *, chunks: Sequence[int] | None = None, blocks: Sequence[int] | None = None, **options: Any) -> NDArray:
    """A new array of zeros, of which nothing is stored.

    ``urlpath`` is where: None is the core's memory. ``mode`` is "x" (there
    must be nothing), "w" (what is there is replaced) or "a" (what is there is
    opened). Also ``cparams``, ``meta``, ``contiguous``, ``durability``,
    ``locking``, ``lock_timeout``, ``memory`` and ``strict``.
    """
    return _array(shape, dtype, b"", chunks, blocks, **options)


def full(shape: Any, fill_value: Any, dtype: Any = None, **options: Any) -> NDArray:
    """A new array of one value; otherwise as ``zeros``."""
    return asarray(np.full(shape, fill_value, dtype), **options)


def asarray(array: Any, *, chunks: Sequence[int] | None = None, blocks: Sequence[int] | None = None, **options: Any) -> NDArray:
    """A new array with the items of another; otherwise as ``zeros``.

    It appears with all of them, unless they are more than a quarter of
    ``memory``: then they are written one part after the other.
    """
    items = np.asarray(array)
    if items.nbytes <= options.get("memory", DEFAULT_MEMORY) // 8:
        return _array(items.shape, items.dtype, np.ascontiguousarray(items).tobytes(), chunks, blocks, **options)
    made = _array(items.shape, items.dtype, b"", chunks, blocks, **options)
    try:
        made[...] = items
        return made
    except BaseException:
        made.close()
        raise


def open_or_create_store(kind: str, urlpath: Any, mode: str, *, threshold: int = 0, **options: Any) -> Container:
    """The container of a store: opened, or made where there is none and the mode says so."""
    if urlpath is not None and mode in ("r", "a"):
        local = c.local_path(urlpath)
        if mode == "r" or (local is not None and os.path.exists(local)):
            names = {"durability": "close", "locking": None, "lock_timeout": None}
            memory, strict = options.get("memory", DEFAULT_MEMORY), options.get("strict", False)
            core = open_container(urlpath, "", mode, memory, strict, **{k: options.get(k, v) for k, v in names.items()})
            if core is None:
                raise NotFoundError(f"blosc2: {urlpath}: no container", item=str(urlpath))
            if core.kind != kind:
                core.close()
                raise InvalidError(f"blosc2: {urlpath}: it is a {core.kind}", item=str(urlpath))
            return core
    return _create({"kind": kind, "threshold": threshold}, b"", urlpath=urlpath, mode="x" if mode == "a" else mode, **options)
