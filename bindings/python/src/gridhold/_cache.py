"""A cache of shard indexes, whoever calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from . import _abi
from ._guest import Guest
from ._handle import Handle
from ._tables import Tables

if TYPE_CHECKING:
    from ._core import ArrayCore


class CacheCore:
    """A cache of one array's shard indexes: tables here, or the guest's own where only the guest can read."""

    def __init__(self, array: ArrayCore, budget: int, remember_missing: bool) -> None:
        self.array = array
        self.budget = budget
        self.tables: Tables | None = None
        self.handle: Handle | None = None
        if array.host is not None:
            self.tables = Tables(array.runtime, budget, remember_missing, array.tally)
            return
        flags = _abi.FLAG_REMEMBER_MISSING if remember_missing else 0

        async def build(guest: Guest) -> bytes:
            return _abi.cache_request(await array.handle.on(guest), flags, budget)

        self.handle = Handle(array.runtime, _abi.CACHE_NEW, build)

    async def stats(self) -> dict[str, int]:
        if self.tables is not None:
            return self.tables.stats()
        stats: dict[str, int] = json.loads(await self._ask(_abi.CACHE_STATS, _abi.handle_request))
        stats.pop("cost", None)  # of the array
        return stats

    async def clear(self) -> None:
        if self.tables is not None:
            self.tables.clear()
        else:
            await self._ask(_abi.CACHE_CLEAR, _abi.handle_request)

    async def invalidate(self, indices: Iterable[Any]) -> None:
        shard = self.array.index(indices, tuple(self.array.info["chunk_grid_shape"]), "shard")
        if self.tables is not None:
            self.tables.invalidate(shard)
        else:
            await self._ask(_abi.CACHE_INVALIDATE, lambda cache: _abi.invalidate_request(cache, shard))

    async def _ask(self, kind: int, request: Callable[[int], bytes]) -> bytes:
        self.array.check_open()
        handle = self.handle
        assert handle is not None

        async def build(guest: Guest) -> bytes:
            return request(await handle.on(guest))

        return (await self.array.runtime.call(kind, build)).data
