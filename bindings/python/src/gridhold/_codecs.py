"""The decoders that this host has, for its own warm reads and to lend.

A decoder answers None to whatever it does not like: damaged, too large, or
merely unusual. Then the guest decodes the bytes and says what is the matter.
So there is one judge, and a decoder here may be as narrow as it is fast.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

Decoder = Callable[[Any, int], "bytes | None"]
"""``decode(encoded, limit)``: all that was encoded, at most ``limit`` bytes, or None."""

LENT_MIN = 4096
"""Smaller outputs are decoded in the guest: crossing over costs more than it saves."""


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


def _zstd() -> Decoder | None:
    """The quickest implementation there is; zstandard keeps its state between calls, the others make it anew."""
    try:
        import zstandard
    except ImportError:
        pass
    else:
        local = threading.local()

        def with_zstandard(src: Any, limit: int) -> bytes | None:
            if not _zstd_size(src, limit):
                return None
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


_DECODERS: dict[str, Decoder | None] = {"zstd": _zstd(), "gzip": _gzip, "crc32c": _crc32c()}


def lent(name: str) -> Decoder | None:
    """What is worth lending: compressors. A checksum costs the guest less than the crossing."""
    return _DECODERS.get(name) if name != "crc32c" else None


class Chain:
    """The codecs of one array's subchunks. Immutable; safe for use by several threads."""

    def __init__(
        self, dtype: np.dtype[Any], stored: np.dtype[Any], shape: tuple[int, ...], orders: list[list[int]],
        steps: list[tuple[Decoder, int]],
    ) -> None:  # fmt: skip
        self.nbytes = dtype.itemsize
        for n in shape:
            self.nbytes *= n
        self._dtype = dtype
        self._stored = stored
        self._steps = steps
        self._inverse = [tuple(int(i) for i in np.argsort(order)) for order in reversed(orders)]
        for order in orders:
            shape = tuple(shape[i] for i in order)
        self._shape = shape
        # What is longer is not what a writer makes of so few bytes; the guest may look at it.
        self.encoded_max = self.nbytes + self.nbytes // 32 + 4096 if steps else self.nbytes

    def decode(self, encoded: Any) -> np.ndarray[Any, Any] | None:
        """The subchunk, C order, writable; None if the guest has to judge."""
        for decoder, size in self._steps:
            encoded = decoder(encoded, size)
            if encoded is None or len(encoded) != size:
                return None
        if len(encoded) != self.nbytes:
            return None
        return self.finish(bytearray(encoded))

    def finish(self, raw: bytearray) -> np.ndarray[Any, Any]:
        """An array over the bytes that the bytes codec made."""
        array: np.ndarray[Any, Any] = np.ndarray(self._shape, self._stored, raw)
        if self._stored is not self._dtype:
            array = array.astype(self._dtype)
        for inverse in self._inverse:
            array = np.ascontiguousarray(array.transpose(inverse))
        return array


def chain(codecs: list[Any], dtype: np.dtype[Any], shape: tuple[int, ...], *, strict: bool = False) -> Chain | None:
    """The chain of a codec list of the metadata, or None if one of it is not known here.

    ``strict``: all that decodes is the guest's; only bytes that lie there as they are may be taken.
    """
    orders: list[list[int]] = []
    steps: list[tuple[Decoder, int]] = []
    stored: np.dtype[Any] | None = None
    size: int | None = None
    for codec in codecs:
        name = codec if isinstance(codec, str) else codec["name"]
        configuration = {} if isinstance(codec, str) else codec.get("configuration") or {}
        if stored is None and name == "transpose" and isinstance(configuration.get("order"), list):
            orders.append(configuration["order"])
        elif stored is None and name == "bytes":
            big = configuration.get("endian") == "big" and dtype.itemsize > 1
            stored = dtype.newbyteorder(">") if big else dtype
            size = dtype.itemsize
            for n in shape:
                size *= n
        else:
            decoder = _DECODERS.get(name)
            if decoder is None or size is None or strict:
                return None
            steps.insert(0, (decoder, size))
            size = size + 4 if name == "crc32c" else None  # how much a compressor made of it, nobody knows
    return None if stored is None else Chain(dtype, stored, shape, orders, steps)
