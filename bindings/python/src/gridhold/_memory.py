"""The memory of an instance, seen from outside."""

from __future__ import annotations

import ctypes

import wasmtime

from ._errors import InternalError


class Memory:
    """Reads and writes guest memory, every address checked.

    The base address is looked up at each access: any call into the guest may
    have moved or grown its memory.
    """

    __slots__ = ("_memory", "_store")

    def __init__(self, store: wasmtime.Store, memory: wasmtime.Memory) -> None:
        self._store = store
        self._memory = memory

    def _at(self, ptr: int, n: int) -> int:
        if ptr < 0 or n < 0 or ptr + n > self._memory.data_len(self._store):
            raise InternalError(f"guest: address {ptr} with {n} bytes lies outside its memory")
        return ctypes.addressof(self._memory.data_ptr(self._store).contents) + ptr

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
