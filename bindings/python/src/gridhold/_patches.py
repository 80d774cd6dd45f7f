"""Pieces of images around points that lie anywhere, also outside."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ._errors import InvalidError
from ._types import NDArray


def cut(image: NDArray, extent: Sequence[int], centres: NDArray, fill: NDArray) -> NDArray:
    """A patch for each centre, from ``centre - extent // 2`` on; ``fill`` where there is no image."""
    extent, shape = [int(n) for n in extent], image.shape
    if len(extent) != image.ndim or min(extent, default=1) < 1:
        raise InvalidError(f"images: patches of {tuple(extent)} from an image of {shape}")
    if centres.ndim != 2 or centres.shape[1] != image.ndim or centres.dtype.kind not in "iu":
        raise InvalidError(f"images: centres are whole numbers, {image.ndim} each")
    patches = np.empty((len(centres), *extent), image.dtype)
    patches[...] = fill
    for patch, centre in zip(patches, centres.tolist()):
        begins = [c - n // 2 for c, n in zip(centre, extent)]  # of the patch, in the image
        inside = [(max(b, 0), min(b + n, size)) for b, n, size in zip(begins, extent, shape)]
        if all(low < high for low, high in inside):
            there = tuple(slice(low - b, high - b) for (low, high), b in zip(inside, begins))
            patch[there] = image[tuple(slice(low, high) for low, high in inside)]
    return patches
