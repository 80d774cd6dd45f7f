"""The words of docs/abi.md: kinds, structs, and how they lie in memory.

Nothing here touches an instance; these are functions of bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ._errors import CorruptError
from ._types import NDArray

MAJOR, MINOR = 1, 2
PENDING = -2147483648

# Kinds of operations.
OPEN, CLOSE, CACHE_NEW, CACHE_STATS, CACHE_CLEAR, CACHE_INVALIDATE = 1, 2, 3, 4, 5, 6
READ_SUBCHUNK, READ_ENCODED, READ_REGION, SHARD_TABLE, DECODE, VERIFY, LIST, LOCATE = 7, 8, 9, 10, 11, 12, 13, 14
READ_SUBCHUNKS, LOCATE_SUBCHUNKS = 15, 16
CONTAINER_OPEN, CONTAINER_CREATE, CONTAINER_READ, CONTAINER_WRITE, CONTAINER_DO = 17, 18, 19, 20, 21
IMAGES_OPEN, IMAGES_READ, TABLE_READ = 22, 23, 24
SCRATCH_OPEN, SCRATCH_READ, SCRATCH_LOCATE, SCRATCH_DO = 25, 26, 27, 28

# Flags of reads and of caches.
FLAG_RELOAD = 2
FLAG_REMEMBER_MISSING = 1

# Answers of gh_run.
IDLE, MORE, STALLED, REENTERED = 0, 1, 2, 3

# States of an operation.
RUNNING, OK, FAILED, PANICKED = 1, 2, 3, 4

READ = struct.Struct("<8I")  # store flags key key_len ver ver_len ranges n
RANGE = struct.Struct("<qqIIiI")  # off len buf cap n reserved
RANGE_N = 24  # where n lies in a range
LISTING = struct.Struct("<5I")  # store prefix prefix_len buf cap
FETCH = struct.Struct("<10I")  # method method_len url url_len header header_len body body_cap answer answer_cap
FETCH_ANSWER = struct.Struct("<3I")  # status answer_len flags, at 40
FETCH_ANSWER_AT = 40
FETCH_CUT = 1
COMPLETION = struct.Struct("<Ii")

PATH = struct.Struct("<8I")  # fs flags name name_len to to_len buf cap
STAT = struct.Struct("<4q3Q2I")  # size mtime_ns ctime_ns allocated dev ino links kind id
COPY = struct.Struct("<3q2I")  # off src_off n file src
LOCK = struct.Struct("<4IQ")  # fs mode name name_len owner
TOO_SMALL = -17

VERSION_MAX = 128
INFO_SIZE = 184
_INFO_HEAD = struct.Struct("<qqqqqII")  # size mtime_ns dev ino need kind ver_len
_INFO_CODEC = struct.Struct("<II")  # id min_len, at 176
_MAILBOX = struct.Struct("<15I")
_RESULT = struct.Struct("<IiIIIIIIqq")
RESULT_SIZE = _RESULT.size
MAILBOX_SIZE = _MAILBOX.size
_TABLE = struct.Struct("<IIIIq")

MISSING_SHARD = 1
EMPTY = 2**64 - 1


class Mailbox(NamedTuple):
    """One look at the mailbox of an instance."""

    abi: int
    size: int
    waiting: int
    live: int
    done: int
    done_ptr: int
    done_cap: int
    cq_ptr: int
    cq_cap: int
    panics: int
    orphans: int
    req_ptr: int
    req_cap: int
    status: int
    result: int


class Result(NamedTuple):
    """A ``gh_result``."""

    state: int
    code: int
    kind: int
    ptr: int
    len: int
    detail_ptr: int
    detail_len: int
    object: int
    off: int
    length: int


def parse_mailbox(raw: bytes) -> Mailbox:
    return Mailbox._make(_MAILBOX.unpack_from(raw))


def parse_result(raw: bytes) -> Result:
    return Result._make(_RESULT.unpack(raw))


def info(size: int, version: bytes = b"") -> bytes:
    """The part of a ``gh_info`` that a read fills."""
    head = _INFO_HEAD.pack(size, 0, 0, 0, 0, 0, len(version))
    return head + version + bytes(VERSION_MAX - len(version))


def info_need(need: int) -> bytes:
    """The part of a ``gh_info`` that goes with TOO_SMALL."""
    return _INFO_HEAD.pack(-1, 0, 0, 0, need, 0, 0)


def info_codec(codec: int, min_len: int) -> bytes:
    """The part of a ``gh_info`` that ``codec_open`` fills."""
    return _INFO_HEAD.pack(-1, 0, 0, 0, 0, 0, 0) + bytes(VERSION_MAX) + _INFO_CODEC.pack(codec, min_len)


def stat_number(number: int) -> bytes:
    """A ``gh_stat`` that carries the number of a file."""
    return STAT.pack(0, 0, 0, 0, 0, 0, 0, 0, number)


def stat_size(size: int, number: int = 0) -> bytes:
    """A ``gh_stat`` that carries a size, and what ``id`` means with it."""
    return STAT.pack(size, 0, 0, 0, 0, 0, 0, 0, number)


def pack_names(names: list[str]) -> bytes:
    encoded = [name.encode("utf-8", "surrogateescape") for name in names]
    return b"".join(struct.pack("<I", len(name)) + name for name in encoded)


def container_request(handle: int, what: int, numbers: Sequence[int] = (), rest: bytes = b"") -> bytes:
    """The request of ``container_read`` and ``container_write``."""
    return struct.pack(f"<3I{len(numbers)}q", handle, what, len(numbers), *numbers) + rest


def read_request(array: int, cache: int, flags: int, *points: tuple[int, ...]) -> bytes:
    """The request of everything that reads by index."""
    n = len(points[0])
    flat = [x for point in points for x in point]
    return struct.pack(f"<4I{len(flat)}q", array, cache, flags, n, *flat)


def batch_request(array: int, cache: int, points: np.ndarray[Any, Any]) -> bytes:
    """The request of everything that reads by many indices, one a row of ``points``."""
    count, n = points.shape
    return struct.pack("<5I", array, cache, 0, n, count) + points.astype("<i8").tobytes()


def cache_request(array: int, flags: int, budget: int) -> bytes:
    return struct.pack("<2Iq", array, flags, budget)


def invalidate_request(cache: int, shard: tuple[int, ...]) -> bytes:
    return struct.pack(f"<2I{len(shard)}q", cache, len(shard), *shard)


def handle_request(handle: int) -> bytes:
    return struct.pack("<I", handle)


@dataclass(frozen=True)
class Table:
    """The parsed index of one shard, as the guest checked it.

    ``entries`` is flat: offset and length of subchunk ``i`` at ``2 * i`` and
    ``2 * i + 1``, both ``EMPTY`` where there is none.
    """

    missing: bool
    key: str
    version: str
    size: int  # of the object in bytes, -1 unknown
    entries: memoryview
    nbytes: int  # what the table costs in memory

    @cached_property
    def pairs(self) -> NDArray:
        """Each entry as one element of 16 bytes: of such an array numpy picks some without letting go of the interpreter."""
        return np.frombuffer(self.entries, "<c16")


def parse_table(raw: bytes) -> Table:
    """Raises CorruptError where the table contradicts itself: then guest and host do not fit together."""
    if len(raw) < _TABLE.size:
        raise CorruptError("shard table: shorter than its head")
    count, flags, key_len, ver_len, size = _TABLE.unpack_from(raw)
    start = _TABLE.size + key_len + ver_len
    first = (start + 7) & ~7
    if len(raw) != first + 16 * count:
        raise CorruptError("shard table: length does not fit its count")
    key = raw[_TABLE.size : _TABLE.size + key_len].decode()
    version = decode_version(raw[_TABLE.size + key_len : start])
    entries = memoryview(raw)[first:].cast("Q")
    return Table(bool(flags & MISSING_SHARD), key, version, size, entries, len(raw) + 200)


class Places(NamedTuple):
    """Where subchunks lie in the store, in the order they were asked for.

    Subchunk ``i`` has ``lengths[i]`` bytes (-1: to the object's end) from
    ``offsets[i]`` of the object named ``keys[objects[i]]``, which was of
    ``versions[objects[i]]`` then. ``objects`` is -1, as the others are, where
    nothing is stored: there the fill value is. Chunks of an array that is not
    sharded are named without a look: such an object may not exist.
    """

    keys: tuple[str, ...]
    versions: tuple[str, ...]
    objects: np.ndarray[Any, np.dtype[np.int64]]
    offsets: np.ndarray[Any, np.dtype[np.int64]]
    lengths: np.ndarray[Any, np.dtype[np.int64]]


_PLACE = np.dtype([("off", "<i8"), ("length", "<i8"), ("object", "<u4"), ("flags", "<u4")])


def parse_places(raw: bytes) -> Places:
    """Raises CorruptError where the answer contradicts itself."""
    try:
        count, objects = struct.unpack_from("<II", raw)
        places = np.frombuffer(raw, _PLACE, count, 8)
        at, keys, versions = 8 + places.nbytes, [], []
        for _ in range(objects):
            key_len, ver_len = struct.unpack_from("<II", raw, at)
            at += 8
            keys.append(raw[at : at + key_len].decode())
            versions.append(decode_version(raw[at + key_len : at + key_len + ver_len]))
            at += key_len + ver_len
    except (struct.error, ValueError):
        at = -1
    if at != len(raw):
        raise CorruptError("places: length does not fit their count")
    there = places["off"] >= 0
    of, offsets, lengths = (np.where(there, places[name].astype(np.int64), -1) for name in ("object", "off", "length"))
    return Places(tuple(keys), tuple(versions), of, offsets, lengths)


def parse_batch(raw: bytes, count: int) -> list[bytes]:
    """The subchunks of a ``gh_batch``. Raises CorruptError where it contradicts itself."""
    if len(raw) < 8 * count:
        raise CorruptError("batch: shorter than its head")
    ends = [8 * count, *struct.unpack_from(f"<{count}Q", raw)]
    if ends != sorted(ends) or ends[-1] != len(raw):
        raise CorruptError("batch: its ends do not fit its length")
    return [raw[a:b] for a, b in zip(ends, ends[1:])]


def encode_version(version: str) -> bytes:
    """Versions are text here and bytes there; surrogates carry what is not UTF-8."""
    return version.encode("utf-8", "surrogateescape")


def decode_version(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
