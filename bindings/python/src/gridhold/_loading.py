"""Reading images by location: through a scratch, or from their files."""

from __future__ import annotations

import collections
import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent import futures
from concurrent.futures import Future
from typing import Any, NamedTuple, Protocol

import numpy as np

from . import _fork
from ._errors import CancelledError, Error, InvalidError
from ._images import Files, ImageStack
from ._locations import ImageLocation, ImageLocationGrouping, grouped
from ._patches import cut
from ._progress import Bar, Progress, bar_of
from ._runtime import DEFAULT_MEMORY
from ._scratch import THREADS, Images, ImageScratch
from ._spare import Spare
from ._threads import blocking_runtime
from ._types import NDArray
from ._workers import workers


class Executor(Protocol):
    """Runs tasks: those of ``concurrent.futures``, or the caller's own."""

    def submit(self, task: Callable[[], None], /) -> Any:
        """Sees to it that the task is called."""


class Completion:
    """A prefetch under way. Safe for use by several threads."""

    def __init__(self, files: int) -> None:
        self._files, self._done = files, 0
        self._lock = threading.Lock()
        self._cancelled = False
        self._future: Future[None] = Future()
        if not files:
            self._future.set_result(None)
        _fork.register(self)

    def _restart(self) -> None:
        self._lock = threading.Lock()
        if not self._future.done():  # who would have done it stayed in the parent
            self._future = Future()
            self._future.set_exception(CancelledError("scratch: the prefetch is of the process that this one was forked from"))

    def cancel(self) -> None:
        """Makes it end soon."""
        self._cancelled = True

    def done(self) -> bool:
        return self._future.done()

    def result(self, timeout: float | None = None) -> None:
        """Waits until all tasks have ended, and raises the first failure. TimeoutError when that takes too long."""
        self._future.result(timeout)

    def get(self) -> None:
        """The same as ``result()``, by the name that vitrio has for it."""
        self._future.result()

    def wait(self) -> None:
        """Waits until all tasks have ended, and raises nothing that came of them."""
        futures.wait([self._future])

    @property
    def is_ready(self) -> bool:
        return self._future.done()

    @property
    def progress(self) -> tuple[int, int]:
        """Files that are done, of how many."""
        return self._done, self._files

    def __repr__(self) -> str:
        return f"<gridhold Completion: {self._done} of {self._files} done>"

    def _task(self, work: Callable[[], object], failures: list[BaseException], bar: Bar) -> Callable[[], None]:
        def task() -> None:
            try:
                if self._cancelled:
                    raise CancelledError("scratch: the prefetch was cancelled")
                work()
            except BaseException as e:
                failures.append(e)
            with self._lock:
                self._done += 1
                last = self._done == self._files
            bar.step()
            if last:
                bar.close()
            if not last:
                return
            if failures:
                self._future.set_exception(failures[0])
            else:
                self._future.set_result(None)

        return task


def prefetch_scratch_async(
    scratch: ImageScratch,
    locations: ImageLocationGrouping | Iterable[ImageLocation] | None = None,
    executor: Executor | None = None,
    files: Any = None,
    *,
    progress: Progress = False,
) -> Completion:
    """Takes images into a scratch, a task of the executor for each file, and returns at once.

    Files that the scratch does not know are passed over. Without an executor the tasks run on a thread of the
    package. ``files`` must be what the scratch was made with, or None. ``progress`` shows a bar of tqdm, if that is
    installed, or is called with the files that are done and how many there are.
    """
    if files is not None and files is not scratch._files:
        raise InvalidError("scratch: it is filled from the files that it was made with")
    keys = [g.key for g in (scratch.locations if locations is None else grouped(locations)) if scratch.knows(g.key)]
    completion, failures = Completion(len(keys)), list[BaseException]()
    bar = bar_of(progress, len(keys), "files")
    submit = workers.pool().submit if executor is None else executor.submit
    for key in keys:
        submit(completion._task(functools.partial(scratch.prefetch, key), failures, bar))
    return completion


def read_batch_async(
    loader: Loader, destination: NDArray, locations: Sequence[ImageLocation], executor: Executor | None = None
) -> Completion:
    """Has a loader read a batch into ``destination``, an array whose first axis is the batch, and returns at once."""
    completion = Completion(1)
    submit = workers.pool().submit if executor is None else executor.submit
    submit(completion._task(lambda: loader.read_batch(locations, np.asarray(destination)), [], bar_of(False, 1, "batches")))
    return completion


class ReaderProvider:
    """Opens files of images: through a scratch, what it knows; the others, or all, as ``files`` says. See ``reader_provider``."""

    def __init__(self, scratch: ImageScratch | None, files: Files | None, memory: int) -> None:
        self._scratch = scratch
        self._stackfiles = files or (scratch._files if scratch is not None and isinstance(scratch._files, Files) else Files())
        self._runtime = blocking_runtime(memory, False)
        self._memory = memory

    def open(self, key: str) -> ScratchReader | ImageStack:
        if self._scratch is not None and self._scratch.knows(key):
            return ScratchReader(self._scratch, key)
        return ImageStack(self._runtime, self._stackfiles, key)

    def __repr__(self) -> str:
        return f"<gridhold ReaderProvider over {self._scratch or 'files'}>"


