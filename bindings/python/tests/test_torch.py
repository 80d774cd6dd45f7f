"""Data sets and loaders in the manner of PyTorch, without it: arrays come out by their protocols."""

import gc
import os
import pickle
import signal
import subprocess
import sys
import weakref

import numpy as np
import pytest
from test_scratch import everything, pixels, stacks  # noqa: F401  a fixture

import gridhold
from gridhold import scratch
from gridhold import torch as ghtorch

KINDS = [
    {}, {"num_workers": 1}, {"num_workers": 3, "prefetch_factor": 1}, {"num_workers": 2, "processes": True},
]  # fmt: skip


@pytest.fixture
def held(stacks, tmp_path):  # noqa: F811
    return scratch.create_mapped_file_image_scratch(everything(stacks), tmp_path / "held.scr", 4)


def wanted(locations, rows):
    return np.stack([pixels(locations[i]) for i in rows])


def doubled(images):
    return images[:, :4] * 2


@pytest.mark.parametrize("how", KINDS, ids=str)
def test_epochs(stacks, held, how):  # noqa: F811
    locations = everything(stacks)
    orders = []
    with ghtorch.DataLoader(ghtorch.Dataset(locations, scratch=held), 10, shuffle=True, seed=3, **how) as batches:
        assert len(batches) == 8
        for _ in range(2):
            seen = []
            for batch in batches:
                assert np.array_equal(batch.images, wanted(locations, batch.rows))
                seen.append(batch)
            orders.append(np.concatenate([b.rows for b in seen]).tolist())
            assert sorted(orders[-1]) == list(range(72)) and [len(b) for b in seen] == [10] * 7 + [2]
            assert np.array_equal(seen[0].images, wanted(locations, seen[0].rows))  # nobody wrote over it since
        batches.set_epoch(1)
        assert np.concatenate([b.rows for b in batches]).tolist() == orders[1] != orders[0]
    with pytest.raises(gridhold.ClosedError):
        iter(batches)
    ours = [b.rows.tolist() for b in scratch.loader(held).batches(locations, 10, shuffle=True, seed=3, epoch=1)]
    assert sum(ours, []) == orders[1]  # the order that Loader.batches has


@pytest.mark.parametrize("how", KINDS[:3], ids=str)
def test_parts_and_transforms(stacks, held, how):  # noqa: F811
    locations, rows = everything(stacks), []
    images = ghtorch.Dataset(locations, scratch=held, dtype="float64")
    for i in range(3):
        with ghtorch.DataLoader(images, 7, drop_last=True, shard=(i, 3), transform=doubled, **how) as batches:
            assert len(batches) == 3
            for batch in batches:
                rows += batch.rows.tolist()
                assert batch.dtype == np.float64 and np.array_equal(batch, 2 * wanted(locations, batch.rows)[:, :4])
    assert len(rows) == 63 and sorted(rows) == sorted(set(rows))


def test_dataset(stacks, held):  # noqa: F811
    locations = everything(stacks)
    images = ghtorch.Dataset(locations, scratch=held)
    assert len(images) == 72 and np.array_equal(images[3], pixels(locations[3])) and np.array_equal(images[-1], pixels(locations[-1]))
    assert np.array_equal(images.__getitems__([5, 5, 60]), wanted(locations, [5, 5, 60]))
    assert np.array_equal(images[np.array([2, 70])], wanted(locations, [2, 70]))
    with pytest.raises(IndexError):
        images[72]
    without = ghtorch.Dataset(locations)
    assert np.array_equal(without[[8, 1]], wanted(locations, [8, 1]))


def test_protocols(stacks, held):  # noqa: F811
    (batch,) = ghtorch.DataLoader(ghtorch.Dataset(everything(stacks)[:5], scratch=held), 5)
    same = np.from_dlpack(batch)
    assert np.shares_memory(same, batch.images) and batch.__dlpack_device__() == (1, 0)
    assert np.shares_memory(np.asarray(batch), batch.images) and np.asarray(batch, "f8").dtype == np.float64
    assert not np.shares_memory(np.array(batch), batch.images)
    batch.images[...] = 0  # the caller's
    assert batch[2].sum() == 0 and batch.shape == (5, 16, 16)


def test_shared_by_pickles(stacks, held, tmp_path):  # noqa: F811
    """What one fills another finds: by the same file, and without reading the stacks again."""
    locations = everything(stacks)
    images = ghtorch.Dataset(locations, scratch=held)
    raw = pickle.dumps(images)
    scratch.prefetch_scratch_async(held).result(300)
    again = pickle.loads(raw)
    assert np.array_equal(again[[0, 30, 71]], wanted(locations, [0, 30, 71]))
    theirs = again._how[0].stats()
    assert theirs["source_reads"] == 0 and theirs["filled"] == 0
    program = "import pickle, sys; images = pickle.load(sys.stdin.buffer); sys.stdout.buffer.write(images[[9, 40]].tobytes())"
    out = subprocess.run([sys.executable, "-c", program], input=raw, capture_output=True, check=True, timeout=300).stdout
    assert out == wanted(locations, [9, 40]).tobytes()
    in_memory = ghtorch.Dataset(locations, scratch=scratch.create_host_image_scratch(locations, 4))
    with pytest.raises(TypeError, match="stays in its process"):
        pickle.dumps(in_memory)


def test_processes_transform(stacks, held):  # noqa: F811
    locations = everything(stacks)
    images = ghtorch.Dataset(locations, scratch=held, dtype="float64")
    with ghtorch.DataLoader(images, 9, num_workers=1, processes=True, transform=doubled, drop_last=True, shard=(1, 2)) as batches:
        got = list(batches)
    assert len(got) == 4 and all(np.array_equal(b, 2 * wanted(locations, b.rows)[:, :4]) for b in got)


def test_failures(stacks, held):  # noqa: F811
    locations = [*everything(stacks)[:9], scratch.ImageLocation(f"{stacks}/none.mrcs", 0)]
    images = ghtorch.Dataset(locations)
    for how in KINDS:
        with ghtorch.DataLoader(images, 3, **how) as batches:
            it = iter(batches)
            assert len(next(it)) == 3
            del it  # left in the middle
            with pytest.raises(gridhold.NotFoundError):
                for _ in batches:
                    pass
    for wrong in ({"batch_size": 0}, {"num_workers": -1}, {"shard": (2, 2)}):
        with pytest.raises(gridhold.InvalidError):
            ghtorch.DataLoader(images, **wrong)


def test_a_worker_dies(stacks, held):  # noqa: F811
    images = ghtorch.Dataset(everything(stacks), scratch=held)
    with ghtorch.DataLoader(images, 2, num_workers=1, processes=True) as batches:
        it = iter(batches)
        next(it)
        (worker,) = batches._pool._processes
        os.kill(worker, signal.SIGKILL)
        with pytest.raises(gridhold.InternalError):
            for _ in it:
                pass
        assert sum(len(b) for b in batches) == 72  # the next epoch has others


def test_memory_goes(stacks, tmp_path):  # noqa: F811
    held = scratch.create_mapped_file_image_scratch(everything(stacks), tmp_path / "h.scr", 4)
    gone = weakref.ref(held)
    batches = ghtorch.DataLoader(ghtorch.Dataset(everything(stacks), scratch=held), 9, num_workers=2)
    del held
    it = iter(batches)
    next(it)
    assert gone() is not None
    batches.close()
    del batches, it
    gc.collect()
    assert gone() is None


def test_torch_is_not_asked_for():
    program = "import sys; sys.modules['torch'] = None; import gridhold.torch; print(gridhold.torch.Dataset)"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)
