"""A scratch of images that is open in a guest."""

from __future__ import annotations

import json
import mmap
import operator
import os
import struct
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _abi, _fork, _providers
from ._beside import beside
from ._errors import ClosedError, InvalidError, OutOfRangeError
from ._filesystem import FileSystem
from ._guest import Guest
from ._handle import Handle
from ._images import image_dtype
from ._locations import WHOLE_FILE, ImageLocation, ImageLocationGrouping, packed, wanted
from ._places import KEPT, Places
from ._repr import Shown
from ._runtime import Runtime, blocking
from ._types import NDArray

_ANSWER_BYTES = 32 << 20
_SHARE = 2 << 20  # bytes; what is less is not worth a thread of its own
THREADS = 2  # that copy a batch, if nobody says how many
_WORDS_SPAN = 1 << 20  # words this near to each other are read together
_key, _index = operator.attrgetter("key"), operator.attrgetter("index")


class _ScratchHandle(Handle):
    """A handle that opens again what there is by then: a scratch fills."""

    async def _reopen(self, guest: Guest) -> int:
        if self._serial != guest.serial:
            done = await self._runtime.run(guest, self._kind, await self._build(guest))
            self.description = done.data
            self._take(guest, done.object)
        return self._id


class Images(NamedTuple):
    """What locations mean."""

    places: NDArray
    """The number of the file of each image."""
    indices: NDArray
    shape: tuple[int, ...]
    """Of what a location is: an image, or a whole file."""
    dtype: np.dtype[Any]


