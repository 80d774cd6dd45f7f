"""Images by their locations, as PyTorch's data sets and loaders have it, and without PyTorch.

    from gridhold import scratch, torch as ghtorch

    held = scratch.create_mapped_file_image_scratch(locations, "/tmp/particles.scr", 16)
    images = ghtorch.Dataset(locations, scratch=held, dtype="float32")
    with ghtorch.DataLoader(images, 256, shuffle=True, seed=7, num_workers=4, processes=True) as batches:
        for batch in batches:
            train(torch.from_dlpack(batch), labels[batch.rows])

What comes out goes into any library that takes ``__dlpack__`` or ``__array__``. A ``Dataset`` goes into PyTorch's own
``DataLoader``, too.
"""

from __future__ import annotations

import collections
import math
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np

from ._errors import ClosedError, InternalError, InvalidError
from ._images import Files
from ._loading import loader
from ._locations import ImageLocation
from ._scratch import ImageScratch
from ._types import NDArray

__all__ = ["Batch", "DataLoader", "Dataset"]


class Dataset:
    """Images in the order of their locations: ``len(images)``, ``images[3]``, and ``images[[3, 1]]``, one after another.

    What is read is the caller's, writable. It keeps its scratch. Pickled, it is the locations and where the scratch
    lies: a scratch in a file or a directory is opened again, and shared with whoever pickled it; one in memory stays in
    its process, TypeError. Safe for use by several threads.
    """

    def __init__(
        self,
        locations: Sequence[ImageLocation],
        *,
        scratch: ImageScratch | None = None,
        files: Files | None = None,
        dtype: Any = None,
    ) -> None:
        self.locations = locations
        self._how = scratch, files, dtype
        self._loader = loader(scratch, files, dtype=dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return _dataset, (self.locations, *self._how)

    def __len__(self) -> int:
        return len(self.locations)

    def __repr__(self) -> str:
        return f"<gridhold Dataset of {len(self)} images, by {self._loader}>"

    def __getitem__(self, which: Any) -> NDArray:
        """One image, or those of a sequence of places. Raises IndexError outside, and what reading raises."""
        if isinstance(which, (int, np.integer)):
            return self._loader.read_batch([self.locations[int(which)]])[0]  # type: ignore[no-any-return]
        return self.__getitems__(which)

    def __getitems__(self, which: Any) -> NDArray:
        """Several images, all of one shape: what PyTorch's loader asks for a batch."""
        return self._loader.read_batch([self.locations[i] for i in np.asarray(which).tolist()])


def _dataset(locations: Sequence[ImageLocation], scratch: ImageScratch | None, files: Files | None, dtype: Any) -> Dataset:
    return Dataset(locations, scratch=scratch, files=files, dtype=dtype)


class Batch:
    """Images of a batch, the caller's: an array for ``__array__`` and ``__dlpack__``, with the places that they have in the data set."""

    __slots__ = ("images", "rows")

    def __init__(self, rows: NDArray, images: NDArray) -> None:
        self.rows = rows
        self.images = images

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, i: Any) -> Any:
        return self.images[i]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.images.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.images.dtype  # type: ignore[no-any-return]

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray:
        if copy is False and dtype is not None and np.dtype(dtype) != self.images.dtype:
            raise ValueError("another type takes a copy")
        return self.images.astype(dtype or self.images.dtype, copy=bool(copy))

    def __dlpack__(self, **how: Any) -> Any:
        return self.images.__dlpack__(**how)

    def __dlpack_device__(self) -> Any:
        return self.images.__dlpack_device__()

    def __repr__(self) -> str:
        return f"<gridhold Batch of {len(self)}: {self.shape} {self.dtype}>"


