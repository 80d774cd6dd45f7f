"""Warm reads without the guest: the table of a shard says where a subchunk lies, the store reads it, the chain decodes it."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from . import _abi
from ._abi import EMPTY, Table
from ._codecs import chain
from ._cost import Tally
from ._errors import CorruptError, InternalError, NotFoundError, StaleError
from ._guest import Guest
from ._handle import Handle
from ._lent import Lent
from ._runtime import Runtime
from ._tables import Shard, Tables
from ._types import Element, NDArray, Shape

_BATCH = 256  # ranges in one call of a store
_BATCH_BYTES = 64 << 20
_OFF_LOOP = 1 << 20  # decoded bytes; more is decoded where it holds up nobody
_TOGETHER = 16  # of them are decoded in one call, if there is one for the codec
_SHARE_EACH, _SHARE_ALL = 32 << 10, 1 << 20  # decoded bytes; what is less is not worth a second thread


class Host:
    """Reads the subchunks of one array whose shards a host can read by itself."""

    def __init__(self, runtime: Runtime, handle: Handle, lent: Lent, element: Element, info: dict[str, Any], tally: Tally | None = None) -> None:
        self._runtime = runtime
        self._tally = tally
        self._handle = handle
        self._lent = lent
        self._element = element
        self._subchunk: Shape = tuple(info["effective_subchunk_shape"])
        self.per_shard: Shape = tuple(info.get("chunks_per_shard") or ())
        self._nbytes = math.prod(self._subchunk) * element.size
        self.chain = chain(info["subchunk_codecs"], element, self._subchunk, strict=runtime.strict)
        self._grid: Shape = tuple(info["subchunk_grid_shape"])
        self._axes = tuple(zip(self._grid, self.per_shard))
        self.window = max(1, _BATCH_BYTES // max(1, self._nbytes))
        """How many subchunks are read before any is decoded."""
        self.batch = min(_BATCH, self.window)
        """How many of one shard are read at once."""

    def locate(self, index: Sequence[int]) -> tuple[Shard, int]:
        """The shard of a subchunk, and its place in the shard's table."""
        slot = 0
        shard = []
        for i, n in zip(index, self.per_shard):
            q, r = divmod(i, n)
            shard.append(q)
            slot = slot * n + r
        return tuple(shard), slot

    def warm(self, index: tuple[Any, ...], tables: Tables) -> NDArray | None:
        """One subchunk, if nothing has to be waited for or judged; else None."""
        slot = 0
        shard = []
        if len(index) != len(self._axes) or self._nbytes > _OFF_LOOP or self._lent.warm is None or self._tally is not None:
            return None
        for i, (count, n) in zip(index, self._axes):
            if type(i) is not int or not 0 <= i < count:
                return None
            shard.append(i // n)
            slot = slot * n + i % n
        table = tables.known(tuple(shard))
        if table is None or self.chain is None:
            return None
        n = table.entries[2 * slot + 1] if not table.missing else EMPTY
        if n == EMPTY:
            return None
        data = self._lent.warm(table.key, ((table.entries[2 * slot], n),), table.version)
        return self.chain.decode(data[0]) if data is not None and len(data[0]) == n else None

    def warm_many(self, points: NDArray, tables: Tables) -> list[NDArray] | None:
        """Several small ones, one a row of ``points``, as ``warm``: all of them or none.

        On the way numpy is called for one number of each at a time: for more than 500 elements, and to pick rows of several,
        it lets go of the interpreter, and another thread that takes it then keeps it for much longer than the call takes.
        """
        gather, chain = self._lent.gather, self.chain
        if gather is None or chain is None or self._tally is not None or len(points) < _TOGETHER or self._nbytes >= _SHARE_EACH:
            return None
        shards, flat, apart = self.placed(points)
        known = tables.all_known(shards)
        if known is None:
            return None
        order = np.concatenate(apart)
        slots, counts = flat[order], [len(of) for of in apart]
        ends = list(accumulate(counts))
        pairs = [table.pairs[slots[end - count : end]] for table, count, end in zip(known, counts, ends)]
        spans = np.concatenate(pairs).view("<u8").reshape(-1, 2)
        if spans[:, 1].max() > chain.encoded_max:  # or there is none
            return None
        joined = gather([(table.key, table.version, count) for table, count in zip(known, counts)], spans)
        arrays = chain.decode_joined(joined, spans[:, 1].astype(np.int64)) if joined is not None else None
        if arrays is None:
            return None
        out = arrays.copy()
        for i, array in zip(order.tolist(), arrays):
            out[i] = array
        return out

    def placed(self, points: NDArray) -> tuple[list[Shard], NDArray, list[NDArray]]:
        """The shards that subchunks lie in, each once; the place of each in its shard; and for each shard, which lie in it."""
        number, flat, whole = np.zeros(len(points), np.int64), np.zeros(len(points), np.int64), []
        for axis, (count, n) in enumerate(self._axes):
            shard, slot = np.divmod(points[:, axis], n)
            number, flat = number * -(-count // n) + shard, flat * n + slot
            whole.append(shard)
        order = np.argsort(number, kind="stable")
        starts = np.flatnonzero(np.diff(number[order], prepend=-1))
        ends = [*starts[1:].tolist(), len(order)]
        first = order[starts]
        shards = list(zip(*(shard[first].tolist() for shard in whole))) or [()] * len(starts)
        return shards, flat, [order[a:b] for a, b in zip(starts.tolist(), ends)]

    async def into(self, encoded: list[Any], shard: Shard, of: NDArray, slots: NDArray, tables: Tables) -> None:
        """Reads those of one shard: ``encoded[i]`` for each ``i`` in ``of``."""
        for at in range(0, len(of), self.batch):
            some = of[at : at + self.batch]
            for i, data in zip(some.tolist(), await self.fetch(shard, slots[some].tolist(), tables)):
                encoded[i] = data

    async def table(self, shard: Shard, tables: Tables, stale: Table | None = None) -> Table:
        """The table of a shard; another one than ``stale``."""
        table = tables.known(shard) or tables.peek(shard) if stale is None else None
        return table if table is not None else await tables.get(shard, self._load, stale)

    async def _load(self, shard: Shard, reload: bool) -> Table:
        async def build(guest: Guest) -> bytes:
            flags = _abi.FLAG_RELOAD if reload else 0
            return _abi.read_request(await self._handle.on(guest), 0, flags, shard)

        table = _abi.parse_table((await self._runtime.call(_abi.SHARD_TABLE, build)).data)
        if not table.missing and len(table.entries) != 2 * math.prod(self.per_shard):
            raise InternalError(f"guest: {table.key}: its table has {len(table.entries) // 2} entries")
        return table

    async def fetch(self, shard: Shard, slots: Sequence[int], tables: Tables) -> list[Any]:
        """The encoded bytes of subchunks of one shard, None for those that are not there.

        If the shard is not of the table's version, the table is loaded once
        more; if that is not enough, StaleError.
        """
        stale: Table | None = None
        for _ in range(2):
            table = await self.table(shard, tables, stale)
            if table.missing:
                return [None] * len(slots)
            entries = table.entries
            found = [(entries[2 * i], entries[2 * i + 1]) for i in slots]
            ranges = [span for span in found if span[1] != EMPTY]
            if ranges and self._tally is None and self._lent.warm is not None and self._runtime.may_block:
                data = self._lent.warm(table.key, ranges, table.version)
                if data is not None and all(len(b) == n for b, (_, n) in zip(data, ranges)):
                    return self._spread(data, found)
            began = Tally.now() if self._tally is not None else 0
            try:
                # Also without ranges: the table calls a subchunk empty, and is
                # wrong once another writer has put it there. A local store is
                # asked whether the shard is still the same.
                answer = self._lent.now(table.key, ranges, table.version, self._runtime.may_block)
                if not ranges:
                    return [None] * len(slots)
                if answer is None:
                    answer = await self._runtime.read(self._lent, table.key, ranges, table.version)
            except BaseException as e:
                if self._tally is not None:
                    self._tally.failed(began)
                if not isinstance(e, (StaleError, NotFoundError)):  # NotFound: the shard has gone since
                    raise
                stale = table
                continue
            if self._tally is not None:
                self._tally.read(sum(map(len, answer.data)), began)
            for data, (off, n) in zip(answer.data, ranges):
                if len(data) != n:
                    raise CorruptError(f"zarr: {table.key} at {off}: {len(data)} bytes of {n}", item=table.key, offset=off)
            return self._spread(answer.data, found)
        key = stale.key if stale is not None else ""
        raise StaleError(f"zarr: {key}: changed between reads that must agree", item=key)

    @staticmethod
    def _spread(data: Sequence[Any], found: Sequence[tuple[int, int]]) -> list[Any]:
        """What was read, with None for what is not there."""
        if len(data) == len(found):
            return list(data)
        there = iter(data)
        return [None if n == EMPTY else next(there) for _, n in found]

    async def each(
        self, shard: Shard, slots: Sequence[int], tables: Tables, take: Callable[[int, NDArray | None], None]
    ) -> None:
        """Reads subchunks of one shard, ``take(i, array)`` for each ``slots[i]``; None stands for fill values."""
        for at in range(0, len(slots), self.batch):
            encoded = await self.fetch(shard, slots[at : at + self.batch], tables)
            for i, array in enumerate(await self.decode_all(encoded), at):
                take(i, array)

    async def decode_all(self, encoded: Sequence[Any]) -> list[NDArray | None]:
        """Subchunks, on two threads if they are worth it; None stays None."""
        nbytes = self._nbytes * len(encoded)
        if self.chain is not None and self.chain.frees and self._nbytes >= _SHARE_EACH and nbytes >= _SHARE_ALL:
            arrays = await self._runtime.share(self._try, encoded)
        elif nbytes > _OFF_LOOP:
            arrays = await self._runtime.compute(self._try_all, encoded)
        else:
            arrays = self._try_all(encoded)
        return [a if a is not None or e is None else await self._guests(e) for a, e in zip(arrays, encoded)]

    def _try_all(self, encoded: Sequence[Any]) -> list[NDArray | None]:
        there = [e for e in encoded if e is not None]
        if self.chain is not None and self._tally is None and self._nbytes < _SHARE_EACH and len(there) >= _TOGETHER:
            arrays = self.chain.decode_many(there)
            if arrays is not None:
                ready = iter(arrays)
                return [None if e is None else next(ready) for e in encoded]
        return [self._try(e) for e in encoded]

    def _try(self, encoded: Any) -> NDArray | None:
        if self.chain is None or encoded is None:
            return None
        if self._tally is None:
            return self.chain.decode(encoded)
        began = Tally.now()
        array = self.chain.decode(encoded)
        if array is not None:  # else the guest decodes it, and counts
            self._tally.decoded(self._nbytes, began)
        return array

    async def decode(self, encoded: Any) -> NDArray:
        """One subchunk; fill values for None."""
        if encoded is None:
            return self._element.full(self._subchunk)
        if self._nbytes > _OFF_LOOP:
            array = await self._runtime.compute(self._try, encoded)
        else:
            array = self._try(encoded)
        return array if array is not None else await self._guests(encoded)

    async def _guests(self, encoded: Any) -> NDArray:
        async def build(guest: Guest) -> bytes:
            return struct.pack("<I", await self._handle.on(guest)) + bytes(encoded)

        return self._element.array((await self._runtime.call(_abi.DECODE, build)).data, self._subchunk)

    async def places(self, points: NDArray, tables: Tables) -> _abi.Places:
        """Where subchunks lie, one a row of ``points``."""
        shards, flat, apart = self.placed(points)
        spans = np.full((len(points), 2), -1, np.int64)
        keys: list[str] = []
        versions: list[str] = []
        of = np.full(len(points), -1, np.int64)
        for shard, mine in zip(shards, apart):
            table = await self.table(shard, tables)
            if table.missing:
                continue
            spans[mine] = np.frombuffer(table.entries, "<i8").reshape(-1, 2)[flat[mine]]  # EMPTY is -1
            of[mine] = np.where(spans[mine, 1] < 0, -1, len(keys))
            keys.append(table.key)
            versions.append(table.version)
        return _abi.Places(tuple(keys), tuple(versions), of, spans[:, 0], spans[:, 1])
