"""Handlers of signals wait while the guest is at work.

A handler that raises, as that of Ctrl-C does, may run wherever Python code
begins: in wasmtime's own callback, too, which then hands the guest's engine a
pointer to nothing, and the process ends. Between a call of the guest and the
reading of what it did, it would lose what other threads wait for.
"""

from __future__ import annotations

import importlib
import signal
import threading
from collections.abc import Callable
from typing import Any

_MINE = threading.main_thread().ident  # handlers run in this thread alone
_signal: Any = importlib.import_module("_signal")  # what signal wraps, ten times as slowly, in enumerations
_WATCHED = [
    int(getattr(signal, name)) for name in ("SIGINT", "SIGTERM", "SIGALRM", "SIGUSR1", "SIGUSR2") if hasattr(signal, name)
]


class Deferred:
    """A context: signals that come within it are handled at its end.

    ``stop`` is called as soon as a Ctrl-C comes, to end what is done here; it
    has then to raise KeyboardInterrupt itself.
    """

    __slots__ = ("_came", "_previous", "_stop")

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._previous: dict[int, Any] = {}
        self._came: list[int] = []

    def __enter__(self) -> None:
        if threading.get_ident() != _MINE:
            return
        try:
            for number in _WATCHED:
                handler = _signal.getsignal(number)
                if callable(handler):
                    self._previous[number] = handler
                    _signal.signal(number, self._note)
        except ValueError:  # an interpreter within this one, which has no signals
            self._previous.clear()
        except BaseException:  # one of them came before it was its turn
            self.__exit__()
            raise

    def _note(self, number: int, frame: object) -> None:
        if self._previous[number] is signal.default_int_handler:
            self._stop()
        else:
            self._came.append(number)

    def __exit__(self, *exc: object) -> None:
        try:
            self._restore()
        finally:  # the first that is restored may come at once
            self._restore()
        for number in self._came:
            self._previous[number](number, None)

    def _restore(self) -> None:
        for number, handler in self._previous.items():
            _signal.signal(number, handler)
