"""Zarr by the names of zarrista, so that a program moves by changing its imports.

    from gridhold.zarr import Array
    from gridhold.zarr.store import FilesystemStore

    array = Array.open(FilesystemStore("data.zarr"), path="/temperature")
    cache = array.shard_cache()
    for i in range(array.subchunk_grid_shape[0]):
        block = array.retrieve_subchunk([i, 0], shard_cache=cache).to_numpy()

docs/python-zarr.md says what is the same, what is stricter, and what is not there.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _abi, _array, aio
from .._array import ShardCache, Source
from .._core import ArrayCore, open_node
from .._described import DescribedArray, DescribedGroup
from .._errors import InvalidError, NotFoundError, OutOfRangeError, UnsupportedError
from .._guest import Guest
from .._loop import loop_runtime
from .._node import Node, Opening
from .._place import Place
from .._runtime import DEFAULT_MEMORY, Runtime, blocking
from .._threads import blocking_runtime
from ..aio import AsyncShardCache
from . import store

__all__ = ["Array", "AsyncArray", "AsyncGroup", "AsyncShardCache", "EncodedChunk", "Group", "ShardCache", "Tensor", "store"]

_OPTIONS = {"validate_checksums", "store_empty_chunks", "concurrent_target", "chunk_concurrent_minimum", "experimental_partial_encoding"}


class Tensor(np.ndarray[Any, np.dtype[Any]]):
    """What reads give: an array of numpy, the caller's, that also goes by ``to_numpy``."""

    def to_numpy(self) -> np.ndarray[Any, np.dtype[Any]]:
        """The same memory as a plain array."""
        return self.view(np.ndarray)


class EncodedChunk(bytes):
    """A subchunk as it is stored, to be decoded later, perhaps elsewhere."""

    shape: tuple[int, ...]
    """Of the decoded subchunk."""
    data_type: np.dtype[Any]
    codecs: list[dict[str, Any]]
    """As the metadata has them."""
    _node: ArrayCore

    @property
    def buffer(self) -> bytes:
        """The bytes themselves."""
        return bytes(self)

    def decode(self, **codec_options: Any) -> Tensor:  # type: ignore[override]
        """The subchunk. Raises CorruptError; of an AsyncArray use ``decode_async``."""
        _check(codec_options)
        if not self._node.runtime.may_block:
            raise InvalidError("encoded chunk: of an AsyncArray: await decode_async()")
        return blocking(self._decoded())

    async def decode_async(self, pool: object = None, **codec_options: Any) -> Tensor:
        """As ``decode``. ``pool`` is heeded by nobody: the core has threads of its own."""
        _check(codec_options)
        return await self._decoded()

    async def _decoded(self) -> Tensor:
        node = self._node
        if node.host is not None:
            return (await node.host.decode(bytes(self))).view(Tensor)

        async def build(guest: Guest) -> bytes:
            return struct.pack("<I", await node.handle.on(guest)) + self

        return node.element.array((await node.runtime.call(_abi.DECODE, build)).data, self.shape).view(Tensor)


def _encoded(raw: bytes | None, node: ArrayCore, index: Sequence[int]) -> EncodedChunk | None:
    if raw is None:
        return None
    if node.info["is_sharded"] and not node.info["exclusively_sharded"]:
        raise UnsupportedError("zarr: the array is not exclusively sharded, so no range of a shard is a subchunk")
    chunk = EncodedChunk(raw)
    chunk.shape, chunk.data_type, chunk._node = node.subchunk_at(tuple(index)), node.element.dtype, node
    chunk.codecs = node.info.get("subchunk_codecs") or node.info["codecs"]
    return chunk


def _check(codec_options: dict[str, Any]) -> None:
    """What tunes the other library is taken and not needed; checksums are always looked at."""
    for name in codec_options:
        if name not in _OPTIONS:
            raise TypeError(f'unexpected keyword argument "{name}"')


