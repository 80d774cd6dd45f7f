"""Opening names below a directory, without ever following a link out of it."""

from __future__ import annotations

import errno
import os

from ._errors import NotAllowedError

_LINKS_MAX = 40
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


def open_beneath(root: int, name: str, flags: int = os.O_RDONLY, *, directory: bool = False, mode: int = 0o666) -> int:
    """A descriptor of a name below the directory ``root`` is open on, opened with ``flags``; "" is the root itself.

    One component at a time: links are followed by hand, and none that leads
    out. Raises OSError and NotAllowedError.
    """
    above: list[int] = []  # the directories on the way; the root is not among them
    names = name.split("/")[::-1] if name else []
    links = 0
    try:
        while names:
            part = names.pop()
            if part in ("", "."):
                continue
            if part == "..":
                if not above:
                    raise leads_out(name)
                os.close(above.pop())
                continue
            how = os.O_RDONLY | os.O_DIRECTORY if names or directory else flags
            here = above[-1] if above else root
            try:
                above.append(os.open(part, how | _NOFOLLOW, mode, dir_fd=here))
            except OSError as e:
                if e.errno not in (errno.ELOOP, errno.EMLINK, errno.ENOTDIR):
                    raise
                try:
                    target = os.readlink(part, dir_fd=here)
                except OSError:
                    raise e from None
                links += 1
                if target.startswith("/") or links > _LINKS_MAX:
                    raise leads_out(name) from None
                names.extend(reversed(target.split("/")))
        if above:
            return above.pop()
        # Not a copy of the root's descriptor: whoever lists it would share its position with others who do.
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=root)
    finally:
        for fd in above:
            os.close(fd)


def leads_out(name: str) -> NotAllowedError:
    return NotAllowedError(f"store: {name}: leads out of the store", item=name)


class closing:
    """A descriptor, for a ``with``."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def __enter__(self) -> int:
        return self._fd

    def __exit__(self, *exc: object) -> None:
        os.close(self._fd)
