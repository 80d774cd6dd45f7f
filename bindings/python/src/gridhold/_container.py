"""A container that is open in a guest, whatever its kind: what frames and stores have in common."""

from __future__ import annotations

import contextlib
import json
import os
import struct
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from . import _abi
from ._errors import ClosedError, InvalidError, LockedError, StaleError
from ._filesystem import FileSystem
from ._guest import Done, Guest
from ._handle import Handle
from ._lent import Lent
from ._runtime import Runtime, blocking

EXTENSIONS = (".b2nd", ".b2frame", ".b2f", ".b2b", ".b2e", ".b2z", ".b2d")
_MAGIC = (b"\x9e\xa8b2frame\x00", b"PK\x03\x04")
_MEMBERS = ("chunks.b2frame", "embed.b2e")
_HOW = ("fs", "name", "durability", "locking", "lock_timeout_ms")  # of a request, what says how to open

C = TypeVar("C", bound="Container")
_holds: ContextVar[tuple[Container, ...]] = ContextVar("gridhold holds", default=())
"""Of this thread or task, innermost last: other threads do not slip inside."""

# What container_read and container_write do.
SLICE, BYTES, CHUNK, ENCODED, VLMETA, METALAYER, FRAME = range(7)
PUT_SLICE, APPEND, ADD_CHUNK, INSERT, UPDATE, DELETE, RESIZE, SPECIAL, PUT_VLMETA, PUT_METALAYER, DROP_VLMETA = range(11)


def local_path(source: Any) -> str | None:
    """The path that a source names on this machine; None if it names something else."""
    if not isinstance(source, (str, os.PathLike)):
        return None
    text = os.fspath(source)
    if text.startswith("file://"):
        parts = urlsplit(text)
        return unquote(parts.path) if parts.netloc in ("", "localhost") else None
    return None if "://" in text else text


def is_container(path: str) -> bool:
    """Whether a path leads to a container: its name says so, or its first bytes."""
    if os.path.isdir(path):
        return any(os.path.exists(os.path.join(path, member)) for member in _MEMBERS)
    if not os.path.isfile(path):
        return False
    if path.endswith(EXTENSIONS):
        return True
    with contextlib.suppress(OSError), open(path, "rb") as f:
        return f.read(10).startswith(_MAGIC)
    return False


def remote_name(source: Any, path: str) -> tuple[Any, str] | None:
    """A store and the name of a container in it, if the name is one of those."""
    if isinstance(source, str) and "://" in source:
        parts = urlsplit(source)
        above, _, name = parts.path.rpartition("/")
        if parts.scheme not in ("file", "zip") and name.endswith(EXTENSIONS):
            return parts._replace(path=above).geturl(), unquote(name)
    elif not isinstance(source, (str, os.PathLike)) and path.endswith(EXTENSIONS):
        return source, path
    return None


class _ContainerHandle(Handle):
    """A handle that opens again what there is by then: containers change."""

    def __init__(self, core: Container, runtime: Runtime) -> None:
        super().__init__(runtime, _abi.CONTAINER_OPEN, core._request)
        self._core = core

    async def _reopen(self, guest: Guest) -> int:
        core = self._core
        if self._serial != guest.serial:
            if core.passing and self._serial:
                raise ClosedError("lock: the hold, or the snapshot, ended with the guest that had it")
            made, core._made = core._made, None
            kind, request = made if made is not None else (core.opener, await core._request(guest))
            try:
                done = await self._runtime.run(guest, kind, request)
            except BaseException:
                core._made = made
                raise
            state = json.loads(done.data)
            if core._state and state["kind"] != core._state["kind"]:
                guest.close_later(done.object)
                raise StaleError(f"blosc2: {core.name}: it is a {state['kind']} by now")
            core._state = state
            self._take(guest, done.object)
        return self._id


