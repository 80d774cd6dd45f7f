"""The decoders that this host has.

A decoder answers None to whatever it does not like: damaged, too large, or
merely unusual. Then the guest decodes the bytes and says what is the matter.
So there is one judge, and a decoder here may be as narrow as it is fast. Of
damage that no checksum covers the libraries in C notice a little less (a match
of LZ4 at distance 0, a Huffman stream of Zstandard that runs on).
"""

from __future__ import annotations

import bz2
import glob
import lzma
import os
import threading
import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _held
from ._types import NDArray

Decoder = Callable[[Any, int], "bytes | bytearray | None"]
"""``decode(encoded, limit)``: all that was encoded, at most ``limit`` bytes, or None."""


def _zstd_size(src: Any, limit: int) -> bool:
    """Whether this is a frame that states its size, and that is within the limit. Nothing is allocated before."""
    if bytes(src[:4]) != b"\x28\xb5\x2f\xfd" or len(src) < 6:
        return False
    head = src[4]
    single = head >> 5 & 1
    n = (single, 2, 4, 8)[head >> 6]
    if n == 0 or head & 0b1011:  # no size; a reserved bit or a dictionary
        return False
    at = 6 - single
    size = int.from_bytes(src[at : at + n], "little") + (256 if n == 2 else 0)
    return size <= limit


_SMALL = 16 << 10  # decoded bytes; what is more is worth another thread's turn


def _zstd() -> Decoder | None:
    """The quickest implementation there is; zstandard keeps its state between calls, the others make it anew."""
    try:
        import zstandard
    except ImportError:
        pass
    else:
        local = threading.local()
        libraries = glob.glob(os.path.join(glob.escape(os.path.dirname(zstandard.__file__)), "_cffi*.so"))
        small = _held.zstd(libraries[0]) if libraries else None

        def with_zstandard(src: Any, limit: int) -> bytes | bytearray | None:
            if not _zstd_size(src, limit):
                return None
            if small is not None and limit <= _SMALL:
                return small(src, limit)
            try:
                decompress = local.decompress
            except AttributeError:
                decompress = local.decompress = zstandard.ZstdDecompressor().decompress
            try:
                return decompress(src, allow_extra_data=False)  # type: ignore[no-any-return]
            except zstandard.ZstdError:
                return None

        return with_zstandard
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]  # Python 3.14
    except ImportError:
        pass
    else:

        def with_standard_library(src: Any, limit: int) -> bytes | None:
            if not _zstd_size(src, limit):
                return None
            decompressor = zstd.ZstdDecompressor()
            try:
                out = decompressor.decompress(src, limit + 1)
            except zstd.ZstdError:
                return None
            return out if decompressor.eof and not decompressor.unused_data and len(out) <= limit else None

        return with_standard_library
    try:
        from numcodecs.zstd import decompress  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        return None

    def with_numcodecs(src: Any, limit: int) -> bytes | None:
        if not _zstd_size(src, limit):
            return None
        try:
            return decompress(src)  # type: ignore[no-any-return]
        except (RuntimeError, ValueError):
            return None

    return with_numcodecs


def _gzip(src: Any, limit: int) -> bytes | None:
    out, left, rest = [], limit, src
    while len(rest):
        member = zlib.decompressobj(31)
        try:
            piece = member.decompress(rest, left + 1)
        except zlib.error:
            return None
        if len(piece) > left or not member.eof:
            return None
        out.append(piece)
        left -= len(piece)
        rest = member.unused_data
    return b"".join(out) if out else None


def _crc32c() -> Decoder | None:
    """Only where it is not written in Python: the guest's is quicker than that."""
    value: Callable[[bytes], int]
    try:
        import google_crc32c

        if google_crc32c.implementation != "c":
            return None
        value = google_crc32c.value
    except ImportError:
        try:
            from crc32c import crc32c as value  # type: ignore[import-not-found, no-redef, unused-ignore]
        except ImportError:
            return None

    def strip(src: Any, limit: int) -> bytes | None:
        body = bytes(src[:-4])
        if len(src) < 4 or len(body) > limit or value(body) != int.from_bytes(src[-4:], "little"):
            return None
        return body

    return strip


