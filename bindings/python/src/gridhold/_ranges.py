"""Ranges that lie near each other become one request."""

from __future__ import annotations

from collections.abc import Sequence

from ._store import Range

GAP = 32 << 10
"""Bytes between two ranges that are rather read than asked around; as the core does over HTTP."""
LARGEST = 8 << 20
"""Bytes of a request that is made of several ranges."""


class Part:
    """One request, and who wants what of it."""

    __slots__ = ("_wanted", "range")

    def __init__(self, of: Range) -> None:
        self.range = of
        self._wanted: list[tuple[int, int, int]] = []  # which range, from where in the answer, how much

    def want(self, which: int, at: int, length: int) -> None:
        self._wanted.append((which, at, length))

    def hand_out(self, raw: bytes, data: list[bytes]) -> None:
        """Cuts the answer into ``data``. Where it ends early, so do the ranges."""
        for which, at, length in self._wanted:
            data[which] = raw if length < 0 or (at == 0 and length == len(raw)) else raw[at : at + length]


def joined(ranges: Sequence[Range]) -> list[Part]:
    """Requests for all the ranges. Those with an open end, and those from the end, stay by themselves."""
    parts: list[Part] = []
    plain: list[tuple[int, int, int]] = []
    for which, (off, length) in enumerate(ranges):
        if off < 0 or length < 0:
            part = Part((off, length))
            part.want(which, 0, -1)
            parts.append(part)
        else:
            plain.append((off, length, which))
    plain.sort()
    last: Part | None = None
    for off, length, which in plain:
        if last is not None:
            begin, n = last.range
            end = max(begin + n, off + length)
            if off - (begin + n) <= GAP and end - begin <= LARGEST:
                last.range = begin, end - begin
                last.want(which, off - begin, length)
                continue
        last = Part((off, length))
        last.want(which, 0, length)
        parts.append(last)
    return parts