class Container:
    """The one copy of what every kind does.

    What may wait is written once, as coroutines (``reading``); those for
    callers that block (``read``) drive them to their end. While a thread, or a
    task, holds the lock, what it asks of the container is asked of the hold.
    """

    opener = _abi.CONTAINER_OPEN
    passing = False
    """It is a hold or a snapshot, which cannot be made again when its guest has died."""

    def __init__(
        self,
        runtime: Runtime,
        recipe: dict[str, Any],
        *,
        parent: Container | None = None,
        system: FileSystem | None = None,
        lent: Lent | None = None,
        made: tuple[int, bytes] | None = None,
        once: dict[str, Any] | None = None,
    ) -> None:
        self.runtime = runtime
        self.parent = parent
        self.name: str = recipe.get("name") or recipe.get("key") or ""
        self._state: dict[str, Any] = {}
        self._recipe = recipe
        self._system, self._lent = system, lent  # kept for the guest's sake
        self._made = made
        if once is not None:  # said the first time only
            self._made = _abi.CONTAINER_OPEN, json.dumps({**recipe, **once}).encode()
        self._closed = True
        self._handle = _ContainerHandle(self, runtime)

    async def opening(self: C) -> C:
        """Opens it, or makes it, for the first time."""
        await self._handle.open()
        self._closed = False
        return self

    def open(self: C) -> C:
        return blocking(self.opening())

    async def _request(self, guest: Guest) -> bytes:
        recipe = self._recipe
        if self.parent is not None:
            self.parent.check_open()
            recipe = {**recipe, "container": await self.parent._handle.on(guest)}
        return json.dumps(recipe).encode()

    def acting(self) -> Container:
        """The hold on this container that this thread, or task, is within; else the container."""
        for held in reversed(_holds.get()):
            if held.parent is self and not held._closed:  # what was begun in a block may outlive it
                return held
        return self

    @property
    def state(self) -> dict[str, Any]:
        """What was last heard of it."""
        return self.acting()._state

    @property
    def kind(self) -> str:
        return self._state["kind"]  # type: ignore[no-any-return]

    @property
    def follows(self) -> bool:
        """Others may change it, and a look whether they did is cheap: not within a hold or a snapshot, nor in a store."""
        at = self.acting()
        while at.parent is not None and not at.passing:
            at = at.parent
        return not at.passing and bool(at._recipe.get("fs"))

    @property
    def local(self) -> bool:
        """It lies in a file system, not in a store."""
        return "store" not in self._recipe

    def check_open(self) -> None:
        if self._closed:
            raise ClosedError(f"blosc2: {self.name}: closed", item=self.name)

    async def _call(self, kind: int, build: Callable[[int], bytes]) -> Done:
        self.check_open()

        async def request(guest: Guest) -> bytes:
            return build(await self._handle.on(guest))

        return await self.runtime.call(kind, request)

    async def reading(self, what: int, numbers: Sequence[int] = (), name: str = "") -> bytes:
        """``container_read``."""
        raw = name.encode()
        return (await self.acting()._call(_abi.CONTAINER_READ, lambda h: _abi.container_request(h, what, numbers, raw))).data

    def read(self, what: int, numbers: Sequence[int] = (), name: str = "") -> bytes:
        return blocking(self.reading(what, numbers, name))

    async def writing(self, what: int, numbers: Sequence[int] = (), data: bytes = b"") -> None:
        """``container_write``; one commit."""
        at = self.acting()
        done = await at._call(_abi.CONTAINER_WRITE, lambda h: _abi.container_request(h, what, numbers, data))
        at._state = json.loads(done.data)

    def write(self, what: int, numbers: Sequence[int] = (), data: bytes = b"") -> None:
        blocking(self.writing(what, numbers, data))

    async def doing(self, deed: str, **more: Any) -> Any:
        """``container_do``."""
        done = await self.acting()._call(_abi.CONTAINER_DO, lambda h: json.dumps({"container": h, "do": deed, **more}).encode())
        return json.loads(done.data)

    def do(self, deed: str, **more: Any) -> Any:
        return blocking(self.doing(deed, **more))

    async def changing(self, deed: str, **more: Any) -> None:
        """``container_do`` of what answers the state."""
        at = self.acting()
        at._state = await at.doing(deed, **more)

    def change(self, deed: str, **more: Any) -> None:
        blocking(self.changing(deed, **more))

    async def putting(self, key: str, source: Container) -> None:
        """Stores a copy of another container under a key."""
        at, what = self.acting(), source.acting()
        at.check_open()
        what.check_open()

        async def request(guest: Guest) -> bytes:
            deed = {"container": await at._handle.on(guest), "do": "put", "key": key, "from": await what._handle.on(guest)}
            return json.dumps(deed).encode()

        await self.runtime.call(_abi.CONTAINER_DO, request)

    def put(self, key: str, source: Container) -> None:
        blocking(self.putting(key, source))

    def leaf(self, key: str, *, vlmeta: bool = False) -> Container:
        """What lies under a key, to be opened. Within a hold it ends with that."""
        return Container(self.runtime, {"key": key, "vlmeta": vlmeta}, parent=self.acting())

    def copied(self, request: dict[str, Any], **kept: Any) -> Container:
        """A copy of it, to be made; ``request`` has what differs."""
        return _Copy(self.acting(), request, **kept)

    @contextlib.asynccontextmanager
    async def holding(self, shared: bool) -> AsyncIterator[Container]:
        """The container under its lock, for this task or thread. Within a hold it is that hold."""
        at = self.acting()
        if at is not self:
            if isinstance(at, _Hold) and at.shared and not shared:
                raise LockedError(f"lock: {self.name}: held for reading, and others may be too", item=self.name)
            yield at
            return
        held = await _Hold(self, shared).opening()
        _holds.set((*_holds.get(), held))
        try:
            yield held
        finally:
            _holds.set(tuple(h for h in _holds.get() if h is not held))  # it may end in another context than it began in
            self._state = held._state
            await held.closing()

    @contextlib.asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Container]:
        """The container as it is now."""
        kept = await _Snapshot(self.acting()).opening()
        try:
            yield kept
        finally:
            await kept.closing()

    async def refreshing(self) -> bool:
        """Takes changes over; whether there were any."""
        at = self.acting()
        before = (await at.doing("state"))["tick"]
        at._state = await at.doing("refresh")
        return bool(at._state["tick"] != before)

    async def closing(self) -> None:
        """Raises what kept the writes from being safe. Twice is fine."""
        if self._closed:
            return
        self._closed = True
        try:
            if self._parents_open():
                await self._handle.closing()
        finally:
            self._system = self._lent = None  # whose descriptors would be open until the collector comes

    def close(self) -> None:
        blocking(self.closing())

    def _parents_open(self) -> bool:
        """A store that is closed has closed what was opened in it."""
        return self.parent is None or (not self.parent._closed and self.parent._parents_open())


