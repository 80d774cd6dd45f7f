"""The guest, compiled once a process and kept on disk between processes.

Compiling takes over a second, loading what was compiled some milliseconds.
What is loaded is machine code, so it is taken only from a directory that no
other user can write, and only if its digest, the guest's hash and wasmtime's
version agree. Anything else is ignored and made anew; a directory that cannot
be used means no cache, never a failure.
"""

from __future__ import annotations

import hashlib
import os
import platform
import stat
import tempfile
import threading
from pathlib import Path

import wasmtime

from . import _fork
from ._errors import InternalError

_MAGIC = b"gridhold compiled guest 1\n"
_HERE = Path(__file__).resolve().parent


def guest_path() -> Path:
    """Where the guest lies: in the wheel, or beside its source in a checkout."""
    for path in (_HERE / "gridhold.wasm", _HERE.parents[3] / "wasm" / "gridhold.wasm"):
        if path.is_file():
            return path
    raise InternalError("gridhold.wasm: not in this installation; in a checkout, run make wasm")


def cache_directory() -> Path | None:
    """``$GRIDHOLD_CACHE`` (empty: no cache), else the user's cache directory; None where there is none."""
    named = os.environ.get("GRIDHOLD_CACHE")
    if named is not None:
        return Path(named) if named else None
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "gridhold"
    except RuntimeError:  # no home
        return None


class Compiled:
    """The engine and the module of this process. Safe for use by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: tuple[wasmtime.Engine, wasmtime.Module] | None = None
        self._parents: list[object] = []
        self.loaded = False  # the module came from disk
        _fork.register(self)

    def get(self) -> tuple[wasmtime.Engine, wasmtime.Module]:
        with self._lock:
            if self._made is None:
                engine = wasmtime.Engine()
                self._made = engine, self._module(engine)
            return self._made

    def _restart(self) -> None:
        # The engine's own threads stayed in the parent: never touched again, not even to free it.
        self._parents.append(self._made)
        self._lock = threading.Lock()
        self._made = None

    def _module(self, engine: wasmtime.Engine) -> wasmtime.Module:
        wasm = guest_path().read_bytes()
        version = _version()
        identity = hashlib.sha256(
            b"\0".join([hashlib.sha256(wasm).digest(), version.encode(), platform.machine().encode()])
        ).digest()
        directory = _usable(cache_directory())
        path = directory / f"{identity.hex()[:32]}.cwasm" if directory else None
        if path:
            module = _load(engine, path, identity)
            if module:
                self.loaded = True
                return module
        module = wasmtime.Module(engine, wasm)
        self.loaded = False
        if path:
            _save(path, identity, bytes(module.serialize()))
        return module


def _version() -> str:
    """Of wasmtime, which made what is kept."""
    from importlib import metadata  # which takes a while to load

    return metadata.version("wasmtime")


def _usable(directory: Path | None) -> Path | None:
    """The directory, made if need be, if nobody else can write it."""
    if directory is None:
        return None
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = os.lstat(directory)
    except OSError:
        return None
    if not stat.S_ISDIR(info.st_mode):
        return None
    if hasattr(os, "getuid") and (info.st_uid != os.getuid() or info.st_mode & 0o077):
        return None
    return directory


def _load(engine: wasmtime.Engine, path: Path, identity: bytes) -> wasmtime.Module | None:
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with open(fd, "rb") as file:
            raw = file.read()
    except OSError:
        return None
    head = len(_MAGIC) + 64
    if len(raw) <= head or not raw.startswith(_MAGIC) or raw[len(_MAGIC) : head - 32] != identity:
        return None
    if hashlib.sha256(memoryview(raw)[head:]).digest() != raw[head - 32 : head]:
        return None
    try:
        return wasmtime.Module.deserialize(engine, raw[head:])
    except wasmtime.WasmtimeError:
        return None


def _save(path: Path, identity: bytes, code: bytes) -> None:
    """Whole or not at all: other processes may be doing the same at this moment."""
    try:
        fd, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    except OSError:
        return
    try:
        with open(fd, "wb") as file:
            file.write(_MAGIC + identity + hashlib.sha256(code).digest())
            file.write(code)
        os.replace(name, path)
    except OSError:
        try:
            os.unlink(name)
        except OSError:
            pass


compiled = Compiled()
