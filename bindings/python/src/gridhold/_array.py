"""Arrays, groups and caches for callers that block."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ._abi import Places
from ._cache import CacheCore
from ._core import ArrayCore, open_node
from ._creating import opening_container
from ._described import DescribedArray, DescribedGroup
from ._errors import InvalidError
from ._http import HTTPStore
from ._keyed import opened
from ._node import Opening
from ._node import list_nodes as list_nodes_in
from ._place import Place, pack_place
from ._runtime import DEFAULT_MEMORY, blocking
from ._select import basic_of
from ._store import Store
from ._threads import blocking_runtime
from ._types import NDArray
from ._zip import ZipStore

Indices = Sequence[Sequence[int]] | NDArray
"""Of several subchunks; an array has one a row."""
Selector = slice | Sequence[int] | NDArray
Source = str | os.PathLike[str] | Store | HTTPStore | ZipStore
IndexPack = str | os.PathLike[str] | bytes | tuple[str | os.PathLike[str] | Store | HTTPStore, str]
"""Of the shards of an array, as ``gridhold index build`` makes it: a path, a URL, its bytes, or a store and a key."""


class ShardCache:
    """Shard indexes of one array, kept between reads. Made by ``Array.shard_cache``.

    Bounded by bytes, least recently used leave first. Any number of threads
    may use it; an index is loaded once, however many of them wait.
    """

    def __init__(self, core: CacheCore) -> None:
        self._core = core

    def size(self) -> int:
        """How many shards it knows."""
        return self.stats()["entries"]

    def is_empty(self) -> bool:
        return self.size() == 0

    def clear(self) -> None:
        """Forgets all; a load under way is not kept either."""
        blocking(self._core.clear())

    def invalidate(self, shard: Sequence[int]) -> None:
        """Forgets one shard, named by its indices in the chunk grid. Raises OutOfRangeError."""
        blocking(self._core.invalidate(shard))

    def stats(self) -> dict[str, int]:
        """``hits``, ``misses``, ``loads``, ``entries``, ``bytes`` and ``budget``."""
        return blocking(self._core.stats())

    def __repr__(self) -> str:
        return f"<gridhold ShardCache of {self._core.array.path or '/'}>"


class Array(DescribedArray):
    """A Zarr array, open for reading. Safe for use by several threads.

    Arrays that are returned are the caller's: writable, C order, native bytes.
    Closing twice is fine; a read after that raises ClosedError.
    """

    _own_cache: CacheCore | None = None

    def shard_cache(self, *, budget: int = 0, remember_missing: bool = False) -> ShardCache:
        """An empty cache for this array.

        ``budget`` in bytes, 0: 256 MiB. ``remember_missing``: a shard that is
        not there is not asked for again until ``clear`` or ``invalidate``.
        """
        return ShardCache(cache_core(self._node, budget, remember_missing))

    def retrieve_subchunk(self, indices: Sequence[int], *, shard_cache: ShardCache | None = None) -> NDArray:
        """One subchunk, decoded, at its full shape; fill values where nothing is stored.

        Without a cache the shard's index is read each time. Raises TypeError
        and InvalidError for what are no indices of this array,
        OutOfRangeError outside ``subchunk_grid_shape``, WrongArrayError,
        CorruptError, StaleError and whatever the store raises.
        """
        cache = _core_of(shard_cache)
        if cache is not None:
            found = self._node.warm(indices, cache)
            if found is not None:
                return found
        return blocking(self._node.retrieve_subchunk(indices, cache))

    def retrieve_encoded_subchunk(self, indices: Sequence[int], *, shard_cache: ShardCache | None = None) -> bytes | None:
        """The bytes of one subchunk as they are stored, or None where there are none."""
        return blocking(self._node.retrieve_encoded_subchunk(indices, _core_of(shard_cache)))

    def retrieve_subchunks(self, indices: Indices, *, shard_cache: ShardCache | None = None) -> list[NDArray]:
        """Several subchunks, in the order asked for, each as ``retrieve_subchunk`` gives it.

        Those of one shard are read together, and its index once. Large ones
        are decoded on two threads; small ones lie in memory of up to 64 KiB
        that they have in common. The first error ends it.
        """
        return blocking(self._node.retrieve_subchunks(indices, _core_of(shard_cache)))

    def retrieve_region(
        self,
        start: Sequence[int] | Sequence[Selector],
        stop: Sequence[int] | None = None,
        *,
        shard_cache: ShardCache | None = None,
    ) -> NDArray:
        """The elements from ``start`` up to, not including, ``stop``. Raises OutOfRangeError outside the array.

        Or, without ``stop``, what is selected along each axis by itself: by a
        slice, whose step is above 0, or by a list of integers, in any order
        and as often as it has them. Both count from the end below 0.
        """
        return blocking(self._node.retrieve_region(start, stop, _core_of(shard_cache)))

    def locate(self, indices: Indices, *, shard_cache: ShardCache | None = None) -> Places:
        """Where subchunks lie in the store: arrays of offsets and lengths, and the objects' keys. See ``Places``.

        Raises UnsupportedError where a shard as a whole is transposed or
        compressed, for then no range of it is a subchunk.
        """
        return blocking(self._node.locate(indices, _core_of(shard_cache)))

    def __getitem__(self, key: Any) -> Any:
        """Basic indexing with integers, slices with steps above 0, and an ellipsis.

        As in numpy an integer drops its axis, and integers for all give a
        scalar. Shard indexes are kept in a cache of the array's own.
        """
        positions, drop = basic_of(key, self.shape)
        if self._own_cache is None:
            self._own_cache = cache_core(self._node, 0, False)
        return blocking(self._node.retrieve_positions(positions, self._own_cache))[drop]

    def cost(self) -> dict[str, int]:
        """What reads cost so far, for an array that was opened with ``trace``; else raises InvalidError.

        ``requests`` to servers; ``reads`` of chunks and subchunks and
        ``index_loads`` from the store, ``bytes`` that it gave; ``waits``;
        ``decodes``, ``elements`` (bytes) decoded; ``failures``; and the
        microseconds ``requesting_us``, ``reading_us`` (requests and waits
        included), ``waiting_us`` and ``decoding_us``. What went on side by
        side is added up.
        """
        return blocking(self._node.cost())

    def close(self) -> None:
        self._node.close()

    def __enter__(self) -> Array:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class Group(DescribedGroup):
    """A Zarr group, open for reading."""

    def list_nodes(self) -> list[dict[str, Any]]:
        """The nodes below it, as ``gridhold.list_nodes`` gives them; consolidated if it was opened so."""
        self._node.check_open()
        place = self._node.place
        return blocking(list_nodes_in(self._node.runtime, Place(place.store, place.path), self._consolidated))

    def close(self) -> None:
        self._node.close()

    def __enter__(self) -> Group:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def cache_core(array: ArrayCore, budget: int, remember_missing: bool) -> CacheCore:
    """Checks the options of ``shard_cache``."""
    array.check_open()
    if budget < 0:
        raise InvalidError(f"budget: {budget}: is below 0")
    return CacheCore(array, budget, bool(remember_missing))


def _core_of(cache: ShardCache | None) -> CacheCore | None:
    if cache is None:
        return None
    if not isinstance(cache, ShardCache):
        raise TypeError(f"shard_cache must be a ShardCache, not {type(cache).__name__}")
    return cache._core


def open(
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
    """Opens what is there: an array or group of Zarr, at ``path`` in it, or a Blosc2 container.

    ``source`` is a directory, a file, a URL (``file``, ``http``, ``https``,
    ``zip``) or a store. ``memory`` caps the sandbox that the core runs in, in bytes;
    chunks larger than a share of it are refused with LimitError. ``strict``
    lends it no codecs of this host. ``consolidated`` trusts the consolidated
    metadata of groups, which can be stale. ``index_pack`` has the indexes of
    the array's shards, so that they need not be loaded; for another array it
    is WrongArrayError. ``trace`` adds up what reads cost, for ``Array.cost``.
    Raises NotFoundError where there is nothing.

    A container is an SChunk, NDArray, EmbedStore, DictStore or TreeStore;
    ``path`` is a key of it. Of it ``mode`` "a" opens for writing too.
    ``durability`` is when what is written outlasts a power cut: on "close",
    at every "commit", or "never". ``locking`` keeps others out who lock, as
    python-blosc2 does; None asks the variable ``BLOSC_LOCKING``.
    ``lock_timeout`` is the longest wait for a lock, in seconds. ``repair`` first
    puts back what the header does not lead to: when a program that does not
    know of it has written an old header over a newer one.
    """
    check_memory(memory)
    runtime, options = blocking_runtime(memory, bool(strict)), {"locking": locking, "lock_timeout": lock_timeout, "repair": repair}
    container = blocking(opening_container(runtime, source, path, mode, durability=durability, **options))
    if container is not None:
        if index_pack is not None or trace:
            raise InvalidError("index_pack, trace: go with arrays of Zarr")
        return opened(container)
    if mode != "r":
        raise InvalidError(f"mode: {mode!r}: arrays of Zarr are only read here")
    return _open(source, path, "any", memory, strict, opening(consolidated, index_pack, trace))


def open_array(
    source: Source,
    path: str = "",
    *,
    memory: int = DEFAULT_MEMORY,
    strict: bool = False,
    consolidated: bool = False,
    index_pack: IndexPack | None = None,
    trace: bool = False,
) -> Array:
    """Opens an array; otherwise as ``open``. Raises NotFoundError or InvalidError where there is none."""
    array = _open(source, path, "array", memory, strict, opening(consolidated, index_pack, trace))
    assert isinstance(array, Array)
    return array


def opening(consolidated: bool, index_pack: IndexPack | None, trace: bool) -> Opening:
    """The options of opening an array or group."""
    return Opening(bool(consolidated), bool(trace), None if index_pack is None else pack_place(index_pack))


def _open(source: Source, path: str, wanted: str, memory: int, strict: bool, how: Opening) -> Array | Group:
    runtime = blocking_runtime(check_memory(memory), bool(strict))
    node = blocking(open_node(runtime, Place(source, path), wanted, how))
    return Array(node) if isinstance(node, ArrayCore) else Group(node, how.consolidated)


def list_nodes(
    source: Source, path: str = "", *, memory: int = DEFAULT_MEMORY, strict: bool = False, consolidated: bool = False
) -> list[dict[str, Any]]:
    """All nodes below the group at ``path``: dicts with ``path`` and ``kind``, for arrays ``shape`` and ``data_type``.

    ``consolidated`` takes them from the group's consolidated metadata if it
    has some, which needs no listing, so it works over HTTP.
    """
    runtime = blocking_runtime(check_memory(memory), bool(strict))
    return blocking(list_nodes_in(runtime, Place(source, path), bool(consolidated)))


def check_memory(memory: int) -> int:
    """Checks the option ``memory``."""
    if not isinstance(memory, int):
        raise TypeError(f"memory must be a number of bytes, not {type(memory).__name__}")
    if not 0 < memory <= 4 << 30:
        raise InvalidError(f"memory: {memory}: must be above 0 and at most 4 GiB")
    return memory
