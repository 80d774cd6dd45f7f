"""One instance of the guest: its exports, its memory, its end.

A trap, an exit or a broken contract kills it. Then nothing of it is called
again, for what it would answer may look right.
"""

from __future__ import annotations

from collections.abc import Callable

import wasmtime

from . import _abi
from ._engine import compiled
from ._errors import InternalError
from ._memory import Memory

_MASK = 0xFFFFFFFF
_LAST_WORDS = 2000

Import = Callable[..., "int | None"]


class Instance:
    """Used by one thread at a time; whoever owns it sees to that.

    ``imports`` has the functions of module ``gridhold`` by name; they get
    unsigned numbers and must not raise. ``memory`` is the cap in bytes.
    """

    def __init__(self, imports: Callable[[str], Import], memory: int) -> None:
        engine, module = compiled.get()
        self.dead = ""
        self._words = b""
        self._store = wasmtime.Store(engine)
        self._store.set_limits(memory_size=memory)
        wasi = wasmtime.WasiConfig()
        words: list[bytes] = []
        self._said = words

        def listen(data: bytes) -> int:
            words.append(bytes(data)[-_LAST_WORDS:])
            del words[:-8]
            return len(data)

        wasi.stderr_custom = listen
        self._store.set_wasi(wasi)
        linker = wasmtime.Linker(engine)
        linker.define_wasi()
        for wanted in module.imports:
            if wanted.module == "gridhold":
                kind = wanted.type
                if not isinstance(kind, wasmtime.FuncType):
                    raise InternalError(f"guest: import {wanted.name} is no function")
                linker.define(self._store, "gridhold", wanted.name or "", wasmtime.Func(self._store, kind, imports(wanted.name or "")))
        try:
            exports = linker.instantiate(self._store, module).exports(self._store)
        except wasmtime.WasmtimeError as e:
            raise InternalError(f"guest: {_first_line(e)}") from None
        self._exports = exports
        memory_export = exports["memory"]
        assert isinstance(memory_export, wasmtime.Memory)
        self.memory = Memory(self._store, memory_export)
        self.call("_initialize")
        version = self.call("gh_abi")
        if version >> 16 != _abi.MAJOR:
            raise InternalError(f"guest: has ABI {version >> 16}, this host needs {_abi.MAJOR}")
        self._mailbox = self.call("gh_mailbox")

    def call(self, name: str, *args: int) -> int:
        """Calls an export; the answer is unsigned, 0 where there is none.

        Raises InternalError if the instance dies of it, or was dead.
        """
        if self.dead:
            raise InternalError(self.dead)
        function = self._exports[name]
        assert isinstance(function, wasmtime.Func)
        try:
            answer = function(self._store, *args)
        except BaseException as e:
            self.kill(f"{name}: {_first_line(e)}")
            if not isinstance(e, (wasmtime.WasmtimeError, wasmtime.Trap)):
                raise
            raise InternalError(self.dead) from None
        return (answer or 0) & _MASK

    def mailbox(self) -> _abi.Mailbox:
        return _abi.parse_mailbox(self.memory.read(self._mailbox, _abi.MAILBOX_SIZE))

    def kill(self, why: str) -> None:
        """Marks it dead, for the reason given. What it said last is the better part of the reason."""
        if not self.dead:
            said = b"".join(self._said).decode("utf-8", "replace").strip().splitlines()
            self.dead = f"guest: {why}" + (f": {said[0]}" if said else "")

    def write_request(self, mailbox: _abi.Mailbox, request: bytes) -> tuple[int, bool]:
        """Puts the bytes of a request where the guest can read them: address, and whether it must be freed."""
        if len(request) <= mailbox.req_cap:
            self.memory.write(mailbox.req_ptr, request)
            return mailbox.req_ptr, False
        ptr = self.call("gh_alloc", len(request))
        if ptr:
            self.memory.write(ptr, request)
        return ptr, True


def _first_line(e: BaseException) -> str:
    """The end of wasmtime's chain of causes says what happened, the rest where."""
    lines = [line.strip() for line in str(e).splitlines() if line.strip()]
    causes = [line for line in lines if "wasm trap" in line or "Exited" in line]
    return (causes or lines or [type(e).__name__])[-1 if causes else 0]