def _blosc() -> Decoder | None:
    """Of chunks of version 1, all of the codecs that numcodecs was built with."""
    try:
        from numcodecs.blosc import decompress  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        return None

    def with_numcodecs(src: Any, limit: int) -> bytes | None:
        if len(src) < 16 or src[0] != 2 or src[3] == 0:
            return None
        size, _, stored = (int.from_bytes(src[i : i + 4], "little") for i in (4, 8, 12))
        if size > limit or stored != len(src):
            return None
        try:
            return decompress(src)  # type: ignore[no-any-return]
        except (RuntimeError, ValueError):
            return None

    return with_numcodecs


def _lz4() -> Decoder | None:
    try:
        from numcodecs.lz4 import decompress  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        return None

    def with_numcodecs(src: Any, limit: int) -> bytes | None:
        if len(src) < 5 or int.from_bytes(src[:4], "little") > limit:
            return None
        try:
            return decompress(src)  # type: ignore[no-any-return]
        except (RuntimeError, ValueError):
            return None

    return with_numcodecs


def _zlib(src: Any, limit: int) -> bytes | None:
    return _one_stream(zlib.decompressobj(), src, limit)


def _bz2(src: Any, limit: int) -> bytes | None:
    return _one_stream(bz2.BZ2Decompressor(), src, limit)


def _xz(src: Any, limit: int) -> bytes | None:
    return _one_stream(lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY), src, limit)


def _one_stream(decompressor: Any, src: Any, limit: int) -> bytes | None:
    try:
        out: bytes = decompressor.decompress(src, limit + 1)
    except (zlib.error, OSError, lzma.LZMAError, EOFError):
        return None
    return out if decompressor.eof and not decompressor.unused_data and len(out) <= limit else None


_XZ_MEMORY = 128 << 20


def _shuffle(size: int) -> Decoder | None:
    if size < 1:
        return None

    def unshuffle(src: Any, limit: int) -> bytes | None:
        if len(src) > limit:
            return None
        whole = len(src) - len(src) % size
        elements = np.frombuffer(src, np.uint8, whole).reshape(size, -1)
        return elements.T.tobytes() + bytes(src[whole:])

    return unshuffle


def _in_front(checksum: Callable[[Any], int]) -> Decoder:
    """A checksum of four bytes before what it is of."""

    def strip(src: Any, limit: int) -> bytes | None:
        body = bytes(src[4:])
        if len(src) < 4 or len(body) > limit or checksum(body) != int.from_bytes(src[:4], "little"):
            return None
        return body

    return strip


def _at_end(name: str) -> Decoder | None:
    """A checksum that numcodecs keeps in four bytes after what it is of."""
    try:
        if name == "fletcher32":
            from numcodecs.fletcher32 import Fletcher32 as Checksum  # type: ignore[import-untyped, import-not-found, unused-ignore]
        else:
            from numcodecs.checksum32 import JenkinsLookup3 as Checksum  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        return None
    codec = Checksum()

    def strip(src: Any, limit: int) -> bytes | None:
        if not 4 <= len(src) <= limit + 4:
            return None
        try:
            return bytes(codec.decode(bytes(src)))
        except (IndexError, RuntimeError, ValueError):
            return None

    return strip


