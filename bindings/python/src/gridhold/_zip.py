"""Archives as stores."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ._errors import InvalidError

if TYPE_CHECKING:
    from ._http import HTTPStore
    from ._store import Store

SCHEME = "zip://"


class ZipStore:
    """The members of an archive: of a path or URL, or of a ``key`` in a store.

    The core finds and unpacks them; what is stored in it as it is, is read by
    ranges. ``"zip://"`` and a path or URL of an archive is the same.
    """

    def __init__(self, source: str | os.PathLike[str] | Store | HTTPStore, key: str | None = None) -> None:
        from ._place import object_at

        if isinstance(source, ZipStore):
            raise InvalidError("zip: an archive within an archive")
        self.source: str | Store | HTTPStore
        if key is not None:
            self.source, self.key = os.fspath(source) if isinstance(source, os.PathLike) else source, key
        elif isinstance(source, (str, os.PathLike)):
            self.source, self.key = object_at(os.fspath(source))
        else:
            raise TypeError("key: an archive in a store is named by its key")

    def __repr__(self) -> str:
        return f"ZipStore({self.source!r}, {self.key!r})"
