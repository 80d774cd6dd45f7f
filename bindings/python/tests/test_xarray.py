"""Datasets of xarray: what its own engine reads, and as lazily."""

import pickle
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
import zarr
from conftest import SHARD, SUB, VALUES, Counting, sharded

import gridhold
import gridhold.xarray

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory):
    """The entry point as an installation has it, from the same pyproject.toml."""
    root = tmp_path_factory.mktemp("site")
    points = tomllib.loads(PROJECT.read_text())["project"]["entry-points"]
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in named.items()) for group, named in points.items()]
    about = root / "gridhold-0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: gridhold\nVersion: 0\n")
    (about / "entry_points.txt").write_text("\n".join(lines))
    sys.path.insert(0, str(root))
    xr.backends.list_engines.cache_clear()
    yield
    sys.path.remove(str(root))
    xr.backends.list_engines.cache_clear()


def dataset():
    rng = np.random.default_rng(7)
    t = rng.random((6, 40, 50), dtype="f4")
    t[0, :3, ::7] = np.nan
    return xr.Dataset(
        {
            "t": (("time", "y", "x"), t, {"units": "K", "long_name": "temperature"}),
            "packed": (("time", "y"), np.round(rng.random((6, 40)), 2)),
            "count": (("y",), np.arange(40, dtype="i2")),
            "flag": (("y",), np.arange(40) % 3 == 0),
            "wave": (("x",), np.exp(1j * np.arange(50))),
            "crs": ((), 7, {"grid_mapping_name": "latitude_longitude"}),
        },
        coords={
            "time": pd.date_range("2020-01-01", periods=6),
            "y": np.linspace(0, 1, 40),
            "lat": (("y", "x"), np.full((40, 50), 2.0), {"units": "degrees_north"}),
        },
        attrs={"title": "T", "levels": [1, 2]},
    )


ENCODING = {
    "t": {"chunks": (2, 10, 10)},
    "packed": {"dtype": "i2", "scale_factor": 0.01, "add_offset": 1.0, "_FillValue": -9},
}


@pytest.fixture(params=[3, 2])
def tree(request, tmp_path):
    encoding = {k: dict(v) for k, v in ENCODING.items()}
    made = dataset()
    if request.param == 3:
        encoding["t"]["shards"] = (2, 40, 50)
        made["name"] = ("x", np.array([f"é{i}" for i in range(50)], object))
    made.to_zarr(tmp_path / "a.zarr", zarr_format=request.param, encoding=encoding, consolidated=True)
    made[["t"]].to_zarr(tmp_path / "a.zarr", group="deep/er", zarr_format=request.param, consolidated=False)
    return tmp_path / "a.zarr"


def test_as_xarrays_own_engine(tree):
    ours = xr.open_dataset(tree, engine="gridhold")
    theirs = xr.open_dataset(tree, engine="zarr", chunks=None)
    xr.testing.assert_identical(ours.load(), theirs.load())
    assert set(ours.coords) == {"time", "y", "lat"} and ours.attrs == {"title": "T", "levels": [1, 2]}
    assert ours["t"].dtype == np.float32 and np.isnan(ours["t"].values[0, 0, 0])


def test_without_decoding(tree):
    how = {"mask_and_scale": False, "decode_times": False, "drop_variables": ["wave", "lat"]}
    ours = xr.open_dataset(tree, engine="gridhold", **how)
    theirs = xr.open_dataset(tree, engine="zarr", chunks=None, **how)
    xr.testing.assert_identical(ours.load(), theirs.load())
    assert "wave" not in ours and ours["packed"].dtype == np.int16 and "drop_variables" not in ours.attrs


def test_groups_and_arrays(tree):
    ours, theirs = (xr.open_dataset(tree, engine=e, group="deep/er", consolidated=False) for e in ("gridhold", "zarr"))
    xr.testing.assert_identical(ours.load(), theirs.load())
    one = xr.open_dataset(tree, engine="gridhold", group="/deep/er/t")
    assert list(one) == ["t"] and one["t"].dims == ("time", "y", "x")
    with pytest.raises(FileNotFoundError):
        xr.open_dataset(tree, engine="gridhold", group="none")


def test_consolidated(tree):
    class Listless:
        def __init__(self, root):
            self.read_ranges = gridhold.FileStore(root).read_ranges

    ours = xr.open_dataset(Listless(tree), engine="gridhold", consolidated=True)
    assert np.array_equal(ours["t"].values, dataset()["t"].values, equal_nan=True)
    with pytest.raises(gridhold.UnsupportedError):
        xr.open_dataset(Listless(tree), engine="gridhold")


KEYS = [
    {"time": 3}, {"y": slice(5, 30, 3)}, {"y": slice(30, 5, -4)}, {"y": [3, 1, 1, 39]}, {"x": -1, "y": [2, 8]}, {"time": [5, 0], "x": slice(2, 9)},
    {"y": xr.DataArray([1, 2, 3], dims="p"), "x": xr.DataArray([9, 8, 7], dims="p")}, {"time": slice(2, 2)},
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indexing(tree, key):
    wanted = dataset()["t"].isel(key)
    xr.testing.assert_equal(xr.open_dataset(tree, engine="gridhold")["t"].isel(key).load(), wanted)
    xr.testing.assert_equal(xr.open_dataset(tree, engine="gridhold", chunks={})["t"].isel(key).load(), wanted)


def test_reads_what_is_used_and_no_more():
    store = Counting(sharded(VALUES, SHARD, SUB))
    opened = xr.open_dataset(store, engine="gridhold")
    assert list(opened) == ["data"] and opened["data"].dims == ("data_dim_0", "data_dim_1")
    assert not store.indexes and not store.reads
    part = opened["data"][4:8, 8:16]
    assert not store.reads
    assert np.array_equal(part.values, VALUES[4:8, 8:16])
    assert store.reads == 2 and len(store.indexes) == 1
    assert np.array_equal(opened["data"][0:4, 0:4].values, VALUES[:4, :4]) and len(store.indexes) == 1  # the index is kept


def test_chunks_of_dask_are_shards(tree):
    t = xr.open_dataset(tree, engine="gridhold", chunks={})["t"]
    assert t.chunks == ((2, 2, 2), (40,), (50,)) if t.encoding["shards"] else t.chunks[1] == (10,) * 4
    again = pickle.loads(pickle.dumps(t))
    xr.testing.assert_allclose(again.mean("time").compute(), dataset()["t"].mean("time"))
    assert len(pickle.dumps(xr.open_dataset(tree, engine="gridhold")["t"].variable._data)) < 4000


def test_zarrs_own_arrays_without_names(tmp_path):
    made = zarr.create_array(tmp_path / "plain", shape=(6, 4), chunks=(3, 4), dtype="f4")
    made[:] = 5
    opened = xr.open_dataset(tmp_path / "plain", engine="gridhold")
    assert opened["data"].dims == ("data_dim_0", "data_dim_1") and float(opened["data"].sum()) == 120


def test_nobody_is_pushed_aside(tree):
    assert "gridhold" in xr.backends.list_engines() and not gridhold.xarray.GridholdBackend().guess_can_open(str(tree))
