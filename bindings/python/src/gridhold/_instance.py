"""One instance of the guest: its exports, its memory, its end.

A trap, an exit or a broken contract kills it. Then nothing of it is called
again, for what it would answer may look right.
"""

from __future__ import annotations

import ctypes
import struct
import weakref
from collections.abc import Callable
from typing import Any

import wasmtime
from wasmtime import _ffi

from . import _abi
from ._engine import compiled
from ._errors import InternalError
from ._imported import imported
from ._memory import Memory

_MASK = 0xFFFFFFFF
ffi: Any = _ffi  # the C API: wasmtime's version is pinned for its sake
_I32 = 0  # WASMTIME_I32
_EBADF = 8
_SAID_MAX = 4096  # the reason comes first, then where every goroutine was

Import = Callable[..., "int | None"]


class Instance:
    """Used by one thread at a time; whoever owns it sees to that.

    ``imports`` has the functions of module ``gridhold`` by name; they get
    unsigned numbers and must not raise. ``memory`` is the cap in bytes.
    """

    def __init__(self, imports: Callable[[str], Import], memory: int) -> None:
        engine, module = compiled.get()
        self.dead = ""
        self._store = wasmtime.Store(engine)
        self._store.set_limits(memory_size=memory)
        self._said = bytearray()
        self._kept: list[object] = []
        self._store.set_wasi(wasmtime.WasiConfig())
        linker = wasmtime.Linker(engine)
        linker.define_wasi()
        linker.allow_shadowing = True
        for wanted in module.imports:
            name, kind = wanted.name or "", wanted.type
            if wanted.module == "gridhold":
                function = imports(name)
            elif name == "fd_write":
                function = self._listener()
            else:
                continue
            assert isinstance(kind, wasmtime.FuncType)
            made, kept = imported(self._store, kind, function)
            self._kept.append(kept)
            linker.define(self._store, wanted.module, name, made)
        try:
            exports = linker.instantiate(self._store, module).exports(self._store)
        except wasmtime.WasmtimeError as e:
            raise InternalError(f"guest: {_first_line(e)}") from None
        self._exports: dict[str, _Export] = {}
        for name in exports:
            found = exports[name]
            if isinstance(found, wasmtime.Func):
                self._exports[name] = _Export(self._store, found)
        memory_export = exports["memory"]
        assert isinstance(memory_export, wasmtime.Memory)
        self.memory = Memory(self._store, memory_export)
        self.call("_initialize")
        version = self.call("gh_abi")
        if version >> 16 != _abi.MAJOR:
            raise InternalError(f"guest: has ABI {version >> 16}, this host needs {_abi.MAJOR}")
        self._mailbox = self.call("gh_mailbox")

    def _listener(self) -> Import:
        """Keeps the first of what the guest writes: it says there why it ends.

        Wasmtime's own output would come on a thread of its own, which must
        not be caught at that when the interpreter shuts down.
        """
        ref = weakref.ref(self)

        def fd_write(fd: int, vectors: int, count: int, written: int) -> int:
            self = ref()
            if self is None:
                return _EBADF
            try:
                vectors, written = vectors & _MASK, written & _MASK
                total = 0
                self.memory.moved()
                for ptr, n in struct.iter_unpack("<II", self.memory.read(vectors, 8 * count)):
                    self._said += self.memory.read(ptr, n)[: max(0, _SAID_MAX - len(self._said))]
                    total += n
                self.memory.write(written, struct.pack("<I", total))
                return 0
            except InternalError:
                return _EBADF

        return fd_write

    def call(self, name: str, *args: int) -> int:
        """Calls an export; the answer is unsigned, 0 where there is none.

        Raises InternalError if the instance dies of it, or was dead.
        """
        if self.dead:
            raise InternalError(self.dead)
        try:
            return self._exports[name](*args)
        except BaseException as e:
            self.kill(f"{name}: {_first_line(e)}")
            if not isinstance(e, (wasmtime.WasmtimeError, wasmtime.Trap)):
                raise
            raise InternalError(self.dead) from None
        finally:
            self.memory.moved()

    def mailbox(self) -> _abi.Mailbox:
        return _abi.parse_mailbox(self.memory.read(self._mailbox, _abi.MAILBOX_SIZE))

    def kill(self, why: str) -> None:
        """Marks it dead, for the reason given and the one it wrote itself."""
        if not self.dead:
            said = self._said.decode("utf-8", "replace").strip().splitlines()
            reasons = [line for line in said if line.startswith(("fatal error:", "panic:"))] or said
            self.dead = f"guest: {why}" + (f": {reasons[0]}" if reasons else "")

    def write_request(self, mailbox: _abi.Mailbox, request: bytes) -> tuple[int, bool]:
        """Puts the bytes of a request where the guest can read them: address, and whether it must be freed."""
        if len(request) <= mailbox.req_cap:
            self.memory.write(mailbox.req_ptr, request)
            return mailbox.req_ptr, False
        ptr = self.call("gh_alloc", len(request))
        if ptr:
            self.memory.write(ptr, request)
        return ptr, True


class _Export:
    """A function of 32-bit numbers, with room for its arguments made once.

    wasmtime's own call asks for the function's type and makes objects of
    every number each time, which costs ten times what the call does.
    """

    def __init__(self, store: wasmtime.Store, function: wasmtime.Func) -> None:
        kind = function.type(store)
        self._store = store
        self._function = function
        self._arguments = (ffi.wasmtime_val_t * max(1, len(kind.params)))()
        self._results = (ffi.wasmtime_val_t * max(1, len(kind.results)))()
        self._shape = len(kind.params), len(kind.results)
        for argument in self._arguments:
            argument.kind = _I32

    def __call__(self, *args: int) -> int:
        takes, gives = self._shape
        if len(args) != takes:
            raise TypeError(f"takes {takes} numbers, not {len(args)}")
        for place, n in zip(self._arguments, args):
            place.of.i32 = n  # ctypes keeps the low 32 bits
        trap = ctypes.POINTER(ffi.wasm_trap_t)()
        error = ffi.wasmtime_func_call(
            self._store._context(), self._function._func, self._arguments, takes, self._results, gives, ctypes.byref(trap)
        )
        if error:
            raise wasmtime.WasmtimeError._from_ptr(error)
        if trap:
            raise wasmtime.Trap._from_ptr(trap)
        return int(self._results[0].of.i32) & _MASK if gives else 0


def _first_line(e: BaseException) -> str:
    """The end of wasmtime's chain of causes says what happened, the rest where."""
    lines = [line.strip() for line in str(e).splitlines() if line.strip()]
    causes = [line for line in lines if "wasm trap" in line or "Exited" in line]
    return (causes or lines or [type(e).__name__])[-1 if causes else 0]