class ScratchReader:
    """A file of images that is read through a scratch."""

    def __init__(self, scratch: ImageScratch, key: str) -> None:
        self._scratch = scratch
        self.key = key
        self.image_shape, self.dtype, self._count = scratch.describe(key)
        self.shape = (self._count, *self.image_shape)

    def __len__(self) -> int:
        return self._count

    def read(self, first: int, count: int) -> NDArray:
        """Images one after another. Raises OutOfRangeError."""
        if not count:
            return np.empty((0, *self.image_shape), self.dtype)
        return self._scratch.read(ImageLocation(self.key, i) for i in range(first, first + count))

    def __getitem__(self, i: int) -> NDArray:
        return self.read(i + self._count if i < 0 else i, 1)[0]  # type: ignore[no-any-return]

    def close(self) -> None:
        """Nothing is held but the scratch."""

    def __repr__(self) -> str:
        return f"<gridhold ScratchReader {self.key}: {self.shape} {self.dtype}>"


class Batch(NamedTuple):
    """One batch of an epoch."""

    rows: NDArray
    """The places of its images in the locations."""
    images: NDArray


class Loader:
    """Reads batches of images. It keeps its scratch alive. Safe for use by several threads. See ``loader``."""

    def __init__(
        self, scratch: ImageScratch | None, files: Files | None, dtype: Any, open_files: int, memory: int, threads: int
    ) -> None:
        self._provider = ReaderProvider(scratch, files, memory)
        self._scratch = scratch
        self._dtype = None if dtype is None else np.dtype(dtype)
        self._open_files = open_files
        self._threads = threads
        self._spare = Spare(3)  # read ahead, looked at, and about to be let go of
        self.executor: Executor | None = None
        self._stacks: collections.OrderedDict[str, ImageStack | ScratchReader] = collections.OrderedDict()
        self._restart()
        _fork.register(self)

    def _restart(self) -> None:
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        dtype = "as they are" if self._dtype is None else self._dtype
        return f"<gridhold Loader over {self._scratch or 'files'}: pixels {dtype}, workers {self._threads}>"

    def _reader(self, key: str) -> Any:
        with self._lock:
            reader = self._stacks.pop(key, None) or self._provider.open(key)
            self._stacks[key] = reader
            while len(self._stacks) > self._open_files:
                self._stacks.popitem(last=False)  # whoever reads it keeps it until then
            return reader

    def read_batch(self, locations: Sequence[ImageLocation], out: NDArray | None = None) -> NDArray:
        """The images in their order, one after another, all of one shape. Locations may repeat.

        Raises InvalidError for images of several shapes, and what reading raises.
        """
        scratch = self._scratch
        if scratch is not None and (alike := scratch._alike(locations)) is not None:
            return self._read(scratch, alike, out)
        if scratch is not None and all(map(scratch.knows, {at.key for at in locations})):
            if out is not None and self._dtype is None:
                return scratch.read(locations, out)
            images = scratch.read(locations)
        else:
            parts = [self._one(at) for at in locations]
            if not parts or any(p.shape != parts[0].shape or p.dtype != parts[0].dtype for p in parts):
                raise InvalidError("images: none, or of several shapes or types")
            images = np.stack(parts)
        return self._handed(images, out)

    def _read(self, scratch: ImageScratch, alike: Images, out: NDArray | None) -> NDArray:
        """Images of a scratch, in memory that was handed out before if there is some."""
        count = len(alike.places)
        if self._dtype is not None and self._dtype != alike.dtype:
            return self._handed(scratch._read(alike, count, None, self._threads), out)
        to = self._spare.take((count, *alike.shape), alike.dtype) if out is None else out
        return scratch._read(alike, count, to, self._threads)

    def _handed(self, images: NDArray, out: NDArray | None) -> NDArray:
        """The images in the loader's type, in ``out`` if there is one."""
        if self._dtype is not None:
            images = cast(images, self._dtype)
        if out is None:
            return images
        if out.shape != images.shape or out.dtype != images.dtype:
            raise InvalidError(f"images: out is {out.dtype} of {out.shape}, not {images.dtype} of {images.shape}")
        out[...] = images
        return out

    def _one(self, at: ImageLocation) -> NDArray:
        reader = self._reader(at.key)
        return reader.read(0, len(reader)) if at.is_whole else reader.read(at.index, 1)[0]  # type: ignore[no-any-return]

    def read_patches(self, at: ImageLocation, extent: Sequence[int], centres: Any, fill: float = 0) -> NDArray:
        """Patches of one image, or of one volume, each of the shape ``extent`` around one of the ``centres``.

        A centre has a coordinate for each axis, slowest first, and may lie outside of the image; the patch begins at
        ``centre - extent // 2``. What of a patch lies outside has the value ``fill``, turned into the loader's type as
        pixels are. The image is read once, whole. Raises InvalidError for centres or an extent of other axes.
        """
        image = self._one(at)
        if self._dtype is not None:
            image = cast(image, self._dtype)
        outside: Any = np.zeros(1, image.dtype)
        if image.dtype.names is None:
            outside = cast(np.array([fill], np.complex128 if image.dtype.kind == "c" else np.float64), image.dtype)
        else:
            outside["re"] = cast(np.array([fill], np.float64), image.dtype["re"])
        centres = np.asarray(centres)
        return cut(image, extent, centres.reshape(0, image.ndim).astype(int) if centres.size == 0 else centres, outside)

    def batches(
        self,
        locations: Sequence[ImageLocation],
        batch_size: int,
        *,
        shuffle: bool = False,
        seed: int = 0,
        epoch: int = 0,
        drop_last: bool = False,
        shard: tuple[int, int] = (0, 1),
    ) -> Iterator[Batch]:
        """One epoch; the next batch is read while the caller is at one.

        ``seed`` and ``epoch`` decide the order. ``shard`` (i, n): the i-th of n programs that share an epoch.
        """
        order = np.random.default_rng([seed, epoch]).permutation(len(locations)) if shuffle else np.arange(len(locations))
        order = order[shard[0] :: shard[1]]
        stop = len(order) - len(order) % batch_size if drop_last else len(order)
        parts = [order[at : at + batch_size] for at in range(0, stop, batch_size)]
        scratch, alike = self._scratch, None
        if scratch is not None and isinstance(locations, (list, tuple)):
            alike = scratch._alike(locations)  # of all at once, where they lie one after another

        def read(rows: NDArray) -> Batch:
            if scratch is not None and alike is not None:
                return Batch(rows, self._read(scratch, picked(alike, rows), None))
            return Batch(rows, self.read_batch([locations[i] for i in rows.tolist()]))

        def begun(rows: NDArray) -> Callable[[], Batch]:
            """What gives a batch that is being read from now on, and helps with it."""
            if scratch is not None and alike is not None and self.executor is None and self._dtype in (None, alike.dtype):
                to = self._spare.take((len(rows), *alike.shape), alike.dtype)
                with contextlib.suppress(Error):  # which is that of its own batch
                    if (finish := scratch._begun(picked(alike, rows), to, self._threads)) is not None:
                        return lambda: Batch(rows, finish())
            submit: Any = workers.pool().submit if self.executor is None else self.executor.submit
            return submit(read, rows).result  # type: ignore[no-any-return]

        ahead, process = None, os.getpid()
        for rows, following in zip(parts, [*parts[1:], None]):
            # Forked meanwhile: the parent's threads read for the parent.
            batch = read(rows) if ahead is None or os.getpid() != process else ahead()
            process = os.getpid()
            ahead = None if following is None else begun(following)
            yield batch


