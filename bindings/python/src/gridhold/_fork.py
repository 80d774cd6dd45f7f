"""What a forked child must not share with its parent.

Locks may be held by threads that do not exist in the child; an instance may
be in the middle of a call; two processes on one socket garble each other.
Whoever owns such things registers, and starts afresh in the child.
"""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Restarts(Protocol):
    """Something that can forget what belongs to the parent process."""

    def _restart(self) -> None: ...


_registered: weakref.WeakSet[Restarts] = weakref.WeakSet()


def register(thing: Restarts) -> None:
    """Has ``thing._restart()`` called in every child that is forked from here on, as long as it lives."""
    _registered.add(thing)


def _in_child() -> None:
    for thing in list(_registered):
        thing._restart()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