class ImageScratch(Shown):
    """Copies of images, held in memory or in a file. Safe for use by several threads.

    Made by ``create_host_image_scratch`` and its kin. It goes when nobody holds it any more: neither the
    program, nor a loader or a provider over it.
    """

    def __init__(
        self, runtime: Runtime, grouping: ImageLocationGrouping, files: Any, system: FileSystem | None, recipe: dict[str, Any]
    ) -> None:
        self._runtime = runtime
        self._system = system
        self._recipe = recipe
        self._closed = False
        self._fd = -1
        self._map: tuple[NDArray, NDArray] | None = None  # the file's bytes, and its words
        self.locations = grouping
        self._places = {g.key: i for i, g in enumerate(grouping)}
        self._shapes: dict[int, tuple[tuple[int, ...], np.dtype[Any], int]] = {}
        self._kinds: list[tuple[tuple[int, ...], np.dtype[Any]]] = []  # shapes and types that there are
        # Of each file: which kind its images are, how many they are (0: not asked yet), and the slot of its first one.
        self._kind, self._first = np.zeros((2, len(grouping)), np.int64)
        self._count = np.zeros(len(grouping), np.uint64)
        self._slots = 0
        self._describing = threading.Lock()
        self._found = Places()
        self._files = files
        where, self._kept = _providers.lend(runtime, files, grouping)
        text = json.dumps({**recipe, "files": where, "fs": system.id if system else 0}).encode()
        request = struct.pack("<I", len(text)) + text + packed(grouping)

        async def build(_: Guest) -> bytes:
            return request

        self._handle = _ScratchHandle(runtime, _abi.SCRATCH_OPEN, build)
        blocking(self._handle.open())
        name = json.loads(self._handle.description)["name"]
        if system is not None and name:
            self._fd = system.open(name, 1)
        _fork.register(self)

    def _restart(self) -> None:
        self._describing = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process it is opened again, where it lies, and shared."""
        if self._system is None:
            raise TypeError("scratch: one in memory stays in its process")
        recipe = {**self._recipe, "overwrite": False} if "overwrite" in self._recipe else self._recipe
        return _reopened, (self.locations, self._files, self._system.path, recipe, self._runtime.memory)

    def __del__(self) -> None:
        fd, self._fd = getattr(self, "_fd", -1), -1
        if fd >= 0:
            os.close(fd)

    def _call(self, kind: int, request: Any) -> Any:
        if self._closed:
            raise ClosedError("scratch: closed")

        async def build(guest: Guest) -> bytes:
            return request(await self._handle.on(guest))  # type: ignore[no-any-return]

        return blocking(self._runtime.call(kind, build)).data

    def _do(self, deed: str, **more: Any) -> Any:
        return json.loads(self._call(_abi.SCRATCH_DO, lambda h: json.dumps({"scratch": h, "do": deed, **more}).encode()))

    def stats(self) -> dict[str, Any]:
        """What it holds, and what it did in this process: ``present``, ``eligible``, ``hits``, ``source_reads``, ``filled`` …"""
        stats: dict[str, Any] = self._do("stats")
        stats["hits"] += self._found.hits
        stats["hit_bytes"] += self._found.hit_bytes
        return stats

    def knows(self, key: str) -> bool:
        return key in self._places

    def describe(self, key: str) -> tuple[tuple[int, ...], np.dtype[Any], int]:
        """The shape of one image of a file, its type, and how many there are. Raises InvalidError for other files."""
        place = self._places.get(key)
        if place is None:
            raise InvalidError(f"scratch: {key}: not a file of this scratch", item=key)
        if place not in self._shapes:
            (d,) = self._do("describe", keys=[place])
            self._know(place, tuple(d["image_shape"]), image_dtype(d["data_type"]), d["images"])
        return self._shapes[place]

    def _know(self, place: int, shape: tuple[int, ...], dtype: np.dtype[Any], count: int) -> None:
        with self._describing:
            if place in self._shapes:
                return
            if (shape, dtype) not in self._kinds:
                self._kinds.append((shape, dtype))
            self._kind[place], self._first[place] = self._kinds.index((shape, dtype)), self._slots
            self._slots += count
            self._count[place] = count  # the last: who sees it sees the others
            self._shapes[place] = shape, dtype, count

    def prefetch(self, key: str) -> None:
        """Takes in what there is room for of one file."""
        place = self._places.get(key)
        if place is not None:
            self._do("prefetch", keys=[place])

    def read(self, locations: Iterable[ImageLocation], out: NDArray | None = None) -> NDArray:
        """Images one after another, all of one shape and type; a whole file is one with all of its images.

        What is held comes from the scratch, the rest from its files. Raises InvalidError for images that differ.
        """
        wishes = list(locations)
        return self._read(self._alike(wishes) or self._each(wishes), len(wishes), out)

    def _read(self, images: Images, count: int, out: NDArray | None, threads: int = THREADS) -> NDArray:
        places, indices, one, dtype = images
        shape = (count, *one)
        if out is None:
            out = np.empty(shape, dtype)
        elif out.shape != shape or out.dtype != dtype or not out.flags.c_contiguous or not out.flags.writeable:
            raise InvalidError(f"scratch: out is {out.dtype} of {out.shape}, not contiguous {dtype} of {shape}")
        if out.size:
            self._fill(out.reshape(-1).view(np.uint8).reshape(len(places), -1), places, indices, threads)
        return out

    def _alike(self, wishes: Sequence[ImageLocation]) -> Images | None:
        """Single images that are all there, of files that were looked at before, of one shape and type; None of others."""
        try:
            places = np.fromiter(map(self._places.__getitem__, map(_key, wishes)), np.int64, len(wishes))
        except KeyError:
            return None
        indices = np.fromiter(map(_index, wishes), np.uint64, len(wishes))
        if not len(wishes) or (indices >= self._count[places]).any():
            return None
        kind, kinds = 0, len(self._kinds)
        if kinds > 1:
            of = self._kind[places]
            kind = of[0]
            if (of != kind).any():
                return None
        return Images(places, indices.view(np.int64), *self._kinds[kind])

    def _each(self, wishes: Sequence[ImageLocation]) -> Images:
        places: list[int] = []
        indices: list[int] = []
        like: tuple[tuple[int, ...], np.dtype[Any]] | None = None
        key, place, count, one, whole = None, 0, 0, like, like
        for at in wishes:
            if at.key != key:
                key, place = at.key, self._places.get(at.key, 0)
                shape, dtype, count = self.describe(key)
                one, whole = (shape, dtype), ((count, *shape), dtype)
            index = at.index
            is_like = whole if index == WHOLE_FILE else one
            if is_like is not like and is_like != like:
                if like is not None:
                    raise InvalidError(f"scratch: {at}: {is_like[1]} of {is_like[0]}, not {like[1]} of {like[0]}", item=key)  # type: ignore[index]
                like = is_like
            if index < count:
                places.append(place)
                indices.append(index)
            elif index == WHOLE_FILE:
                places += [place] * count
                indices += range(count)
            else:
                raise OutOfRangeError(f"image: {at}: the file has {count} images", item=key)
        if like is None:
            raise InvalidError("scratch: no locations")
        return Images(np.array(places), np.array(indices), *like)

    def _fill(self, rows: NDArray, places: NDArray, indices: NDArray, threads: int) -> None:
        """Fills a row for each image. What lies in the file is read from there, which costs one call of the guest, once."""
        missing = np.arange(len(rows))
        if self._fd >= 0:
            good = self._gather(rows, places, indices, threads)
            if good.all():
                return
            missing = np.flatnonzero(~good)
        most = max(1, min(_ANSWER_BYTES, self._runtime.memory // 8) // rows.shape[1])
        for at in range(0, len(missing), most):
            part = missing[at : at + most]
            images = wanted(places[part], indices[part]).tobytes()
            raw = self._call(_abi.SCRATCH_READ, lambda h, images=images: struct.pack("<II", h, 0) + images)
            rows[part] = np.frombuffer(raw, np.uint8).reshape(len(part), -1)

    def _gather(self, rows: NDArray, places: NDArray, indices: NDArray, threads: int) -> NDArray:
        """Reads what is in the file, and says of which images that is: those whose words stand before and after."""
        kept, known = self._locate(places, indices, rows.shape[1])
        if known and (copying := self._copying(rows, kept, threads, mine=1)) is not None:
            return copying()
        good = (kept["off"] >= 0) & (kept["length"] == rows.shape[1])
        todo = np.flatnonzero(good)
        for i, off in zip(todo.tolist(), kept["off"][todo].tolist()):
            if os.preadv(self._fd, [rows[i]], off) != rows.shape[1]:
                good[i] = False
        for at, word in (("run_at", "run_word"), ("key_at", "key_word")):
            if len(todo):
                good[todo] &= self._words(kept[at][todo]) == kept[word][todo]
        return good  # type: ignore[no-any-return]

    def _locate(self, places: NDArray, indices: NDArray, size: int) -> tuple[NDArray, bool]:
        """Where images lie, as the core said once or says now; and whether all are known to lie in the file."""
        if self._closed:
            raise ClosedError("scratch: closed")
        slots = self._first[places] + indices
        kept, unknown = self._found.find(slots, size, self._runtime.guest().serial)
        if not len(unknown):
            return kept, True
        images = wanted(places[unknown], indices[unknown]).tobytes()
        raw = self._call(_abi.SCRATCH_LOCATE, lambda h: struct.pack("<II", h, 0) + images)
        kept[unknown] = np.frombuffer(raw, KEPT)
        self._found.learn(slots[unknown], kept[unknown], self._handle.serial)
        return kept, bool(((kept["off"] >= 0) & (kept["length"] == size)).all())

    def _begun(self, images: Images, out: NDArray, threads: int) -> Callable[[], NDArray] | None:
        """Has other threads begin to read images that lie in a mapped file; what it returns helps them and gives ``out``.

        None of other images.
        """
        rows = out.reshape(-1).view(np.uint8).reshape(len(out), -1)
        kept, known = self._locate(images.places, images.indices, rows.shape[1])
        copying = self._copying(rows, kept, threads, mine=0) if known else None
        return copying and (lambda: out if copying().all() else self._read(images, len(out), out, threads))

    def _copying(self, rows: NDArray, kept: NDArray, threads: int, mine: int) -> Callable[[], NDArray] | None:
        """Begins to copy from a mapping of the file, all but the share that is ours; what it returns ends it, as ``_gather``.

        None where they do not lie there as a table has them. Of ours nobody cuts such a file short: it is made with its
        length, and another one takes its place under another inode. Those in a directory are cut when they give up some of
        their runs, so they are read.

        Few steps: what is copied pushes their code out of the caches, so each costs several times what it does elsewhere.
        """
        if self._recipe["where"] != "file":
            return None
        fields = kept.view("<i8").reshape(len(kept), -1)
        size, offs = rows.shape[1], fields[:, 0]
        origin, end = int(offs[0]) % size, int(offs.max()) + size
        where, rest = np.divmod(offs - origin, size)
        table = self._table(origin, size, end)
        if rest.any() or table is None:
            return None

        def take(part: slice) -> None:
            np.take(table, where[part], axis=0, out=rows[part], mode="clip")

        begun = beside.begin(take, _shares(len(rows), max(1, min(threads, rows.nbytes // _SHARE))), mine)

        def finish() -> NDArray:
            begun()
            assert self._map is not None
            return (self._map[1][fields[:, 2::2] >> 3] == fields[:, 3::2]).all(axis=1)  # type: ignore[no-any-return]

        return finish

    def _table(self, origin: int, size: int, end: int) -> NDArray | None:
        """The file as rows of ``size`` bytes from ``origin`` on, up to ``end`` at least; None if it is shorter."""
        if self._map is None or len(self._map[0]) < end:
            length = os.fstat(self._fd).st_size
            if length < end:
                return None
            raw = np.frombuffer(mmap.mmap(self._fd, length, prot=mmap.PROT_READ), np.uint8)
            self._map = raw, raw[: length & ~7].view("<i8")
        raw, _ = self._map
        count = (len(raw) - origin) // size
        return raw[origin : origin + count * size].reshape(count, size)

    def _words(self, at: NDArray) -> NDArray:
        """The words at offsets, multiples of 8."""
        low, high = int(at.min()), int(at.max()) + 8
        if high - low > _WORDS_SPAN:
            words = [int.from_bytes(os.pread(self._fd, 8, off), "little") for off in at.tolist()]
            return np.array(words, np.uint64)
        raw = os.pread(self._fd, high - low, low).ljust(high - low, b"\0")
        return np.frombuffer(raw, "<u8")[(at - low) >> 3]  # type: ignore[no-any-return]

    def close(self) -> None:
        """Ends it at once, also for those who read through it. Twice is fine."""
        if not self._closed:
            self._closed = True
            self._handle.close_now()

    def __enter__(self) -> ImageScratch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rows(self) -> Sequence[tuple[str, Any]]:
        return [("locations", self.locations.count), ("files", len(self.locations)), *self.stats().items()]

    def __repr__(self) -> str:
        return f"<gridhold ImageScratch of {self.locations.count} locations in {len(self.locations)} files>"


def _shares(rows: int, count: int) -> list[slice]:
    """Parts for so many threads. The first, which begins at once, is a sixteenth larger: the others have to wake up."""
    first = rows if count == 1 else -(-rows * 17 // (16 * count))
    ends = [first + (rows - first) * i // max(1, count - 1) for i in range(count)]
    return [slice(a, b) for a, b in zip([0, *ends], ends)]


def _reopened(locations: ImageLocationGrouping, files: Any, directory: str, recipe: dict[str, Any], memory: int) -> ImageScratch:
    from ._threads import blocking_runtime

    runtime = blocking_runtime(memory, False)
    return ImageScratch(runtime, locations, files, runtime.lend_files(directory), recipe)
