"""Copies of the images that a program goes back to: in memory, in a file that programs share, or in a directory with a budget.

    from gridhold import scratch

    locations = [scratch.ImageLocation.from_string(t) for t in texts]
    held = scratch.create_mapped_file_image_scratch(locations, "/tmp/particles.scr", 16)
    scratch.prefetch_scratch_async(held).result()
    for batch in scratch.loader(held).batches(locations, 256, shuffle=True, seed=7):
        train(batch.images)

The file is that of every other binding: processes in Go, Python and JavaScript fill and read one together. Keys are
names of MRC files as ``Files`` finds them; ``files`` may be the program's own (``ImageReaderProvider``).
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable
from typing import Any

from ._errors import InvalidError
from ._images import Files
from ._loading import Batch, Completion, Executor, Loader, ReaderProvider, loader, prefetch_scratch_async, read_batch_async, reader_provider
from ._locations import WHOLE_FILE, Group, ImageLocation, ImageLocationGrouping, grouped
from ._providers import ImageReader, ImageReaderProvider
from ._runtime import DEFAULT_MEMORY
from ._scratch import ImageScratch
from ._threads import blocking_runtime

__all__ = [
    "Batch",
    "Completion",
    "Executor",
    "Files",
    "Group",
    "ImageLocation",
    "ImageLocationGrouping",
    "ImageReader",
    "ImageReaderProvider",
    "ImageScratch",
    "Loader",
    "ReaderProvider",
    "WHOLE_FILE",
    "create_directory_image_scratch",
    "create_host_image_scratch",
    "create_mapped_file_image_scratch",
    "loader",
    "prefetch_scratch_async",
    "read_batch_async",
    "reader_provider",
]

Locations = ImageLocationGrouping | Iterable[ImageLocation]


def create_host_image_scratch(
    locations: Locations, run_length: int, max_size: int | None = None, files: Any = None, *, memory: int = DEFAULT_MEMORY
) -> ImageScratch:
    """A scratch in memory: the core's, of which it may take half (``memory``).

    What fits in ``max_size`` bytes is held, file by file, in whole runs of ``run_length`` images; the rest is read from
    the files. Raises InvalidError where there is nothing to hold, OutOfRangeError for an index that its stack lacks.
    """
    return _create(locations, None, {"where": "memory"}, run_length, max_size, files, memory)


def create_mapped_file_image_scratch(
    locations: Locations,
    path: str | os.PathLike[str],
    run_length: int,
    max_size: int | None = None,
    files: Any = None,
    *,
    overwrite: bool = False,
    read_only: bool = False,
    reserve: bool = False,
    verify: str = "first",
    durable: bool = False,
    memory: int = DEFAULT_MEMORY,
) -> ImageScratch:
    """A scratch in a file, or the one that is there. Programs that name the same locations and run length share it.

    Another file at ``path`` is left alone, ExistsError, unless ``overwrite`` is given. ``reserve`` takes the space at
    once, ``verify`` says when checksums are looked at (``first``, ``always``), ``durable`` syncs each run.
    """
    directory, name = os.path.split(os.path.abspath(os.fspath(path)))
    how = {"overwrite": overwrite, "read_only": read_only, "reserve": reserve, "verify": verify, "durable": durable}
    return _create(locations, directory, {"where": "file", "name": name, **how}, run_length, max_size, files, memory)


def create_directory_image_scratch(
    locations: Locations,
    directory: str | os.PathLike[str],
    run_length: int,
    budget: int,
    files: Any = None,
    *,
    reserve: bool = False,
    keep_free: int = 0,
    memory: int = DEFAULT_MEMORY,
) -> ImageScratch:
    """A scratch in a directory that scratches share within ``budget`` bytes. Those that nobody uses leave first."""
    parent, name = os.path.split(os.path.abspath(os.fspath(directory)))
    how = {"where": "directory", "name": name, "reserve": reserve, "keep_free": keep_free}
    return _create(locations, parent, how, run_length, budget, files, memory)


def _create(
    locations: Locations, directory: str | None, recipe: dict[str, Any], run_length: int, size: int | None, files: Any, memory: int
) -> ImageScratch:
    run_length = operator.index(run_length)
    if run_length < 1:
        raise InvalidError("scratch: a run has one image at least")
    recipe = {**recipe, "run_length": min(run_length, 2**63 - 1)}
    if size is not None:
        recipe["budget"] = operator.index(size)
        if recipe["budget"] < 0:
            raise InvalidError("scratch: a negative size")
    runtime = blocking_runtime(memory, False)
    system = runtime.lend_files(directory) if directory is not None else None
    return ImageScratch(runtime, grouped(locations), files, system, recipe)
