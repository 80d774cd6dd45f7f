"""A store as it is lent to the guest: under a number, and held to its contract."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Sequence
from typing import Any

from ._errors import UnsupportedError, wrapped
from ._store import Answer, Range, Store, check_answer

_serial = itertools.count(1)


class Lent:
    """One store. Lives as long as something that was opened in it."""

    def __init__(self, store: Store) -> None:
        self.id = next(_serial) & 0xFFFFFFFF
        self.store = store
        self._read_now: Any = getattr(store, "_read_now", None)
        self.local = self._read_now is not None
        self.warm: Any = getattr(store, "_read_warm", None)
        """``warm(key, ranges, version)``: the bytes of each range if they are at hand, of that version; else None."""
        self.gather: Any = getattr(store, "_gather_warm", None)
        """``gather(files, spans)``: ``warm`` of several files, the bytes one after another."""
        self.asynchronous = inspect.iscoroutinefunction(store.read_ranges)

    def now(self, key: str, ranges: Sequence[Range], version: str, may_block: bool) -> Answer | None:
        """The answer, if it can be had without waiting for anything but a local disk, or (unless ``may_block``) at all."""
        if not self.local:
            return None
        answer: Answer | None = self._read_now(key, ranges, version, may_block)
        return answer

    def read(self, key: str, ranges: Sequence[Range], version: str) -> Answer:
        """Calls a store that blocks."""
        try:
            return check_answer(key, ranges, version, self.store.read_ranges(key, ranges, version))
        except Exception as e:
            raise wrapped(e, key)

    async def read_async(self, key: str, ranges: Sequence[Range], version: str) -> Answer:
        """Calls a store that is asynchronous."""
        try:
            return check_answer(key, ranges, version, await self.store.read_ranges(key, ranges, version))  # type: ignore[misc]
        except Exception as e:
            raise wrapped(e, key)

    def lister(self) -> Any:
        """The store's ``list``. Raises UnsupportedError where it has none."""
        lister = getattr(self.store, "list", None)
        if lister is None:
            raise UnsupportedError("store: cannot list its names")
        return lister

    def list_now(self, prefix: str, may_block: bool) -> list[str] | None:
        if not self.local or not may_block:
            return None
        return self.lister()(prefix)  # type: ignore[no-any-return]
