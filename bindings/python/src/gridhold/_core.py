"""An array, whoever calls: the one copy of every algorithm, written over a runtime."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby, product
from typing import Any

import numpy as np

from . import _abi
from ._cache import CacheCore
from ._cost import Tally
from ._errors import InvalidError, OutOfRangeError, WrongArrayError
from ._guest import Done, Guest
from ._handle import Handle
from ._host import Host
from ._node import Node, Opening, open_handle
from ._place import Place
from ._runtime import Runtime
from ._select import Edges, Index, Run, box_of, paste, point_of, runs, selection_of
from ._tables import Shard
from ._types import Element, NDArray

_AT_ONCE = 16  # shards, or parts of a region, that are read side by side
_ANSWER_BYTES = 32 << 20  # of subchunks in one answer of the guest
_ANSWER_COUNT = 1024
_PICKED_BYTES = 16 << 20  # around what is picked with steps or lists; what is larger is read by subchunks


async def open_node(runtime: Runtime, place: Place, wanted: str, how: Opening) -> Node:
    """Opens what is there: an ArrayCore, or a Node that is a group. The place and the pack's are the node's from here on."""
    handle = await open_handle(runtime, place, wanted, how)
    try:
        kind = ArrayCore if json.loads(handle.description).get("kind") == "array" else Node
        return kind(runtime, place, handle, how)
    except BaseException:
        handle.close()
        place.close()
        how.close()
        raise


class ArrayCore(Node):
    """One opened array. Warm reads are the host's where it can, all else is the guest's."""

    def __init__(self, runtime: Runtime, place: Place, handle: Handle, how: Opening) -> None:
        super().__init__(runtime, place, handle, how)
        info = self.info
        self.shape: Index = tuple(info["shape"])
        self.grid: Index = tuple(info["subchunk_grid_shape"])
        self.element = Element(info["data_type_json"], bytes.fromhex(info["fill_hex"]))
        shape, uneven = info["effective_subchunk_shape"], info.get("chunk_edges")
        self.subchunk: Index | None = None if shape is None else tuple(shape)
        self.edges = [Edges(n) for n in shape] if shape is not None else [Edges(0, r) for r in uneven or ()]
        self.host: Host | None = None
        self.tally = Tally() if how.trace else None
        self._counter: Handle | None = None
        # A subchunk that the guest would refuse for its size is the guest's to refuse.
        if place.direct and info["is_sharded"] and info["host_readable"] and not uneven:
            if math.prod(shape) * self.element.size <= runtime.memory // 4:
                self.host = Host(runtime, handle, place.direct, self.element, info, self.tally)

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

    def points(self, indices: Iterable[Any]) -> NDArray:
        """Indices of several subchunks, one a row."""
        if isinstance(indices, np.ndarray) and indices.ndim == 2 and indices.dtype.kind in "iu" and len(indices):
            wrong = (indices < 0) | (indices >= np.array(self.grid)) if indices.shape[1] == len(self.grid) else True
            if not np.any(wrong):
                return indices.astype(np.int64)
        indices = list(indices)
        if set(map(type, indices)) == {tuple} and {len(point) for point in indices} == {len(self.grid)}:
            flat = list(chain.from_iterable(indices))
            if set(map(type, flat)) == {int}:
                try:
                    made = np.fromiter(flat, np.int64, len(flat)).reshape(len(indices), -1)
                except OverflowError:
                    pass
                else:
                    within = [((column := made[:, i]) >= 0) & (column < n) for i, n in enumerate(self.grid)]
                    if all(each.all() for each in within):
                        return made
        points = [self.index(one, self.grid, "subchunk") for one in indices]
        return np.array(points, np.int64).reshape(len(points), len(self.grid))

    def check_cache(self, cache: CacheCore | None) -> None:
        """Raises WrongArrayError for a cache of another array."""
        if cache is not None and cache.array is not self and cache.array.identity != self.identity:
            raise WrongArrayError(f"zarr: {self.path or '/'}: the shard cache belongs to another array")

    def subchunk_at(self, index: Sequence[int]) -> Index:
        """The shape of one subchunk."""
        if self.subchunk is not None:
            return self.subchunk
        return tuple(high - low for low, high in (e.span(i) for e, i in zip(self.edges, index)))

    # Reading.

    def warm(self, indices: Any, cache: CacheCore) -> NDArray | None:
        """One subchunk whose index is in the cache and whose bytes are at hand; None: the long way, also to refuse what is wrong."""
        host, tables = self.host, cache.tables
        if host is None or tables is None or cache.array is not self or self._closed or type(indices) is not tuple:
            return None
        return host.warm(indices, tables)

    async def retrieve_subchunk(self, indices: Iterable[Any], cache: CacheCore | None) -> NDArray:
        self.check_open()
        index = self.index(indices, self.grid, "subchunk")
        self.check_cache(cache)
        host = self.host
        if cache is None or cache.tables is None or host is None:
            done = await self._done(_abi.READ_SUBCHUNK, cache, index)
            return self.element.array(done.data, self.subchunk_at(index))
        shard, slot = host.locate(index)
        (encoded,) = await host.fetch(shard, (slot,), cache.tables)
        return await host.decode(encoded)

    async def retrieve_encoded_subchunk(self, indices: Iterable[Any], cache: CacheCore | None) -> bytes | None:
        self.check_open()
        index = self.index(indices, self.grid, "subchunk")
        self.check_cache(cache)
        host = self.host
        if cache is None or cache.tables is None or host is None:
            done = await self._done(_abi.READ_ENCODED, cache, index)
            return done.data if done.kind else None
        shard, slot = host.locate(index)
        (encoded,) = await host.fetch(shard, (slot,), cache.tables)
        return None if encoded is None else bytes(encoded)

    async def retrieve_subchunks(self, indices: Iterable[Iterable[Any]], cache: CacheCore | None) -> list[NDArray]:
        self.check_open()
        points = self.points(indices)
        self.check_cache(cache)
        cache = cache or CacheCore(self, 0, False)
        host, tables = self.host, cache.tables
        if host is None or tables is None:
            return await self._guests_batch(points, cache)
        out: list[NDArray] = []
        for at in range(0, len(points), host.window):
            some = points[at : at + host.window]
            warm = host.warm_many(some, tables) if self.runtime.may_block else None
            if warm is not None:
                out += warm
                continue
            shards, slots, apart = host.placed(some)
            encoded: list[Any] = [None] * len(slots)
            await self._side_by_side(host.into(encoded, shard, of, slots, tables) for shard, of in zip(shards, apart))
            out += [a if a is not None else self.element.full(self.subchunk_at(())) for a in await host.decode_all(encoded)]
        return out

    async def retrieve_region(self, start: Any, stop: Any, cache: CacheCore | None) -> NDArray:
        self.check_open()
        positions = selection_of(start, self.shape) if stop is None else box_of(start, stop, self.shape)
        return await self.retrieve_positions(positions, cache)

    async def retrieve_positions(self, positions: Sequence[Any], cache: CacheCore | None) -> NDArray:
        """The elements at the given positions of each axis: ranges, or arrays of integers."""
        self.check_open()
        self.check_cache(cache)
        out: NDArray = np.empty([len(p) for p in positions], self.element.dtype)
        if not out.size:
            return out
        if cache is not None and cache.tables is not None and self.host is not None:
            axes = [runs(p, e) for p, e in zip(positions, self.edges)]
            await self._side_by_side(self._paste_shards(out, axes, self.host, cache))
            return out
        around = [runs(p, Edges(n))[0] for p, n in zip(positions, self.shape)]  # as if there were one chunk
        size = math.prod(r.high - r.low for r in around) * max(1, self.element.size)
        box = all(isinstance(p, range) and p.step == 1 for p in positions)
        if size <= (self.runtime.memory // 8 if box else _PICKED_BYTES):
            await self._paste_part(out, around, cache)
        else:
            cache = cache or CacheCore(self, 0, False)
            axes = [runs(p, e) for p, e in zip(positions, self.edges)]
            await self._side_by_side(self._paste_part(out, part, cache) for part in product(*axes))
        return out

    async def locate(self, indices: Iterable[Iterable[Any]], cache: CacheCore | None) -> _abi.Places:
        self.check_open()
        points = self.points(indices)
        self.check_cache(cache)
        cache = cache or CacheCore(self, 0, False)
        if self.host is not None and cache.tables is not None:
            return await self.host.places(points, cache.tables)
        done = await self._call(_abi.LOCATE_SUBCHUNKS, cache, lambda a, c: _abi.batch_request(a, c, points))
        return _abi.parse_places(done.data)

    async def cost(self) -> dict[str, int]:
        """What reads cost so far: as the guest saw it, and those that this host served by itself."""
        self.check_open()
        if self.tally is None:
            raise InvalidError(f"zarr: {self.path or '/'}: was not opened with a trace", item=self.path)

        async def made(guest: Guest) -> bytes:
            return _abi.cache_request(await self.handle.on(guest), 0, 1)

        if self._counter is None:
            self._counter = Handle(self.runtime, _abi.CACHE_NEW, made)  # a cache, by which the guest is asked
        counter = self._counter

        async def asked(guest: Guest) -> bytes:
            return _abi.handle_request(await counter.on(guest))

        told = json.loads((await self.runtime.call(_abi.CACHE_STATS, asked)).data)
        return self.tally.plus(told["cost"])

    # Parts of a region.

    def _paste_shards(self, out: NDArray, axes: list[list[Run]], host: Host, cache: CacheCore) -> Iterator[Any]:
        """For each shard under a region, what reads and pastes all that is wanted of it."""
        grouped = [
            [(q, list(of)) for q, of in groupby(axis, lambda r, n=n: r.block // n)]  # type: ignore[misc]
            for axis, n in zip(axes, host.per_shard)
        ]
        for shard in product(*grouped):
            yield self._paste_shard(out, tuple(q for q, _ in shard), [of for _, of in shard], host, cache)

    async def _paste_shard(self, out: NDArray, shard: Shard, axes: list[list[Run]], host: Host, cache: CacheCore) -> None:
        todo = list(product(*axes))
        fill = self.element.fill

        def take(i: int, array: NDArray | None) -> None:
            paste(out, todo[i], array if array is not None else fill)

        assert cache.tables is not None
        await host.each(shard, [host.locate([r.block for r in part])[1] for part in todo], cache.tables, take)

    async def _paste_part(self, out: NDArray, part: Sequence[Run], cache: CacheCore | None) -> None:
        """Has the guest read the box around what is wanted, and pastes that."""
        low, high = tuple(r.low for r in part), tuple(r.high for r in part)
        done = await self._done(_abi.READ_REGION, cache, low, high)
        values = self.element.array(done.data, tuple(b - a for a, b in zip(low, high)))
        paste(out, [r._replace(of=_moved(r.of, r.origin - r.low)) for r in part], values)

    async def _side_by_side(self, work: Iterable[Any]) -> None:
        work = iter(work)
        while group := [w for _, w in zip(range(_AT_ONCE), work)]:
            await self.runtime.gather(group)

    # The guest's way.

    async def _call(self, kind: int, cache: CacheCore | None, request: Callable[[int, int], bytes]) -> Done:
        async def build(guest: Guest) -> bytes:
            held = cache.handle if cache is not None else None
            # A cache is known to the guest as one of the very handle that made it.
            owner = cache.array if cache is not None and held is not None else self
            array = await owner.handle.on(guest)
            return request(array, await held.on(guest) if held is not None else 0)

        return await self.runtime.call(kind, build)

    async def _done(self, kind: int, cache: CacheCore | None, *points: Index) -> Done:
        return await self._call(kind, cache, lambda a, c: _abi.read_request(a, c, 0, *points))

    async def _guests_batch(self, points: NDArray, cache: CacheCore) -> list[NDArray]:
        largest = math.prod(self.subchunk or (1,)) * max(1, self.element.size)
        n = max(1, min(_ANSWER_COUNT, _ANSWER_BYTES // max(1, largest)))
        out: list[NDArray] = []
        for at in range(0, len(points), n):
            some = points[at : at + n]
            done = await self._call(_abi.READ_SUBCHUNKS, cache, lambda a, c, some=some: _abi.batch_request(a, c, some))  # type: ignore[misc]
            pieces = _abi.parse_batch(done.data, len(some))
            out += [self.element.array(p, self.subchunk_at(point)) for p, point in zip(pieces, some.tolist())]
        return out


def _moved(of: Any, by: int) -> Any:
    return slice(of.start + by, of.stop + by, of.step) if isinstance(of, slice) else of + by
