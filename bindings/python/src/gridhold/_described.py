"""What can be said of arrays and groups without reading, whoever calls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._core import ArrayCore
from ._node import Node
from ._repr import Shown, line


class Described(Shown):
    """What arrays and groups have in common, whoever calls."""

    def __init__(self, node: Node) -> None:
        self._node = node

    @property
    def path(self) -> str:
        """The path in the store; ``""`` is the root."""
        return self._node.path

    @property
    def info(self) -> dict[str, Any]:
        """The whole description, as ``gridhold info --json`` prints it. A copy."""
        return json.loads(self._node.raw)  # type: ignore[no-any-return]

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes. A copy."""
        return self.info.get("attributes") or {}

    def _rows(self) -> Sequence[tuple[str, Any]]:
        return [("path", self.path or "/"), ("store", self._node.place.store)]

    def __repr__(self) -> str:
        return line(self, f"{self.path or '/'} in {self._node.place.store!r}")


class DescribedArray(Described):
    """What can be said of an array without reading."""

    _node: ArrayCore

    def _rows(self) -> Sequence[tuple[str, Any]]:
        codecs = " ".join(c["name"] for c in self._node.info.get("subchunk_codecs") or self._node.info["codecs"])
        parts = [("shards" if self.is_sharded else "chunks", self.chunk_shape or "differ"), ("subchunks", self.subchunk_shape)]
        return [*super()._rows(), ("shape", self.shape), ("dtype", self.dtype), *parts, ("codecs", codecs)]

    def __repr__(self) -> str:
        parts = f"shards {self.chunk_shape} of {self.subchunk_shape}" if self.is_sharded else f"chunks {self.chunk_shape or 'differ'}"
        return line(self, f"{self.path or '/'} in {self._node.place.store!r}", f"{self.shape} {self.dtype}", parts)

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each axis."""
        return self._node.shape

    @property
    def ndim(self) -> int:
        return len(self._node.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of what reads return.

        Strings and bytes of variable length are objects, ``str`` and
        ``bytes``. int2 and int4 are int8, uint2 and uint4 uint8. bfloat16 and
        the floats of 8 and fewer bits are those of ml_dtypes if that is
        installed, else their bits in uint16 and uint8; ``info["data_type"]``
        has the name.
        """
        return self._node.element.dtype

    @property
    def chunk_shape(self) -> tuple[int, ...] | None:
        """Of a chunk; a shard, if the array is sharded. In encoded space, as the metadata has it.

        None if chunks differ: ``info["chunk_edges"]`` has, for each axis, the
        ``[length, count]`` of neighbours that are alike.
        """
        shape = self._node.info["chunk_shape"]
        return None if shape is None else tuple(shape)

    @property
    def chunk_grid_shape(self) -> tuple[int, ...]:
        """Chunks along each axis."""
        return tuple(self._node.info["chunk_grid_shape"])

    @property
    def subchunk_shape(self) -> tuple[int, ...] | None:
        """As the metadata has it; None if the array is not sharded."""
        shape = self._node.info["subchunk_shape"]
        return None if shape is None else tuple(shape)

    @property
    def effective_subchunk_shape(self) -> tuple[int, ...] | None:
        """Of what ``retrieve_subchunk`` returns; of a chunk, if the array is not sharded. None if those differ."""
        return self._node.subchunk

    @property
    def subchunk_grid_shape(self) -> tuple[int, ...]:
        """Subchunks along each axis; what ``retrieve_subchunk`` takes lies below it."""
        return self._node.grid

    @property
    def is_sharded(self) -> bool:
        return bool(self._node.info["is_sharded"])


class DescribedGroup(Described):
    """What can be said of a group without reading."""

    def __init__(self, node: Node, consolidated: bool) -> None:
        super().__init__(node)
        self._consolidated = consolidated

    @property
    def multiscales(self) -> list[dict[str, Any]]:
        """The pyramids of an OME-Zarr group, as ``gridhold info --json`` prints them; empty if it has none."""
        return self.info.get("multiscales") or []
