"""Stores by the names of zarrista: ``from gridhold.zarr.store import FilesystemStore``."""

from __future__ import annotations

from .._file import FileStore as FilesystemStore
from .._http import HTTPStore
from .._store import MemoryStore, Store
from .._zip import ZipStore

__all__ = ["FilesystemStore", "HTTPStore", "MemoryStore", "Store", "ZipStore"]
