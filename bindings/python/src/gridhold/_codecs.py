"""The codecs of an array's subchunks, as this host decodes them for its own warm reads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._decoders import Decoder, find, zstd_many
from ._types import Element, NDArray

_SLAB = 64 << 10  # bytes that subchunks of a batch have in common: who keeps one of them keeps no more


class Chain:
    """The codecs of one array's subchunks. Immutable; safe for use by several threads."""

    def __init__(
        self, element: Element, stored: np.dtype[Any], shape: tuple[int, ...], orders: list[list[int]],
        steps: list[tuple[Decoder, int | None]], frees: bool, is_zstd: bool,
    ) -> None:  # fmt: skip
        self.nbytes = math.prod(shape) * element.size
        self._dtype = element.dtype
        self._bits = element.bits
        self._stored = stored
        self._steps = steps
        self.frees = frees
        """Whether two threads decode quicker than one."""
        self._inverse = [tuple(int(i) for i in np.argsort(order)) for order in reversed(orders)]
        for order in orders:
            shape = tuple(shape[i] for i in order)
        self._shape = shape
        self._is_zstd = is_zstd and len(steps) == 1
        # What is longer is not what a writer makes of so few bytes; the guest may look at it.
        self.encoded_max = self.nbytes + self.nbytes // 32 + 4096 if steps else self.nbytes

    def decode(self, encoded: Any) -> NDArray | None:
        """The subchunk, C order, writable; None if the guest has to judge."""
        if len(encoded) > self.encoded_max:
            return None
        for decoder, size in self._steps:
            encoded = decoder(encoded, len(encoded) if size is None else size)
            if encoded is None or (size is not None and len(encoded) != size):
                return None
        if len(encoded) != self.nbytes:
            return None
        return self.finish(encoded if type(encoded) is bytearray else bytearray(encoded))

    def decode_many(self, encoded: Sequence[Any]) -> list[NDArray] | None:
        """Several, small ones, in one call that lets go of the interpreter; None: one by one."""
        return self.decode_joined(b"".join(encoded), np.fromiter(map(len, encoded), np.int64, len(encoded)))

    def decode_joined(self, joined: bytes | bytearray, lengths: NDArray) -> list[NDArray] | None:
        """The same, of what lies one after another, each as long as ``lengths`` says."""
        if lengths.max() > self.encoded_max:
            return None
        count, some = len(lengths), max(1, _SLAB // max(1, self.nbytes))
        if not self._steps:
            if lengths.min() < self.nbytes:
                return None
            whole, step = memoryview(joined), some * self.nbytes
            slabs = [bytearray(whole[at : at + step]) for at in range(0, len(joined), step)]
        else:
            found = zstd_many(joined, lengths, self.nbytes) if self._is_zstd else None
            if found is None:
                return None
            slabs = [bytearray().join([found[i] for i in range(at, min(at + some, count))]) for at in range(0, count, some)]
        if sum(map(len, slabs)) != count * self.nbytes:
            return None
        return [array for slab in slabs for array in self._each(slab)]

    def _each(self, raw: bytearray) -> list[NDArray]:
        """Arrays over what the bytes codec made of several."""
        if self._stored is not self._dtype or self._inverse or not self._shape:
            return [self.finish(raw[at : at + self.nbytes]) for at in range(0, len(raw), self.nbytes)]
        return list(np.ndarray((len(raw) // self.nbytes, *self._shape), self._stored, raw))

    def finish(self, raw: bytearray) -> NDArray:
        """An array over the bytes that the bytes codec made."""
        array: NDArray = np.ndarray(self._shape, self._stored, raw)
        if self._stored is not self._bits:
            array = array.astype(self._bits)
        if self._bits is not self._dtype:
            array = array.view(self._dtype)
        for inverse in self._inverse:
            array = np.ascontiguousarray(array.transpose(inverse)).reshape([array.shape[i] for i in inverse])
        return array


def chain(codecs: list[Any], element: Element, shape: tuple[int, ...], *, strict: bool = False) -> Chain | None:
    """The chain of a codec list of the metadata, or None if one of it is not known here.

    ``strict``: all that decodes is the guest's; only bytes that lie there as they are may be taken.
    """
    if element.variable:
        return None
    orders: list[list[int]] = []
    steps: list[tuple[Decoder, int | None]] = []
    stored: np.dtype[Any] | None = None
    size: int | None = math.prod(shape) * element.size
    frees = is_zstd = False
    for codec in codecs:
        name = codec if isinstance(codec, str) else codec["name"]
        configuration = {} if isinstance(codec, str) else codec.get("configuration") or {}
        if stored is None and name == "transpose" and isinstance(configuration.get("order"), list):
            orders.append(configuration["order"])
        elif stored is None and name == "bytes":
            big = configuration.get("endian") == "big"
            stored = element.bits.newbyteorder(">") if big else element.bits
        else:
            found = find(name, configuration)
            if found is None or stored is None or strict or (size is None and found.overhead is None):
                return None
            steps.insert(0, (found.decode, size))
            frees = frees or found.frees
            is_zstd = name.removeprefix("numcodecs.") == "zstd"
            # How much a compressor made of it, nobody knows; a checksum outside it strips what there is.
            size = None if size is None or found.overhead is None else size + found.overhead
    return None if stored is None else Chain(element, stored, shape, orders, steps, frees, is_zstd)
