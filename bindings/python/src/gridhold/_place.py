"""Where something is: a store, how the guest gets at it, and a path in it."""

from __future__ import annotations

import importlib.util
import os
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from ._errors import InvalidError
from ._file import FileStore
from ._fsspec import FsspecStore
from ._http import HTTPStore
from ._lent import Lent
from ._runtime import Runtime
from ._store import MemoryStore, Store
from ._zip import SCHEME, ZipStore


class Place:
    """A store that a caller named or handed in. One that was only named is closed with the place."""

    def __init__(self, source: Any, path: str) -> None:
        if not isinstance(path, str):
            raise TypeError(f"path must be text, not {type(path).__name__}")
        self.path = path.strip("/")
        self._owned: FileStore | None = None
        self._identity: object
        self.lent: Lent | None = None  # to be kept as long as something is open here
        self.direct: Lent | None = None  # the same, if its objects are what the guest reads
        self.store: Store | HTTPStore | ZipStore
        self._inner: Place | None = None  # of an archive
        if isinstance(source, (str, os.PathLike)):
            source = _named(os.fspath(source))
            if isinstance(source, FileStore):
                self._owned = source
        if isinstance(source, ZipStore):
            self._inner = Place(source.source, "")
            self._identity = "zip", self._inner.identity(), source.key
        elif isinstance(source, HTTPStore):
            self._identity = "http", source.url
        elif isinstance(source, FileStore):
            self._identity = "file", os.path.realpath(source._path)
        else:
            from ._stores import adapted  # which imports asyncio

            self._identity = source
            source = adapted(source)
            if not callable(getattr(source, "read_ranges", None)):
                raise TypeError(f"a path, a URL or a store is needed, not {type(source).__name__}")
        self.store = source

    def lend(self, runtime: Runtime) -> None:
        """Makes the store known to the guests of a runtime."""
        if self._inner is not None:
            self._inner.lend(runtime)
            self.lent = self._inner.lent
        elif not isinstance(self.store, (HTTPStore, ZipStore)):
            self.lent = self.direct = runtime.lend(self.store)

    def spec(self) -> dict[str, Any]:
        """The store as the guest is told of it."""
        if self._inner is not None and isinstance(self.store, ZipStore):
            return {**self._inner.spec(), "zip": self.store.key}
        if isinstance(self.store, HTTPStore):
            return {
                "kind": "http",
                "url": self.store.url,
                "forbidden_is_missing": self.store.forbidden_is_missing,
                "no_suffix": self.store.no_suffix,
                "gap": self.store.gap,
                "max_merged": self.store.max_merged,
                "parallel": self.store.parallel,
            }
        assert self.lent is not None
        return {"kind": "host", "id": self.lent.id}

    def identity(self) -> tuple[object, ...]:
        if isinstance(self._identity, tuple):
            return self._identity
        return "object", id(self._identity)

    def close(self) -> None:
        if self._owned is not None:
            self._owned.close()
        if self._inner is not None:
            self._inner.close()


def object_at(text: str) -> tuple[str, str]:
    """The object that a path or URL names: what it lies in, and its key there."""
    if "://" not in text:
        above, name = os.path.split(os.path.abspath(text))
        return above, name
    parts = urlsplit(text)
    above, _, name = parts.path.rpartition("/")
    if parts.scheme not in ("http", "https", "file") or not name:
        raise InvalidError(f"store: {text}: names no object", item=text)
    return urlunsplit(parts._replace(path=above)), unquote(name)


def pack_place(pack: Any) -> tuple[Place, str]:
    """Where an index pack lies, and its key there: it is a path, a URL, bytes, or a store and a key."""
    if isinstance(pack, (bytes, bytearray, memoryview)):
        return Place(MemoryStore({"pack": bytes(pack)}), ""), "pack"
    if isinstance(pack, (str, os.PathLike)):
        where, key = object_at(os.fspath(pack))
        return Place(where, ""), key
    store, key = pack
    return Place(store, ""), key


def _named(text: str) -> FileStore | HTTPStore | ZipStore | FsspecStore:
    if text.startswith(SCHEME):
        return ZipStore(text[len(SCHEME) :])
    scheme, colon, _ = text.partition("://")
    if not colon:
        return FileStore(text)
    if scheme in ("http", "https"):
        return HTTPStore(text)
    if scheme == "file":
        parts = urlsplit(text)
        if parts.netloc not in ("", "localhost"):
            raise InvalidError(f"store: {text}: is on another host", item=text)
        return FileStore(unquote(parts.path))
    if importlib.util.find_spec("fsspec") is None:
        raise InvalidError(f"store: {text}: no such kind of URL here, without fsspec", item=text)
    return FsspecStore.from_url(text)
