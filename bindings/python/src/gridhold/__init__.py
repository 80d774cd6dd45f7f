"""Gridhold: one block of a big array, now.

    import gridhold

    with gridhold.open_array("data.zarr") as array:
        cache = array.shard_cache()
        block = array.retrieve_subchunk((3, 7), shard_cache=cache)

    with gridhold.open("data.b2nd") as array:
        rows = array[10:20:2]

``gridhold.aio`` has the arrays of Zarr for asyncio.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._abi import Places
from ._array import Array, Group, ShardCache, list_nodes, open, open_array
from ._creating import asarray, full, zeros
from ._errors import (
    CancelledError,
    ClosedError,
    CorruptError,
    Error,
    ExistsError,
    InternalError,
    InvalidError,
    IOFailedError,
    LimitError,
    LockedError,
    LockTimeoutError,
    NoSpaceError,
    NotAllowedError,
    NotFoundError,
    OutOfRangeError,
    ReadOnlyError,
    StaleError,
    UnsupportedError,
    WrongArrayError,
)
from ._file import FileStore
from ._frames import SChunk
from ._http import HTTPStore
from ._images import ImageStack, ImageTable, open_stack, read_table
from ._keyed import DictStore, EmbedStore, TreeStore
from ._ndarray import NDArray
from ._runtime import DEFAULT_MEMORY
from ._store import Answer, MemoryStore, Store
from ._zip import ZipStore

if TYPE_CHECKING:
    from . import aio
    from .aio import AsyncArray, AsyncGroup, AsyncShardCache

__all__ = [
    "Answer",
    "Array",
    "AsyncArray",
    "AsyncGroup",
    "AsyncShardCache",
    "CancelledError",
    "ClosedError",
    "CorruptError",
    "DEFAULT_MEMORY",
    "DictStore",
    "EmbedStore",
    "Error",
    "ExistsError",
    "FileStore",
    "Group",
    "HTTPStore",
    "IOFailedError",
    "ImageStack",
    "ImageTable",
    "InternalError",
    "InvalidError",
    "LimitError",
    "LockTimeoutError",
    "LockedError",
    "MemoryStore",
    "NDArray",
    "NoSpaceError",
    "NotAllowedError",
    "NotFoundError",
    "OutOfRangeError",
    "Places",
    "ReadOnlyError",
    "SChunk",
    "ShardCache",
    "StaleError",
    "Store",
    "TreeStore",
    "UnsupportedError",
    "WrongArrayError",
    "ZipStore",
    "aio",
    "asarray",
    "full",
    "list_nodes",
    "open",
    "open_array",
    "open_stack",
    "read_table",
    "zeros",
]


def __getattr__(name: str) -> Any:
    """What is for asyncio comes when it is asked for: loading that takes longer than all the rest."""
    if name == "aio":
        return importlib.import_module(".aio", __name__)
    if name in ("AsyncArray", "AsyncGroup", "AsyncShardCache"):
        return getattr(importlib.import_module(".aio", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
