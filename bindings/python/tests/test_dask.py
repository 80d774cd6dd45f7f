"""Lazy arrays of dask, on clusters of real processes."""

import os
import pickle
import signal
import time
from pathlib import Path

import dask
import dask.array
import fsspec
import numpy as np
import obstore
import pytest
from conftest import FIXTURES, SHARD, SUB, VALUES, sharded, write
from distributed import Client, LocalCluster, wait
from gateway import gateway  # noqa: F401  a fixture

import gridhold
import gridhold.dask
from gridhold import _lazy
from gridhold._lazy import lazy, recipe


@pytest.fixture(scope="module")
def client():
    config = {"distributed.nanny.pre-spawn-environ.OMP_NUM_THREADS": 1, "distributed.worker.daemon": True}
    config |= dict.fromkeys(("distributed.comm.timeouts.connect", "distributed.comm.timeouts.tcp"), "300s")  # a machine may be busy
    with (
        dask.config.set(config),
        LocalCluster(n_workers=2, threads_per_worker=2, processes=True, dashboard_address=None, host="127.0.0.1") as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def stack(tmp_path):
    from gridhold._providers import _header

    images = np.arange(24 * 16 * 12, dtype="<f4").reshape(24, 16, 12)
    path = tmp_path / "s.mrcs"
    path.write_bytes(_header(str(path), 24, 16, 12, images.dtype) + images.tobytes())
    return path, images


def open_in_worker(token):
    """What the cache of an array did that a worker has open."""
    from gridhold import _lazy

    found = _lazy._opened._kept.get(token)
    return None if found is None or found._own_cache is None else found._own_cache.tables.stats()


def expressions(x):
    y = x.astype("u8")
    return [
        x, x[5:60:7, 3], x[::-1, ::2], x.sum(), y.mean(axis=0), (x[:-1] + x[1:]).max(axis=1), y.T @ y, x[[3, 1, 50]],
        x.reshape(-1)[17:900], np.concatenate([x, x + 1])[60:70],
    ]  # fmt: skip


def agrees(x, values):
    for got, wanted in zip(dask.compute(*expressions(x), x.rechunk((64, 5))), [*expressions(values), values]):
        assert np.array_equal(got, wanted)


def test_chunks_are_shards(directory, stack, tmp_path):
    x = gridhold.dask.open_array(directory)
    assert x.chunks == ((16,) * 4, (16,) * 4) and x.dtype == VALUES.dtype and x.shape == VALUES.shape
    assert gridhold.dask.open_array(directory, chunks=(10, 64)).chunks == ((10,) * 6 + (4,), (64,))
    with dask.config.set({"array.chunk-size": "1 KiB"}):  # two shards
        assert gridhold.dask.open_array(directory, chunks="auto").chunks in (((32, 32), (16,) * 4), ((16,) * 4, (32, 32)))
    with dask.config.set({"array.chunk-size": "1 MiB"}):
        assert gridhold.dask.open_array(directory, chunks="auto").numblocks == (1, 1)
    with gridhold.asarray(VALUES, urlpath=tmp_path / "v.b2nd", chunks=(24, 40)):
        pass
    assert gridhold.dask.open_array(tmp_path / "v.b2nd").chunks == ((24, 24, 16), (40, 24))
    assert gridhold.dask.open_stack(stack[0]).chunks == ((24,), (16,), (12,))
    for uneven in (FIXTURES / "grid_rectilinear", FIXTURES / "grid_rectilinear_sharded"):
        x = gridhold.dask.open_array(uneven)
        assert len({n for axis in x.chunks for n in axis}) > 1
        assert np.array_equal(x.compute(scheduler="sync"), gridhold.open_array(uneven)[...])


def test_equals_numpy(directory):
    with dask.config.set(scheduler="threads"):
        agrees(gridhold.dask.open_array(directory), VALUES)


def test_pickles_small(directory):
    named = lazy(recipe("any", directory, ""))
    raw = pickle.dumps(named)
    again = pickle.loads(raw)
    assert len(raw) < 600 and np.array_equal(again[5:9], VALUES[5:9]) and again.opened() is named.opened()
    x = gridhold.dask.open_array(directory)
    assert all(len(pickle.dumps(task)) < 2000 for task in dict(x.__dask_graph__()).values())


def test_files(client, directory):
    x = gridhold.dask.open_array(directory)
    agrees(x, VALUES)
    assert np.array_equal(x.compute(), VALUES)
    token = lazy(recipe("any", directory, ""))._token
    found = [stats for stats in client.run(open_in_worker, token).values() if stats is not None]
    assert found and all(stats["loads"] <= 16 for stats in found)  # of 16 shards, each once, whatever was read
    assert sum(stats["hits"] for stats in found) > 0


def test_containers_and_stacks(client, tmp_path, stack):
    with gridhold.asarray(VALUES, urlpath=tmp_path / "v.b2nd", chunks=(24, 40)) as opened:
        agrees(gridhold.dask.from_array(opened), VALUES)
    with gridhold.TreeStore(str(tmp_path / "t.b2z"), mode="w") as tree:
        tree["/g/v"] = VALUES
    agrees(gridhold.dask.open_array(tmp_path / "t.b2z", "g/v"), VALUES)
    with gridhold.open_stack(stack[0]) as opened:
        x = gridhold.dask.from_array(opened, chunks=(5, 16, 12))
    keys = (..., 3, slice(2, 20, 3), (slice(None), 4), (7, slice(2, 5), 3), (..., 5), (slice(3, 9), slice(None), slice(0, 12, 5)))
    for key, got in zip(keys, dask.compute(*(x[key] for key in keys))):
        assert np.array_equal(got, stack[1][key])


def test_s3(client, gateway):  # noqa: F811
    store = gateway.obstore("dask")
    for key, data in sharded(VALUES, SHARD, SUB, codec="gzip", seed_path="a").items():
        obstore.put(store, key, data)
    agrees(gridhold.dask.open_array(store, "a"), VALUES)

    mapping = fsspec.get_mapper("s3://bucket/dask", **gateway.fsspec_options)
    with gridhold.open_array(mapping, "a") as opened:
        assert np.array_equal(gridhold.dask.from_array(opened)[5:50, ::-1].compute(), VALUES[5:50, ::-1])


def held(block, directory):
    """Says that it began, and waits for the test."""
    Path(directory, f"began-{os.getpid()}").touch()
    until = time.monotonic() + 300
    while not Path(directory, "go").exists():
        if time.monotonic() > until:
            raise TimeoutError
        time.sleep(0.01)
    return block


def began(directory):
    until = time.monotonic() + 300
    while not (found := list(Path(directory).glob("began-*"))):
        assert time.monotonic() < until
        time.sleep(0.01)
    return int(found[0].name.removeprefix("began-"))


def test_a_worker_is_killed_in_mid_computation(client, directory, tmp_path_factory):
    told = tmp_path_factory.mktemp("told")
    x = gridhold.dask.open_array(directory).map_blocks(held, str(told), meta=np.empty((0, 0), "u2"))
    future = client.compute((x.astype("u8") * 3).sum(axis=0))
    victim = began(told)
    assert victim in client.run(os.getpid).values()
    os.kill(victim, signal.SIGKILL)
    (told / "go").touch()
    assert np.array_equal(future.result(timeout=300), (VALUES.astype("u8") * 3).sum(axis=0))


def test_a_worker_is_killed_that_has_results(client, directory):
    client.wait_for_workers(2)
    x = (gridhold.dask.open_array(directory) + 1).persist()
    wait(x)
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
    assert np.array_equal(client.compute(x + 1, sync=True), VALUES + 2)


def test_what_changed_is_told(tmp_path):
    write(tmp_path, sharded(VALUES, SHARD, SUB))
    x, named = gridhold.dask.open_array(tmp_path), lazy(recipe("any", tmp_path, ""))
    write(tmp_path, sharded(VALUES // 2, SHARD, SUB))
    assert np.array_equal(x.compute(scheduler="sync"), VALUES // 2)  # the chunks are new, the array is the same
    write(tmp_path, sharded(VALUES[:32], SHARD, SUB))
    _lazy._opened.forget(named._token, named.opened())  # as in a process that has not opened it yet
    with pytest.raises(gridhold.StaleError):
        named[0]


def test_a_container_may_grow(tmp_path):
    with gridhold.asarray(VALUES, urlpath=tmp_path / "v.b2nd", chunks=(16, 64)) as array:
        pass
    x = gridhold.dask.open_array(tmp_path / "v.b2nd")
    with gridhold.open(tmp_path / "v.b2nd", mode="a") as array:
        array.append(VALUES[:7])
    assert np.array_equal(x.compute(scheduler="sync"), VALUES) and np.array_equal(x[-1, ::9].compute(scheduler="sync"), VALUES[-1, ::9])
    with gridhold.open(tmp_path / "v.b2nd", mode="a") as array:
        array.resize((32, 64))
    with pytest.raises(gridhold.StaleError):
        x[0].compute(scheduler="sync")


def test_refusals(directory, tmp_path):
    with gridhold.zeros((4, 4)) as only_here, pytest.raises(gridhold.InvalidError):
        gridhold.dask.from_array(only_here)
    with pytest.raises(gridhold.NotFoundError):
        gridhold.dask.open_array(tmp_path, "nothing")
    with gridhold.TreeStore(str(tmp_path / "t.b2z"), mode="w") as tree:
        tree["/v"] = VALUES
    with pytest.raises(gridhold.InvalidError):
        gridhold.dask.open_array(tmp_path / "t.b2z")
