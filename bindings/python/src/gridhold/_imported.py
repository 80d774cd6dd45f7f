"""Functions of this host as the guest calls them.

wasmtime's own way makes objects of every number and asks for every type, each time: some twenty microseconds a call,
where the guest makes one for each image of a batch. Here numbers are taken from where the machine code put them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import wasmtime
from wasmtime import _ffi

ffi: Any = _ffi  # the C API: wasmtime's version is pinned for its sake
_WORDS = ctypes.sizeof(ffi.wasmtime_val_raw_t) // 4  # of 32 bits, from one number to the next
_Called = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int32), ctypes.c_size_t)
_NO_FINALIZER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)()


def imported(store: wasmtime.Store, kind: wasmtime.FuncType, function: Callable[..., int | None]) -> tuple[wasmtime.Func, object]:
    """A function of 32-bit numbers for the guest, and what must be kept as long as the store lives.

    ``function`` gets signed numbers. What it raises becomes a trap.
    """
    takes = range(0, len(kind.params) * _WORDS, _WORDS)
    gives = bool(kind.results)
    if any(str(n) != "i32" for n in (*kind.params, *kind.results)) or len(kind.results) > 1:
        raise TypeError(f"imports take and give 32 bits, not {kind.params} and {kind.results}")

    def called(_env: Any, _caller: Any, numbers: Any, _count: int) -> int:
        try:
            answer = function(*[numbers[i] for i in takes])
            if gives:
                numbers[0] = answer
            return 0
        except BaseException:
            trap = wasmtime.Trap("an import raised")._consume()  # type: ignore[attr-defined, unused-ignore]
            return ctypes.cast(trap, ctypes.c_void_p).value or 0

    kept = _Called(called)
    made = ffi.wasmtime_func_t()
    callback = ctypes.cast(kept, ffi.wasmtime_func_unchecked_callback_t)
    ffi.wasmtime_func_new_unchecked(store._context(), kind.ptr(), callback, None, _NO_FINALIZER, ctypes.byref(made))
    return wasmtime.Func._from_raw(made), kept
