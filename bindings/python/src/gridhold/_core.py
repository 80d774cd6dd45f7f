"""An array, whoever calls: the one copy of every algorithm, written over a runtime."""

from __future__ import annotations

import json
import math
import operator
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from . import _abi
from ._abi import EMPTY, Table
from ._codecs import Chain, chain
from ._errors import (
    ClosedError,
    CorruptError,
    InternalError,
    InvalidError,
    NotFoundError,
    OutOfRangeError,
    StaleError,
    UnsupportedError,
    WrongArrayError,
)
from ._guest import Done, Guest
from ._handle import Handle
from ._lent import Lent
from ._place import Place
from ._runtime import Runtime
from ._tables import Shard, Tables

NDArray = np.ndarray[Any, Any]
Index = tuple[int, ...]

_BATCH = 256  # ranges in one call of a store
_BATCH_BYTES = 64 << 20
_SHARDS_AT_ONCE = 16
_OFF_LOOP = 1 << 20  # decoded bytes; more is decoded where it holds up nobody
_DTYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
)


class Node:
    """An array or a group, opened at a place."""

    def __init__(self, runtime: Runtime, place: Place, handle: Handle) -> None:
        self.runtime = runtime
        self.place = place
        self.handle = handle
        self.raw = handle.description.decode()
        self.info: dict[str, Any] = json.loads(self.raw)
        self.path: str = self.info.get("path", place.path)
        self._closed = False

    def check_open(self) -> None:
        if self._closed:
            raise ClosedError(f"gridhold: {self.path or '/'}: closed")

    def close(self) -> None:
        self._closed = True
        self.handle.close()
        self.place.close()


async def open_node(runtime: Runtime, place: Place, wanted: str) -> Node:
    """Opens what is there: an ArrayCore, or a Node that is a group. The place is the node's from here on."""
    place.lend(runtime)
    request = json.dumps({"store": place.spec(), "path": place.path, "node": wanted}).encode()

    async def build(_: Guest) -> bytes:
        return request

    handle = Handle(runtime, _abi.OPEN, build)
    try:
        await handle.open()
        if json.loads(handle.description).get("kind") == "array":
            return ArrayCore(runtime, place, handle)
        return Node(runtime, place, handle)
    except BaseException:
        handle.close()
        place.close()
        raise


async def list_nodes(runtime: Runtime, place: Place) -> list[dict[str, Any]]:
    place.lend(runtime)
    request = json.dumps({"store": place.spec(), "path": place.path}).encode()

    async def build(_: Guest) -> bytes:
        return request

    try:
        return json.loads((await runtime.call(_abi.LIST, build)).data)  # type: ignore[no-any-return]
    finally:
        place.close()


