"""The memory of an instance, seen from outside."""

from __future__ import annotations

import ctypes

import wasmtime

from ._errors import InternalError


class Memory:
    """Reads and writes guest memory, every address checked.

    Its address and its size are looked up once, until somebody says that the
    guest ran on: then it may have grown, and lie elsewhere.
    """

    __slots__ = ("_base", "_length", "_memory", "_store")

    def __init__(self, store: wasmtime.Store, memory: wasmtime.Memory) -> None:
        self._store = store
        self._memory = memory
        self._base, self._length = 0, -1

    def moved(self) -> None:
        """To be called whenever the guest has run: by each of its exports, and before anything is done in an import."""
        self._length = -1

    def _at(self, ptr: int, n: int) -> int:
        if self._length < 0:
            self._base = ctypes.addressof(self._memory.data_ptr(self._store).contents)
            self._length = self._memory.data_len(self._store)
        if ptr < 0 or n < 0 or ptr + n > self._length:
            raise InternalError(f"guest: address {ptr} with {n} bytes lies outside its memory")
        return self._base + ptr

    def size(self) -> int:
        """Bytes."""
        return self._memory.data_len(self._store)

    def read(self, ptr: int, n: int) -> bytes:
        """A copy."""
        return ctypes.string_at(self._at(ptr, n), n)

    def write(self, ptr: int, data: bytes | bytearray | memoryview) -> None:
        if not isinstance(data, bytes):
            data = bytes(data)
        ctypes.memmove(self._at(ptr, len(data)), data, len(data))

    def window(self, ptr: int, n: int) -> memoryview:
        """The bytes themselves. Only for use inside one import, and only before the guest runs on."""
        return memoryview((ctypes.c_ubyte * n).from_address(self._at(ptr, n))).cast("B")