def picked(images: Images, rows: NDArray) -> Images:
    return images._replace(places=images.places[rows], indices=images.indices[rows])


def cast(images: NDArray, dtype: np.dtype[Any]) -> NDArray:
    """Other pixels: integers are held within what they can say, NaN becomes 0, fractions are lost."""
    if images.dtype == dtype:
        return images
    if images.dtype.names is not None:
        images = images["re"] + np.complex64(1j) * images["im"]
    if images.dtype.kind == "c" and dtype.kind != "c":
        raise InvalidError(f"images: complex pixels do not become {dtype}")
    if dtype.kind not in "iu":
        with np.errstate(over="ignore"):
            return images.astype(dtype)
    limits = np.iinfo(dtype)
    if images.dtype.kind == "f":
        whole = np.nan_to_num(np.trunc(images.astype(np.float64)), nan=0.0, posinf=np.inf, neginf=-np.inf)
        low, high = whole <= limits.min, whole >= limits.max
        out = np.where(low | high, 0, whole).astype(dtype)
        out[low], out[high] = limits.min, limits.max
        return out
    return np.clip(images, max(limits.min, np.iinfo(images.dtype).min), min(limits.max, np.iinfo(images.dtype).max)).astype(dtype)


def reader_provider(scratch: ImageScratch | None = None, files: Files | None = None, *, memory: int = DEFAULT_MEMORY) -> ReaderProvider:
    """What opens files of images: its ``open(key)`` gives readers. It keeps the scratch alive."""
    return ReaderProvider(scratch, files, memory)


def loader(
    scratch: ImageScratch | None = None,
    files: Files | None = None,
    *,
    dtype: Any = None,
    open_files: int = 32,
    cache: int | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    memory: int = DEFAULT_MEMORY,
) -> Loader:
    """What reads batches of images. ``dtype``: what pixels are turned into; None: they stay.

    ``open_files``, or ``cache``, is how many files stay open that no scratch serves. ``executor`` reads ahead.
    ``workers``: threads that share the copying of a batch from a mapped scratch, 2 if nobody says.
    """
    if workers is not None and workers < 1:
        raise InvalidError(f"loader: workers: {workers}: from 1")
    made = Loader(scratch, files, dtype, open_files if cache is None else cache, memory, workers or THREADS)
    made.executor = executor
    return made