def _kept(selection: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """A selection in which an integer is the slice of that one element, so that it keeps its axis."""
    parts = selection if isinstance(selection, tuple) else (selection,)
    if any(p is Ellipsis for p in parts):
        at = next(i for i, p in enumerate(parts) if p is Ellipsis)
        fill = len(shape) - len(parts) + 1
        parts = (*parts[:at], *[slice(None)] * fill, *parts[at + 1 :])
    out: list[Any] = []
    for axis, p in enumerate(parts):
        if isinstance(p, slice) or not hasattr(p, "__index__") or axis >= len(shape):
            out.append(p)
            continue
        i, n = operator.index(p), shape[axis]
        if not -n <= i < n:
            raise OutOfRangeError(f"zarr: index {i}: outside an axis of {n}")
        out.append(slice(i % n, i % n + 1))
    return tuple(out)


class _ByChunks(DescribedArray):
    """What zarrista says of chunks, without reading."""

    @property
    def dimension_names(self) -> list[str | None] | None:
        return self._node.info.get("dimension_names")

    @property
    def fill_value(self) -> Any:
        """An element of ``dtype``."""
        return self._node.element.fill

    @property
    def codecs(self) -> list[dict[str, Any]]:
        """As the metadata has them."""
        return list(self.info["codecs"])

    @property
    def storage(self) -> Any:
        """The store that it lies in."""
        return self._node.place.store

    def subset_all(self) -> tuple[slice, ...]:
        """What selects everything."""
        return tuple(slice(0, n) for n in self.shape)

    def chunk_origin(self, chunk_indices: Sequence[int], /) -> tuple[int, ...]:
        """The first element of a chunk. Raises OutOfRangeError, UnsupportedError where chunks differ."""
        shape = self.chunk_shape
        if shape is None:
            raise UnsupportedError('zarr: chunks differ: info["chunk_edges"] has their lengths')
        index = self._node.index(chunk_indices, self.chunk_grid_shape, "chunk")
        return tuple(i * n for i, n in zip(index, shape))

    def chunk_subset(self, chunk_indices: Sequence[int], /) -> tuple[slice, ...]:
        """What selects a chunk, cut at the array's edge."""
        origin = self.chunk_origin(chunk_indices)
        assert self.chunk_shape is not None
        return tuple(slice(o, min(o + n, size)) for o, n, size in zip(origin, self.chunk_shape, self.shape))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(path='/{self.path}', shape={self.shape}, dtype='{self.dtype}')"


async def _node(runtime: Runtime, source: Source, path: str, wanted: str) -> Node:
    return await open_node(runtime, Place(source, path), wanted, Opening())


class Array(_ByChunks, _array.Array):
    """As zarrista's ``Array``, and all of ``gridhold.Array``."""

    @classmethod
    def open(cls, store: Source, path: str = "/") -> Array:
        """Opens an array. Raises NotFoundError, InvalidError where there is a group."""
        node = blocking(_node(blocking_runtime(DEFAULT_MEMORY, False), store, path, "array"))
        assert isinstance(node, ArrayCore)
        return cls(node)

    def retrieve_subchunk(
        self, indices: Sequence[int], *, shard_cache: ShardCache | None = None, **codec_options: Any
    ) -> Tensor:
        """See ``gridhold.Array.retrieve_subchunk``."""
        _check(codec_options)
        return super().retrieve_subchunk(indices, shard_cache=shard_cache).view(Tensor)

    def retrieve_encoded_subchunk(
        self, indices: Sequence[int], *, shard_cache: ShardCache | None = None
    ) -> EncodedChunk | None:
        """The bytes of one subchunk as they are stored, or None where there are none."""
        raw = super().retrieve_encoded_subchunk(indices, shard_cache=shard_cache)
        return _encoded(raw, self._node, indices)

    def retrieve_array_subset(self, selection: Any, /, **codec_options: Any) -> Tensor:
        """What integers, slices and an ellipsis select; an integer keeps its axis."""
        _check(codec_options)
        return _array.Array.__getitem__(self, _kept(selection, self.shape)).view(Tensor)  # type: ignore[no-any-return]

    def retrieve_chunk(self, chunk_indices: Sequence[int], /, **codec_options: Any) -> Tensor:
        """A chunk, or a shard, at its full shape; fill values past the array's edge."""
        subset = self.chunk_subset(chunk_indices)
        shape = self.chunk_shape
        assert shape is not None
        out = np.full(shape, self.fill_value, self.dtype)
        out[tuple(slice(0, s.stop - s.start) for s in subset)] = self.retrieve_array_subset(subset, **codec_options)
        return out.view(Tensor)

    def __getitem__(self, selection: Any) -> Tensor:
        """See ``retrieve_array_subset``."""
        return self.retrieve_array_subset(selection)


class AsyncArray(_ByChunks, aio.AsyncArray):
    """As zarrista's ``AsyncArray``, and all of ``gridhold.aio.AsyncArray``."""

    @classmethod
    async def open(cls, store: Source, path: str = "/") -> AsyncArray:
        """See ``Array.open``."""
        node = await _node(loop_runtime(DEFAULT_MEMORY, False), store, path, "array")
        assert isinstance(node, ArrayCore)
        return cls(node)

    async def retrieve_subchunk(
        self, indices: Sequence[int], *, shard_cache: AsyncShardCache | None = None, **codec_options: Any
    ) -> Tensor:
        """See ``Array.retrieve_subchunk``."""
        _check(codec_options)
        return (await super().retrieve_subchunk(indices, shard_cache=shard_cache)).view(Tensor)

    async def retrieve_encoded_subchunk(
        self, indices: Sequence[int], *, shard_cache: AsyncShardCache | None = None
    ) -> EncodedChunk | None:
        """See ``Array.retrieve_encoded_subchunk``."""
        raw = await super().retrieve_encoded_subchunk(indices, shard_cache=shard_cache)
        return _encoded(raw, self._node, indices)

    async def retrieve_array_subset(self, selection: Any, /, **codec_options: Any) -> Tensor:
        """See ``Array.retrieve_array_subset``."""
        _check(codec_options)
        return (await aio.AsyncArray.__getitem__(self, _kept(selection, self.shape))).view(Tensor)  # type: ignore[no-any-return]

    async def __getitem__(self, selection: Any) -> Tensor:
        """``await array[...]``; see ``retrieve_array_subset``."""
        return await self.retrieve_array_subset(selection)


def _below(group: DescribedGroup, nodes: list[dict[str, Any]], kind: str = "", deep: bool = False) -> list[str]:
    """Paths of nodes below a group; only those right below it, unless ``deep``."""
    inside = f"{group.path}/" if group.path else ""
    paths = [n["path"] for n in nodes if not kind or n["kind"] == kind]
    return [p for p in paths if deep or "/" not in p.removeprefix(inside)]


def _child(group: DescribedGroup, name: str) -> str:
    if not isinstance(name, str) or not name or "/" in name:
        raise KeyError(name)
    return f"{group.path}/{name}"


class Group(_array.Group):
    """As zarrista's ``Group``, and all of ``gridhold.Group``."""

    @classmethod
    def open(cls, store: Source, path: str = "/") -> Group:
        """Opens a group. Raises NotFoundError, InvalidError where there is an array."""
        return cls(blocking(_node(blocking_runtime(DEFAULT_MEMORY, False), store, path, "group")), False)

    def _paths(self, kind: str = "", deep: bool = False) -> list[str]:
        return _below(self, self.list_nodes(), kind, deep)

    def _opened(self, path: str) -> Array | Group:
        node = blocking(_node(self._node.runtime, self._node.place.store, path, "any"))
        return Array(node) if isinstance(node, ArrayCore) else Group(node, False)

    def array_keys(self) -> list[str]:
        """Names of the arrays right below it."""
        return [p.rpartition("/")[2] for p in self._paths("array")]

    def group_keys(self) -> list[str]:
        """Names of the groups right below it."""
        return [p.rpartition("/")[2] for p in self._paths("group")]

    def child_paths(self) -> list[str]:
        """Paths of all that is right below it, from the root."""
        return ["/" + p for p in self._paths()]

    def child_array_paths(self) -> list[str]:
        return ["/" + p for p in self._paths("array")]

    def child_group_paths(self) -> list[str]:
        return ["/" + p for p in self._paths("group")]

    def child_arrays(self) -> list[Array]:
        """The arrays right below it, open."""
        return [a for p in self._paths("array") if isinstance(a := self._opened(p), Array)]

    def child_groups(self) -> list[Group]:
        """The groups right below it, open."""
        return [g for p in self._paths("group") if isinstance(g := self._opened(p), Group)]

    def traverse(self) -> list[Array | Group]:
        """All nodes below it, open, in the order of their paths."""
        return [self._opened(p) for p in self._paths(deep=True)]

    def child(self, name: str, /) -> Array | Group:
        """What is right below it under a name. Raises KeyError."""
        try:
            return self._opened(_child(self, name))
        except NotFoundError as e:
            raise KeyError(name) from e

    def __getitem__(self, name: str, /) -> Array | Group:
        return self.child(name)

    def __repr__(self) -> str:
        return f"Group(path='/{self.path}')"


class AsyncGroup(aio.AsyncGroup):
    """As zarrista's ``AsyncGroup``, and all of ``gridhold.aio.AsyncGroup``."""

    @classmethod
    async def open(cls, store: Source, path: str = "/") -> AsyncGroup:
        """See ``Group.open``."""
        return cls(await _node(loop_runtime(DEFAULT_MEMORY, False), store, path, "group"), False)

    async def _paths(self, kind: str = "", deep: bool = False) -> list[str]:
        return _below(self, await self.list_nodes(), kind, deep)

    async def _opened(self, path: str) -> AsyncArray | AsyncGroup:
        node = await _node(self._node.runtime, self._node.place.store, path, "any")
        return AsyncArray(node) if isinstance(node, ArrayCore) else AsyncGroup(node, False)

    async def array_keys(self) -> list[str]:
        """Names of the arrays right below it."""
        return [p.rpartition("/")[2] for p in await self._paths("array")]

    async def group_keys(self) -> list[str]:
        """Names of the groups right below it."""
        return [p.rpartition("/")[2] for p in await self._paths("group")]

    async def child_paths(self) -> list[str]:
        """Paths of all that is right below it, from the root."""
        return ["/" + p for p in await self._paths()]

    async def traverse(self) -> list[AsyncArray | AsyncGroup]:
        """All nodes below it, open, in the order of their paths."""
        return [await self._opened(p) for p in await self._paths(deep=True)]

    async def child(self, name: str, /) -> AsyncArray | AsyncGroup:
        """What is right below it under a name. Raises KeyError."""
        try:
            return await self._opened(_child(self, name))
        except NotFoundError as e:
            raise KeyError(name) from e

    def __repr__(self) -> str:
        return f"AsyncGroup(path='/{self.path}')"