class ArrayCore(Node):
    """One opened array.

    Warm reads are served here: the table of a shard says where a subchunk
    lies, the store reads it, the chain decodes it. All else is the guest's.
    """

    def __init__(self, runtime: Runtime, place: Place, handle: Handle) -> None:
        super().__init__(runtime, place, handle)
        info = self.info
        self.shape: Index = tuple(info["shape"])
        self.grid: Index = tuple(info["subchunk_grid_shape"])
        self.subchunk: Index = tuple(info["effective_subchunk_shape"] or ())  # () where chunks differ
        self.dtype = _dtype(info["data_type"])
        self._fill = np.frombuffer(bytes.fromhex(info["fill_hex"]), self.dtype)[0]
        self._nbytes = math.prod(self.subchunk) * self.dtype.itemsize
        self._per_shard: Index = tuple(info.get("chunks_per_shard") or ())
        self._chain: Chain | None = None
        self._lent: Lent | None = place.lent
        # A subchunk that the guest would refuse for its size is the guest's to refuse.
        self.host_readable = bool(
            place.lent and info["is_sharded"] and info["chunk_shape"] and info.get("host_readable") and self._nbytes <= runtime.memory // 4
        )
        if self.host_readable:
            self._chain = chain(info["subchunk_codecs"], self.dtype, self.subchunk, strict=runtime.strict)

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes two opened arrays the same one."""
        return self.runtime, self.place.identity(), self.path, self.raw

    # Arguments.

    def index(self, indices: Iterable[Any], grid: Index, what: str) -> Index:
        """Indices as a tuple of ints. Raises TypeError, InvalidError and OutOfRangeError."""
        point = point_of(indices, len(grid), what)
        for i, n in zip(point, grid):
            if not 0 <= i < n:
                raise OutOfRangeError(f"zarr: {what} {list(point)}: outside the grid of {list(grid)}", item=str(list(point)))
        return point

    def cache_for(self, cache: CacheCore | None) -> CacheCore | None:
        """The cache, if it is one of this array's."""
        if cache is not None and cache.array is not self and cache.array.identity != self.identity:
            raise WrongArrayError(f"zarr: {self.path or '/'}: the shard cache belongs to another array")
        return cache

    # Reading.

    async def retrieve_subchunk(self, indices: Iterable[Any], cache: CacheCore | None) -> NDArray:
        self.check_open()
        index = self.index(indices, self.grid, "subchunk")
        if self.cache_for(cache) is None or cache is None or cache.tables is None:
            return self._wrap(await self._ask(_abi.READ_SUBCHUNK, cache, index), self.subchunk)
        shard, slot = self._locate(index)
        (encoded,) = await self._fetch(shard, (slot,), cache.tables)
        return await self._decode(encoded)

    async def retrieve_encoded_subchunk(self, indices: Iterable[Any], cache: CacheCore | None) -> bytes | None:
        self.check_open()
        index = self.index(indices, self.grid, "subchunk")
        if self.cache_for(cache) is None or cache is None or cache.tables is None:
            done = await self._done(_abi.READ_ENCODED, cache, index)
            return done.data if done.kind else None
        shard, slot = self._locate(index)
        (encoded,) = await self._fetch(shard, (slot,), cache.tables)
        return None if encoded is None else bytes(encoded)

    async def retrieve_region(self, start: Iterable[Any], stop: Iterable[Any], cache: CacheCore | None) -> NDArray:
        self.check_open()
        low = point_of(start, len(self.shape), "region start")
        high = point_of(stop, len(self.shape), "region stop")
        for a, b, n in zip(low, high, self.shape):
            if not 0 <= a <= b <= n:
                raise OutOfRangeError(
                    f"zarr: region {list(low)} to {list(high)}: outside the array of {list(self.shape)}",
                    item=str([list(low), list(high)]),
                )
        shape = tuple(b - a for a, b in zip(low, high))
        if self.cache_for(cache) is None or cache is None or cache.tables is None:
            return self._wrap(await self._ask(_abi.READ_REGION, cache, low, high), shape)
        out: NDArray = np.empty(shape, self.dtype)
        if out.size:
            work = self._shards_of(low, high)
            while group := [w for _, w in zip(range(_SHARDS_AT_ONCE), work)]:
                await self.runtime.gather([self._paste(out, low, s, todo, cache.tables) for s, todo in group])
        return out

    # The guest's way.

    async def _done(self, kind: int, cache: CacheCore | None, *points: Index) -> Done:
        async def build(guest: Guest) -> bytes:
            held = cache.handle if cache is not None else None
            # A cache is known to the guest as one of the very handle that made it.
            owner = cache.array if cache is not None and held is not None else self
            array = await owner.handle.on(guest)
            return _abi.read_request(array, await held.on(guest) if held is not None else 0, 0, *points)

        return await self.runtime.call(kind, build)

    async def _ask(self, kind: int, cache: CacheCore | None, *points: Index) -> bytes:
        return (await self._done(kind, cache, *points)).data

    def _wrap(self, data: bytes, shape: Index) -> NDArray:
        if len(data) != math.prod(shape) * self.dtype.itemsize:
            raise InternalError(f"guest: {self.path or '/'}: answered {len(data)} bytes for {list(shape)}")
        return np.ndarray(shape, self.dtype, bytearray(data))

    async def _load(self, shard: Shard, reload: bool) -> Table:
        async def build(guest: Guest) -> bytes:
            flags = _abi.FLAG_RELOAD if reload else 0
            return _abi.read_request(await self.handle.on(guest), 0, flags, shard)

        table = _abi.parse_table((await self.runtime.call(_abi.SHARD_TABLE, build)).data)
        if not table.missing and len(table.entries) != 2 * math.prod(self._per_shard):
            raise InternalError(f"guest: {table.key}: its table has {len(table.entries) // 2} entries")
        return table

    # The host's way.

    def _locate(self, index: Index) -> tuple[Shard, int]:
        """The shard of a subchunk, and its place in the shard's table."""
        slot = 0
        shard = []
        for i, n in zip(index, self._per_shard):
            q, r = divmod(i, n)
            shard.append(q)
            slot = slot * n + r
        return tuple(shard), slot

    async def _fetch(self, shard: Shard, slots: Sequence[int], tables: Tables) -> list[Any]:
        """The encoded bytes of subchunks of one shard, None for those that are not there.

        If the shard is not of the table's version, the table is loaded once
        more; if that is not enough, StaleError.
        """
        stale: Table | None = None
        lent = self._lent
        assert lent is not None
        for _ in range(2):
            table = tables.peek(shard) if stale is None else None
            if table is None:
                table = await tables.get(shard, self._load, stale)
            if table.missing:
                return [None] * len(slots)
            entries = table.entries
            found = [(entries[2 * i], entries[2 * i + 1]) for i in slots]
            ranges = [span for span in found if span[1] != EMPTY]
            if not ranges:
                return [None] * len(slots)
            try:
                answer = lent.now(table.key, ranges, table.version, self.runtime.may_block)
                if answer is None:
                    answer = await self.runtime.read(lent, table.key, ranges, table.version)
            except (StaleError, NotFoundError):  # NotFound: the shard has gone since
                stale = table
                continue
            for data, (off, n) in zip(answer.data, ranges):
                if len(data) != n:
                    raise CorruptError(f"zarr: {table.key} at {off}: {len(data)} bytes of {n}", item=table.key, offset=off)
            if len(ranges) == len(slots):
                return list(answer.data)
            there = iter(answer.data)
            return [None if n == EMPTY else next(there) for _, n in found]
        key = stale.key if stale is not None else ""
        raise StaleError(f"zarr: {key}: changed between reads that must agree", item=key)

    async def _decode(self, encoded: Any) -> NDArray:
        if encoded is None:
            return np.full(self.subchunk, self._fill, self.dtype)
        if self._chain is not None and len(encoded) <= self._chain.encoded_max:
            if self._nbytes > _OFF_LOOP:
                array = await self.runtime.compute(self._chain.decode, encoded)
            else:
                array = self._chain.decode(encoded)
            if array is not None:
                return array

        async def build(guest: Guest) -> bytes:
            return struct.pack("<I", await self.handle.on(guest)) + bytes(encoded)

        return self._wrap((await self.runtime.call(_abi.DECODE, build)).data, self.subchunk)

    def _shards_of(self, low: Index, high: Index) -> Iterator[tuple[Shard, list[tuple[Index, int]]]]:
        """The shards under a region, each with the subchunks that are needed of it."""
        first = [a // s for a, s in zip(low, self.subchunk)]
        last = [-(-b // s) for b, s in zip(high, self.subchunk)]
        shards = [range(a // n, -(-b // n)) for a, b, n in zip(first, last, self._per_shard)]
        for shard in product(*shards):
            inside = [
                range(max(a, q * n), min(b, (q + 1) * n)) for a, b, n, q in zip(first, last, self._per_shard, shard)
            ]
            yield shard, [(index, self._locate(index)[1]) for index in product(*inside)]

    async def _paste(self, out: NDArray, low: Index, shard: Shard, todo: list[tuple[Index, int]], tables: Tables) -> None:
        size = max(1, min(_BATCH, _BATCH_BYTES // max(1, self._nbytes)))
        for at in range(0, len(todo), size):
            batch = todo[at : at + size]
            encoded = await self._fetch(shard, [slot for _, slot in batch], tables)
            for (index, _), data in zip(batch, encoded):
                into, of = [], []
                for i, s, a, n in zip(index, self.subchunk, low, out.shape):
                    origin = i * s - a  # of the subchunk, in the region
                    begin, end = max(0, origin), min(n, origin + s)
                    into.append(slice(begin, end))
                    of.append(slice(begin - origin, end - origin))
                out[tuple(into)] = (await self._decode(data))[tuple(of)] if data is not None else self._fill


class CacheCore:
    """A cache of one array's shard indexes: tables here, or the guest's own where only the guest can read."""

    def __init__(self, array: ArrayCore, budget: int, remember_missing: bool) -> None:
        self.array = array
        self.budget = budget
        self.tables: Tables | None = None
        self.handle: Handle | None = None
        if array.host_readable:
            self.tables = Tables(array.runtime, budget, remember_missing)
            return
        flags = _abi.FLAG_REMEMBER_MISSING if remember_missing else 0

        async def build(guest: Guest) -> bytes:
            return _abi.cache_request(await array.handle.on(guest), flags, budget)

        self.handle = Handle(array.runtime, _abi.CACHE_NEW, build)

    async def stats(self) -> dict[str, int]:
        if self.tables is not None:
            return self.tables.stats()
        return json.loads(await self._ask(_abi.CACHE_STATS, _abi.handle_request))  # type: ignore[no-any-return]

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


def point_of(indices: Iterable[Any], ndim: int, what: str) -> Index:
    """Coordinates as a tuple of ints. Raises TypeError, and InvalidError for another number of them."""
    try:
        point = tuple(map(operator.index, indices))
    except TypeError:
        raise TypeError(f"{what}: integers are needed, one an axis, not {indices!r}") from None
    if len(point) != ndim:
        raise InvalidError(f"zarr: {what} {list(point)}: {len(point)} indices for {ndim} axes")
    return point


def _dtype(data_type: Any) -> np.dtype[Any]:
    name = data_type if isinstance(data_type, str) else data_type.get("name")
    if name not in _DTYPES:
        raise UnsupportedError(f"zarr: data type {name}: numpy has none for it")
    return np.dtype(name).newbyteorder("<")
