"""The threads that wait for stores, so that others need not."""

from __future__ import annotations

import concurrent.futures
import threading

from . import _fork

_COUNT = 32  # as many requests are in flight at once


class Workers:
    """The threads that wait for stores."""

    def __init__(self) -> None:
        self._restart()
        _fork.register(self)

    def _restart(self) -> None:
        self._lock = threading.Lock()
        self._pool: concurrent.futures.ThreadPoolExecutor | None = None

    def pool(self) -> concurrent.futures.ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = concurrent.futures.ThreadPoolExecutor(_COUNT, thread_name_prefix="gridhold")
            return self._pool


workers = Workers()