class DataLoader:
    """Goes through a data set in batches, read ahead by threads or processes, and given out in order.

    ``seed`` and the epoch decide the order where it is shuffled: each ``iter()`` is the next epoch, ``set_epoch`` says
    which. ``num_workers`` 0: it reads as it is asked. ``processes``: the workers are processes, which are started anew
    (not forked), each with a data set of its own; images come back through shared memory. ``prefetch_factor``: batches
    read ahead by each worker. ``shard`` (i, n): the i-th of n programs that share an epoch. ``transform``: what is made of a batch's
    array, where it is read; of the same length. Close it, or use it in a ``with``, to end processes.

    One ``iter()`` at a time is under way for each loader.
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int = 1,
        *,
        shuffle: bool = False,
        seed: int = 0,
        drop_last: bool = False,
        num_workers: int = 0,
        processes: bool = False,
        prefetch_factor: int = 2,
        shard: tuple[int, int] = (0, 1),
        transform: Callable[[NDArray], NDArray] | None = None,
    ) -> None:
        if batch_size < 1 or num_workers < 0 or prefetch_factor < 1 or not 0 <= shard[0] < shard[1]:
            raise InvalidError("loader: batch_size, prefetch_factor: from 1; num_workers: from 0; shard: (i, n), i below n")
        self.dataset = dataset
        self.batch_size = batch_size
        self._shuffle, self._seed, self._drop_last, self._shard = shuffle, seed, drop_last, shard
        self._workers, self._processes, self._ahead = num_workers, processes and num_workers > 0, num_workers * prefetch_factor
        self._transform = transform
        self._epoch = 0
        self._pool: Executor | None = None
        self._closed = False

    def __repr__(self) -> str:
        return f"<gridhold DataLoader: {len(self)} batches of {self.batch_size}, {self.dataset}>"

    def set_epoch(self, epoch: int) -> None:
        """The epoch that the next ``iter()`` is."""
        self._epoch = epoch

    def __len__(self) -> int:
        """Batches of an epoch."""
        mine = len(range(self._shard[0], len(self.dataset), self._shard[1]))
        return mine // self.batch_size if self._drop_last else -(-mine // self.batch_size)

    def __iter__(self) -> Iterator[Batch]:
        if self._closed:
            raise ClosedError("loader: closed")
        count, epoch = len(self.dataset), self._epoch
        self._epoch += 1
        order = np.random.default_rng([self._seed, epoch]).permutation(count) if self._shuffle else np.arange(count)
        order = order[self._shard[0] :: self._shard[1]]
        parts = [order[i * self.batch_size : (i + 1) * self.batch_size] for i in range(len(self))]
        if not self._workers:
            return (Batch(rows, _read(self.dataset, self._transform, rows)) for rows in parts)
        return self._shared(parts) if self._processes else self._threaded(parts)

    def _threaded(self, parts: Sequence[NDArray]) -> Iterator[Batch]:
        pool = self._pool = self._pool or ThreadPoolExecutor(self._workers, thread_name_prefix="gridhold-loader")
        under_way: collections.deque[tuple[NDArray, Future[NDArray]]] = collections.deque()
        rest = iter(parts)
        try:
            while True:
                for rows in rest:
                    under_way.append((rows, pool.submit(_read, self.dataset, self._transform, rows)))
                    if len(under_way) >= self._ahead:
                        break
                if not under_way:
                    return
                rows, images = under_way.popleft()
                yield Batch(rows, images.result())
        finally:
            for _, images in under_way:
                images.cancel()

    def _shared(self, parts: Sequence[NDArray]) -> Iterator[Batch]:
        if not parts:
            return
        first = _read(self.dataset, self._transform, parts[0][:1])  # what one looks like
        shape, dtype = first.shape[1:], first.dtype
        size = max(1, self.batch_size * math.prod(shape) * dtype.itemsize)
        memory = SharedMemory(create=True, size=size * self._ahead)
        under_way: collections.deque[tuple[NDArray, int, Future[None]]] = collections.deque()
        free, rest = list(range(self._ahead)), iter(parts)
        try:
            pool = self._started()
            while True:
                for rows in rest:
                    slot = free.pop()
                    under_way.append((rows, slot, pool.submit(_read_into, memory.name, slot * size, shape, dtype, rows)))
                    if not free:
                        break
                if not under_way:
                    return
                rows, slot, done = under_way.popleft()
                done.result()
                images = np.ndarray((len(rows), *shape), dtype, memory.buf, slot * size).copy()
                free.append(slot)
                yield Batch(rows, images)
        except BrokenProcessPool as e:
            self._end(wait=False)
            raise InternalError("loader: a worker process has died") from e
        finally:
            for _, _, done in under_way:
                if not done.cancel():
                    done.exception()  # it may be writing
            memory.close()
            memory.unlink()

    def _started(self) -> Executor:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self._workers,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=_start,
                initargs=(self.dataset, self._transform),
            )
        return self._pool

    def _end(self, wait: bool) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=wait, cancel_futures=True)

    def close(self) -> None:
        """Ends its threads and processes. Twice is fine."""
        self._closed = True
        self._end(wait=True)

    def __enter__(self) -> DataLoader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_pool", None) is not None:
            self._end(wait=False)


def _read(dataset: Dataset, transform: Callable[[NDArray], NDArray] | None, rows: NDArray) -> NDArray:
    images = dataset.__getitems__(rows)
    return images if transform is None else np.asarray(transform(images))


# What follows runs in the worker processes.

_mine: list[Any] = []
_attached: dict[str, SharedMemory] = {}


def _start(dataset: Dataset, transform: Callable[[NDArray], NDArray] | None) -> None:
    _mine[:] = dataset, transform


def _read_into(name: str, at: int, shape: tuple[int, ...], dtype: np.dtype[Any], rows: NDArray) -> None:
    memory = _attached.get(name)
    if memory is None:
        for old in _attached.values():  # of another epoch
            old.close()
        _attached.clear()
        memory = _attached[name] = SharedMemory(name)
    dataset, transform = _mine
    images = _read(dataset, transform, rows)
    if images.shape != (len(rows), *shape) or images.dtype != dtype:
        raise InvalidError(f"loader: a batch is {images.dtype} of {images.shape}, the first was {dtype} of {shape} each")
    np.ndarray(images.shape, dtype, memory.buf, at)[...] = images
