"""The same as ``gridhold``, for asyncio: many reads in flight in one event loop.

    import gridhold.aio

    async with await gridhold.aio.open_array("data.zarr") as array:
        cache = array.shard_cache()
        block = await array.retrieve_subchunk((3, 7), shard_cache=cache)

Containers too, whose writes are coroutines with names (``await array.set(0, 7)``, ``await store.set(key, array)``):

    async with await gridhold.aio.open("data.b2nd", mode="a", locking=True) as array:
        async with array.holding_lock():
            await array.set(0, await array[0] + 1)

What was opened in one event loop is used in that loop alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._abi import Places
from ._array import IndexPack, Indices, Selector, Source, cache_core, check_memory, opening
from ._cache import CacheCore
from ._core import ArrayCore, open_node
from ._creating import opening_container
from ._described import DescribedArray, DescribedGroup
from ._errors import InvalidError
from ._loop import loop_runtime
from ._node import Opening
from ._node import list_nodes as list_nodes_in
from ._place import Place
from ._runtime import DEFAULT_MEMORY
from ._select import basic_of
from ._tasks import AsyncKeyStore, AsyncNDArray, AsyncSChunk, asarray, full, open_store, opened, zeros
from ._types import NDArray

__all__ = [
    "AsyncArray",
    "AsyncGroup",
    "AsyncKeyStore",
    "AsyncNDArray",
    "AsyncSChunk",
    "AsyncShardCache",
    "asarray",
    "full",
    "list_nodes",
    "open",
    "open_array",
    "open_store",
    "zeros",
]


class AsyncShardCache:
    """As ``gridhold.ShardCache``, in coroutines."""

    def __init__(self, core: CacheCore) -> None:
        self._core = core

    async def size(self) -> int:
        """How many shards it knows."""
        return (await self.stats())["entries"]

    async def is_empty(self) -> bool:
        return await self.size() == 0

    async def clear(self) -> None:
        """Forgets all; a load under way is not kept either."""
        await self._core.clear()

    async def invalidate(self, shard: Sequence[int]) -> None:
        """Forgets one shard, named by its indices in the chunk grid. Raises OutOfRangeError."""
        await self._core.invalidate(shard)

    async def stats(self) -> dict[str, int]:
        """``hits``, ``misses``, ``loads``, ``entries``, ``bytes`` and ``budget``."""
        return await self._core.stats()

    def __repr__(self) -> str:
        return f"<gridhold AsyncShardCache of {self._core.array.path or '/'}>"


class AsyncArray(DescribedArray):
    """As ``gridhold.Array``, in coroutines. A read that is cancelled leaves nothing behind."""

    _own_cache: CacheCore | None = None

    def shard_cache(self, *, budget: int = 0, remember_missing: bool = False) -> AsyncShardCache:
        """See ``gridhold.Array.shard_cache``."""
        return AsyncShardCache(cache_core(self._node, budget, remember_missing))

    async def retrieve_subchunk(self, indices: Sequence[int], *, shard_cache: AsyncShardCache | None = None) -> NDArray:
        """See ``gridhold.Array.retrieve_subchunk``."""
        return await self._node.retrieve_subchunk(indices, _core_of(shard_cache))

    async def retrieve_encoded_subchunk(
        self, indices: Sequence[int], *, shard_cache: AsyncShardCache | None = None
    ) -> bytes | None:
        """See ``gridhold.Array.retrieve_encoded_subchunk``."""
        return await self._node.retrieve_encoded_subchunk(indices, _core_of(shard_cache))

    async def retrieve_subchunks(self, indices: Indices, *, shard_cache: AsyncShardCache | None = None) -> list[NDArray]:
        """See ``gridhold.Array.retrieve_subchunks``."""
        return await self._node.retrieve_subchunks(indices, _core_of(shard_cache))

    async def retrieve_region(
        self,
        start: Sequence[int] | Sequence[Selector],
        stop: Sequence[int] | None = None,
        *,
        shard_cache: AsyncShardCache | None = None,
    ) -> NDArray:
        """See ``gridhold.Array.retrieve_region``."""
        return await self._node.retrieve_region(start, stop, _core_of(shard_cache))

    async def locate(self, indices: Indices, *, shard_cache: AsyncShardCache | None = None) -> Places:
        """See ``gridhold.Array.locate``."""
        return await self._node.locate(indices, _core_of(shard_cache))

    async def __getitem__(self, key: Any) -> Any:
        """``await array[...]``; see ``gridhold.Array.__getitem__``."""
        positions, drop = basic_of(key, self.shape)
        if self._own_cache is None:
            self._own_cache = cache_core(self._node, 0, False)
        return (await self._node.retrieve_positions(positions, self._own_cache))[drop]

    async def cost(self) -> dict[str, int]:
        """See ``gridhold.Array.cost``."""
        return await self._node.cost()

    async def close(self) -> None:
        self._node.close()

    async def __aenter__(self) -> AsyncArray:
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._node.close()


class AsyncGroup(DescribedGroup):
    """As ``gridhold.Group``, in coroutines."""

    async def list_nodes(self) -> list[dict[str, Any]]:
        """See ``gridhold.list_nodes``."""
        self._node.check_open()
        place = self._node.place
        return await list_nodes_in(self._node.runtime, Place(place.store, place.path), self._consolidated)

    async def close(self) -> None:
        self._node.close()

    async def __aenter__(self) -> AsyncGroup:
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._node.close()


def _core_of(cache: AsyncShardCache | None) -> CacheCore | None:
    if cache is None:
        return None
    if not isinstance(cache, AsyncShardCache):
        raise TypeError(f"shard_cache must be an AsyncShardCache, not {type(cache).__name__}")
    return cache._core


async def open(
    source: Source,
    path: str = "",
    *,
    mode: str = "r",
    memory: int = DEFAULT_MEMORY,
    strict: bool = False,
    consolidated: bool = False,
    durability: str = "close",
    locking: bool | str | None = None,
    lock_timeout: float | None = None,
    repair: bool = False,
    index_pack: IndexPack | None = None,
    trace: bool = False,
) -> Any:
    """See ``gridhold.open``. A container is an AsyncNDArray, AsyncSChunk or AsyncKeyStore."""
    runtime = loop_runtime(check_memory(memory), bool(strict))
    options: dict[str, Any] = {"durability": durability, "locking": locking, "lock_timeout": lock_timeout, "repair": repair}
    container = await opening_container(runtime, source, path, mode, **options)
    if container is not None:
        if index_pack is not None or trace:
            raise InvalidError("index_pack, trace: go with arrays of Zarr")
        return opened(container)
    if mode != "r":
        raise InvalidError(f"mode: {mode!r}: arrays of Zarr are only read here")
    return await _open(source, path, "any", memory, strict, opening(consolidated, index_pack, trace))


async def open_array(
    source: Source,
    path: str = "",
    *,
    memory: int = DEFAULT_MEMORY,
    strict: bool = False,
    consolidated: bool = False,
    index_pack: IndexPack | None = None,
    trace: bool = False,
) -> AsyncArray:
    """See ``gridhold.open_array``."""
    array = await _open(source, path, "array", memory, strict, opening(consolidated, index_pack, trace))
    assert isinstance(array, AsyncArray)
    return array


async def _open(source: Source, path: str, wanted: str, memory: int, strict: bool, how: Opening) -> AsyncArray | AsyncGroup:
    runtime = loop_runtime(check_memory(memory), bool(strict))
    node = await open_node(runtime, Place(source, path), wanted, how)
    return AsyncArray(node) if isinstance(node, ArrayCore) else AsyncGroup(node, how.consolidated)


async def list_nodes(
    source: Source, path: str = "", *, memory: int = DEFAULT_MEMORY, strict: bool = False, consolidated: bool = False
) -> list[dict[str, Any]]:
    """See ``gridhold.list_nodes``."""
    runtime = loop_runtime(check_memory(memory), bool(strict))
    return await list_nodes_in(runtime, Place(source, path), bool(consolidated))
