"""Something opened in a guest, with the recipe to open it again in another."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Awaitable, Callable

from . import _abi
from ._errors import StaleError
from ._guest import Guest, Retired
from ._runtime import Runtime, blocking


class Handle:
    """A handle that outlives the guest it was made in.

    ``build`` makes the request for a guest. The guest's own handle is closed
    when this one is, or when nobody refers to it.
    """

    def __init__(self, runtime: Runtime, kind: int, build: Callable[[Guest], Awaitable[bytes]]) -> None:
        self._runtime = runtime
        self._kind = kind
        self._build = build
        self._mutex = runtime.mutex()
        self._serial = 0
        self._id = 0
        self._guest: Callable[[], Guest | None] = lambda: None
        self.description = b""

    async def open(self) -> None:
        """Opens it for the first time."""
        while True:
            try:
                await self.on(self._runtime.guest())
                return
            except Retired:
                continue

    async def on(self, guest: Guest) -> int:
        """Its number in that guest. Raises StaleError if what it was opened on is another thing by now."""
        if self._serial == guest.serial:
            return self._id
        return await self._mutex.alone(lambda: self._reopen(guest))

    @property
    def serial(self) -> int:
        """Of the guest it was opened in last."""
        return self._serial

    async def _reopen(self, guest: Guest) -> int:
        if self._serial != guest.serial:
            done = await self._runtime.run(guest, self._kind, await self._build(guest))
            if self._serial and done.data != self.description:
                guest.close_later(done.object)
                raise StaleError("gridhold: the metadata changed since this was opened")
            self.description = done.data
            self._take(guest, done.object)
        return self._id

    def _take(self, guest: Guest, number: int) -> None:
        self._guest, self._id, self._serial = weakref.ref(guest), number, guest.serial

    async def closing(self) -> None:
        """Closes it and waits for that. Raises what came of it."""
        guest = self._guest()
        self._guest = lambda: None
        if guest is not None and not guest.dead:
            with contextlib.suppress(Retired):
                await self._runtime.run(guest, _abi.CLOSE, _abi.handle_request(self._id))

    def close_now(self) -> None:
        """The same, for callers that block."""
        blocking(self.closing())

    def close(self) -> None:
        """May be called twice, and from a finalizer."""
        guest = self._guest()
        if guest is not None:
            guest.close_later(self._id)
        self._guest = lambda: None

    def __del__(self) -> None:
        self.close()
