"""The runtime of callers that block: any number of threads, one of them in the guest at a time."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Generic, TypeVar

from . import _fork
from ._errors import CancelledError, Error
from ._guest import Done, Guest
from ._http import Request, Response, fetcher
from ._imports import Job
from ._lent import Lent
from ._runtime import Flight, Mutex, Runtime, blocking
from ._store import Answer, Range
from ._workers import workers

T = TypeVar("T")


class BlockingRuntime(Runtime):
    """For any number of threads. One of them is in the guest at a time; slow stores are waited for outside."""

    may_block = True
    starter = "gh_call"
    budget_us = 0

    async def run(self, guest: Guest, kind: int, request: bytes) -> Done:
        op, future = guest.begin(kind, request)
        try:
            return future.result()  # type: ignore[no-any-return]
        except Error:
            raise
        except BaseException:
            guest.abandon(op)
            raise

    def future(self) -> Outcome[Done]:
        return Outcome()

    def launch(self, guest: Guest, token: int, job: Job) -> None:
        if job.patient:
            threading.Thread(target=self._work, args=(guest, token, job), name="gridhold waits", daemon=True).start()
        else:
            workers.pool().submit(self._work, guest, token, job)

    def _work(self, guest: Guest, token: int, job: Job) -> None:
        try:
            outcome: object = blocking(job.run(self))
        except BaseException as e:
            outcome = e
        guest.complete([(token, job, outcome)])

    def turn_soon(self, guest: Guest) -> None:
        guest._settle(guest.turn([]))

    def turn_later(self, guest: Guest, seconds: float) -> bool:
        if seconds:
            time.sleep(seconds)
        return False

    async def read(self, lent: Lent, key: str, ranges: Sequence[Range], version: str) -> Answer:
        return lent.read(key, ranges, version)

    async def names(self, lent: Lent, prefix: str) -> list[str]:
        return lent.lister()(prefix)  # type: ignore[no-any-return]

    async def fetch(self, request: Request) -> Response:
        return fetcher.fetch(request)

    async def sleep(self, seconds: float, over: threading.Event) -> None:
        over.wait(seconds)

    async def compute(self, call: Callable[..., T], *args: Any) -> T:
        return call(*args)

    async def share(self, call: Callable[[Any], T], items: Sequence[Any]) -> list[T]:
        half = len(items) // 2
        theirs = workers.pool().submit(lambda: [call(x) for x in items[half:]])
        try:
            mine = [call(x) for x in items[:half]]
        except BaseException:
            theirs.cancel()
            raise
        # The others may all be waiting for a store.
        return mine + ([call(x) for x in items[half:]] if theirs.cancel() else theirs.result())

    def mutex(self) -> Mutex:
        return _ThreadMutex()

    def flight(self, load: Callable[[], Coroutine[Any, Any, T]]) -> Flight[T]:
        return _ThreadFlight(load)

    async def gather(self, coroutines: Sequence[Coroutine[Any, Any, Any]]) -> None:
        for i, coroutine in enumerate(coroutines):
            try:
                await coroutine
            except BaseException:
                for rest in coroutines[i + 1 :]:
                    rest.close()
                raise


class Outcome(Generic[T]):
    """What one thread gives and others wait for.

    The classes of the standard library hold locks in Python code, where an
    interrupt can come between the lock and whoever would open it again. The
    ``with`` of a lock is out of its reach.
    """

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._gate.acquire()
        self._results: list[T] = []
        self._error: Exception | None = None
        self._done = False

    def done(self) -> bool:
        return self._done

    def set_result(self, result: T) -> None:
        self._results.append(result)
        self._open()

    def set_exception(self, error: Exception) -> None:
        self._error = error
        self._open()

    def _open(self) -> None:
        with contextlib.suppress(RuntimeError):  # it was open, but an interrupt came before that was noted
            self._gate.release()
        self._done = True

    def result(self) -> T:
        with contextlib.suppress(RuntimeError), self._gate:
            pass
        if self._results:
            return self._results[0]
        assert self._error is not None
        raise self._error


class _ThreadMutex:
    def __init__(self) -> None:
        self._restart()
        _fork.register(self)

    def _restart(self) -> None:
        self._lock = threading.Lock()

    async def alone(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        with self._lock:  # an interrupt cannot come between this and what it guards
            return await work()


class _ThreadFlight(Flight[T]):
    """The thread that starts it loads; the others wait for that thread."""

    def __init__(self, load: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._load = load
        self._outcome: Outcome[T] = Outcome()

    def start(self) -> None:
        try:
            self._outcome.set_result(blocking(self._load()))
        except Exception as e:
            self._outcome.set_exception(e)

    def leave(self) -> None:
        self.over = True
        if not self._outcome.done():  # an interrupt, which is meant for this thread alone
            self._outcome.set_exception(CancelledError("gridhold: the load was interrupted"))

    def __await__(self) -> Any:
        return self._outcome.result()
        yield


_registry: dict[tuple[int, bool], BlockingRuntime] = {}


def blocking_runtime(memory: int, strict: bool) -> BlockingRuntime:
    """The process's runtime with these settings."""
    found = _registry.get((memory, strict))
    # Without a lock of our own, which a forked child might find shut for ever.
    return found or _registry.setdefault((memory, strict), BlockingRuntime(memory, strict))
