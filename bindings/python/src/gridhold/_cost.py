"""What reads cost that this host serves by itself."""

from __future__ import annotations

import threading
import time

from . import _fork

_NAMES = ("reads", "bytes", "waits", "decodes", "elements", "failures", "reading_ns", "waiting_ns", "decoding_ns")


class Tally:
    """Sums, by the names that the guest has for its own. Safe for use by several threads."""

    def __init__(self) -> None:
        self._sums = dict.fromkeys(_NAMES, 0)
        self._restart()
        _fork.register(self)

    def _restart(self) -> None:
        self._lock = threading.Lock()

    @staticmethod
    def now() -> int:
        return time.perf_counter_ns()

    def read(self, nbytes: int, began: int) -> None:
        """A call to the store for subchunks."""
        self._add(reads=1, bytes=nbytes, reading_ns=self.now() - began)

    def failed(self, began: int) -> None:
        """A call to the store that failed."""
        self._add(reads=1, failures=1, reading_ns=self.now() - began)

    def waited(self, began: int) -> None:
        """For an index that another reader loads."""
        self._add(waits=1, waiting_ns=self.now() - began)

    def decoded(self, nbytes: int, began: int) -> None:
        """One subchunk."""
        self._add(decodes=1, elements=nbytes, decoding_ns=self.now() - began)

    def _add(self, **more: int) -> None:
        with self._lock:
            for name, n in more.items():
                self._sums[name] += n

    def plus(self, guests: dict[str, int]) -> dict[str, int]:
        """The guest's sums and these."""
        with self._lock:
            mine = dict(self._sums)
        out = dict(guests)
        for name, n in mine.items():
            name, n = (name.removesuffix("_ns") + "_us", n // 1000) if name.endswith("_ns") else (name, n)
            out[name] = out.get(name, 0) + n
        return out
