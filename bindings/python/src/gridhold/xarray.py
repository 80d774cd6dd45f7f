"""Zarr as datasets of xarray: ``xarray.open_dataset(source, engine="gridhold")``.

Found by xarray through the package's entry point. Variables are read when they are used, only what is used of them,
and through one cache of shard indexes each.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable
from typing import Any

import numpy as np
import xarray
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.core import indexing

import gridhold

from ._lazy import Lazy, lazy, recipe

__all__ = ["GridholdBackend"]

_DIMENSIONS = "_ARRAY_DIMENSIONS"  # where version 2 of Zarr has the names of axes


class GridholdBackend(BackendEntrypoint):
    """``engine="gridhold"``: groups of Zarr, versions 2 and 3, and single arrays; wherever ``gridhold.open`` reads."""

    description = "Zarr, from a shared cache of shard indexes"
    url = "https://github.com/gridhold/gridhold"
    open_dataset_parameters = (
        "filename_or_obj", "mask_and_scale", "decode_times", "concat_characters", "decode_coords", "drop_variables",
        "use_cftime", "decode_timedelta", "group", "consolidated", "memory", "strict",
    )  # fmt: skip

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Never: it is asked for by name, and leaves what it could open to the engine that xarray had."""
        return False

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: bool = True,
        decode_times: Any = True,
        concat_characters: bool = True,
        decode_coords: Any = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: Any = None,
        decode_timedelta: Any = None,
        group: str = "",
        consolidated: bool = False,
        memory: int | None = None,
        strict: bool | None = None,
    ) -> xarray.Dataset:
        """The arrays of the group at ``group``, or the one array there. ``consolidated`` takes them from the group's
        consolidated metadata, which a store needs that cannot list. Raises what ``gridhold.open`` raises.
        """
        if isinstance(drop_variables, str):
            drop_variables = [drop_variables]
        dropped = set(drop_variables or ())
        how = {"consolidated": consolidated or None, "memory": memory, "strict": strict}
        where = recipe("any", filename_or_obj, group.strip("/"), **how)
        with where.open() as node:
            if isinstance(node, gridhold.Group):
                attrs = node.attrs
                paths = {p.rpartition("/")[2]: p for p in _arrays_in(node)}
            elif isinstance(node, gridhold.Array):
                attrs, paths = {}, {node.path.rpartition("/")[2] or "data": node.path}
            else:
                raise gridhold.InvalidError(f"xarray: {filename_or_obj}: a {type(node).__name__} is no group of Zarr")
        variables = {name: _variable(name, where._replace(path=p)) for name, p in paths.items() if name not in dropped}
        decoded, attrs, coordinates = xarray.conventions.decode_cf_variables(
            variables, attrs, mask_and_scale=mask_and_scale, decode_times=decode_times, concat_characters=concat_characters,
            decode_coords=decode_coords, use_cftime=use_cftime, decode_timedelta=decode_timedelta,
        )  # fmt: skip
        coordinates = coordinates.intersection(decoded) | {name for name, v in decoded.items() if v.dims == (name,)}
        data = {name: v for name, v in decoded.items() if name not in coordinates}
        dataset = xarray.Dataset(data, coords={name: decoded[name] for name in coordinates}, attrs=attrs)
        dataset.encoding["source"] = os.fspath(filename_or_obj) if isinstance(filename_or_obj, (str, os.PathLike)) else None
        return dataset


def _arrays_in(group: gridhold.Group) -> list[str]:
    """The paths of the arrays right below a group."""
    depth = group.path.count("/") + bool(group.path)
    return [n["path"] for n in group.list_nodes() if n["kind"] == "array" and n["path"].count("/") == depth]


def _variable(name: str, where: Any) -> xarray.Variable:
    """One array, not read yet, with what the conventions need to know of it."""
    array = where.open()
    info, attrs = array.info, array.attrs
    named = info.get("dimension_names") or attrs.pop(_DIMENSIONS, None) or [None] * array.ndim
    dims = tuple(n if n is not None else f"{name}_dim_{i}" for i, n in enumerate(named))
    if info["zarr_format"] == 2 and info["fill_value"] is not None and "_FillValue" not in attrs:
        attrs["_FillValue"] = _fill_of(array)
    elif "_FillValue" in attrs:
        attrs["_FillValue"] = _decoded_fill(attrs["_FillValue"], array.dtype)
    lazily = lazy(where, array)
    variable = xarray.Variable(dims, indexing.LazilyIndexedArray(_Reads(lazily)), attrs, fastpath=True)
    variable.encoding = {"dtype": array.dtype, "preferred_chunks": dict(zip(dims, lazily.chunks))}
    if array.chunk_shape is not None:
        variable.encoding["chunks"] = array.subchunk_shape or array.chunk_shape
        variable.encoding["shards"] = array.chunk_shape if array.is_sharded else None
    return variable


def _fill_of(array: gridhold.Array) -> Any:
    """The fill value, which version 2 lets stand for what is missing."""
    fill = array._node.element.fill
    return fill.item() if hasattr(fill, "item") else fill


def _decoded_fill(value: Any, dtype: np.dtype[Any]) -> Any:
    """``_FillValue`` as xarray writes it for version 3: floats and bytes in base64."""
    if isinstance(value, str) and dtype.kind in "fS":
        raw = base64.standard_b64decode(value)
        return raw if dtype.kind == "S" else dtype.type(np.frombuffer(raw, "<f8")[0])
    if isinstance(value, list) and dtype.kind == "c":
        real, imaginary = (np.frombuffer(base64.standard_b64decode(part), "<f8")[0] for part in value)
        return dtype.type(complex(real, imaginary))
    return value


class _Reads(BackendArray):
    """Reads what xarray asks of one array."""

    def __init__(self, named: Lazy) -> None:
        self.named = named
        self.shape = named.shape
        self.dtype = named.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._outer)

    def _outer(self, key: tuple[Any, ...]) -> Any:
        """Each axis by itself: by an integer, a slice or an array of integers."""
        if not any(isinstance(k, np.ndarray) for k in key):
            return self.named[key]
        wanted = tuple(slice(k, k + 1) if isinstance(k, (int, np.integer)) else k for k in key)
        drop = tuple(0 if isinstance(k, (int, np.integer)) else slice(None) for k in key)
        return self.named.opened().retrieve_region(wanted)[drop]
