"""Bars of progress, by tqdm where that is installed."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from typing import Any

from . import _fork

Progress = bool | Callable[[int, int], object]
"""True: a bar. A function is called with what is done and how much there is. False: nothing."""


class Bar:
    """Counts what is done and shows it. Safe for use by several threads."""

    def __init__(self, show: Callable[[int, int], object], end: Callable[[], object], total: int) -> None:
        self._show, self._end, self._total, self._done = show, end, total, 0
        self._restart()
        _fork.register(self)

    def _restart(self) -> None:
        self._lock = threading.Lock()

    def step(self, n: int = 1) -> None:
        with self._lock:
            self._done += n
            self._show(self._done, self._total)

    def close(self) -> None:
        self._end()


def bar_of(progress: Progress, total: int, unit: str, scale: bool = False) -> Bar:
    """What shows progress as asked for. Without tqdm a bar shows nothing."""
    if callable(progress):
        return Bar(progress, lambda: None, total)
    if progress:
        try:
            tqdm: Any = importlib.import_module("tqdm.auto").tqdm(total=total, unit=unit, unit_scale=scale)
            return Bar(lambda done, _: tqdm.update(done - tqdm.n), tqdm.close, total)
        except ImportError:
            pass
    return Bar(lambda done, total: None, lambda: None, total)
