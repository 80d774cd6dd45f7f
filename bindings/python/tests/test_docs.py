"""The examples of the documents run as they stand, page by page, each block after those before it."""

import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import sharded, write

import gridhold
from gridhold._providers import _header

ROOT = Path(__file__).resolve().parents[3]
PAGES = ["README.md", "bindings/python/README.md", "docs/python-zarr.md", "docs/python-blosc2.md", "docs/python-scratch.md", "docs/python-dask.md"]


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)


def stack(name, count, side):
    images = np.arange(count * side * side, dtype="<f4").reshape(count, side, side)
    Path(name).write_bytes(_header(name, count, side, side, images.dtype) + images.tobytes())


@pytest.fixture
def here(tmp_path, monkeypatch):
    """What the pages take for granted."""
    monkeypatch.chdir(tmp_path)
    stack("particles.mrcs", 40, 16)
    rows = "".join(f"{i % 40 + 1:06d}@particles.mrcs\n" for i in range(60))
    Path("particles.star").write_text(f"data_particles\n\nloop_\n_rlnImageName #1\n{rows}\n")
    gridhold.asarray(np.arange(600.0).reshape(60, 10), urlpath="data.b2nd", chunks=(16, 10)).close()
    gridhold.SChunk(64, np.arange(16), urlpath="data.b2frame").close()
    return tmp_path


def grid(shape, seed_path=""):
    values = np.arange(np.prod(shape), dtype="<u2").reshape(shape)
    write(Path("data.zarr"), sharded(values, (32, 32), (8, 8), seed_path=seed_path))


@pytest.mark.parametrize("page", PAGES)
def test_page(here, page):
    if page in ("docs/python-zarr.md", "docs/python-dask.md"):
        values = np.arange(70, dtype="<u2").reshape(10, 7)
        write(Path("data.zarr"), sharded(values, (4, 4), (2, 2), seed_path="temperature"))
        Path("data.zarr/zarr.json").write_text('{"zarr_format":3,"node_type":"group"}')
    else:
        grid((128, 256))
    if page == "docs/python-blosc2.md":
        os.remove("data.b2nd")
    trained = []
    names = {"__name__": page, "train": trained.append}
    found = blocks(page)
    assert found
    for code in found:
        exec(compile(code.replace('"/data/array.zarr"', '"data.zarr"'), page, "exec"), names)  # noqa: S102


def test_there_is_a_page_for_each_module():
    for name in ("zarr", "blosc2", "scratch", "dask"):
        assert f"docs/python-{name}.md" in PAGES and f"gridhold.{name}" in (ROOT / f"docs/python-{name}.md").read_text()
    assert sys.modules["gridhold"].__doc__
