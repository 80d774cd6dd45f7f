"""Stores of other libraries: obstore's, zarr-python's (Icechunk's is one of those), and what turns any of them into ours."""

from __future__ import annotations

import asyncio
import posixpath
import sys
import threading
import typing
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from . import _fork
from ._errors import IOFailedError, NotAllowedError, StaleError
from ._fsspec import FsspecStore
from ._ranges import Part, joined
from ._store import Answer, Range, check_key, cut

_AT_ONCE = 32  # requests of one batch

T = TypeVar("T")


class _Background:
    """An event loop in a thread of its own: libraries that are asynchronous are called there by callers that block."""

    def __init__(self) -> None:
        self._restart()
        _fork.register(self)

    def _restart(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="gridhold-stores", daemon=True).start()
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()


_background = _Background()


async def _all(call: Callable[[Part], Coroutine[Any, Any, T]], parts: Sequence[Part]) -> list[T]:
    """What ``call`` gives for each part, some of them under way at once. The first failure ends the others."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(part: Part) -> T:
        async with gate:
            return await call(part)

    tasks = [asyncio.ensure_future(one(part)) for part in parts]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


class ObstoreStore:
    """A store of obstore: S3, Google, Azure, HTTP, a directory, memory. Safe for use by several threads.

    A version is the object's tag, asked for with each request after the first: a change is noticed. Where a server
    gives none (some that only speak HTTP), it is not.
    """

    def __init__(self, store: Any) -> None:
        self.store = store

    def __repr__(self) -> str:
        return f"ObstoreStore({self.store!r})"

    def read_ranges(self, key: str, ranges: Sequence[Range], version: str) -> Answer | None:
        """See ``Store``."""
        import obstore  # type: ignore[import-not-found, unused-ignore]
        from obstore import exceptions as failures

        try:
            return _background.run(self._read(obstore, check_key(key), ranges, version))
        except FileNotFoundError:
            return None
        except failures.PreconditionError as e:
            raise StaleError(f"store: {key}: changed between reads that must agree", item=key) from e
        except (failures.PermissionDeniedError, failures.UnauthenticatedError) as e:
            raise NotAllowedError(f"store: {key}: {_first_line(e)}", item=key) from e
        except failures.BaseError as e:
            raise IOFailedError(f"store: {key}: {_first_line(e)}", item=key) from e

    async def _read(self, obstore: Any, key: str, ranges: Sequence[Range], version: str) -> Answer:
        async def get(part: Part) -> tuple[bytes, int, str]:
            off, length = part.range
            if length:
                options: dict[str, Any] = {"range": _obstore_range(off, length)}
                if version:
                    options["if_match"] = version
                try:
                    got = await obstore.get_async(self.store, key, options=options)
                    return bytes(await got.bytes_async()), got.meta["size"], got.meta["e_tag"] or ""
                except obstore.exceptions.GenericError:
                    if off < 0:
                        raise
                    # Perhaps it begins past the end, which is no failure here.
                    meta = await obstore.head_async(self.store, key)
                    if off < meta["size"]:
                        raise
            else:
                meta = await obstore.head_async(self.store, key)
            return b"", meta["size"], meta["e_tag"] or ""

        parts = joined(ranges) or [Part((0, 0))]
        answers = await _all(get, parts)
        data: list[bytes] = [b""] * len(ranges)
        for part, (raw, _, _) in zip(parts, answers):
            part.hand_out(raw, data)
        states = {tag for _, _, tag in answers}
        if len(states) > 1:
            raise StaleError(f"store: {key}: changed between reads that must agree", item=key)
        return Answer(data, answers[0][1], states.pop())

    def list(self, prefix: str) -> list[str]:
        """See ``Store``."""
        import obstore

        found = obstore.list_with_delimiter(self.store, prefix.rstrip("/") or None)
        names = [posixpath.basename(p.rstrip("/")) + "/" for p in found["common_prefixes"]]
        return sorted(names + [posixpath.basename(o["path"]) for o in found["objects"]])


def _obstore_range(off: int, length: int) -> Any:
    if off < 0:
        return {"suffix": length}
    return {"offset": off} if length < 0 else (off, off + length)


def _first_line(e: BaseException) -> str:
    return next(iter(str(e).splitlines()), type(e).__name__)


class ZarrStore:
    """A store of zarr-python 3, so also of an Icechunk session. Safe for use by several threads.

    Such stores tell no versions, so **a change is not noticed**: an index that a cache holds is trusted until it is
    cleared. Of a read-only session of Icechunk nothing changes; of a writable one, open the array again after a write.
    """

    def __init__(self, store: Any) -> None:
        self.store = store

    def __repr__(self) -> str:
        return f"ZarrStore({self.store!r})"

    def read_ranges(self, key: str, ranges: Sequence[Range], version: str) -> Answer | None:
        """See ``Store``."""
        return _background.run(self._read(check_key(key), ranges))

    async def _read(self, key: str, ranges: Sequence[Range]) -> Answer | None:
        from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest  # type: ignore[import-not-found, unused-ignore]
        from zarr.core.buffer import default_buffer_prototype  # type: ignore[import-not-found, unused-ignore]

        def request(off: int, length: int) -> Any:
            if off < 0:
                return SuffixByteRequest(length)
            return OffsetByteRequest(off) if length < 0 else RangeByteRequest(off, off + length)

        prototype = default_buffer_prototype()
        if _is_metadata(posixpath.basename(key)):  # small, and Icechunk does not like ranges of it
            try:
                whole = await self.store.get(key, prototype)
            except Exception as e:
                if "invalid zarr key" in str(e):  # Icechunk has no names of other formats
                    return None
                raise
            if whole is None:
                return None
            raw = whole.to_bytes()
            return Answer([cut(raw, *r) for r in ranges], len(raw))

        async def get(part: Part) -> bytes | None:
            off, length = part.range
            try:
                got = await self.store.get(key, prototype, request(off, length))
                raw: bytes | None = None if got is None else got.to_bytes()
                if raw is None or length < 0 or len(raw) == length:
                    return raw
            except Exception:
                if not await self.store.exists(key):  # Icechunk fails where there is no such array
                    return None
                if off >= 0:
                    raise
            # Less than was asked for. What a store does then, past the end, is not agreed upon.
            size = await self.store.getsize(key)
            start = max(0, size - length) if off < 0 else min(off, size)
            stop = size if off < 0 else min(off + length, size)
            if start == stop:
                return b""
            got = await self.store.get(key, prototype, RangeByteRequest(start, stop))
            return None if got is None else got.to_bytes()  # type: ignore[no-any-return]

        parts = joined(ranges)
        if not parts:
            there = await self.store.exists(key)
            return Answer([], await self.store.getsize(key)) if there else None
        answers = await _all(get, parts)
        data: list[bytes] = [b""] * len(ranges)
        for part, raw in zip(parts, answers):
            if raw is None:
                return None
            part.hand_out(raw, data)
        return Answer(data)

    def list(self, prefix: str) -> list[str]:
        """See ``Store``."""

        async def names() -> list[str]:
            found = []
            async for name in self.store.list_dir(prefix.rstrip("/")):
                name = posixpath.basename(name.rstrip("/"))
                is_object = await self.store.exists(prefix + name) if _is_metadata(name) else False
                found.append(name + "/" * (not is_object))
            return sorted(found)

        return _background.run(names())


def _is_metadata(name: str) -> bool:
    """Whether an object is one of Zarr's metadata: they alone are looked for in listings, chunks are asked for by key."""
    return name == "zarr.json" or name.startswith(".z")


def adapted(source: Any) -> Any:
    """A store of another library as one of ours; anything else as it is.

    No library is imported for it: whoever has an object of one has done so.
    """
    if callable(getattr(source, "read_ranges", None)):
        return source
    mapping = sys.modules.get("fsspec.mapping")
    if mapping is not None and isinstance(source, mapping.FSMap):
        return FsspecStore(source.fs, source.root)
    of_obstore = sys.modules.get("obstore.store")
    if of_obstore is not None and isinstance(source, typing.get_args(of_obstore.ObjectStore)):
        return ObstoreStore(source)
    of_zarr = sys.modules.get("zarr.abc.store")
    if of_zarr is not None and isinstance(source, of_zarr.Store):
        return ZarrStore(source)
    return source
