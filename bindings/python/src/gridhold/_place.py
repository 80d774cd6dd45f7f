"""Where something is: a store, how the guest gets at it, and a path in it."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import unquote, urlsplit

from ._errors import InvalidError
from ._file import FileStore
from ._http import HTTPStore
from ._lent import Lent
from ._runtime import Runtime
from ._store import Store


class Place:
    """A store that a caller named or handed in. One that was only named is closed with the place."""

    def __init__(self, source: Any, path: str) -> None:
        if not isinstance(path, str):
            raise TypeError(f"path must be text, not {type(path).__name__}")
        self.path = path.strip("/")
        self._owned: FileStore | None = None
        self._identity: object
        self.lent: Lent | None = None
        self.store: Store | HTTPStore
        if isinstance(source, (str, os.PathLike)):
            source = _named(os.fspath(source))
            if isinstance(source, FileStore):
                self._owned = source
        if isinstance(source, HTTPStore):
            self._identity = "http", source.url
        elif isinstance(source, FileStore):
            self._identity = "file", os.path.realpath(source._path)
        elif callable(getattr(source, "read_ranges", None)):
            self._identity = source
        else:
            raise TypeError(f"a path, a URL or a store is needed, not {type(source).__name__}")
        self.store = source

    def lend(self, runtime: Runtime) -> None:
        """Makes the store known to the guests of a runtime."""
        if not isinstance(self.store, HTTPStore):
            self.lent = runtime.lend(self.store)

    def spec(self) -> dict[str, Any]:
        """The store as the guest is told of it."""
        if isinstance(self.store, HTTPStore):
            return {
                "kind": "http",
                "url": self.store.url,
                "forbidden_is_missing": self.store.forbidden_is_missing,
                "no_suffix": self.store.no_suffix,
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


def _named(text: str) -> FileStore | HTTPStore:
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
    raise InvalidError(f"store: {text}: no such kind of URL here", item=text)
