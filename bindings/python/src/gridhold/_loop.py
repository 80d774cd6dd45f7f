"""The runtime of one event loop: many operations in flight, and nothing waits but in an ``await``."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from ._errors import InvalidError
from ._exchange import Exchanges
from ._guest import Done, Guest
from ._http import Request, Response, fetcher
from ._imports import Job
from ._lent import Lent
from ._runtime import Flight, Mutex, Runtime
from ._store import Answer, Range
from ._workers import workers

_BUDGET_US = 5000  # the longest the guest computes before others on the loop have their turn

T = TypeVar("T")


class LoopRuntime(Runtime):
    """For the tasks of one event loop. Nothing here waits but in an ``await``."""

    may_block = False
    starter = "gh_start"
    budget_us = _BUDGET_US

    def __init__(self, memory: int, strict: bool, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(memory, strict)
        self._loop = weakref.ref(loop)
        self._outcomes: dict[Guest, list[tuple[int, Job, object]]] = {}
        self._scheduled: set[Guest] = set()
        self._tasks: dict[tuple[int, int], asyncio.Task[None]] = {}
        self._exchanges = Exchanges()

    def loop(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.get_running_loop()
        if loop is not self._loop():
            raise InvalidError("gridhold: belongs to another event loop")
        return loop

    async def run(self, guest: Guest, kind: int, request: bytes) -> Done:
        op, future = guest.begin(kind, request)
        try:
            return await future  # type: ignore[no-any-return]
        except asyncio.CancelledError:
            guest.abandon(op)
            raise

    def future(self) -> asyncio.Future[Done]:
        return self.loop().create_future()

    def launch(self, guest: Guest, token: int, job: Job) -> None:
        self._tasks[guest.serial, token] = self.loop().create_task(self._work(guest, token, job))

    async def _work(self, guest: Guest, token: int, job: Job) -> None:
        try:
            outcome: object = await job.run(self)
        except (Exception, asyncio.CancelledError) as e:
            outcome = e
        if self._tasks.get((guest.serial, token)) is asyncio.current_task():  # else it was withdrawn
            del self._tasks[guest.serial, token]
            self._outcomes.setdefault(guest, []).append((token, job, outcome))
            self.turn_soon(guest)

    def withdraw(self, guest: Guest, token: int) -> None:
        task = self._tasks.pop((guest.serial, token), None)
        if task is not None:
            task.cancel()

    def turn_soon(self, guest: Guest) -> None:
        if guest not in self._scheduled:
            self._scheduled.add(guest)
            self.loop().call_soon(self._turn, guest)

    def _turn(self, guest: Guest) -> None:
        self._scheduled.discard(guest)
        guest.complete(self._outcomes.pop(guest, []))

    def turn_later(self, guest: Guest, seconds: float) -> bool:
        if seconds:
            self.loop().call_later(seconds, self.turn_soon, guest)
        else:
            self.turn_soon(guest)
        return True

    async def read(self, lent: Lent, key: str, ranges: Sequence[Range], version: str) -> Answer:
        if lent.asynchronous:
            return await lent.read_async(key, ranges, version)
        return await self._threaded(lent.read, key, ranges, version)

    async def names(self, lent: Lent, prefix: str) -> list[str]:
        lister = lent.lister()
        if asyncio.iscoroutinefunction(lister):
            return await lister(prefix)  # type: ignore[no-any-return]
        return await self._threaded(lister, prefix)

    async def fetch(self, request: Request) -> Response:
        response = await self._exchanges.fetch(request)
        return response if response is not None else await self._threaded(fetcher.fetch, request)

    def rest(self) -> None:
        loop = self._loop()
        if loop is not None and not loop.is_closed():
            self._exchanges.rest()

    async def sleep(self, seconds: float, over: threading.Event) -> None:
        await asyncio.sleep(seconds)  # whose task is cancelled if it is over before

    async def compute(self, call: Callable[..., T], *args: Any) -> T:
        return await self._threaded(call, *args)

    async def _threaded(self, call: Callable[..., T], *args: Any) -> T:
        return await self.loop().run_in_executor(workers.pool(), call, *args)

    async def share(self, call: Callable[[Any], T], items: Sequence[Any]) -> list[T]:
        half = len(items) // 2
        parts = [self._threaded(lambda some=some: [call(x) for x in some]) for some in (items[:half], items[half:])]
        first, second = await asyncio.gather(*parts)
        return first + second

    def mutex(self) -> Mutex:
        return _TaskMutex()

    def flight(self, load: Callable[[], Coroutine[Any, Any, T]]) -> Flight[T]:
        return _TaskFlight(self.loop(), load)

    async def gather(self, coroutines: Sequence[Coroutine[Any, Any, Any]]) -> None:
        tasks = [self.loop().create_task(c) for c in coroutines]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


class _TaskMutex:
    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def alone(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        async with self._lock:
            return await work()


class _TaskFlight(Flight[T]):
    """A task of its own loads, so that a waiter may leave; it is cancelled when the last one did."""

    def __init__(self, loop: asyncio.AbstractEventLoop, load: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._event_loop = loop
        self._load = load
        self._waiters = 0

    def start(self) -> None:
        self._task = self._event_loop.create_task(self._load())

    def __await__(self) -> Any:
        return self._wait().__await__()

    async def _wait(self) -> T:
        self._waiters += 1
        try:
            return await asyncio.shield(self._task)
        finally:
            self._waiters -= 1
            if self._waiters == 0:
                self.over = True
                self._task.cancel()


_registry: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[int, bool], LoopRuntime]] = (
    weakref.WeakKeyDictionary()
)


def loop_runtime(memory: int, strict: bool) -> LoopRuntime:
    """The running loop's runtime with these settings."""
    loop = asyncio.get_running_loop()
    settings = _registry.setdefault(loop, {})  # of which this thread alone knows the loop
    if (memory, strict) not in settings:
        settings[memory, strict] = LoopRuntime(memory, strict, loop)
    return settings[memory, strict]
