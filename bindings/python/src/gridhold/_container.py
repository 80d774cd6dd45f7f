"""A container that is open in a guest, whatever its kind: what frames and stores have in common."""

from __future__ import annotations

import contextlib
import json
import os
import struct
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from . import _abi
from ._errors import ClosedError, InvalidError, StaleError
from ._files import FileSystem
from ._guest import Guest
from ._handle import Handle
from ._http import HTTPStore
from ._lent import Lent
from ._runtime import Runtime, blocking

EXTENSIONS = (".b2nd", ".b2frame", ".b2f", ".b2b", ".b2e", ".b2z", ".b2d")
_MAGIC = (b"\x9e\xa8b2frame\x00", b"PK\x03\x04")
_MEMBERS = ("chunks.b2frame", "embed.b2e")

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
        if parts.scheme in ("http", "https") and name.endswith(EXTENSIONS):
            return HTTPStore(parts._replace(path=above).geturl()), unquote(name)
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
            if core.hold and self._serial:
                raise ClosedError("lock: the hold, or the snapshot, ended with the guest that had it")
            made, core._made = core._made, None
            kind, request = made if made is not None else (core.opener, await core._request(guest))
            try:
                done = await self._runtime.run(guest, kind, request)
            except BaseException:
                core._made = made
                raise
            state = json.loads(done.data)
            if core.state and state["kind"] != core.state["kind"]:
                guest.close_later(done.object)
                raise StaleError(f"blosc2: {core.name}: it is a {state['kind']} by now")
            core.state = state
            self._take(guest, done.object)
        return self._id


class Container:
    """The one copy of what every kind does, for callers that block."""

    opener = _abi.CONTAINER_OPEN

    def __init__(
        self,
        runtime: Runtime,
        recipe: dict[str, Any],
        *,
        parent: Container | None = None,
        system: FileSystem | None = None,
        lent: Lent | None = None,
        made: tuple[int, bytes] | None = None,
        hold: bool = False,
    ) -> None:
        self.runtime = runtime
        self.parent = parent
        self.hold = hold
        self.name: str = recipe.get("name") or recipe.get("key") or ""
        self.state: dict[str, Any] = {}
        self._recipe = recipe
        self._system, self._lent = system, lent  # kept for the guest's sake
        self._made = made
        self._closed = False
        self._handle = _ContainerHandle(self, runtime)
        try:
            blocking(self._handle.open())
        except BaseException:
            self._closed = True
            raise

    async def _request(self, guest: Guest) -> bytes:
        recipe = self._recipe
        if self.parent is not None:
            self.parent.check_open()
            recipe = {**recipe, "container": await self.parent._handle.on(guest)}
        return json.dumps(recipe).encode()

    @property
    def kind(self) -> str:
        return self.state["kind"]  # type: ignore[no-any-return]

    def check_open(self) -> None:
        if self._closed:
            raise ClosedError(f"blosc2: {self.name}: closed", item=self.name)

    def _call(self, kind: int, build: Any) -> Any:
        self.check_open()

        async def request(guest: Guest) -> bytes:
            return build(await self._handle.on(guest))  # type: ignore[no-any-return]

        return blocking(self.runtime.call(kind, request))

    def read(self, what: int, numbers: Sequence[int] = (), name: str = "") -> bytes:
        """``container_read``."""
        raw = name.encode()
        return self._call(_abi.CONTAINER_READ, lambda h: _abi.container_request(h, what, numbers, raw)).data  # type: ignore[no-any-return]

    def write(self, what: int, numbers: Sequence[int] = (), data: bytes = b"") -> None:
        """``container_write``; one commit."""
        done = self._call(_abi.CONTAINER_WRITE, lambda h: _abi.container_request(h, what, numbers, data))
        self.state = json.loads(done.data)

    def do(self, deed: str, **more: Any) -> Any:
        """``container_do``."""
        done = self._call(_abi.CONTAINER_DO, lambda h: json.dumps({"container": h, "do": deed, **more}).encode())
        return json.loads(done.data)

    def put(self, key: str, source: Container) -> None:
        """Stores a copy of another container under a key."""
        self.check_open()
        source.check_open()

        async def request(guest: Guest) -> bytes:
            deed = {"container": await self._handle.on(guest), "do": "put", "key": key, "from": await source._handle.on(guest)}
            return json.dumps(deed).encode()

        blocking(self.runtime.call(_abi.CONTAINER_DO, request))

    def leaf(self, key: str, *, vlmeta: bool = False) -> Container:
        """What lies under a key."""
        return Container(self.runtime, {"key": key, "vlmeta": vlmeta}, parent=self)

    @contextlib.contextmanager
    def holding(self, shared: bool) -> Iterator[Container]:
        """The container under its lock."""
        self.check_open()
        held = _Hold(self, deed="hold", shared=shared)
        try:
            yield held
        finally:
            held.close()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Container]:
        """The container as it is now."""
        self.check_open()
        kept = _Hold(self, deed="snapshot")
        try:
            yield kept
        finally:
            kept.close()

    def refresh(self) -> bool:
        """Takes changes over; whether there were any."""
        before = self.do("state")["tick"]
        self.state = self.do("refresh")
        return bool(self.state["tick"] != before)

    def close(self) -> None:
        """Raises what kept the writes from being safe. Twice is fine."""
        if self._closed:
            return
        self._closed = True
        if self._parents_open():
            self._handle.close_now()

    def _parents_open(self) -> bool:
        """A store that is closed has closed what was opened in it."""
        return self.parent is None or (not self.parent._closed and self.parent._parents_open())


class _Hold(Container):
    """A hold or a snapshot: what cannot be made again when its guest has died."""

    opener = _abi.CONTAINER_DO

    def __init__(self, of: Container, *, deed: str, shared: bool = False) -> None:
        self._deed = {"do": deed, "shared": shared}
        super().__init__(of.runtime, {"name": of.name}, parent=of, hold=True)

    async def _request(self, guest: Guest) -> bytes:
        assert self.parent is not None
        handle = await self.parent._handle.on(guest)
        return json.dumps({"container": handle, **self._deed}).encode()


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
