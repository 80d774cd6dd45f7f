"""Where operations run: for callers that block (_threads), and in an event loop (_loop).

All that is above is written once, as coroutines over a runtime. In the
blocking one nothing ever suspends, so ``blocking`` drives a coroutine to its
end in one step.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Protocol, TypeVar

from . import _fork
from ._errors import Error, InternalError, InvalidError
from ._guest import Done, Guest, Retired
from ._http import Request, Response
from ._filesystem import FileSystem
from ._imports import Job
from ._lent import Lent
from ._store import Answer, Range, Store

DEFAULT_MEMORY = 512 << 20
"""The cap of a guest's memory in bytes."""

_LEVELS = {0: logging.DEBUG, 1: logging.INFO, 2: logging.WARNING, 3: logging.ERROR}
_logger = logging.getLogger("gridhold")

T = TypeVar("T")


def blocking(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine over a blocking runtime."""
    try:
        coroutine.send(None)
    except StopIteration as e:
        return e.value  # type: ignore[no-any-return]
    coroutine.close()
    raise InternalError("gridhold: something waited where nothing may")


class Runtime:
    """What both kinds have: a guest, remade when it dies, and the stores lent to it."""

    may_block: bool
    starter: str  # the export that starts an operation
    budget_us: int

    def __init__(self, memory: int, strict: bool) -> None:
        self.memory = memory
        self.strict = strict
        self._lent: weakref.WeakValueDictionary[int, Lent] = weakref.WeakValueDictionary()
        self._systems: weakref.WeakValueDictionary[int, FileSystem] = weakref.WeakValueDictionary()
        self._nodes: weakref.WeakSet[object] = weakref.WeakSet()
        self._parents: list[object] = []
        self._guest: Guest | None = None
        self._making = threading.Lock()
        _fork.register(self)

    def _restart(self) -> None:
        # The parent's guest may be in the midst of a call: kept, never called, never freed.
        if self._guest is not None:
            self._guest.disown()
        self._parents.append(self._guest)
        self._guest = None
        self._making = threading.Lock()

    def guest(self) -> Guest:
        """The guest for the next operation."""
        guest = self._guest
        if guest is None or guest.dead or guest.retiring:
            with self._making:
                guest = self._guest
                if guest is None or guest.dead or guest.retiring:
                    guest = self._guest = Guest(self)
        return guest

    async def call(self, kind: int, build: Callable[[Guest], Awaitable[bytes]]) -> Done:
        """Runs one operation. ``build`` makes its request for the guest that it will run in."""
        while True:
            guest = self.guest()
            try:
                return await self.run(guest, kind, await build(guest))
            except Retired:  # another operation killed it since
                continue

    def lend(self, store: Store) -> Lent:
        lent = Lent(store)
        if lent.asynchronous and self.may_block:
            raise TypeError("this store is asynchronous: use gridhold.aio")
        self._lent[lent.id] = lent
        return lent

    def lent(self, number: int) -> Lent:
        lent = self._lent.get(number)
        if lent is None:
            raise InvalidError(f"store: {number}: not lent")
        return lent

    def lend_files(self, directory: str) -> FileSystem:
        """Makes a directory known to the guests, as long as the result is kept."""
        return self.lend_system(FileSystem(directory))

    def lend_system(self, system: FileSystem) -> FileSystem:
        self._systems[system.id] = system
        return system

    def file_system(self, number: int) -> FileSystem:
        system = self._systems.get(number)
        if system is None:
            raise InvalidError(f"file: {number}: no such file system")
        return system

    def log(self, level: int, text: str) -> None:
        _logger.log(_LEVELS.get(level, logging.DEBUG), "%s", text)

    def opened(self, node: object) -> None:
        """Something reads through this runtime, until it is closed or gone."""
        self._nodes.add(node)

    def closed(self, node: object) -> None:
        self._nodes.discard(node)
        if not self._nodes:
            self.rest()

    # What the two kinds do each in their way.

    def rest(self) -> None:
        """Nothing is open any more: lets go of what is kept for later."""

    async def run(self, guest: Guest, kind: int, request: bytes) -> Done:
        """Runs an operation in that guest. Raises Retired if it takes none."""
        raise NotImplementedError

    def future(self) -> Any:
        raise NotImplementedError

    def resolve(self, future: Any, done: Done) -> None:
        if not future.done():
            future.set_result(done)

    def reject(self, future: Any, error: Error) -> None:
        if not future.done():
            future.set_exception(error)

    def launch(self, guest: Guest, token: int, job: Job) -> None:
        """Carries out a job; the outcome goes to ``guest.complete``, never from within this call."""
        raise NotImplementedError

    def withdraw(self, guest: Guest, token: int) -> None:
        """Nobody wants the outcome of that job any more."""

    def turn_soon(self, guest: Guest) -> None:
        """Lets the guest run without news. Called with its lock held."""
        raise NotImplementedError

    def turn_later(self, guest: Guest, seconds: float) -> bool:
        """Has the guest run again after a while: True if that is arranged, False if it is now and for the caller to do."""
        raise NotImplementedError

    async def read(self, lent: Lent, key: str, ranges: Sequence[Range], version: str) -> Answer:
        raise NotImplementedError

    async def names(self, lent: Lent, prefix: str) -> list[str]:
        raise NotImplementedError

    async def fetch(self, request: Request) -> Response:
        raise NotImplementedError

    async def sleep(self, seconds: float, over: threading.Event) -> None:
        """Waits so long, or until that is set."""
        raise NotImplementedError

    async def compute(self, call: Callable[..., T], *args: Any) -> T:
        """Runs what takes a while and needs no guest."""
        raise NotImplementedError

    async def share(self, call: Callable[[Any], T], items: Sequence[Any]) -> list[T]:
        """``call`` of each item, in order, on two threads: for what takes long and lets go of the interpreter."""
        raise NotImplementedError

    def mutex(self) -> Mutex:
        raise NotImplementedError

    def flight(self, load: Callable[[], Coroutine[Any, Any, T]]) -> Flight[T]:
        """One load that several may wait for."""
        raise NotImplementedError

    async def gather(self, coroutines: Sequence[Coroutine[Any, Any, Any]]) -> None:
        raise NotImplementedError


class Mutex(Protocol):
    """What one does at a time."""

    async def alone(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result of ``work``, done while nobody else's is."""


class Flight(Awaitable[T]):
    """One load under way. ``start`` is called once, by whoever made it; then all, he included, await it."""

    over = False
    """It ended, or will as nobody waits for it: not to be joined any more."""

    def start(self) -> None:
        raise NotImplementedError

    def leave(self) -> None:
        """Whoever made it goes, perhaps before it could start: nobody may wait for what will not come."""
