"""Metadata of a container by name: of one length, and of any."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

from . import _container as c
from . import _msgpack
from ._container import Container
from ._errors import InvalidError, NotFoundError


class Meta(Mapping[str, Any]):
    """Metalayers, as objects where they are MessagePack."""

    def __init__(self, core: Container) -> None:
        self._core = core

    def __iter__(self) -> Iterator[str]:
        return iter(self._core.do("state")["meta"])

    def __len__(self) -> int:
        return len(self._core.do("state")["meta"])

    def __getitem__(self, name: str) -> Any:
        return _msgpack.decode(_found(self._core, c.METALAYER, name))


class VLMeta(MutableMapping[str, Any]):
    """Variable-length metalayers: numbers, texts, bytes, lists and dicts, as MessagePack. ``vlmeta[:]`` is all of them."""

    def __init__(self, core: Container) -> None:
        self._core = core

    def __iter__(self) -> Iterator[str]:
        return iter(self._core.do("state")["vlmeta"])

    def __len__(self) -> int:
        return len(self._core.do("state")["vlmeta"])

    def __getitem__(self, name: Any) -> Any:
        if isinstance(name, slice):
            if name != slice(None):
                raise InvalidError("vlmeta: only [:] is a slice of it")
            return dict(self.items())
        return _msgpack.decode(_found(self._core, c.VLMETA, name))

    def __setitem__(self, name: str, value: Any) -> None:
        raw = name.encode()
        self._core.write(c.PUT_VLMETA, [len(raw)], raw + _msgpack.encode(value))

    def __delitem__(self, name: str) -> None:
        try:
            self._core.write(c.DROP_VLMETA, (), name.encode())
        except NotFoundError as e:
            raise KeyError(name) from e

    def __repr__(self) -> str:
        return f"VLMeta({dict(self)!r})"


class NodeMeta(MutableMapping[str, Any]):
    """Metadata of a node of a tree. Each change replaces all of them in one step, under the tree's lock if it has one."""

    def __init__(self, tree: Container, node: str) -> None:
        self._tree, self._node = tree, node.rstrip("/")

    @contextlib.contextmanager
    def _kept(self) -> Iterator[Container | None]:
        """The frame that they are in; None where the node has none."""
        try:
            frame = self._tree.leaf(self._node or "/", vlmeta=True).open()
        except NotFoundError:
            yield None
            return
        try:
            yield frame
        finally:
            frame.close()

    def __iter__(self) -> Iterator[str]:
        with self._kept() as frame:
            return iter([] if frame is None else list(VLMeta(frame)))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __getitem__(self, name: Any) -> Any:
        with self._kept() as frame:
            if frame is None:
                if isinstance(name, slice):
                    return {}
                raise KeyError(name)
            return VLMeta(frame)[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._change(lambda layers: layers.__setitem__(name, value))

    def __delitem__(self, name: str) -> None:
        self._change(lambda layers: layers.__delitem__(name))

    def _change(self, change: Callable[[VLMeta], None]) -> None:
        from ._creating import copy_of, create_schunk

        with c.during(self._tree.holding(False)):
            with self._kept() as frame:
                made = create_schunk(1, None, runtime=self._tree.runtime) if frame is None else copy_of(frame)
                made.open()
            try:
                change(VLMeta(made))
                self._tree.put(f"{self._node}/__vlmeta__", made)
            finally:
                made.close()

    def __repr__(self) -> str:
        return f"NodeMeta({dict(self)!r})"


def _found(core: Container, what: int, name: Any) -> bytes:
    if not isinstance(name, str):
        raise TypeError(f"a metalayer has a text for a name, not a {type(name).__name__}")
    try:
        return core.read(what, name=name)
    except NotFoundError as e:
        raise KeyError(name) from e
