"""The runtime of callers that block: any number of threads, one of them in the guest at a time."""

from __future__ import annotations

import concurrent.futures
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from . import _fork
from ._errors import CancelledError, Error
from ._guest import Done, Guest
from ._http import Request, Response, fetcher
from ._imports import Job
from ._lent import Lent
from ._runtime import Flight, Runtime, blocking
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

    def future(self) -> concurrent.futures.Future[Done]:
        return concurrent.futures.Future()

    def launch(self, guest: Guest, token: int, job: Job) -> None:
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

    async def list(self, lent: Lent, prefix: str) -> list[str]:
        return lent.lister()(prefix)  # type: ignore[no-any-return]

    async def fetch(self, request: Request) -> Response:
        return fetcher.fetch(request)

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    async def compute(self, call: Callable[..., T], *args: Any) -> T:
        return call(*args)

    def mutex(self) -> Any:
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


class _ThreadMutex:
    def __init__(self) -> None:
        self._restart()
        _fork.register(self)

    def _restart(self) -> None:
        self._lock = threading.Lock()

    async def __aenter__(self) -> None:
        self._lock.acquire()

    async def __aexit__(self, *exc: object) -> None:
        self._lock.release()


class _ThreadFlight(Flight[T]):
    """The thread that starts it loads; the others wait for that thread."""

    def __init__(self, load: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._load = load
        self._future: concurrent.futures.Future[T] = concurrent.futures.Future()

    def start(self) -> None:
        try:
            self._future.set_result(blocking(self._load()))
        except Exception as e:
            self._future.set_exception(e)
        except BaseException:  # meant for this thread alone
            self._future.set_exception(CancelledError("gridhold: the load was interrupted"))
            raise

    def __await__(self) -> Any:
        return self._future.result()
        yield


_registry_lock = threading.Lock()
_registry: dict[tuple[int, bool], BlockingRuntime] = {}


def blocking_runtime(memory: int, strict: bool) -> BlockingRuntime:
    """The process's runtime with these settings."""
    with _registry_lock:
        if (memory, strict) not in _registry:
            _registry[memory, strict] = BlockingRuntime(memory, strict)
        return _registry[memory, strict]