def zstd_many(joined: bytes | bytearray, lengths: NDArray, size: int) -> Any | None:
    """Frames of ``size`` bytes each, decoded in one call that lets go of the interpreter; None: one by one.

    They lie one after another, each as long as ``lengths`` says.

    That call does not say whether something follows a frame, so that is looked at here: a frame of one block, as those
    of up to 128 KiB are, says itself where it ends.
    """
    try:
        import zstandard

        segments = zstandard.BufferWithSegments
    except (ImportError, AttributeError):  # its pure Python part has no such thing
        return None
    if lengths.min() < 16:
        return None
    padded = joined if lengths[-1] >= 22 else joined + bytes(8)  # up to eight are looked at from the fourteenth on
    eight: NDArray = np.ndarray(len(padded) - 7, "<u8", padded, strides=(1,))  # the bytes from any place on
    starts = np.cumsum(lengths) - lengths
    first = eight[starts]
    head = (first >> np.uint64(32)).astype(np.int64) & 255
    single, width = head >> 5 & 1, head >> 6
    sized = np.where(width == 0, single, 1 << width)  # bytes that say the size of the content
    if (head & 0b1011).any() or not sized.all() or (first.astype(np.uint32) != _ZSTD_MAGIC).any():
        return None
    at = starts + 6 - single
    content = (eight[at] & _LOWEST[sized]) + np.where(sized == 2, 256, 0).astype(np.uint64)
    block = at + sized
    b = eight[block].astype(np.int64) & 0xFFFFFF
    stored = np.where(b >> 1 & 3 == 1, 1, b >> 3)  # one byte that is repeated, or as many as it says
    whole = (b & 1 == 1) & (block + 3 + stored + 4 * (head >> 2 & 1) == starts + lengths)
    if (content != size).any() or not whole.all():
        return None
    places = np.empty((len(lengths), 2), "<u8")
    places[:, 0], places[:, 1] = starts, lengths
    try:
        return zstandard.ZstdDecompressor().multi_decompress_to_buffer(
            segments(joined, places.tobytes()), decompressed_sizes=np.full(len(lengths), size, "<u8").tobytes(), threads=0
        )
    except zstandard.ZstdError:
        return None


_ZSTD_MAGIC = 0xFD2FB528
_LOWEST = np.array([2 ** (8 * n) - 1 for n in range(9)], np.uint64)


class Found(NamedTuple):
    """A decoder, and what else is to be known of its codec."""

    decode: Decoder
    overhead: int | None  # bytes that encoding adds; None: a compressor, nobody knows
    frees: bool = False  # it lets go of the interpreter, so that two threads are quicker than one


def find(name: str, configuration: dict[str, Any]) -> Found | None:
    """The decoder of a bytes-to-bytes codec of the metadata; None if this host has none for it."""
    name = name.removeprefix("numcodecs.")
    decoder = COMPRESSORS[name]
    if decoder is not None:
        unusual = name == "lzma" and (configuration.get("format", 1) != 1 or configuration.get("filters"))
        return None if unusual else Found(decoder, None, name not in ("blosc", "lz4"))
    if name == "shuffle":
        size = configuration.get("elementsize", 4)
        decoder = _shuffle(size) if isinstance(size, int) else None
        return Found(decoder, 0) if decoder else None
    decoder = CHECKSUMS[name]
    if decoder is None or configuration:  # other places and seeds are the guest's
        return None
    return Found(decoder, 4)


class _Made(dict[str, "Decoder | None"]):
    """Decoders by name, each made when it is first asked for: what they are made of takes a while to load."""

    def __init__(self, makers: dict[str, Callable[[], Decoder | None]]) -> None:
        super().__init__()
        self._makers = makers

    def __missing__(self, name: str) -> Decoder | None:
        make = self._makers.get(name)
        return self.setdefault(name, make()) if make is not None else None


COMPRESSORS = _Made({
    "blosc": _blosc, "bz2": lambda: _bz2, "gzip": lambda: _gzip, "lz4": _lz4, "lzma": lambda: _xz, "zlib": lambda: _zlib,
    "zstd": _zstd,
})  # fmt: skip
CHECKSUMS = _Made({
    "adler32": lambda: _in_front(zlib.adler32), "crc32": lambda: _in_front(zlib.crc32), "crc32c": _crc32c,
    "fletcher32": lambda: _at_end("fletcher32"), "jenkins_lookup3": lambda: _at_end("jenkins_lookup3"),
})  # fmt: skip


def lent(name: str, configuration: dict[str, Any]) -> Decoder | None:
    """What is worth lending: compressors. A checksum costs the guest less than the crossing."""
    found = find(name, configuration)
    return found.decode if found and found.overhead is None else None
