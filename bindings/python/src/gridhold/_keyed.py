"""Stores of frames under keys, by the names of python-blosc2."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any

import numpy as np

from . import _container as c
from ._container import Container
from ._errors import NotFoundError
from ._frames import Opened, SChunk, _Frame
from ._metalayers import NodeMeta
from ._ndarray import NDArray
from ._repr import line
from ._runtime import blocking


class _Store(Opened, MutableMapping[str, Any]):
    """A mapping of keys (``"/a/b"``) to frames. What is set is copied; what is got is closed with the store."""

    _kind = ""

    def __init__(self, urlpath: Any = None, mode: str = "a", **options: Any) -> None:
        from ._creating import opening_store

        super().__init__(blocking(opening_store(self._kind, urlpath, mode, **options)))

    def __getitem__(self, key: str) -> Any:
        try:
            return opened(self._core.leaf(_key(key)).open())
        except NotFoundError as e:
            raise KeyError(key) from e

    def __setitem__(self, key: str, value: Any) -> None:
        """A container, or an array of numpy."""
        if isinstance(value, _Frame):
            self._core.put(_key(key), value._core)
            return
        from ._creating import asarray

        with asarray(np.asarray(value), memory=self._core.runtime.memory) as made:
            self._core.put(_key(key), made._core)

    def __delitem__(self, key: str) -> None:
        try:
            self._core.do("delete", key=_key(key))
        except NotFoundError as e:
            raise KeyError(key) from e

    def __iter__(self) -> Iterator[str]:
        return iter(self._core.do("keys"))

    def __len__(self) -> int:
        return len(self._core.do("keys"))

    def _rows(self) -> Sequence[tuple[str, Any]]:
        return [("name", self.urlpath), ("keys", ", ".join(self))]

    def __repr__(self) -> str:
        return line(self, repr(self.urlpath), "closed" if self._core._closed else f"{len(self)} keys")

    def __contains__(self, key: object) -> bool:
        return key in self._core.do("keys")


class EmbedStore(_Store):
    """Frames under keys, in the bytes of one frame."""

    _kind = "embedstore"


class DictStore(_Store):
    """Frames under keys: small ones embedded, the others files of their own, in a directory or a zip."""

    _kind = "dictstore"

    def to_b2z(self, filename: Any, *, overwrite: bool = False) -> str:
        """Writes it as a zip, which appears in one step; returns its name."""
        directory, name = c.split(c.local_path(filename) or str(filename))
        system = self._core.runtime.lend_files(directory)
        self._core.do("to_b2z", fs=system.id, name=name, overwrite=overwrite)
        return f"{directory}/{name}"


class TreeStore(DictStore):
    """A DictStore whose keys are paths: inner nodes are those that keys lead through."""

    _kind = "treestore"

    def get_children(self, path: str = "/") -> list[str]:
        """The nodes right below a node, by their keys."""
        names = self._core.do("children", key=_key(path))
        return [f"{path.rstrip('/')}/{name}" for name in names]

    def __getitem__(self, key: str) -> Any:
        """A leaf. Raises KeyError for an inner node: see ``get_children``."""
        return super().__getitem__(key)

    def get_vlmeta(self, path: str = "/") -> dict[str, Any]:
        """The metadata of a node; empty if it has none. A copy: see ``node_vlmeta``."""
        return dict(self.node_vlmeta(path))

    def node_vlmeta(self, path: str = "/") -> NodeMeta:
        """The metadata of a node, by name. A node that has nothing else is there once it has some; leaves have their own."""
        return NodeMeta(self._core, _key(path))


def _key(key: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a key is a text, not a {type(key).__name__}")
    return key if key.startswith("/") else f"/{key}"


def opened(core: Container) -> Any:
    """The class that goes with a kind."""
    kinds: dict[str, type[Opened]] = {"ndarray": NDArray, "embedstore": EmbedStore, "dictstore": DictStore, "treestore": TreeStore}
    return kinds.get(core.kind, SChunk)._of(core)


