"""Scratches of images: what is held, shared, and never wrong."""

import gc
import os
import pickle
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import gridhold
from gridhold import scratch
from gridhold._loading import cast

COUNT, SIDE = 24, 16
WRITER = """
import random, sys
import numpy as np
from gridhold import scratch
import test_scratch as t
held = scratch.create_mapped_file_image_scratch(t.everything(sys.argv[1]), sys.argv[2], 4)
order = t.everything(sys.argv[1])
random.Random(int(sys.argv[3])).shuffle(order)
load = scratch.loader(held)
print("open", flush=True)
for line in sys.stdin:
    at = order[int(line) * 8 : int(line) * 8 + 8]
    assert np.array_equal(load.read_batch(at), np.stack([t.pixels(a) for a in at]))
    print(held.stats()["filled"], flush=True)
"""


def pixels(at):
    first = (ord(os.path.basename(at.key)[0]) * 1000 + at.index) * SIDE * SIDE
    return np.arange(first, first + SIDE * SIDE, dtype=np.float32).reshape(SIDE, SIDE)


def everything(directory):
    return [scratch.ImageLocation(f"{directory}/{s}.mrcs", i) for s in "abc" for i in range(COUNT)]


@pytest.fixture
def stacks(tmp_path):
    from gridhold._providers import _header

    for s in "abc":
        key = f"{tmp_path}/{s}.mrcs"
        images = np.stack([pixels(scratch.ImageLocation(key, i)) for i in range(COUNT)])
        head = _header(key, COUNT, SIDE, SIDE, images.dtype)
        Path(key).write_bytes(head + images.astype("<f4").tobytes())
    return str(tmp_path)


def check(load, locations):
    assert np.array_equal(load.read_batch(locations), np.stack([pixels(at) for at in locations]))


def test_locations():
    at = scratch.ImageLocation.from_string("000003@a b.mrcs")
    assert at == scratch.ImageLocation("a b.mrcs", 2) and str(at) == "000003@a b.mrcs" and pickle.loads(pickle.dumps(at)) == at
    assert scratch.ImageLocation.from_string("1@2@x") == scratch.ImageLocation("2@x", 0)
    for text in ("0@x", "a@x", "@x", "1@", " 1@x", "-1@x"):
        with pytest.raises(ValueError):
            scratch.ImageLocation.from_string(text)
    L = scratch.ImageLocation
    assert sorted([L("b", 0), L("a"), L("a", 7)]) == [L("a", 7), L("a"), L("b", 0)]
    g = scratch.ImageLocationGrouping([L("b", 3), L("a", 1), L("b", 3), L("é"), L("b", 0), L("é", 2)])
    assert [tuple(x) for x in g] == [("a", (1,), False), ("b", (0, 3), False), ("é", (), True)] and g.count == 4


@pytest.mark.parametrize("where", ["host", "file", "directory"])
def test_kinds(stacks, tmp_path, where):
    locations = everything(stacks)
    if where == "host":
        held = scratch.create_host_image_scratch(locations, 4)
    elif where == "file":
        held = scratch.create_mapped_file_image_scratch(locations, tmp_path / "scr", 4)
    else:
        held = scratch.create_directory_image_scratch(locations, tmp_path / "dir", 4, 1 << 20)
    load = scratch.loader(held)
    check(load, locations[5:9])
    assert held.stats()["filled"] == 2
    with ThreadPoolExecutor(2) as pool:
        done = scratch.prefetch_scratch_async(held, locations, pool)
        done.result(300)
        assert done.done() and done.progress == (3, 3)
    before = held.stats()
    assert before["present"] == len(locations)
    for s in "abc":
        os.unlink(f"{stacks}/{s}.mrcs")  # not needed any more
    epoch = list(load.batches(locations, 10, shuffle=True, seed=3))
    assert sorted(np.concatenate([b.rows for b in epoch]).tolist()) == list(range(len(locations)))
    for b in epoch:
        assert np.array_equal(b.images, np.stack([pixels(locations[i]) for i in b.rows]))
    after = held.stats()
    assert after["source_reads"] == before["source_reads"] and after["hits"] >= before["hits"] + len(locations)
    reader = scratch.reader_provider(held).open(locations[0].key)
    assert np.array_equal(reader[-1], pixels(locations[COUNT - 1])) and reader.shape == (COUNT, SIDE, SIDE)
    whole = held.read([scratch.ImageLocation(locations[0].key)])
    assert whole.shape == (1, COUNT, SIDE, SIDE)
    with pytest.raises(IndexError):
        load.read_batch([scratch.ImageLocation(locations[0].key, COUNT)])
    held.close()
    with pytest.raises(gridhold.ClosedError):
        load.read_batch(locations[:1])