class _Passing(Container):
    """What a deed makes of a container, and only this guest can have."""

    opener = _abi.CONTAINER_DO
    passing = True

    def __init__(self, of: Container, deed: dict[str, Any]) -> None:
        of.check_open()
        self._deed = deed
        super().__init__(of.runtime, {"name": of.name}, parent=of)

    async def _request(self, guest: Guest) -> bytes:
        assert self.parent is not None
        self.parent.check_open()
        return json.dumps({"container": await self.parent._handle.on(guest), **self._deed}).encode()


class _Hold(_Passing):
    """A container whose lock is held."""

    def __init__(self, of: Container, shared: bool) -> None:
        self.shared = shared
        super().__init__(of, {"do": "hold", "shared": shared})


class _Snapshot(_Passing):
    """A container as it was."""

    def __init__(self, of: Container) -> None:
        super().__init__(of, {"do": "snapshot"})


class _Copy(Container):
    """A copy of a container: made of that for the first time, then opened by itself."""

    def __init__(self, of: Container, request: dict[str, Any], **kept: Any) -> None:
        of.check_open()
        self._of: Container | None = of
        self._deed = {**request, "do": "copy"}
        super().__init__(of.runtime, {k: request[k] for k in _HOW if k in request} | {"write": True}, **kept)

    @property
    def opener(self) -> int:  # type: ignore[override]
        return _abi.CONTAINER_OPEN if self._of is None else _abi.CONTAINER_DO

    async def opening(self) -> _Copy:
        await super().opening()
        self._of = None
        return self

    async def _request(self, guest: Guest) -> bytes:
        if self._of is None:
            return await super()._request(guest)
        return json.dumps({**self._deed, "container": await self._of._handle.on(guest)}).encode()


@contextlib.contextmanager
def during(entered: contextlib.AbstractAsyncContextManager[Container]) -> Iterator[Container]:
    """An asynchronous context over a blocking runtime, for callers that block."""
    container = blocking(entered.__aenter__())
    try:
        yield container
    except BaseException as e:
        if not blocking(entered.__aexit__(type(e), e, e.__traceback__)):
            raise
    else:
        blocking(entered.__aexit__(None, None, None))


def split(path: str) -> tuple[str, str]:
    """The directory that a container lies in, and its name there."""
    directory, name = os.path.split(os.path.abspath(path))
    if not name:
        raise InvalidError(f"blosc2: {path}: not the name of a container", item=path)
    return directory, name


def create_request(spec: dict[str, Any], data: bytes) -> tuple[int, bytes]:
    """The request of ``container_create``."""
    text = json.dumps(spec).encode()
    return _abi.CONTAINER_CREATE, struct.pack("<I", len(text)) + text + data
