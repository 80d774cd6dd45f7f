"""Shard indexes, kept: bounded by bytes, loaded once however many ask."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from . import _fork
from ._abi import Table
from ._cost import Tally
from ._runtime import Flight, Runtime

DEFAULT_BUDGET = 256 << 20

Shard = tuple[int, ...]
Load = Callable[[Shard, bool], Coroutine[Any, Any, Table]]


class Tables:
    """Tables of one array's shards, least recently used leave first.

    A load that failed or was cancelled is not kept; whoever waited for it
    tries in turn. No lock is held while loading.
    """

    def __init__(self, runtime: Runtime, budget: int, remember_missing: bool, tally: Tally | None = None) -> None:
        self._runtime = runtime
        self._tally = tally
        self._budget = budget or DEFAULT_BUDGET
        self._remember_missing = remember_missing
        self._kept: OrderedDict[Shard, Table] = OrderedDict()
        self._flights: dict[Shard, Flight[Table]] = {}
        self._bytes = self._hits = self._misses = self._loads = 0
        self._lock = threading.Lock()
        _fork.register(self)

    def _restart(self) -> None:
        self._lock = threading.Lock()
        self._flights.clear()

    def peek(self, shard: Shard) -> Table | None:
        """The table, if it is here."""
        with self._lock:
            table = self._kept.get(shard)
            if table is None:
                self._misses += 1
            else:
                self._hits += 1
                self._kept.move_to_end(shard)
            return table

    def known(self, shard: Shard) -> Table | None:
        """The table, if it is here; if not, somebody else counts that.

        It takes no lock. Two threads that once met at one would from then on wait for each other at every read: each
        wakes up with the lock, and without the interpreter, which the other one holds until he wants the lock.
        """
        table = self._kept.get(shard)
        if table is not None:
            try:
                self._kept.move_to_end(shard)
            except KeyError:  # dropped since
                pass
            self._hits += 1  # nothing comes between its reading and its writing: no call, no jump
        return table

    def all_known(self, shards: Sequence[Shard]) -> list[Table] | None:
        """As ``known``, of several: all, or None if one is not here or missing, which then counts nothing."""
        kept, count = self._kept, len(shards)
        tables = [table for shard in shards if (table := kept.get(shard)) is not None and not table.missing]
        if len(tables) < count:
            return None
        for shard in shards:
            try:
                kept.move_to_end(shard)
            except KeyError:  # dropped since
                pass
        self._hits += count
        return tables

    async def get(self, shard: Shard, load: Load, stale: Table | None) -> Table:
        """The table, loaded if need be, and again if all there is is ``stale``."""
        while True:
            own = self._flight(shard, load, stale is not None)
            try:
                with self._lock:
                    table = self._kept.get(shard)
                    if table is not None and table is not stale:
                        return table
                    flight = self._flights.get(shard)
                    if flight is None or flight.over:
                        flight = self._flights[shard] = own
                if flight is own:
                    flight.start()
                    return await flight
                began = Tally.now()
                try:
                    return await flight
                finally:
                    if self._tally is not None:
                        self._tally.waited(began)
            except Exception:
                if flight is own:
                    raise
            finally:
                own.leave()

    def _flight(self, shard: Shard, load: Load, reload: bool) -> Flight[Table]:
        """A load that nobody knows of yet."""

        async def loaded() -> Table:
            try:
                table = await load(shard, reload)
                self._keep(shard, table, flight)
                return table
            finally:
                with self._lock:
                    if self._flights.get(shard) is flight:
                        del self._flights[shard]

        flight = self._runtime.flight(loaded)
        return flight

    def _keep(self, shard: Shard, table: Table, flight: Flight[Table]) -> None:
        with self._lock:
            self._loads += 1
            if self._flights.get(shard) is not flight:  # cleared meanwhile
                return
            self._drop(shard)
            if table.nbytes > self._budget or (table.missing and not self._remember_missing):
                return
            self._kept[shard] = table
            self._bytes += table.nbytes
            while self._bytes > self._budget:
                self._drop(next(iter(self._kept)))

    def _drop(self, shard: Shard) -> None:
        table = self._kept.pop(shard, None)
        if table is not None:
            self._bytes -= table.nbytes

    def __len__(self) -> int:
        return len(self._kept)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._flights.clear()
            self._bytes = 0

    def invalidate(self, shard: Shard) -> None:
        with self._lock:
            self._drop(shard)
            self._flights.pop(shard, None)

    def stats(self) -> dict[str, int]:
        with self._lock:
            return {
                "hits": self._hits,
                "misses": self._misses,
                "loads": self._loads,
                "entries": len(self._kept),
                "bytes": self._bytes,
                "budget": self._budget,
            }
