"""Where images lie in the file of a scratch, as far as the core was asked."""

from __future__ import annotations

import threading

import numpy as np

from . import _fork
from ._types import NDArray

KEPT = np.dtype([("off", "<i8"), ("length", "<i8"), ("run_at", "<i8"), ("run_word", "<u8"), ("key_at", "<i8"), ("key_word", "<u8")])
"""``gh_kept``: the image's bytes are its own as long as both words stand."""

_MOST = 1 << 24  # images; what more there are is asked for each time


class Places:
    """Answers of the core, by image, so that it is asked once for what stays where it is.

    They are of one instance of the guest, which holds the file while it lives: those of another one, dead or of the
    process that this one was forked from, are forgotten. Safe for use by several threads.
    """

    def __init__(self) -> None:
        self._known = np.zeros(0, KEPT)
        self._serial = 0
        self.hits = self.hit_bytes = 0  # found here, which the core does not count
        self._restart()
        _fork.register(self)

    def _restart(self) -> None:
        self._lock = threading.Lock()

    def find(self, slots: NDArray, size: int, serial: int) -> tuple[NDArray, NDArray]:
        """A row for each image, and of which images, each of ``size`` bytes, nothing is known."""
        with self._lock:
            if self._serial != serial or not len(self._known):
                return np.zeros(len(slots), KEPT), np.arange(len(slots))
            rows = self._known.take(slots, mode="clip")
            found = (rows["length"] == size) & (slots < len(self._known))
            count = int(np.count_nonzero(found))
            self.hits += count
            self.hit_bytes += count * size
        return rows, np.flatnonzero(~found) if count < len(slots) else _NONE

    def learn(self, slots: NDArray, rows: NDArray, serial: int) -> None:
        """Keeps what the core said of images that are in the file."""
        held = (rows["off"] >= 0) & (slots < _MOST)
        slots, rows = slots[held], rows[held]
        if not len(slots):
            return
        with self._lock:
            if serial < self._serial:
                return
            if serial > self._serial:
                self._known, self._serial = np.zeros(0, KEPT), serial
            need = int(slots.max()) + 1
            if need > len(self._known):
                more = np.zeros(min(max(need, 2 * len(self._known)), _MOST), KEPT)
                more[: len(self._known)] = self._known
                self._known = more
            self._known[slots] = rows


_NONE = np.zeros(0, np.intp)
