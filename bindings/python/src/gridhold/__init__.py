"""Gridhold: one block of a big array, now.

    import gridhold

    with gridhold.open_array("data.zarr") as array:
        cache = array.shard_cache()
        block = array.retrieve_subchunk((3, 7), shard_cache=cache)

``gridhold.aio`` has the same for asyncio.
"""

from . import aio
from ._abi import Places
from ._array import Array, Group, ShardCache, list_nodes, open, open_array
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
from ._http import HTTPStore
from ._runtime import DEFAULT_MEMORY
from ._store import Answer, MemoryStore, Store
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
    "Error",
    "ExistsError",
    "FileStore",
    "Group",
    "HTTPStore",
    "IOFailedError",
    "InternalError",
    "InvalidError",
    "LimitError",
    "LockTimeoutError",
    "LockedError",
    "MemoryStore",
    "NoSpaceError",
    "NotAllowedError",
    "NotFoundError",
    "OutOfRangeError",
    "Places",
    "ReadOnlyError",
    "ShardCache",
    "StaleError",
    "Store",
    "UnsupportedError",
    "WrongArrayError",
    "aio",
    "list_nodes",
    "open",
    "open_array",
]