def test_refusals(stacks, tmp_path):
    locations = everything(stacks)
    with pytest.raises(ValueError):
        scratch.create_host_image_scratch(locations, 0)
    with pytest.raises(ValueError):
        scratch.create_mapped_file_image_scratch([], tmp_path / "none", 4)
    assert not (tmp_path / "none").exists()
    with pytest.raises(IndexError):
        scratch.create_host_image_scratch([scratch.ImageLocation(locations[0].key, COUNT)], 4)
    with pytest.raises(FileExistsError):
        scratch.create_mapped_file_image_scratch(locations, locations[0].key, 4)
    with pytest.raises(FileNotFoundError):
        scratch.create_host_image_scratch([scratch.ImageLocation("nowhere.mrcs", 0)], 4)


def test_goes_with_its_last_user(stacks, tmp_path):
    held = scratch.create_mapped_file_image_scratch(everything(stacks), tmp_path / "scr", 4)
    load, gone = scratch.loader(held), weakref.ref(held)
    del held
    gc.collect()
    check(load, everything(stacks)[:3])
    del load
    gc.collect()
    assert gone() is None


class Mine:
    """Files that only this program knows."""

    def __init__(self):
        self.reads = 0

    def open(self, key):
        if key == "missing":
            return None
        self.key = key
        return self

    shape, dtype = (COUNT, SIDE, SIDE), np.dtype("float32")

    def read(self, first, count):
        self.reads += 1
        return np.stack([pixels(scratch.ImageLocation("q", i)) for i in range(first, first + count)])


def test_files_of_the_program():
    mine = Mine()
    locations = [scratch.ImageLocation("q:1", i) for i in range(COUNT)]
    held = scratch.create_host_image_scratch(locations, 4, files=mine)
    for _ in range(2):
        assert np.array_equal(held.read(locations), mine.read(0, COUNT))
    scratch.prefetch_scratch_async(held, executor=ThreadPoolExecutor(1), files=mine).result()
    assert held.stats()["source_reads"] >= 6
    with pytest.raises(FileNotFoundError):
        scratch.create_host_image_scratch([scratch.ImageLocation("missing", 0)], 4, files=mine)


def test_damaged_pixels_are_never_served(stacks, tmp_path):
    locations = everything(stacks)
    path = tmp_path / "scr"
    with scratch.create_mapped_file_image_scratch(locations, path, 4) as held:
        held.read(locations)
    raw = bytearray(path.read_bytes())
    at = raw.find(pixels(locations[30]).tobytes())
    raw[at + 9] ^= 0x55
    path.write_bytes(raw)
    with scratch.create_mapped_file_image_scratch(locations, path, 4) as held:
        check(scratch.loader(held), locations)
        assert held.stats()["damaged"] == 1
        # What another program takes back is noticed, also under those who look for themselves.
        kept = held._call(25 + 2, lambda h: np.array([h, 0], "<u4").tobytes() + np.array([0, 0, 0, 0], "<u4").tobytes())
        run_at = int(np.frombuffer(kept, "<i8")[2])
        with open(path, "r+b") as f:
            f.seek(run_at)
            f.write(bytes(8))
        check(scratch.loader(held), locations)
        assert held.stats()["filled"] == 2


def test_processes_share_a_file(stacks, tmp_path):
    path = str(tmp_path / "scr")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parent)])}
    others = [
        subprocess.Popen([sys.executable, "-c", WRITER, stacks, path, str(n)], stdin=-1, stdout=-1, text=True, env=env) for n in (1, 2)
    ]
    try:
        assert [o.stdout.readline() for o in others] == ["open\n"] * 2
        locations = everything(stacks)
        held = scratch.create_mapped_file_image_scratch(locations, path, 4)
        load, filled = scratch.loader(held), [0, 0]
        rng = np.random.default_rng(5)
        for n in range(len(locations) // 8):
            for i, o in enumerate(others):
                if o.poll() is None:
                    o.stdin.write(f"{n}\n")
                    o.stdin.flush()
            check(load, [locations[i] for i in rng.permutation(len(locations))[:8]])
            if n == 4:
                others[1].kill()  # whatever it is at
                others[1].wait()
            for i, o in enumerate(others):
                if o.poll() is None:
                    filled[i] = int(o.stdout.readline())
        check(load, locations)
        stats = held.stats()
        assert stats["damaged"] == 0 and stats["present"] == len(locations)
        assert filled[0] > 0
    finally:
        for o in others:
            o.kill()
            o.wait()
            o.stdin.close()
            o.stdout.close()


def test_casts():
    x = np.array([300.7, -300.7, np.nan, 1e10, -0.9, np.inf], np.float32)
    assert cast(x, np.dtype("i1")).tolist() == [127, -128, 0, 127, 0, 127]
    assert cast(x, np.dtype("u2")).tolist() == [300, 0, 0, 65535, 0, 65535]
    assert cast(np.array([-5, 300], "i2"), np.dtype("u1")).tolist() == [0, 255]
