"""Containers for asyncio: what ``_frames``, ``_ndarray`` and ``_keyed`` have, in coroutines."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import AsyncIterator, Sequence
from typing import Any, TypeVar

import numpy as np

from . import _container as c
from . import _creating, _msgpack
from ._container import Container
from ._errors import InvalidError, NotFoundError, UnsupportedError
from ._frames import Framed, Named, _bytes_of
from ._keyed import _key
from ._loop import loop_runtime
from ._ndarray import Boxed, _items
from ._runtime import DEFAULT_MEMORY
from ._select import basic_of, lies_within

A = TypeVar("A", bound="AsyncContainer")


class AsyncContainer(Named):
    """A container that is open, used by the tasks of one event loop. Close it, or use it in ``async with``."""

    async def info(self) -> dict[str, Any]:
        """The whole description, as ``gridhold info --json`` prints it."""
        return await self._core.doing("describe")  # type: ignore[no-any-return]

    async def change_tick(self) -> int:
        """Counts the changes that were taken over since it was opened."""
        return (await self._core.doing("state"))["tick"]  # type: ignore[no-any-return]

    async def refresh(self) -> bool:
        """Takes over what others changed; whether there was anything."""
        return await self._core.refreshing()

    @contextlib.asynccontextmanager
    async def holding_lock(self: A) -> AsyncIterator[A]:
        """Its lock for the block, of this task and those that it makes meanwhile. See ``gridhold.NDArray.holding_lock``."""
        async with self._core.holding(False) as held:
            yield type(self)._of(held)

    @contextlib.asynccontextmanager
    async def holding_shared_lock(self: A) -> AsyncIterator[A]:
        """As ``holding_lock``, for reading."""
        async with self._core.holding(True) as held:
            yield type(self)._of(held)

    async def verify(self) -> dict[str, Any]:
        """Decodes everything; see ``gridhold.NDArray.verify``."""
        return await self._core.doing("verify")  # type: ignore[no-any-return]

    async def close(self) -> None:
        """Makes what was written safe, and raises what kept it from being. Twice is fine."""
        await self._core.closing()

    async def __aenter__(self: A) -> A:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._core.closing()


class AsyncVLMeta:
    """Variable-length metalayers, in coroutines."""

    def __init__(self, core: Container) -> None:
        self._core = core

    async def names(self) -> list[str]:
        return list((await self._core.doing("state"))["vlmeta"])

    async def __getitem__(self, name: str) -> Any:
        """``await vlmeta[name]``. Raises KeyError."""
        try:
            return _msgpack.decode(await self._core.reading(c.VLMETA, name=name))
        except NotFoundError as e:
            raise KeyError(name) from e

    async def set(self, name: str, value: Any) -> None:
        raw = name.encode()
        await self._core.writing(c.PUT_VLMETA, [len(raw)], raw + _msgpack.encode(value))

    async def delete(self, name: str) -> None:
        try:
            await self._core.writing(c.DROP_VLMETA, (), name.encode())
        except NotFoundError as e:
            raise KeyError(name) from e


class _AsyncFrame(Framed, AsyncContainer):
    """What sequences and arrays have in common."""

    @property
    def vlmeta(self) -> AsyncVLMeta:
        return AsyncVLMeta(self._core)

    @contextlib.asynccontextmanager
    async def snapshot(self: A) -> AsyncIterator[A]:
        """What it is now, to be read for the block, whatever is written meanwhile."""
        async with self._core.snapshot() as held:
            yield type(self)._of(held)

    async def decompress_chunk(self, nchunk: int) -> bytes:
        """The decoded bytes of a chunk."""
        return await self._core.reading(c.CHUNK, [operator.index(nchunk)])

    async def to_cframe(self) -> bytes:
        """All of it as the bytes of one frame."""
        return await self._core.reading(c.FRAME)

    async def copy(self: A, *, urlpath: Any = None, **options: Any) -> A:
        """See ``gridhold.NDArray.copy``."""
        return type(self)._of(await _creating.copy_of(self._core, urlpath=urlpath, **options).opening())

    async def keep_checksums(self, keep: bool = True) -> None:
        """See ``gridhold.NDArray.keep_checksums``."""
        await self._core.changing("checksums", keep=bool(keep))

    async def compact(self) -> None:
        """Writes it anew without the bytes that changes have left behind."""
        await self._core.changing("compact")


class AsyncSChunk(_AsyncFrame):
    """A sequence of items in chunks, as ``gridhold.SChunk``."""

    def __len__(self) -> int:
        """Whole items, as of what was last heard of it."""
        return int(self.nbytes // self.typesize)

    async def __getitem__(self, key: int | slice) -> bytes:
        """``await schunk[2:7]``."""
        if self._core.follows and not lies_within(key, (len(self),)):
            await self.refresh()
        ((only,), _) = basic_of(key, (len(self),), backwards=True)
        return await self._core.reading(c.SLICE, [only.start, only.stop, only.step])

    async def set(self, key: int | slice, value: Any) -> None:
        """Replaces items; a slice has no step."""
        ((only,), _) = basic_of(key, (len(self),))
        raw = _bytes_of(value)
        if only.step != 1 or len(raw) != len(only) * self.typesize:
            raise InvalidError(f"schunk: {len(raw)} bytes for {len(only)} items of {self.typesize}, without steps")
        await self._core.writing(c.PUT_SLICE, [only.start], raw)

    async def append(self, data: Any) -> int:
        """Adds items at the end. Returns how many there are."""
        await self._core.writing(c.APPEND, (), _bytes_of(data))
        return len(self)

    async def append_data(self, data: Any) -> int:
        """Adds a chunk at the end; returns how many there are."""
        await self._core.writing(c.ADD_CHUNK, (), _bytes_of(data))
        return int(self.nchunks)

    async def update_data(self, nchunk: int, data: Any) -> int:
        """Replaces a chunk; returns how many there are."""
        await self._core.writing(c.UPDATE, [operator.index(nchunk)], _bytes_of(data))
        return int(self.nchunks)


class AsyncNDArray(Boxed, _AsyncFrame):
    """An array in chunks that are boxes, as ``gridhold.NDArray``."""

    async def __getitem__(self, key: Any) -> Any:
        """``await array[1:4, ::-1]``."""
        if self._outgrown(key):
            await self.refresh()
        out, positions, drop = self._wanted(key)
        for numbers, where in self._parts(positions):
            out[where] = _items(await self._core.reading(c.SLICE, numbers), out[where])
        return out[drop]

    async def set(self, key: Any, value: Any) -> None:
        """``array[key] = value``, for asyncio."""
        if self._outgrown(key):
            await self.refresh()
        items, positions = self._given(key, value)
        for numbers, where in self._parts(positions):
            await self._core.writing(c.PUT_SLICE, numbers, np.ascontiguousarray(items[where]).tobytes())

    async def resize(self, newshape: Sequence[int]) -> None:
        """Another shape; what it grows by is zero."""
        await self._core.writing(c.RESIZE, [operator.index(n) for n in newshape])

    async def append(self, values: Any, axis: int = 0) -> tuple[int, ...]:
        """Adds slices along an axis; returns the shape."""
        await self._core.writing(c.APPEND, *self._appended(values, axis))
        return self.shape


class AsyncKeyStore(AsyncContainer):
    """Frames under keys, as ``gridhold.EmbedStore``, ``DictStore`` and ``TreeStore``: ``kind`` says which."""

    @property
    def kind(self) -> str:
        """``embedstore``, ``dictstore`` or ``treestore``."""
        return self._core.kind

    async def keys(self) -> list[str]:
        return await self._core.doing("keys")  # type: ignore[no-any-return]

    async def __getitem__(self, key: str) -> Any:
        """``await store[key]``; closed with the store. Raises KeyError."""
        try:
            return opened(await self._core.leaf(_key(key)).opening())
        except NotFoundError as e:
            raise KeyError(key) from e

    async def set(self, key: str, value: Any) -> None:
        """Stores a copy of a container, or of an array of numpy."""
        if isinstance(value, _AsyncFrame):
            await self._core.putting(_key(key), value._core)
            return
        async with await asarray(np.asarray(value), runtime=self._core.runtime) as made:
            await self._core.putting(_key(key), made._core)

    async def delete(self, key: str) -> None:
        try:
            await self._core.doing("delete", key=_key(key))
        except NotFoundError as e:
            raise KeyError(key) from e

    async def get_children(self, path: str = "/") -> list[str]:
        """Of a tree: the nodes right below a node, by their keys."""
        names = await self._core.doing("children", key=_key(path))
        return [f"{path.rstrip('/')}/{name}" for name in names]

    async def to_b2z(self, filename: Any, *, overwrite: bool = False) -> str:
        """Writes it as a zip, which appears in one step; returns its name. Not of an EmbedStore."""
        local = c.local_path(filename)
        if local is None:
            raise UnsupportedError(f"to_b2z: {filename}: archives are made in directories of this machine")
        directory, name = c.split(local)
        system = self._core.runtime.lend_files(directory)
        await self._core.doing("to_b2z", fs=system.id, name=name, overwrite=overwrite)
        return f"{directory}/{name}"


def opened(core: Container) -> AsyncContainer:
    """The class that goes with a kind."""
    kinds: dict[str, type[AsyncContainer]] = {"ndarray": AsyncNDArray}
    return kinds.get(core.kind, AsyncKeyStore if core.kind.endswith("store") else AsyncSChunk)._of(core)


def _in_loop(options: dict[str, Any]) -> dict[str, Any]:
    if "runtime" not in options:
        options["runtime"] = loop_runtime(options.pop("memory", DEFAULT_MEMORY), bool(options.pop("strict", False)))
    return options


async def zeros(shape: Any, dtype: Any = np.float64, **options: Any) -> AsyncNDArray:
    """See ``gridhold.zeros``."""
    return AsyncNDArray._of(await _creating.create_array(shape, dtype, **_in_loop(options)).opening())


async def full(shape: Any, fill_value: Any, dtype: Any = None, **options: Any) -> AsyncNDArray:
    """See ``gridhold.full``."""
    return await asarray(np.full(shape, fill_value, dtype), **options)


async def asarray(array: Any, **options: Any) -> AsyncNDArray:
    """See ``gridhold.asarray``."""
    items, options = np.asarray(array), _in_loop(options)
    if _creating.fits(items, options["runtime"].memory):
        core = _creating.create_array(items.shape, items.dtype, np.ascontiguousarray(items).tobytes(), **options)
        return AsyncNDArray._of(await core.opening())
    made = await zeros(items.shape, items.dtype, **options)
    try:
        await made.set(..., items)
        return made
    except BaseException:
        await made.close()
        raise


async def open_store(kind: str, urlpath: Any = None, mode: str = "a", **options: Any) -> AsyncKeyStore:
    """An ``"embedstore"``, ``"dictstore"`` or ``"treestore"``; the rest as ``gridhold.DictStore`` has it."""
    if kind not in ("embedstore", "dictstore", "treestore"):
        raise InvalidError(f"kind: {kind!r}: 'embedstore', 'dictstore' or 'treestore' is needed")
    return AsyncKeyStore._of(await _creating.opening_store(kind, urlpath, mode, **_in_loop(options)))
