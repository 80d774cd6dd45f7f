"""Batches that several threads copy, and those that are read ahead."""

import threading
from concurrent.futures import Future

import numpy as np
import pytest
from test_scratch import check, everything, pixels, stacks  # noqa: F401  a fixture

from gridhold import ClosedError, _scratch, scratch
from gridhold._beside import Beside


@pytest.mark.parametrize("count", [1, 2, 7])
def test_each_part_once(count):
    beside, done = Beside(), []
    for _ in range(50):
        beside.run(done.append, range(count))
        assert sorted(done) == list(range(count))
        done.clear()


def test_parts_within_parts():
    """No thread is waited for that waits itself."""
    beside, done, lock = Beside(), [0], threading.Lock()

    def work(depth):
        with lock:
            done[0] += 1
        if depth:
            beside.run(work, [depth - 1] * 3)

    callers = [threading.Thread(target=work, args=(4,)) for _ in range(3)]
    for t in callers:
        t.start()
    for t in callers:
        t.join(120)
    assert done[0] == 3 * (1 + 3 + 9 + 27 + 81)


def test_who_asks_does_what_nobody_has_begun(monkeypatch):
    beside, done = Beside(), []
    monkeypatch.setattr(beside, "_start", lambda count: None)  # there are no threads to be had
    finish = beside.begin(done.append, range(3))
    assert done == []
    finish()
    assert done == [0, 1, 2]


@pytest.mark.parametrize("closed", [False, True])
def test_epoch_that_is_left(stacks, tmp_path, closed):  # noqa: F811
    """Who leaves an epoch, or closes the scratch in it, leaves nothing behind that another one would see."""
    locations = everything(stacks)
    held = scratch.create_mapped_file_image_scratch(locations, tmp_path / "scr", 4)
    scratch.prefetch_scratch_async(held).result(300)
    load = scratch.loader(held)
    for _ in range(20):
        epoch = load.batches(locations, 10)
        first = next(epoch).images.copy()
        del epoch
        check(load, locations)
        assert np.array_equal(first, np.stack([pixels(at) for at in locations[:10]]))
    if closed:
        epoch = load.batches(locations, 10)
        next(epoch)
        held.close()
        next(epoch)  # was begun before
        with pytest.raises(ClosedError):
            next(epoch)


@pytest.mark.parametrize("bad", [0, 2])
def test_failures(bad):
    done = []

    def work(part):
        if part == bad:
            raise OSError("no")
        done.append(part)

    with pytest.raises(OSError, match="no"):
        Beside().run(work, range(4))
    assert sorted(done) == [p for p in range(4) if p != bad]


@pytest.mark.parametrize("workers", [1, 2, 5, None])
def test_workers(stacks, tmp_path, monkeypatch, workers):  # noqa: F811
    locations, parts = everything(stacks), []
    held = scratch.create_mapped_file_image_scratch(locations, tmp_path / "scr", 4)
    scratch.prefetch_scratch_async(held).result(300)
    begin = _scratch.beside.begin
    monkeypatch.setattr(_scratch.beside, "begin", lambda do, those, mine: parts.append(len(those)) or begin(do, those, mine))
    load = scratch.loader(held, workers=workers)
    for _ in range(2):
        check(load, locations)
    assert set(parts) <= {1}  # so little is not worth a second thread
    monkeypatch.setattr(_scratch, "_SHARE", 1024)
    check(load, locations[::-1])
    check(load, locations[:1])
    assert parts[-2:] == [workers or 2, 1]


@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_shares(count):
    for rows in (1, 2, 7, 256, 1000):
        shares = _scratch._shares(rows, count)
        assert len(shares) == count and [i for share in shares for i in range(rows)[share]] == list(range(rows))


def test_none_is_too_few():
    with pytest.raises(ValueError):
        scratch.loader(workers=0)


class Counting:
    """An executor that does as it is told at once."""

    def __init__(self):
        self.count = 0

    def submit(self, task, *args):
        self.count += 1
        future = Future()
        future.set_result(task(*args))
        return future


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("dtype", [None, "f4", "i2"])
@pytest.mark.parametrize("executor", [None, Counting()])
def test_read_ahead(stacks, tmp_path, monkeypatch, workers, dtype, executor):  # noqa: F811
    monkeypatch.setattr(_scratch, "_SHARE", 1024)
    locations = everything(stacks)
    held = scratch.create_mapped_file_image_scratch(locations, tmp_path / "scr", 4)
    scratch.prefetch_scratch_async(held).result(300)
    load = scratch.loader(held, workers=workers, executor=executor, dtype=dtype)
    seen = []
    for epoch in range(2):
        if executor:
            executor.count = 0
        for i, batch in enumerate(load.batches(locations, 10, shuffle=True, seed=1, epoch=epoch)):
            assert not executor or executor.count == min(i + 1, 7)  # of eight batches
            wanted = np.stack([pixels(locations[j]) for j in batch.rows])
            assert np.array_equal(batch.images, wanted if dtype != "i2" else np.clip(wanted, -(2**15), 2**15 - 1))
            seen.append(batch.rows)
    assert np.array_equal(np.sort(np.concatenate(seen)), np.repeat(np.arange(len(locations)), 2))
    few = [b.rows.tolist() for b in load.batches(tuple(locations[:5]), 2, drop_last=True)]
    assert few == [[0, 1], [2, 3]] and not list(load.batches([], 3))
