"""Memory of batches, taken again."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np

from . import _fork
from ._types import NDArray

_LEAST = 1 << 20  # bytes; what is less comes from memory that the process has anyway


class Spare:
    """Arrays that were handed out, kept, and handed out again once nobody else has them.

    Memory fresh from the system costs as much as what is copied into it. Whoever holds an array, a view of it, or what
    was made of it by a protocol, holds a reference: of those it is not the last one. Safe for use by several threads.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: list[NDArray] = []
        self._restart()
        _fork.register(self)

    def _restart(self) -> None:
        self._lock = threading.Lock()

    def take(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray:
        """An array with whatever is in it."""
        with self._lock:
            found = self._unheld(shape, dtype)
            if found is None:
                found = np.empty(shape, dtype)
                if found.nbytes >= _LEAST:
                    self._kept.append(found)
                    del self._kept[: -self._most]
            return found

    def _unheld(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray | None:
        for array in self._kept:
            if array.shape == shape and array.dtype == dtype and sys.getrefcount(array) == _ALONE:
                return array
        return None


def _alone() -> int:
    """What is counted above for an array that nobody else has."""
    for array in [np.empty(1)]:
        return sys.getrefcount(array)
    return 0


_ALONE = _alone()
