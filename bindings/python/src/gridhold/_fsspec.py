"""File systems of fsspec as stores."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Any

from ._errors import InvalidError, UnsupportedError, wrapped
from ._ranges import joined
from ._store import Answer, Range, check_key


class FsspecStore:
    """What lies below ``root`` in a file system of fsspec. Safe for use by several threads if that is.

    fsspec tells no versions, so **a change is not noticed**: an index that a cache holds is trusted until it is cleared,
    and ranges of two states of an object may be mixed. Pickled, it is the file system's own pickle and the root.
    """

    def __init__(self, fs: Any, root: str = "") -> None:
        self.fs = fs
        self.root = root.rstrip("/")

    @classmethod
    def from_url(cls, url: str, **options: Any) -> FsspecStore:
        """The store of a URL, as ``fsspec.core.url_to_fs`` reads it.

        Raises UnsupportedError where its parts are not installed, InvalidError where there is no such kind of URL.
        """
        try:
            from fsspec.core import url_to_fs  # type: ignore[import-untyped, import-not-found, unused-ignore]

            return cls(*url_to_fs(url, **options))
        except ImportError as e:
            raise UnsupportedError(f"store: {url}: {e}", item=url) from e
        except ValueError as e:
            raise InvalidError(f"store: {url}: {e}", item=url) from e
        except OSError as e:
            raise wrapped(e, url) from e

    def __repr__(self) -> str:
        return f"FsspecStore({self.fs!r}, {self.root!r})"

    def _path(self, key: str) -> str:
        return posixpath.join(self.root, key) if key else self.root

    def read_ranges(self, key: str, ranges: Sequence[Range], version: str) -> Answer | None:
        """See ``Store``. Neighbours are read at once, and the requests side by side if the file system is asynchronous."""
        path = self._path(check_key(key))
        parts = joined(ranges)
        spans = [_span(*part.range) for part in parts]
        asked = [(part, span) for part, span in zip(parts, spans) if span[0] != span[1]]
        if not asked:
            size = self._size(path)
            return None if size is None else Answer([b""] * len(ranges), size)
        starts, ends = [s for _, (s, _) in asked], [e for _, (_, e) in asked]
        found = self.fs.cat_ranges([path] * len(asked), starts, ends, on_error="return")
        data: list[bytes] = [b""] * len(ranges)
        for (part, _), raw in zip(asked, found):
            if isinstance(raw, (FileNotFoundError, IsADirectoryError, NotADirectoryError)):
                return None
            if isinstance(raw, OSError) and part.range[0] > 0:  # S3 refuses a range that begins past the end
                size = self._size(path)
                if size is not None and part.range[0] >= size:
                    continue
            if isinstance(raw, BaseException):
                raise raw
            part.hand_out(raw, data)
        return Answer(data)

    def _size(self, path: str) -> int | None:
        """Of an object, as the file system knows it anew; None if there is none."""
        self.fs.invalidate_cache(posixpath.dirname(path))
        try:
            info = self.fs.info(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return None if info["type"] == "directory" else -1 if info["size"] is None else int(info["size"])

    def list(self, prefix: str) -> list[str]:
        """See ``Store``. What the file system remembers of the directory is forgotten first."""
        path = self._path(prefix.rstrip("/"))
        self.fs.invalidate_cache(path)
        try:
            entries = self.fs.ls(path, detail=True)
        except (FileNotFoundError, NotADirectoryError):
            return []
        names = (posixpath.basename(e["name"].rstrip("/")) + "/" * (e["type"] == "directory") for e in entries)
        return sorted(n for n in names if n.strip("/"))


def _span(off: int, length: int) -> tuple[int, int | None]:
    """A range as fsspec has it: a start below 0 counts from the end."""
    if off < 0:
        return (-length, None) if length else (0, 0)
    return off, None if length < 0 else off + length
