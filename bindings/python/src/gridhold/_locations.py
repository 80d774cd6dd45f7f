"""Which images: one, or a set of them, file by file."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ._errors import InvalidError
from ._types import NDArray

WHOLE_FILE = 2**64 - 1
"""The index that means all of a file."""

_IMAGE = np.dtype([("key", "<u4"), ("", "<u4"), ("index", "<i8")])


@functools.total_ordering
class ImageLocation:
    """An image of a file, or a file: a key and an index from 0. Hashable, ordered, small when pickled."""

    __slots__ = ("index", "key")

    key: str
    index: int

    def __init__(self, key: str, index: int = WHOLE_FILE) -> None:
        if not isinstance(key, str):
            raise TypeError(f"key must be text, not {type(key).__name__}")
        index = operator.index(index)
        if not (0 <= index < 2**63 or index == WHOLE_FILE):
            raise InvalidError(f"image location: {key}: {index} is not an index", item=key)
        object.__setattr__(self, "key", key)
        object.__setattr__(self, "index", index)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name}: a location does not change")

    @classmethod
    def from_string(cls, text: str) -> ImageLocation:
        """``INDEX@KEY`` with the index from 1, as tables have it, or a key alone."""
        digits, at, key = text.partition("@")
        if not at:
            key, index = text, WHOLE_FILE
        elif digits.isascii() and digits.isdigit() and int(digits) > 0:
            index = int(digits) - 1
        else:
            raise InvalidError(f'image location: "{text}": not an index from 1', item=text)
        if not key:
            raise InvalidError(f'image location: "{text}": no key', item=text)
        return cls(key, index)

    @property
    def is_whole(self) -> bool:
        return self.index == WHOLE_FILE

    def _order(self) -> tuple[bytes, int]:
        return self.key.encode("utf-8", "surrogateescape"), self.index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ImageLocation) and (self.key, self.index) == (other.key, other.index)

    def __lt__(self, other: ImageLocation) -> bool:
        return self._order() < other._order() if isinstance(other, ImageLocation) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.key, self.index))

    def __reduce__(self) -> tuple[Any, ...]:
        return ImageLocation, (self.key, self.index)

    def __repr__(self) -> str:
        return f"ImageLocation({self.key!r})" if self.is_whole else f"ImageLocation({self.key!r}, {self.index})"

    def __str__(self) -> str:
        return self.key if self.is_whole else f"{self.index + 1:06d}@{self.key}"


class Group(NamedTuple):
    """What is named of one file."""

    key: str
    indices: tuple[int, ...]
    """Ascending; empty if the whole file is named."""
    is_whole: bool


class ImageLocationGrouping:
    """Locations file by file: keys in the order of their bytes, indices ascending, each location once."""

    def __init__(self, locations: Iterable[ImageLocation]) -> None:
        found: dict[str, set[int]] = {}
        for location in locations:
            if not isinstance(location, ImageLocation):
                raise TypeError(f"an ImageLocation is needed, not {type(location).__name__}")
            found.setdefault(location.key, set()).add(location.index)
        self._groups = tuple(
            Group(key, () if WHOLE_FILE in found[key] else tuple(sorted(found[key])), WHOLE_FILE in found[key])
            for key in sorted(found, key=lambda k: k.encode("utf-8", "surrogateescape"))
        )

    def __len__(self) -> int:
        return len(self._groups)

    def __getitem__(self, i: int) -> Group:
        return self._groups[operator.index(i)]

    def __iter__(self) -> Iterator[Group]:
        return iter(self._groups)

    def __repr__(self) -> str:
        return f"<gridhold ImageLocationGrouping: {self.count} locations in {len(self)} files>"

    @property
    def count(self) -> int:
        """How many locations there are; a whole file is one."""
        return sum(len(g.indices) or 1 for g in self._groups)

    def locations(self) -> Iterator[ImageLocation]:
        """All of them, in order."""
        for g in self._groups:
            for index in g.indices or (WHOLE_FILE,):
                yield ImageLocation(g.key, index)


def grouped(locations: ImageLocationGrouping | Iterable[ImageLocation]) -> ImageLocationGrouping:
    return locations if isinstance(locations, ImageLocationGrouping) else ImageLocationGrouping(locations)


def packed(grouping: ImageLocationGrouping) -> bytes:
    """The locations of a ``scratch_open``."""
    parts = [len(grouping).to_bytes(4, "little")]
    for g in grouping:
        raw = g.key.encode()
        parts += [len(raw).to_bytes(4, "little"), raw]
    for i, g in enumerate(grouping):
        parts.append(wanted(np.full(len(g.indices) or 1, i), np.array(g.indices or (-1,), np.int64)).tobytes())
    return b"".join(parts)


def wanted(keys: NDArray, indices: NDArray) -> NDArray:
    """``gh_image`` for each image."""
    images = np.zeros(len(keys), _IMAGE)
    images["key"], images["index"] = keys, indices
    return images
