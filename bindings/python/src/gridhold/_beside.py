"""Threads that copy beside the one that asks."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any

from . import _fork

_MOST = 32  # threads


class _Part:
    """Work that is done by whoever comes to it first: a thread of these, or the one that asked."""

    def __init__(self, do: Callable[[Any], object], part: Any) -> None:
        self._do, self._part = do, part
        self._mine, self._done = threading.Lock(), threading.Lock()
        self._done.acquire()
        self.failure: BaseException | None = None

    def attempt(self) -> None:
        """Does it, unless somebody has begun."""
        if self._mine.acquire(blocking=False):
            try:
                self._do(self._part)
            except BaseException as e:
                self.failure = e
            del self._do  # and what it holds, before anybody is told
            self._done.release()

    def wait(self) -> None:
        """Returns when it is done, once."""
        self._done.acquire()


class Beside:
    """Does parts of a piece of work at once. Executors take several times as long to hand over what takes a millisecond."""

    def __init__(self) -> None:
        self._restart()
        _fork.register(self)

    def _restart(self) -> None:
        self._lock = threading.Lock()
        self._parts: queue.SimpleQueue[_Part] = queue.SimpleQueue()
        self._threads = 0

    def begin(self, do: Callable[[Any], object], parts: Sequence[Any], mine: int = 0) -> Callable[[], None]:
        """Has ``do(part)`` begun of each of the parts but the first ``mine``, wherever there is a thread for it.

        What it returns does what nobody has begun, and returns when none is under way any more. It raises the first failure.
        """
        all_parts = [_Part(do, part) for part in parts]
        others = all_parts[mine:]
        if self._threads < min(len(others), _MOST):
            self._start(min(len(others), _MOST))
        for other in others:
            self._parts.put(other)

        def finish() -> None:
            for part in all_parts:
                part.attempt()
            for part in all_parts:
                part.wait()
            for part in all_parts:
                if part.failure is not None:
                    raise part.failure

        return finish

    def run(self, do: Callable[[Any], object], parts: Sequence[Any]) -> None:
        """``do(part)`` of each of the parts, the first of them here. Raises the first failure, when none is under way any more."""
        self.begin(do, parts, mine=1)()

    def _start(self, count: int) -> None:
        with self._lock:
            while self._threads < count:
                try:
                    threading.Thread(target=_work, args=(self._parts,), name="gridhold copies", daemon=True).start()
                except RuntimeError:  # there are no more to be had: who asks does it all
                    return
                self._threads += 1


def _work(parts: queue.SimpleQueue[_Part]) -> None:
    while True:
        parts.get().attempt()


beside = Beside()
