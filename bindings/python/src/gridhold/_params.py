"""How Blosc2 packs and where it stores, by the names of python-blosc2."""

from __future__ import annotations

import dataclasses
import enum
import os
from typing import Any


class Codec(enum.IntEnum):
    """What packs."""

    BLOSCLZ = 0
    LZ4 = 1
    LZ4HC = 2
    ZLIB = 4
    ZSTD = 5


class Filter(enum.IntEnum):
    """What is done before packing."""

    NOFILTER = 0
    SHUFFLE = 1
    BITSHUFFLE = 2
    DELTA = 3
    TRUNC_PREC = 4
    BYTEDELTA = 35


class SplitMode(enum.IntEnum):
    """Whether the bytes of items are packed apart."""

    ALWAYS_SPLIT = 1
    NEVER_SPLIT = 2
    AUTO_SPLIT = 3
    FORWARD_COMPAT_SPLIT = 4


class SpecialValue(enum.IntEnum):
    """Of what a chunk may be full, without being stored."""

    NOT_SPECIAL = 0
    ZERO = 1
    NAN = 2
    VALUE = 3
    UNINIT = 4


@dataclasses.dataclass
class CParams:
    """How to pack. ``nthreads`` is taken and not needed."""

    codec: Codec | str = Codec.ZSTD
    clevel: int = 5
    use_dict: bool = False
    typesize: int = 0
    nthreads: int = 1
    blocksize: int = 0
    splitmode: SplitMode = SplitMode.AUTO_SPLIT
    filters: list[Filter] = dataclasses.field(default_factory=lambda: [Filter(0)] * 5 + [Filter.SHUFFLE])
    filters_meta: list[int] = dataclasses.field(default_factory=lambda: [0] * 6)


@dataclasses.dataclass
class DParams:
    """How to unpack, which needs nothing."""

    nthreads: int = 1


@dataclasses.dataclass
class Storage:
    """Where a container lies."""

    contiguous: bool | None = None
    urlpath: str | os.PathLike[str] | None = None
    mode: str = "a"
    mmap_mode: str | None = None
    initial_mapping_size: int | None = None
    locking: bool = False
    meta: dict[str, Any] | None = None
