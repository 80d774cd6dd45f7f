"""Sequences and arrays in Blosc2 frames, by the names of python-blosc2."""

from __future__ import annotations

import contextlib
import operator
import time
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from . import _container as c
from ._container import Container
from ._errors import InvalidError
from ._metalayers import Meta, VLMeta
from ._repr import Shown, line, size
from ._runtime import blocking
from ._select import basic_of, lies_within

N = TypeVar("N", bound="Named")
S = TypeVar("S", bound="Opened")
F = TypeVar("F", bound="_Frame")


class Named(Shown):
    """A container that is open, whoever calls: what can be said of it without a look."""

    def __init__(self, core: Container) -> None:
        self._core = core

    @classmethod
    def _of(cls: type[N], core: Container) -> N:
        opened = cls.__new__(cls)
        Named.__init__(opened, core)
        return opened

    @property
    def urlpath(self) -> str:
        """The name under which it was opened."""
        return self._core.name

    def _state(self, name: str) -> Any:
        self._core.check_open()
        return self._core.state[name]

    def _rows(self) -> Sequence[tuple[str, Any]]:
        return [("name", self.urlpath)]

    def __repr__(self) -> str:
        return line(self, repr(self.urlpath), *(f"{name} {value}" for name, value in self._rows()[1:]))


class Framed(Named):
    """What can be said of a frame without a look."""

    typesize = property(lambda self: self._state("typesize"), doc="Bytes of an item.")
    chunksize = property(lambda self: self._state("chunksize"), doc="Bytes of a chunk; 0 where they vary, -1 before the first.")
    blocksize = property(lambda self: self._state("blocksize"), doc="Bytes of a block; 0 where it was not recorded.")
    nchunks = property(lambda self: self._state("nchunks"), doc="How many chunks there are.")
    nbytes = property(lambda self: self._state("nbytes"), doc="Bytes of all items.")
    cbytes = property(lambda self: self._state("cbytes"), doc="Bytes that they take, packed.")
    contiguous = property(lambda self: self._state("contiguous"), doc="Whether it is one file.")

    @property
    def cratio(self) -> float:
        """How many times smaller it is, packed."""
        return self.nbytes / self.cbytes if self.cbytes else 0.0

    @property
    def cparams(self) -> dict[str, Any]:
        """How chunks are packed."""
        return {"codec": self._state("codec"), "clevel": self._state("level"), "typesize": self.typesize}

    def _packed(self) -> list[tuple[str, Any]]:
        return [("codec", self._state("codec")), ("stored", f"{size(self.cbytes)} of {size(self.nbytes)}")]

    def __repr__(self) -> str:
        if self._core._closed:
            return line(self, repr(self.urlpath), "closed")
        return super().__repr__()


class Opened(Named):
    """A container that is open. Use it in a ``with``, or close it."""

    @property
    def info(self) -> dict[str, Any]:
        """The whole description, as ``gridhold info --json`` prints it."""
        return self._core.do("describe")  # type: ignore[no-any-return]

    @property
    def change_tick(self) -> int:
        """Counts the changes that were taken over since it was opened."""
        return self._core.do("state")["tick"]  # type: ignore[no-any-return]

    def refresh(self) -> bool:
        """Looks whether it was changed, by another process or handle, takes that over, and says whether there was anything."""
        return blocking(self._core.refreshing())

    @contextlib.contextmanager
    def holding_lock(self: S) -> Iterator[S]:
        """Its lock, exclusively, for the block; gives the container as those use it who hold the lock.

        With ``locking`` nobody else who locks reads or writes it meanwhile, be
        it another thread with this very object. In the block this thread, or
        task, may use the object itself as well. Blocks may lie in each other.
        """
        with c.during(self._core.holding(False)) as held:
            yield type(self)._of(held)

    @contextlib.contextmanager
    def holding_shared_lock(self: S) -> Iterator[S]:
        """As ``holding_lock``, for reading: others may read too."""
        with c.during(self._core.holding(True)) as held:
            yield type(self)._of(held)

    def verify(self) -> dict[str, Any]:
        """Decodes everything: ``{"checked": n, "damaged": [{"item", "off", "text"}, …]}``.

        What may be whole, but takes a codec or filter that is not there, has ``"unchecked": True``.
        """
        return self._core.do("verify")  # type: ignore[no-any-return]

    def close(self) -> None:
        """Makes what was written safe, by ``durability``, and raises what kept it from being. Twice is fine."""
        self._core.close()

    def __enter__(self: S) -> S:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class _Frame(Framed, Opened):
    """What sequences and arrays have in common."""

    @property
    def vlmeta(self) -> VLMeta:
        """Metadata of any length, by name."""
        return VLMeta(self._core)

    @property
    def meta(self) -> Meta:
        """Metadata that keep their length, by name."""
        return Meta(self._core)

    def get_chunk(self, nchunk: int) -> bytes:
        """A chunk as it is stored: a Blosc2 chunk."""
        return self._core.read(c.ENCODED, [operator.index(nchunk)])

    def decompress_chunk(self, nchunk: int) -> bytes:
        """The decoded bytes of a chunk."""
        return self._core.read(c.CHUNK, [operator.index(nchunk)])

    def to_cframe(self) -> bytes:
        """All of it as the bytes of one frame, which python-blosc2 opens too."""
        return self._core.read(c.FRAME)

    @contextlib.contextmanager
    def snapshot(self: F) -> Iterator[F]:
        """What it is now, to be read for the block, whatever is written meanwhile; that waits for nobody."""
        with c.during(self._core.snapshot()) as held:
            yield type(self)._of(held)

    def watch(self, interval: float = 0.02) -> Iterator[int]:
        """Gives ``change_tick``, now and after each change; looks about every ``interval`` seconds, and never ends by itself."""
        tick = self.change_tick
        yield tick
        while True:
            time.sleep(interval)
            self.refresh()
            if self._core.state["tick"] != tick:
                tick = self._core.state["tick"]
                yield tick

    def copy(self: F, *, urlpath: Any = None, **options: Any) -> F:
        """A copy that is open: at ``urlpath``, else in the core's memory. What is not said is as it is here.

        Metalayers come along. ``options`` are those of making one (``mode``, ``cparams``, ``contiguous``,
        ``checksums``, ``locking`` …; of an array also ``chunks`` and ``blocks``).
        """
        from ._creating import copy_of

        return type(self)._of(copy_of(self._core, urlpath=urlpath, **options).open())

    def save(self, urlpath: Any, **options: Any) -> None:
        """A copy at ``urlpath``, and no more: see ``copy``."""
        self.copy(urlpath=urlpath, **options).close()

    def keep_checksums(self, keep: bool = True) -> None:
        """Keeps a CRC-32C of each chunk in a metalayer, for ``verify``, or no longer; python-blosc2 minds neither."""
        self._core.change("checksums", keep=bool(keep))

    def repair(self) -> None:
        """Puts back the state that this handle last saw, where another program has written an old header over it.

        Raises NotFoundError if this handle found no such thing, StaleError if the bytes do not allow it.
        """
        self._core.change("repair")

    def compact(self) -> None:
        """Writes it anew without the bytes that changes have left behind."""
        self._core.change("compact")


