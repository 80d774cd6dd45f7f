"""What a scratch remembers of where its images lie: asked once, and forgotten with the guest that said so."""

import os

import numpy as np
import pytest
from test_scratch import COUNT, check, everything, pixels, stacks  # noqa: F401

import gridhold
from gridhold import scratch
from gridhold._places import _MOST, KEPT, Places


@pytest.fixture
def asked(monkeypatch):
    """The kinds of operations that scratches run."""
    kinds = []
    call = scratch.ImageScratch._call
    monkeypatch.setattr(scratch.ImageScratch, "_call", lambda self, kind, request: kinds.append(kind) or call(self, kind, request))
    return kinds


@pytest.mark.parametrize("where", ["file", "directory"])
def test_asked_once(stacks, tmp_path, asked, where):  # noqa: F811
    locations = everything(stacks)
    if where == "file":
        held = scratch.create_mapped_file_image_scratch(locations, tmp_path / "scr", 4)
    else:
        held = scratch.create_directory_image_scratch(locations, tmp_path / "scr", 4, 1 << 20)
    load = scratch.loader(held)
    for _ in range(2):
        check(load, locations)
    before = held.stats()
    asked.clear()
    check(load, locations[::-1])
    check(load, [locations[5]] * 3)
    assert not asked
    after = held.stats()
    assert after["hits"] == before["hits"] + COUNT * 3 + 3
    assert after["hit_bytes"] == before["hit_bytes"] + (COUNT * 3 + 3) * pixels(locations[0]).nbytes
    held.close()
    with pytest.raises(gridhold.ClosedError):
        load.read_batch(locations[:1])


def test_another_guest_is_asked_anew(stacks, tmp_path, asked):  # noqa: F811
    """It is the guest that keeps others from removing a file in use."""
    locations = everything(stacks)
    held = scratch.create_directory_image_scratch(locations, tmp_path / "dir", 4, 1 << 20)
    load = scratch.loader(held)
    for _ in range(2):
        check(load, locations)
    guest = held._runtime.guest()
    with guest.lock:
        guest._instance.kill("for a test")
        guest._bury()
    asked.clear()
    check(load, locations)
    assert asked and held._runtime.guest() is not guest
    asked.clear()
    check(load, locations)
    assert not asked


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_asks_for_itself(stacks, tmp_path, asked):  # noqa: F811
    locations = everything(stacks)
    held = scratch.create_mapped_file_image_scratch(locations, tmp_path / "scr", 4)
    load = scratch.loader(held)
    for _ in range(2):
        check(load, locations)
    asked.clear()
    child = os.fork()
    if not child:
        status = 1
        try:
            check(load, locations)
            status = 0 if asked else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    check(load, locations)
    assert not asked


def test_images_that_differ(stacks, tmp_path):  # noqa: F811
    held = scratch.create_mapped_file_image_scratch(everything(stacks), tmp_path / "scr", 4)
    key = everything(stacks)[0].key
    at, whole = scratch.ImageLocation(key, 1), scratch.ImageLocation(key)
    for _ in range(2):
        with pytest.raises(gridhold.InvalidError):
            held.read([at, whole])
        with pytest.raises(gridhold.InvalidError):
            held.read([at, scratch.ImageLocation("other.mrcs", 0)])
        with pytest.raises(gridhold.InvalidError):
            held.read([])
        with pytest.raises(gridhold.OutOfRangeError):
            held.read([at, scratch.ImageLocation(key, COUNT)])
        assert held.read([whole]).shape == (1, COUNT, 16, 16) and held.read([at, at]).shape == (2, 16, 16)


def rows(*offs):
    made = np.zeros(len(offs), KEPT)
    made["off"], made["length"] = offs, 64
    return made


def test_table():
    places, slots = Places(), np.array([3, 9, 4])
    assert places.find(slots, 64, 1)[1].tolist() == [0, 1, 2]
    places.learn(slots, rows(4096, -1, 8192), 1)
    kept, unknown = places.find(slots, 64, 1)
    assert unknown.tolist() == [1] and kept["off"][[0, 2]].tolist() == [4096, 8192] and places.hits == 2 and places.hit_bytes == 128
    assert places.find(slots, 32, 1)[1].tolist() == [0, 1, 2]  # of another size
    assert places.find(np.array([0, 100]), 64, 1)[1].tolist() == [0, 1]
    places.learn(np.array([1000]), rows(12288), 1)
    assert places.find(np.array([3, 1000]), 64, 1)[1].tolist() == []
    places.learn(np.array([_MOST]), rows(12288), 1)
    assert places.find(np.array([_MOST, 3]), 64, 1)[1].tolist() == [0]
    assert places.find(slots, 64, 2)[1].tolist() == [0, 1, 2]  # of another guest
    places.learn(slots, rows(1, 2, 3), 2)
    places.learn(slots, rows(4, 5, 6), 1)  # which is gone
    assert places.find(slots, 64, 2)[0]["off"].tolist() == [1, 2, 3]
