"""Metadata of a container by name: of one length, and of any."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
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


def _found(core: Container, what: int, name: Any) -> bytes:
    if not isinstance(name, str):
        raise TypeError(f"a metalayer has a text for a name, not a {type(name).__name__}")
    try:
        return core.read(what, name=name)
    except NotFoundError as e:
        raise KeyError(name) from e