class SChunk(_Frame):
    """A sequence of items in chunks."""

    def __init__(self, chunksize: int | None = None, data: Any = None, **options: Any) -> None:
        from ._creating import create_schunk

        super().__init__(create_schunk(chunksize, data, **options).open())

    def _rows(self) -> Sequence[tuple[str, Any]]:
        return [
            *super()._rows(),
            ("items", len(self)),
            ("typesize", self.typesize),
            ("chunks", f"{self.nchunks} of {size(self.chunksize)}" if self.chunksize > 0 else self.nchunks),
            *self._packed(),
        ]

    def __len__(self) -> int:
        """Whole items."""
        return int(self.nbytes // self.typesize)

    def __getitem__(self, key: int | slice) -> bytes:
        """The bytes of an item, or of those that a slice selects."""
        self._look(key)
        ((only,), _) = basic_of(key, (len(self),), backwards=True)
        return self._core.read(c.SLICE, [only.start, only.stop, only.step])

    def __setitem__(self, key: int | slice, value: Any) -> None:
        """Replaces items; a slice has no step."""
        self._look(key)
        ((only,), _) = basic_of(key, (len(self),))
        raw = _bytes_of(value)
        if only.step != 1 or len(raw) != len(only) * self.typesize:
            raise InvalidError(f"schunk: {len(raw)} bytes for {len(only)} items of {self.typesize}, without steps")
        self._core.write(c.PUT_SLICE, [only.start], raw)

    def _look(self, key: Any) -> None:
        if self._core.follows and not lies_within(key, (len(self),)):
            self.refresh()

    def get_slice(self, start: int | None = None, stop: int | None = None) -> bytes:
        return self[slice(start, stop)]

    def append_data(self, data: Any) -> int:
        """Adds a chunk at the end; returns how many there are."""
        self._core.write(c.ADD_CHUNK, (), _bytes_of(data))
        return int(self.nchunks)

    def append(self, data: Any) -> int:
        """Adds items at the end: fills up the last chunk, then makes others. Returns how many items there are."""
        self._core.write(c.APPEND, (), _bytes_of(data))
        return len(self)

    def insert_data(self, nchunk: int, data: Any) -> int:
        """Puts a chunk before another one; returns how many there are."""
        self._core.write(c.INSERT, [operator.index(nchunk)], _bytes_of(data))
        return int(self.nchunks)

    def update_data(self, nchunk: int, data: Any) -> int:
        """Replaces a chunk; returns how many there are."""
        self._core.write(c.UPDATE, [operator.index(nchunk)], _bytes_of(data))
        return int(self.nchunks)

    def delete_chunk(self, nchunk: int) -> int:
        """Removes a chunk; returns how many there are."""
        self._core.write(c.DELETE, [operator.index(nchunk)])
        return int(self.nchunks)

    def iterchunks(self, dtype: Any = None) -> Iterator[Any]:
        """The chunks in turn: arrays of ``dtype``, or bytes."""
        for i in range(self.nchunks):
            raw = self.decompress_chunk(i)
            yield raw if dtype is None else np.frombuffer(raw, dtype)


def _bytes_of(data: Any) -> bytes:
    if isinstance(data, np.ndarray):
        return np.ascontiguousarray(data).tobytes()
    return data if isinstance(data, bytes) else memoryview(data).tobytes()
